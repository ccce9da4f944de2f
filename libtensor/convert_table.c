/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_table.c - from at most 256 codes, by looking the results up
 *
 * A dtype of up to 8 bits has so few values that all are converted first, the
 * long way, and each element costs one load. Counting needs no more than how
 * often each code occurs. Blocks with overflows or rounding, where positions
 * matter, are left to the long way.
 */
#include "convert_table.h"

#include <string.h>

#include "packed.h"

#include "banned.h"

bool
tpi_table_suits(enum tp_dtype dst, enum tp_dtype src)
{
	return tp_dtype_bits(src) <= 8 && tp_dtype_bits(dst) >= 8 &&
	       tpi_decoders[src] && tpi_encoders[dst];
}

/* All codes in order, packed. */
static void
list_codes(uint8_t *codes, unsigned bits)
{
	for (unsigned code = 0; code < 1u << bits; code++) {
		if (bits < 8)
			tpi_packed_put(codes, code, bits, code);
		else
			codes[code] = (uint8_t)code;
	}
}

void
tpi_table_make(struct tpi_table *t, enum tp_dtype dst, enum tp_dtype src,
    enum tp_overflow overflow)
{
	struct tpi_number numbers[256];
	uint8_t codes[256];

	t->src_bits = tp_dtype_bits(src);
	t->dst_size = tp_dtype_bits(dst) / 8;
	t->n_codes = 1u << t->src_bits;
	list_codes(codes, t->src_bits);
	tpi_decoders[src](codes, 0, t->n_codes, numbers);
	tpi_encoders[dst](
	    t->results, t->n_codes, numbers, overflow, t->outcomes);
	t->has_no_code = false;
	for (unsigned code = 0; code < t->n_codes; code++) {
		t->classes[code] = numbers[code].class;
		if (t->outcomes[code] & TPI_NO_CODE)
			t->has_no_code = true;
	}
}

static inline unsigned
code_at(const uint8_t *src, size_t i, unsigned bits)
{
	return bits == 8 ? src[i] : tpi_packed_get(src, i, bits);
}

/* A loop for each size of result and each width of code. */
#define LOOK_UP(size, bits)                                             \
	do {                                                            \
		for (size_t i = 0; i < n; i++)                          \
			memcpy(dst + i * (size),                        \
			    t->results +                                \
				(size_t)code_at(src, i, bits) * (size), \
			    (size));                                    \
	} while (0)
#define LOOK_UP_BITS(size)                 \
	do {                               \
		if (t->src_bits == 8)      \
			LOOK_UP(size, 8);  \
		else if (t->src_bits == 4) \
			LOOK_UP(size, 4);  \
		else if (t->src_bits == 2) \
			LOOK_UP(size, 2);  \
		else                       \
			LOOK_UP(size, 6);  \
	} while (0)

static void
look_up(const struct tpi_table *t, uint8_t *dst, const uint8_t *src, size_t n)
{
	switch (t->dst_size) {
	case 1:
		LOOK_UP_BITS(1);
		break;
	case 2:
		LOOK_UP_BITS(2);
		break;
	case 4:
		LOOK_UP_BITS(4);
		break;
	case 8:
		LOOK_UP_BITS(8);
		break;
	}
}

bool
tpi_table_convert(const struct tpi_table *t, uint8_t *dst, const uint8_t *src,
    size_t n, bool is_checked, struct tp_cast_stats *stats)
{
	/* Several, so that a run of one code does not wait for itself. */
	uint32_t counts[4][256] = {{0}};

	if (!is_checked) {
		look_up(t, dst, src, n);
		return true;
	}
	for (size_t i = 0; i < n; i++)
		counts[i % 4][code_at(src, i, t->src_bits)]++;
	for (unsigned code = 0; code < t->n_codes; code++) {
		counts[0][code] +=
		    counts[1][code] + counts[2][code] + counts[3][code];
		if (counts[0][code] && t->outcomes[code] & ~TPI_TO_SUBNORMAL)
			return false;
	}
	look_up(t, dst, src, n);
	for (unsigned code = 0; stats && code < t->n_codes; code++) {
		uint32_t count = counts[0][code];

		if (t->outcomes[code] & TPI_TO_SUBNORMAL)
			stats->n_to_subnormal += count;
		if (t->classes[code] == TPI_NAN)
			stats->n_nan += count;
		if (t->classes[code] == TPI_INF)
			stats->n_inf += count;
	}
	return true;
}
