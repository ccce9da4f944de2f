/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast_text.c - numbers as strings and back
 *
 * Numbers are written as NumPy's str() does: the fewest digits that read back
 * as the same number. Reading takes plain and scientific numbers, inf, infinity
 * and nan in any case with any sign, True and False.
 */
#include "cast.h"
#include "chunk.h"
#include "kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/print.h"

#include "../tensor.h"

#include "../banned.h"

#define WORD_SIZE 64

struct word {
	char s[WORD_SIZE];
	size_t n;
};

static int
take_text(void *ctx, const char *text, size_t n)
{
	struct word *w = ctx;

	if (n > sizeof(w->s) - w->n)
		n = sizeof(w->s) - w->n;
	memcpy(w->s + w->n, text, n);
	w->n += n;
	return 0;
}

static enum tp_status
need_strings(const struct tpi_call *c, struct tp_err *err)
{
	if (c->opts->strings)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: of strings, and the call has none", c->op->onnx);
}

enum tp_status
tpi_print_numbers(struct tpi_call *c, const struct tp_tensor *t,
    struct tp_tensor *y, struct tp_err *err)
{
	const struct tp_strided all = tp_tensor_strided(t);
	uint64_t *numbers = tp_tensor_data_mut(y);
	union tpi_chunk room;
	enum tp_status rc = need_strings(c, err);

	for (uint64_t i = 0; i < t->n_elems && !rc; i++) {
		struct tp_strided one = {.dtype = t->dtype, .base = &room};
		struct word w = {.n = 0};

		tp_gather(&all, i, 1, &room);
		rc = tp_print(&one, NULL, take_text, &w, err);
		if (!rc)
			rc = tp_strings_add(c->opts->strings,
			    (struct tp_str){w.s, w.n}, &numbers[i], err);
	}
	return rc;
}

/* The text between begin and end, and where reading it is. */
struct reading {
	const char *at, *end;
};

