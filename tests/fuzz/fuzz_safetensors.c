/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c - the reader of safetensors files over any bytes, mapped
 * and not */
#include "fuzz.h"

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	struct tp_reader *r = fuzz_open(
	    fuzz_file("in", data, n), "safetensors", choice & 7, &err);

	if (r) {
		fuzz_walk(r);
		fuzz_other_ways(r, data, n, choice & 7, choice);
	}
	tp_close(r);
}
