/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_model.c - make a safetensors file to measure with
 *
 *	bench_model OUTPUT MIB TENSORS [COLUMNS]
 *
 * TENSORS float tensors of equal size, MIB in all, whose values are spread like
 * weights: mostly small, of both signs. They have one axis, or rows of COLUMNS.
 * The bytes are always the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"

#define BLOCK ((size_t)1 << 20)

/* A sum of four uniform numbers, about normal, scaled to weights. */
static float
next_value(uint64_t *state)
{
	uint64_t x = *state;
	int sum;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	sum = (int)(x & 0xffff) + (int)(x >> 16 & 0xffff) +
	      (int)(x >> 32 & 0xffff) + (int)(x >> 48) - 131070;
	return (float)sum * (1.0F / 1048576.0F);
}

static int
write_header(FILE *f, uint64_t each, unsigned long n, uint64_t columns)
{
	uint64_t len;
	size_t cap = n * 150 + 16;
	char *text = malloc(cap);
	uint8_t head[8];
	char shape[48];
	size_t at = 1;
	int rc;

	if (!text)
		return -1;
	text[0] = '{';
	if (columns)
		snprintf(shape, sizeof(shape), "%" PRIu64 ",%" PRIu64,
		    each / 4 / columns, columns);
	else
		snprintf(shape, sizeof(shape), "%" PRIu64, each / 4);
	for (unsigned long i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, cap - at,
		    "%s\"model.layers.%07lu.weight\":{\"dtype\":\"F32\","
		    "\"shape\":[%s],\"data_offsets\":[%" PRIu64 ",%" PRIu64
		    "]}",
		    i ? "," : "", i, shape, i * each, (i + 1) * each);
	text[at++] = '}';
	while (at % 8)
		text[at++] = ' ';
	len = at;
	tp_put_le64(head, len);
	rc = fwrite(head, 8, 1, f) == 1 && fwrite(text, at, 1, f) == 1 ? 0 : -1;
	free(text);
	return rc;
}

int
main(int argc, char **argv)
{
	uint64_t nbytes, each, columns, state = UINT64_C(0x9e3779b97f4a7c15);
	static uint8_t block[BLOCK];
	unsigned long n;
	FILE *f;

	if (argc < 4 || argc > 5)
		return 2;
	nbytes = strtoull(argv[2], NULL, 10) << 20;
	n = strtoul(argv[3], NULL, 10);
	columns = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	if (n == 0 || nbytes / n < 4 * (columns + 1))
		return 2;
	each = columns ? nbytes / n / 4 / columns * columns * 4
		       : nbytes / n / 4 * 4;
	f = fopen(argv[1], "wb");
	if (!f || write_header(f, each, n, columns)) {
		perror(argv[1]);
		return 1;
	}
	nbytes = each * n;
	for (uint64_t at = 0; at < nbytes; at += BLOCK) {
		uint64_t left = nbytes - at;

		for (size_t i = 0; i < BLOCK / 4; i++) {
			float v = next_value(&state);
			uint32_t bits;

			memcpy(&bits, &v, 4);
			tp_put_le32(block + 4 * i, bits);
		}
		if (fwrite(block, left < BLOCK ? (size_t)left : BLOCK, 1, f) !=
		    1)
			return 1;
	}
	return fclose(f) ? 1 : 0;
}
