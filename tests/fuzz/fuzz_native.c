/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_native.c - the reader of native files over any bytes, mapped and not
 *
 * Bytes that are made up have wrong checksums and would end at the first: half
 * of the choices put right what the header says of itself and the directory.
 */
#include "fuzz.h"

#include <string.h>

#include "formats/crc32c.h"
#include "formats/native.h"

static void
repair(uint8_t *file, size_t n)
{
	struct tpi_native_header h;

	if (n < TPI_NATIVE_HEADER_SIZE)
		return;
	tpi_native_get_header(file, &h);
	h.file_nbytes = n;
	if (h.dir_offset <= n && h.dir_nbytes <= n - h.dir_offset)
		h.dir_crc32c =
		    tpi_crc32c(0, file + h.dir_offset, (size_t)h.dir_nbytes);
	tpi_native_put_header(file, &h);
	h.crc32c = tpi_crc32c(0, file, TPI_NATIVE_HEADER_COVERED);
	tpi_native_put_header(file, &h);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	uint8_t *file = malloc(n + 1);
	struct tp_reader *r;

	MUST(file);
	memcpy(file, data, n);
	if (choice & 8)
		repair(file, n);
	r = fuzz_open(fuzz_file("in", file, n), "native", choice & 3, &err);
	if (r) {
		fuzz_walk(r);
		fuzz_other_ways(r, file, n, choice & 3, choice);
	}
	tp_close(r);
	free(file);
}
