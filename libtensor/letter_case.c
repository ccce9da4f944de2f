/* SPDX-License-Identifier: Apache-2.0 */
/* letter_case.c - looking letters up in the ranges of letter_case.def */
#include "letter_case.h"

#include <stdint.h>
#include <string.h>

#include "tp/utf8.h"

#include "banned.h"

/* Ascending; every step-th from first to last gets delta. */
struct range {
	uint32_t first, last, step;
	int32_t delta;
};

static const struct range to_upper[] = {
#define TP_UPPER(first, last, step, delta) {first, last, step, delta},
#include "letter_case.def"
};

static const struct range to_lower[] = {
#define TP_LOWER(first, last, step, delta) {first, last, step, delta},
#include "letter_case.def"
};

#define N_UPPER (sizeof(to_upper) / sizeof(to_upper[0]))
#define N_LOWER (sizeof(to_lower) / sizeof(to_lower[0]))

static uint32_t
other_case(uint32_t code, const struct range *ranges, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct range *r = &ranges[mid];

		if (code > r->last)
			low = mid + 1;
		else if (code < r->first)
			high = mid;
		else
			return (code - r->first) % r->step
				   ? code
				   : (uint32_t)((int32_t)code + r->delta);
	}
	return code;
}

static size_t
encode(uint32_t code, char *out)
{
	static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(heads[n > 1 ? n : 0] | code);
	return n;
}

size_t
tpi_change_case(struct tp_str text, bool upper, char *out)
{
	const struct range *ranges = upper ? to_upper : to_lower;
	size_t n_ranges = upper ? N_UPPER : N_LOWER, at = 0;

	for (size_t i = 0; i < text.len;) {
		uint32_t code;
		size_t n = tp_utf8_decode(text.s + i, text.len - i, &code);

		if (n == 0)
			out[at++] = text.s[i++];
		else
			at += encode(
			    other_case(code, ranges, n_ranges), out + at);
		i += n;
	}
	return at;
}
