/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c - the reader of safetensors files over any bytes, mapped
 * and not */
#include "fuzz.h"

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned flags = fuzz_choice(data, &n) & 7;
	struct tp_reader *r =
	    fuzz_open(fuzz_file("in", data, n), "safetensors", flags, &err);

	if (r)
		fuzz_walk(r);
	tp_close(r);
}