static bool
is_digit(const struct reading *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool
skip_char(struct reading *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* word is in lower case. */
static bool
is_word(const struct reading *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((r->at[i] | 0x20) != word[i])
			return false;
	return true;
}

/*
 * Digits without a point, whose place an exponent tells: strtod reads that the
 * same in every locale. Of digits beyond what a double can need only whether
 * one is not zero counts.
 */
#define MOST_DIGITS 800
#define MOST_EXPONENT 1000000

struct digits {
	char text[MOST_DIGITS + 32];
	size_t n;
	int64_t exponent;
};

static void
add_digit(struct digits *d, char digit, bool is_behind_point)
{
	d->exponent -= is_behind_point;
	if (d->n == 0 && digit == '0')
		return;
	if (d->n < MOST_DIGITS) {
		d->text[d->n++] = digit;
		return;
	}
	d->exponent++;
	if (digit != '0')
		d->text[MOST_DIGITS - 1] |= 1;
}

static bool
read_exponent(struct reading *r, struct digits *d)
{
	bool is_minus = skip_char(r, '-');
	int64_t exponent = 0;

	if (!is_minus)
		skip_char(r, '+');
	if (!is_digit(r))
		return false;
	for (; is_digit(r); r->at++)
		if (exponent < MOST_EXPONENT)
			exponent = exponent * 10 + (*r->at - '0');
	d->exponent += is_minus ? -exponent : exponent;
	return true;
}

/* All of the text, without a sign, as digits and an exponent. */
static bool
read_digits(struct reading *r, struct digits *d)
{
	bool has_digits = is_digit(r);

	d->n = 0;
	d->exponent = 0;
	for (; is_digit(r); r->at++)
		add_digit(d, *r->at, false);
	if (skip_char(r, '.')) {
		has_digits |= is_digit(r);
		for (; is_digit(r); r->at++)
			add_digit(d, *r->at, true);
	}
	if (!has_digits)
		return false;
	if ((skip_char(r, 'e') || skip_char(r, 'E')) && !read_exponent(r, d))
		return false;
	return r->at == r->end;
}

/* To the nearest of dtype f32, else of f64. */
static double
value_of(struct digits *d, enum tp_dtype dtype)
{
	int64_t e = d->exponent;

	if (d->n == 0)
		return 0;
	if (e > MOST_EXPONENT)
		e = MOST_EXPONENT;
	if (e < -MOST_EXPONENT)
		e = -MOST_EXPONENT;
	snprintf(d->text + d->n, sizeof(d->text) - d->n, "e%" PRId64, e);
	return dtype == TP_DTYPE_F32 ? (double)strtof(d->text, NULL)
				     : strtod(d->text, NULL);
}

static bool
read_number(struct reading r, enum tp_dtype dtype, double *x)
{
	bool is_minus = skip_char(&r, '-');
	struct digits d;

	if (!is_minus)
		skip_char(&r, '+');
	if (is_word(&r, "inf") || is_word(&r, "infinity"))
		*x = (double)INFINITY;
	else if (is_word(&r, "nan"))
		*x = (double)NAN;
	else if (is_word(&r, "true") || is_word(&r, "false"))
		*x = is_word(&r, "true");
	else if (read_digits(&r, &d))
		*x = value_of(&d, dtype);
	else
		return false;
	*x = is_minus ? -*x : *x;
	return true;
}

/* Integers that doubles would round; modulo 2^64. */
static bool
read_whole(struct reading r, uint64_t *x)
{
	bool is_minus = skip_char(&r, '-');

	if (!is_minus)
		skip_char(&r, '+');
	if (!is_digit(&r))
		return false;
	for (*x = 0; is_digit(&r); r.at++)
		if (tp_mul_u64(*x, 10, x) ||
		    tp_add_u64(*x, (uint64_t)(*r.at - '0'), x))
			return false;
	*x = is_minus ? 0 - *x : *x;
	return r.at == r.end;
}

static struct reading
without_spaces(struct tp_str text)
{
	struct reading r = {text.s, text.s + text.len};

	while (r.at < r.end && strchr(" \t\r\n", *r.at) && *r.at)
		r.at++;
	while (r.at < r.end && strchr(" \t\r\n", r.end[-1]) && r.end[-1])
		r.end--;
	return r;
}

/* One text: for an integer to *whole, else to *x. */
static bool
parse_one(struct tp_str text, enum tp_dtype dtype, uint64_t *whole, double *x)
{
	struct reading r = without_spaces(text);

	if (tpi_is_integer(dtype) && read_whole(r, whole))
		return true;
	if (!read_number(r, dtype, x))
		return false;
	*whole = tpi_cut(*x);
	return true;
}

static enum tp_status
parse_chunk(struct tpi_call *c, const struct tpi_cast *how, uint64_t from,
    const uint64_t *numbers, size_t n, void *dst, struct tp_err *err)
{
	uint64_t whole[TPI_CHUNK];
	double x[TPI_CHUNK];

	for (size_t i = 0; i < n; i++) {
		struct tp_str text =
		    tp_strings_at(c->opts->strings, numbers[i]);

		if (!parse_one(text, how->to, &whole[i], &x[i]))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: element %" PRIu64 " is '%s', no number",
			    c->op->onnx, from + i, TP_BRIEF(text));
	}
	if (tpi_is_integer(how->to))
		tpi_cast_numbers(how, TP_DTYPE_U64, whole, n, dst);
	else
		tpi_cast_doubles(how, x, n, dst);
	return TP_OK;
}

enum tp_status
tpi_parse_numbers(struct tpi_call *c, const struct tp_tensor *t,
    const struct tpi_cast *how, struct tp_tensor *y, struct tp_err *err)
{
	const struct tp_strided all = tp_tensor_strided(t);
	union tpi_chunk room;
	enum tp_status rc = need_strings(c, err);

	for (uint64_t i = 0; i < t->n_elems && !rc; i += TPI_CHUNK) {
		uint64_t left = t->n_elems - i;
		size_t n = left < TPI_CHUNK ? (size_t)left : TPI_CHUNK;

		rc = parse_chunk(c, how, i, tpi_chunk_read(&all, i, n, &room),
		    n, tpi_chunk_place(y, i), err);
	}
	return rc;
}
