/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - NaN, infinities, subnormals, zeros and constants by their bits
 *
 * A float without its sign is an unsigned number whose order is that of the
 * magnitudes:
 *
 *	0 | subnormal … | normal … | infinity | NaN …
 *	    1             least      highest
 *
 * so each class is one or two comparisons, which become vectors.
 */
#include "tp/scan.h"

#include <string.h>

#include "compiler.h"

#include "banned.h"

/* Elements whose counts fit into 16 bits. */
#define BLOCK 16384

/* What a float of 8 bits or more is made of, the sign left out. */
struct layout {
	unsigned width;	  /* bytes of a float */
	uint64_t least;	  /* the least normal number; 0: no subnormals */
	uint64_t highest; /* infinity: what is above is NaN; 0: see special */
	/* Of 8 bits, where there is no infinity: the codes that are NaN. */
	uint8_t nan_mask, nan;
};

/* clang-format off */
static const struct layout layouts[TP_DTYPE_COUNT] = {
    [TP_DTYPE_F8E4M3FN]   = {1, 0x08, 0, 0x7f, 0x7f},
    [TP_DTYPE_F8E5M2]     = {1, 0x04, 0x7c, 0, 0},
    [TP_DTYPE_F8E4M3FNUZ] = {1, 0x08, 0, 0xff, 0x80},
    [TP_DTYPE_F8E5M2FNUZ] = {1, 0x04, 0, 0xff, 0x80},
    [TP_DTYPE_F8E8M0]     = {1, 0, 0, 0xff, 0xff},
    [TP_DTYPE_F16]        = {2, 0x0400, 0x7c00, 0, 0},
    [TP_DTYPE_BF16]       = {2, 0x0080, 0x7f80, 0, 0},
    [TP_DTYPE_F32]        = {4, 0x00800000, 0x7f800000, 0, 0},
    [TP_DTYPE_F64]        = {8, UINT64_C(1) << 52, UINT64_C(0x7ff) << 52, 0, 0},
    [TP_DTYPE_C64]        = {4, 0x00800000, 0x7f800000, 0, 0},
    [TP_DTYPE_C128]       = {8, UINT64_C(1) << 52, UINT64_C(0x7ff) << 52, 0, 0},
};
/* clang-format on */

struct counts {
	uint64_t nan, inf, subnormal, zero;
};

/* n <= BLOCK floats of one width. */
#define COUNT(T, name)                                                \
	TPI_CLONES static void name(const void *src, size_t n,        \
	    const struct layout *l, struct counts *c)                 \
	{                                                             \
		const T *p = src;                                     \
		const T least = (T)l->least, highest = (T)l->highest; \
		const T magnitude = (T)((T)-1 >> 1);                  \
		T nan = 0, inf = 0, subnormal = 0, zero = 0;          \
                                                                      \
		for (size_t i = 0; i < n; i++) {                      \
			T a = (T)(p[i] & magnitude);                  \
                                                                      \
			nan = (T)(nan + (a > highest));               \
			inf = (T)(inf + (a == highest));              \
			subnormal = (T)(subnormal + (a < least));     \
			zero = (T)(zero + (a == 0));                  \
		}                                                     \
		*c = (struct counts){                                 \
		    nan, inf, (uint64_t)(subnormal - zero), zero};    \
	}
COUNT(uint16_t, count_16)
COUNT(uint32_t, count_32)
COUNT(uint64_t, count_64)

/* The same for floats of 8 bits, code by code. */
static void
count_8(const void *src, size_t n, const struct layout *l, struct counts *c)
{
	const uint8_t *p = src;
	uint32_t times[256] = {0};

	*c = (struct counts){0};
	for (size_t i = 0; i < n; i++)
		times[p[i]]++;
	for (unsigned code = 0; code < 256; code++) {
		unsigned a = code & 0x7f;

		if (l->highest ? a > l->highest
			       : (code & l->nan_mask) == l->nan)
			c->nan += times[code];
		else if (l->highest && a == l->highest)
			c->inf += times[code];
		else if (l->least && a == 0)
			c->zero += times[code];
		else if (a < l->least)
			c->subnormal += times[code];
	}
}

typedef void count_fn(
    const void *src, size_t n, const struct layout *l, struct counts *c);
static count_fn *const counters[9] = {
    [1] = count_8, [2] = count_16, [4] = count_32, [8] = count_64};

