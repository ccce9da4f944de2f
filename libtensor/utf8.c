/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - strict UTF-8 (RFC 3629, section 4) */
#include "tp/utf8.h"

#include <string.h>

#include "banned.h"

size_t
tp_utf8_decode(const char *s, size_t n, uint32_t *code)
{
	const unsigned char *b = (const unsigned char *)s;
	uint32_t c = b[0];
	size_t len;

	if (c < 0x80) {
		*code = c;
		return 1;
	}
	if (c < 0xc2 || c > 0xf4)
		return 0;
	len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (b[i] & 0x3fu);
	}
	/* Overlong forms, surrogates, and what lies above the last plane. */
	if (len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000)))
		return 0;
	if (len == 4 && (c < 0x10000 || c > 0x10ffff))
		return 0;
	*code = c;
	return len;
}

size_t
tp_utf8_check(const char *s, size_t n)
{
	const uint64_t high_bits = UINT64_C(0x8080808080808080);
	size_t i = 0;

	while (i < n) {
		uint64_t word;
		uint32_t code;
		size_t len;

		/* Most names are ASCII: eight bytes a step. */
		if (n - i >= 8) {
			memcpy(&word, s + i, 8);
			if (!(word & high_bits)) {
				i += 8;
				continue;
			}
		}
		len = tp_utf8_decode(s + i, n - i, &code);
		if (len == 0)
			return i;
		i += len;
	}
	return n;
}

/*
 * Categories Cc, Zl, Zp, and Zs but for U+0020; Default_Ignorable_Code_Point of
 * Unicode 15; the empty pattern of Braille (U+2800), the anchors of annotations
 * (U+FFF9 on), the joiners of hieroglyphs (U+13430 on); and noncharacters but
 * for the last two of each plane; in order.
 */
static const struct range {
	uint32_t first, last;
} hidden[] = {
    {0x0, 0x1f},
    {0x7f, 0xa0},
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x61c, 0x61c},
    {0x115f, 0x1160},
    {0x1680, 0x1680},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x2000, 0x200f},
    {0x2028, 0x202f},
    {0x205f, 0x206f},
    {0x2800, 0x2800},
    {0x3000, 0x3000},
    {0x3164, 0x3164},
    {0xfdd0, 0xfdef},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

bool
tp_utf8_is_hidden(uint32_t code)
{
	for (size_t i = 0;
	     i < sizeof(hidden) / sizeof(hidden[0]) && code >= hidden[i].first;
	     i++)
		if (code <= hidden[i].last)
			return true;
	return (code & 0xfffe) == 0xfffe;
}
