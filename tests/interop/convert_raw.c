/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_raw.c - elements of one dtype on standard input to another dtype on
 * standard output, little-endian
 *
 *	convert_raw FROM TO
 */
#include <stdio.h>

#include "tp/convert.h"
#include "tp/endian.h"

#define N 4096

/* From or to this machine's byte order. */
static void
swap(char *p, size_t n, size_t size)
{
	if (!tp_host_is_little())
		tp_swap_bytes(p, n, size);
}

int
main(int argc, char **argv)
{
	static _Alignas(16) char in[N * 16], out[N * 16];
	enum tp_dtype from, to;
	struct tp_err err = TP_ERR_INIT;
	size_t from_size, to_size, n;

	if (argc != 3)
		return 2;
	from = tp_dtype_find(argv[1]);
	to = tp_dtype_find(argv[2]);
	from_size = tp_dtype_bits(from) / 8;
	to_size = tp_dtype_bits(to) / 8;
	if (from_size == 0 || to_size == 0)
		return 2;
	while ((n = fread(in, from_size, N, stdin)) > 0) {
		swap(in, n, from_size);
		if (tp_convert(
			to, out, from, in, n, TP_OVERFLOW_INF, 0, NULL, &err)) {
			fprintf(stderr, "convert_raw: %s\n", err.msg);
			return 1;
		}
		swap(out, n, to_size);
		if (fwrite(out, to_size, n, stdout) != n)
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