/* The first of n floats with a NaN, or with an infinity. */
static size_t
find_first(const uint8_t *src, size_t n, const struct layout *l, bool nan)
{
	size_t i = 0;

	for (; i < n; i++) {
		struct counts c;

		counters[l->width](src + i * l->width, 1, l, &c);
		if (nan ? c.nan : c.inf)
			break;
	}
	return i;
}

static void
add_floats(struct tp_scan *s, const struct layout *l, unsigned parts,
    const uint8_t *src, size_t n)
{
	for (size_t at = 0; at < n; at += BLOCK) {
		const uint8_t *p = src + at * l->width;
		size_t len = n - at < BLOCK ? n - at : BLOCK;
		struct counts c;

		counters[l->width](p, len, l, &c);
		if (c.nan && !s->n_nan)
			s->first_nan =
			    s->n + (at + find_first(p, len, l, true)) / parts;
		if (c.inf && !s->n_inf)
			s->first_inf =
			    s->n + (at + find_first(p, len, l, false)) / parts;
		s->n_nan += c.nan;
		s->n_inf += c.inf;
		s->n_subnormal += c.subnormal;
		s->n_zero += c.zero;
	}
}

TPI_CLONES static uint64_t
count_odd_bools(const uint8_t *p, size_t n)
{
	uint64_t total = 0;

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t end = n - at < BLOCK ? n : at + BLOCK;
		uint16_t odd = 0;

		for (size_t i = at; i < end; i++)
			odd = (uint16_t)(odd + (p[i] > 1));
		total += odd;
	}
	return total;
}

/* The bytes after which equal elements repeat. */
static size_t
period_of(unsigned bits)
{
	size_t whole = bits / 8;

	if (whole > 0)
		return whole;
	return bits == 6 ? 3 : 1;
}

/* The pattern of a tensor all of whose elements are like the first. */
static void
make_pattern(struct tp_scan *s, unsigned bits, const uint8_t *src)
{
	uint32_t element, repeated = 0;

	if (bits >= 8) {
		memcpy(s->pattern, src, bits / 8);
		return;
	}
	element = src[0] & ((1u << bits) - 1);
	for (unsigned at = 0; at < 24; at += bits)
		repeated |= element << at;
	for (unsigned i = 0; i < 3; i++)
		s->pattern[i] = (uint8_t)(repeated >> 8 * i);
}

static bool
is_constant(
    const struct tp_scan *s, unsigned bits, const uint8_t *src, size_t n)
{
	size_t period = period_of(bits);
	size_t whole = n / 8 * bits + n % 8 * bits / 8;
	unsigned rest = (unsigned)(n % 8 * bits % 8);

	/* Its bytes are the pattern, then what is one period before. */
	if (memcmp(src, s->pattern, whole < period ? whole : period) != 0)
		return false;
	if (whole > period && memcmp(src + period, src, whole - period) != 0)
		return false;
	return !rest || !((src[whole] ^ s->pattern[whole % period]) &
			    ((1u << rest) - 1));
}

enum tp_status
tp_scan_add(struct tp_scan *s, enum tp_dtype dtype, const void *src, size_t n,
    struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(dtype);
	unsigned parts = tp_dtype_kind(dtype) == TP_KIND_COMPLEX ? 2 : 1;

	if (bits == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no scan of dtype %s", tp_dtype_name(dtype));
	if (n == 0)
		return TP_OK;
	if (s->n == 0)
		make_pattern(s, bits, src);
	if (!s->varies)
		s->varies = !is_constant(s, bits, src, n);
	if (dtype == TP_DTYPE_BOOL)
		s->n_odd_bool += count_odd_bools(src, n);
	if (layouts[dtype].width)
		add_floats(s, &layouts[dtype], parts, src, n * parts);
	s->n += n;
	return TP_OK;
}

bool
tp_scan_all_zero(const struct tp_scan *s, enum tp_dtype dtype)
{
	static const uint8_t zeros[sizeof(s->pattern)] = {0};
	unsigned parts = tp_dtype_kind(dtype) == TP_KIND_COMPLEX ? 2 : 1;

	if (s->n == 0)
		return false;
	if (layouts[dtype].width && layouts[dtype].least)
		return s->n_zero / parts == s->n;
	return dtype != TP_DTYPE_F8E8M0 && !s->varies &&
	       !memcmp(s->pattern, zeros, sizeof(zeros));
}
