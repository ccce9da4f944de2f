/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.c - digits of floats, after Steele and White (1990)
 *
 * The float is the fraction value / scale of two large integers, and it may
 * move by low / scale down or high / scale up and still read back as itself.
 * Each digit is the quotient; it is the last one as soon as cutting there, or
 * going one up, stays inside.
 */
#include "decimal.h"

#include <string.h>

#include "compiler.h"

#include "banned.h"

/* 2^1074 times what a double has, and some powers of ten. */
#define MAX_WORDS 40

struct big {
	int n; /* words in use; the last is not 0 */
	uint32_t words[MAX_WORDS];
};

static void
big_set(struct big *b, uint64_t x)
{
	b->n = 0;
	for (; x; x >>= 32)
		b->words[b->n++] = (uint32_t)x;
}

static void
big_multiply(struct big *b, uint32_t factor)
{
	uint64_t carry = 0;

	for (int i = 0; i < b->n; i++) {
		carry += (uint64_t)b->words[i] * factor;
		b->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		b->words[b->n++] = (uint32_t)carry;
}

static void
big_multiply_power(struct big *b, uint32_t factor, int power)
{
	for (; power > 0; power--)
		big_multiply(b, factor);
}

static void
big_shift(struct big *b, int bits)
{
	int words = bits / 32;

	if (b->n == 0)
		return;
	memmove(b->words + words, b->words, (size_t)b->n * sizeof(*b->words));
	memset(b->words, 0, (size_t)words * sizeof(*b->words));
	b->n += words;
	big_multiply(b, UINT32_C(1) << bits % 32);
}

static int
big_compare(const struct big *a, const struct big *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = a->n; i-- > 0;)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	return 0;
}

/* a += b */
static void
big_add(struct big *a, const struct big *b)
{
	uint64_t carry = 0;

	for (int i = 0; i < b->n || i < a->n || carry; i++) {
		carry += i < a->n ? a->words[i] : 0;
		carry += i < b->n ? b->words[i] : 0;
		if (i == a->n)
			a->n++;
		a->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

/* a -= b; b is not larger. */
static void
big_subtract(struct big *a, const struct big *b)
{
	uint64_t borrow = 0;

	for (int i = 0; i < a->n; i++) {
		uint64_t d = (uint64_t)a->words[i] -
			     (i < b->n ? b->words[i] : 0) - borrow;

		a->words[i] = (uint32_t)d;
		borrow = d >> 63;
	}
	while (a->n && a->words[a->n - 1] == 0)
		a->n--;
}

struct fraction {
	struct big value, scale, low, high;
	int point;    /* of the next digit: it counts 10^(point - 1) */
	bool is_even; /* the bounds themselves read back as x too */
};

/* Set up so that 1/10 <= value / scale < 1, times 10^point. */
static void
begin(struct fraction *f, struct tpi_float x)
{
	/* Twice everything, or four times, makes the margins whole. */
	int extra = x.is_edge ? 2 : 1;
	int up = x.exp > 0 ? x.exp : 0, down = x.exp < 0 ? -x.exp : 0;

	f->is_even = x.mag % 2 == 0;
	big_set(&f->value, x.mag);
	big_shift(&f->value, up + extra);
	big_set(&f->scale, 1);
	big_shift(&f->scale, down + extra);
	big_set(&f->low, 1);
	big_shift(&f->low, up);
	big_set(&f->high, 1);
	big_shift(&f->high, up + extra - 1);

	/* log10(2) = 0.30103; what is a little too low is mended below. */
	f->point = (tpi_msb64(x.mag) + x.exp) * 30103 / 100000;
	f->point -= 1;
	big_multiply_power(&f->scale, 10, f->point);
	big_multiply_power(&f->value, 10, -f->point);
	big_multiply_power(&f->low, 10, -f->point);
	big_multiply_power(&f->high, 10, -f->point);
	while (big_compare(&f->value, &f->scale) >= 0) {
		big_multiply(&f->scale, 10);
		f->point++;
	}
}

/* One more at the last of the digits; they may become fewer. */
static void
round_up(struct tpi_decimal *out)
{
	while (out->n && out->digits[out->n - 1] == 9)
		out->n--;
	if (out->n) {
		out->digits[out->n - 1]++;
		return;
	}
	out->digits[out->n++] = 1;
	out->point++;
}

static void
set_zero(struct tpi_decimal *out)
{
	out->n = 1;
	out->point = 1;
	out->digits[0] = 0;
}

/* The rest, value / scale < 1, is above a half, or is one and `odd`. */
static bool
is_above_half(struct fraction *f, bool odd)
{
	int order;

	big_multiply(&f->value, 2);
	order = big_compare(&f->value, &f->scale);
	return order > 0 || (order == 0 && odd);
}

static int
lesser(int a, int b)
{
	return a < b ? a : b;
}

void
tpi_decimal_shortest(
    struct tpi_float x, struct tpi_digit_limits limits, struct tpi_decimal *out)
{
	struct fraction f;
	bool low = false, high = false;
	int least, most;

	set_zero(out);
	if (x.mag == 0)
		return;
	begin(&f, x);
	out->n = 0;
	out->point = f.point;
	most = lesser(limits.most, f.point + limits.most_fraction);
	most = lesser(most, TPI_DECIMAL_DIGITS);
	least = f.point + limits.least_fraction;
	least = least < limits.least ? limits.least : least;
	if (most <= 0) {
		/* The first digit is cut already. */
		if (most < 0 || !is_above_half(&f, false))
			set_zero(out);
		else
			round_up(out);
		return;
	}
	for (;;) {
		struct big upper;
		uint8_t digit = 0;
		int order;

		big_multiply(&f.value, 10);
		big_multiply(&f.low, 10);
		big_multiply(&f.high, 10);
		for (; big_compare(&f.value, &f.scale) >= 0; digit++)
			big_subtract(&f.value, &f.scale);
		out->digits[out->n++] = digit;

		order = big_compare(&f.value, &f.low);
		low = order < 0 || (order == 0 && f.is_even);
		upper = f.value;
		big_add(&upper, &f.high);
		order = big_compare(&upper, &f.scale);
		high = order > 0 || (order == 0 && f.is_even);
		if (((low || high) && out->n >= least) || out->n == most)
			break;
	}
	if (low != high ? high : is_above_half(&f, out->digits[out->n - 1] & 1))
		round_up(out);
	while (out->n > 1 && out->digits[out->n - 1] == 0)
		out->n--;
}
