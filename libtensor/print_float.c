/* SPDX-License-Identifier: Apache-2.0 */
/* print_float.c - floats of one width, as NumPy chooses it */
#include "print.h"

#include <string.h>

#include "tp/convert.h"

#include "decimal.h"

#include "banned.h"

void
tpi_word_char(struct tpi_word *w, char c, size_t n)
{
	for (; n && w->n < sizeof(w->s); n--)
		w->s[w->n++] = c;
}

void
tpi_word_text(struct tpi_word *w, const char *s)
{
	for (; *s; s++)
		tpi_word_char(w, *s, 1);
}

/* Sign, digits before and behind the point, exponent; not padded yet. */
struct parts {
	struct tpi_word whole, fraction, exponent; /* the last: digits only */
	char exponent_sign;
};

static void
add_digits(struct tpi_word *w, const struct tpi_decimal *d, int from, int to)
{
	for (int i = from; i < to; i++)
		tpi_word_char(w,
		    i < d->n && i >= 0 ? (char)('0' + d->digits[i]) : '0', 1);
}

static void
make_exponent(struct parts *p, int exponent)
{
	char digits[12];
	size_t n = 0;

	p->exponent_sign = exponent < 0 ? '-' : '+';
	for (unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);
	     e || n < 2; e /= 10)
		digits[n++] = (char)('0' + e % 10);
	while (n)
		tpi_word_char(&p->exponent, digits[--n], 1);
}

/*
 * is_final: no longer to find the width. Then every number with an exponent has
 * as many digits as the longest, and others all digits before the point.
 */
static void
make_parts(const struct tpi_floats *f, struct tpi_number x, bool is_final,
    struct parts *p)
{
	struct tpi_digit_limits limits = {
	    TPI_NO_LEAST, TPI_NO_MOST, TPI_NO_LEAST, TPI_NO_MOST};
	bool exponential = f->exponential;
	struct tpi_decimal d;

	if (!f->is_scalar && exponential)
		limits.most = (int)f->precision + 1;
	else if (!f->is_scalar)
		limits.most_fraction = (int)f->precision;
	if (!f->is_scalar && is_final && exponential)
		limits.least = (int)f->right + 1;
	else if (!f->is_scalar && is_final)
		limits.least_fraction = 0;
	tpi_decimal_shortest(tpi_number_float(f->dtype, x), limits, &d);

	p->whole.n = p->fraction.n = p->exponent.n = 0;
	if (x.neg || f->plus)
		tpi_word_char(&p->whole, x.neg ? '-' : '+', 1);
	if (exponential) {
		add_digits(&p->whole, &d, 0, 1);
		add_digits(&p->fraction, &d, 1, d.n);
		make_exponent(p, d.point - 1);
		return;
	}
	if (d.point <= 0)
		tpi_word_char(&p->whole, '0', 1);
	add_digits(&p->whole, &d, 0, d.point);
	if (d.n > 1 || d.digits[0])
		add_digits(&p->fraction, &d, d.point, d.n);
}

void
tpi_floats_see(struct tpi_floats *f, struct tpi_number x)
{
	double size;

	if (x.class != TPI_FINITE) {
		f->has_special = true;
		f->has_negative_inf |= x.class == TPI_INF && x.neg;
		return;
	}
	f->n_finite++;
	if (x.mag == 0)
		return;
	x.neg = false;
	size = tpi_number_to_f64(x);
	if (f->max == 0 || size > f->max)
		f->max = size;
	if (f->min == 0 || size < f->min)
		f->min = size;
}

/* max / min as the dtype has it, which decides at the border of 1000. */
static double
ratio_of(const struct tpi_floats *f)
{
	float ratio = (float)f->max / (float)f->min;
	uint16_t half;

	if (f->dtype == TP_DTYPE_F64)
		return f->max / f->min;
	if (f->dtype == TP_DTYPE_F16 &&
	    !tp_convert(TP_DTYPE_F16, &half, TP_DTYPE_F32, &ratio, 1,
		TP_OVERFLOW_INF, 0, NULL, NULL))
		return tp_load_f64(TP_DTYPE_F16, &half, 0);
	return (double)ratio;
}

void
tpi_floats_choose(struct tpi_floats *f)
{
	if (f->is_scalar)
		f->exponential =
		    f->max != 0 && (f->max >= 1e16 || f->max < 1e-4);
	else
		f->exponential =
		    f->max != 0 &&
		    (f->max >= 1e8 || f->min < 1e-4 || ratio_of(f) > 1000);
}

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

void
tpi_floats_fit(struct tpi_floats *f, struct tpi_number x)
{
	struct parts p;

	if (x.class != TPI_FINITE)
		return;
	make_parts(f, x, false, &p);
	f->left = larger(f->left, p.whole.n);
	f->right = larger(f->right, p.fraction.n);
	f->exp_digits = larger(f->exp_digits, p.exponent.n);
}

void
tpi_floats_finish(struct tpi_floats *f)
{
	size_t behind, inf = 3;

	if (!f->has_special)
		return;
	/* NaN and infinity end where numbers end, the point included. */
	behind = f->right + 1;
	if (f->exponential)
		behind += f->exp_digits + 2;
	if (f->plus || f->has_negative_inf)
		inf++;
	if (inf > behind)
		f->left = larger(f->left, inf - behind);
	if (3 > behind)
		f->left = larger(f->left, 3 - behind);
}

static void
put_special(const struct tpi_floats *f, struct tpi_number x, struct tpi_word *w)
{
	size_t width = f->left + f->right + 1, n = 3;
	const char *sign = "";

	if (f->exponential)
		width += f->exp_digits + 2;
	if (x.class == TPI_INF && x.neg)
		sign = "-";
	else if (f->plus)
		sign = "+";
	n += *sign != 0;
	if (!f->is_scalar && width > n)
		tpi_word_char(w, ' ', width - n);
	tpi_word_text(w, sign);
	tpi_word_text(w, x.class == TPI_INF ? "inf" : "nan");
}

static void
put_word(struct tpi_word *w, const struct tpi_word *part)
{
	for (size_t i = 0; i < part->n; i++)
		tpi_word_char(w, part->s[i], 1);
}

void
tpi_floats_put(
    const struct tpi_floats *f, struct tpi_number x, struct tpi_word *w)
{
	struct parts p;

	if (x.class != TPI_FINITE) {
		put_special(f, x, w);
		return;
	}
	make_parts(f, x, true, &p);
	if (f->is_scalar) {
		bool adds_zero =
		    !p.fraction.n && !f->exponential && !f->trims_zero;

		put_word(w, &p.whole);
		if (p.fraction.n || adds_zero)
			tpi_word_char(w, '.', 1);
		put_word(w, &p.fraction);
		if (adds_zero)
			tpi_word_char(w, '0', 1);
	} else {
		if (f->left > p.whole.n)
			tpi_word_char(w, ' ', f->left - p.whole.n);
		put_word(w, &p.whole);
		tpi_word_char(w, '.', 1);
		put_word(w, &p.fraction);
		if (f->right > p.fraction.n)
			tpi_word_char(w, f->exponential ? '0' : ' ',
			    f->right - p.fraction.n);
	}
	if (!f->exponential)
		return;
	tpi_word_char(w, 'e', 1);
	tpi_word_char(w, p.exponent_sign, 1);
	if (f->exp_digits > p.exponent.n)
		tpi_word_char(w, '0', f->exp_digits - p.exponent.n);
	put_word(w, &p.exponent);
}
