/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - brackets, line breaks and "..." around the words of elements
 *
 * The elements that are shown are walked two or three times: to choose one
 * format for all, to find its width, and to write. Nothing is kept but a line's
 * length and the spaces at its end, which a line break swallows.
 */
#include "tp/print.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tp/shape.h"

#include "number.h"
#include "print.h"
#include "tensor.h"

#include "banned.h"

struct printer {
	struct tp_strided s;
	enum tp_dtype part;
	enum tp_dtype_kind kind;
	bool is_cut;	   /* not all elements are shown */
	bool is_bare;	   /* a scalar outside brackets and parentheses */
	int64_t edge;	   /* elements at each end of an axis */
	size_t line_width; /* columns for the brackets and what is inside */
	const char *comma; /* or nothing */

	struct tpi_floats real, imag;
	size_t int_width;

	tp_write_fn *write;
	void *ctx;
	int stopped;
	size_t column;	/* the pending spaces included */
	size_t pending; /* spaces that are not written yet */
	size_t used;
	char buf[512];
};

static void
flush(struct printer *p)
{
	if (p->used && !p->stopped)
		p->stopped = p->write(p->ctx, p->buf, p->used);
	p->used = 0;
}

static void
put_char(struct printer *p, char c)
{
	if (p->used == sizeof(p->buf))
		flush(p);
	p->buf[p->used++] = c;
}

/* Text within a line. Spaces wait for what comes behind them. */
static void
put(struct printer *p, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		p->column++;
		if (s[i] == ' ') {
			p->pending++;
			continue;
		}
		for (; p->pending; p->pending--)
			put_char(p, ' ');
		put_char(p, s[i]);
	}
}

static void
put_text(struct printer *p, const char *s)
{
	put(p, s, strlen(s));
}

static void
put_lines(struct printer *p, size_t n_lines, size_t indent)
{
	p->pending = 0;
	for (; n_lines; n_lines--)
		put_char(p, '\n');
	p->column = indent;
	for (; indent; indent--)
		put_char(p, ' ');
}

static struct tpi_number
load_part(const struct printer *p, int64_t at, size_t part)
{
	struct tpi_number x;
	size_t i = (size_t)at;

	if (p->part != p->s.dtype)
		i = 2 * i + part;
	tpi_decoders[p->part](p->s.base, i, 1, &x);
	return x;
}

/* Integers: the text of one, which fits 24 characters. */
static void
make_integer(struct tpi_number x, struct tpi_word *w)
{
	char text[24];

	snprintf(text, sizeof(text), "%s%" PRIu64, x.neg ? "-" : "", x.mag);
	tpi_word_text(w, text);
}

/* Python's (1+2j) when alone, without the real part if that is 0. */
static void
make_complex(const struct printer *p, struct tpi_number real,
    struct tpi_number imag, struct tpi_word *w)
{
	struct tpi_floats unsigned_imag = p->imag;
	struct tpi_word number = {0};
	size_t end;

	if (p->is_bare && real.class == TPI_FINITE && !real.mag && !real.neg) {
		unsigned_imag.plus = false;
		tpi_floats_put(&unsigned_imag, imag, w);
		tpi_word_char(w, 'j', 1);
		return;
	}
	if (p->is_bare)
		tpi_word_char(w, '(', 1);
	tpi_floats_put(&p->real, real, w);
	tpi_floats_put(&p->imag, imag, &number);
	/* The j stands before the padding. */
	for (end = number.n; end > 0 && number.s[end - 1] == ' '; end--)
		;
	for (size_t i = 0; i < end; i++)
		tpi_word_char(w, number.s[i], 1);
	tpi_word_char(w, 'j', 1);
	tpi_word_char(w, ' ', number.n - end);
	if (p->is_bare)
		tpi_word_char(w, ')', 1);
}

static void
make_word(const struct printer *p, int64_t at, struct tpi_word *w)
{
	struct tpi_number x = load_part(p, at, 0);
	struct tpi_word number = {0};

	w->n = 0;
	switch (p->kind) {
	case TP_KIND_BOOL:
		if (x.mag && p->s.rank)
			tpi_word_char(w, ' ', 1);
		tpi_word_text(w, x.mag ? "True" : "False");
		return;
	case TP_KIND_UINT:
	case TP_KIND_INT:
		make_integer(x, &number);
		if (p->int_width > number.n)
			tpi_word_char(w, ' ', p->int_width - number.n);
		for (size_t i = 0; i < number.n; i++)
			tpi_word_char(w, number.s[i], 1);
		return;
	case TP_KIND_FLOAT:
		tpi_floats_put(&p->real, x, w);
		return;
	case TP_KIND_COMPLEX:
		make_complex(p, x, load_part(p, at, 1), w);
		return;
	case TP_KIND_STRING:
	case TP_KIND_NONE:
		return;
	}
}

/* Call fn for each element that is shown. The depth is at most TP_MAX_RANK. */
typedef void visit_fn(struct printer *p, int64_t at);

static void
visit(struct printer *p, unsigned axis, int64_t at, visit_fn *fn)
{
	int64_t size;

	if (axis == p->s.rank) {
		fn(p, at);
		return;
	}
	size = p->s.sizes[axis];
	for (int64_t i = 0; i < size; i++) {
		if (p->is_cut && size > 2 * p->edge && i == p->edge)
			i = size - p->edge;
		visit(p, axis + 1, at + i * p->s.strides[axis], fn);
	}
}

static void
see_element(struct printer *p, int64_t at)
{
	struct tpi_number x = load_part(p, at, 0);
	struct tpi_word w = {0};

	if (p->kind == TP_KIND_INT || p->kind == TP_KIND_UINT) {
		make_integer(x, &w);
		p->int_width = w.n > p->int_width ? w.n : p->int_width;
		return;
	}
	tpi_floats_see(&p->real, x);
	if (p->kind == TP_KIND_COMPLEX)
		tpi_floats_see(&p->imag, load_part(p, at, 1));
}

static void
fit_element(struct printer *p, int64_t at)
{
	tpi_floats_fit(&p->real, load_part(p, at, 0));
	if (p->kind == TP_KIND_COMPLEX)
		tpi_floats_fit(&p->imag, load_part(p, at, 1));
}

static void
choose_format(struct printer *p)
{
	visit(p, 0, (int64_t)p->s.first, see_element);
	if (p->kind != TP_KIND_FLOAT && p->kind != TP_KIND_COMPLEX)
		return;
	tpi_floats_choose(&p->real);
	tpi_floats_choose(&p->imag);
	visit(p, 0, (int64_t)p->s.first, fit_element);
	tpi_floats_finish(&p->real);
	tpi_floats_finish(&p->imag);
}

/* A word on this line, or on the next if it does not fit there. */
static void
put_wrapped(
    struct printer *p, const char *s, size_t n, size_t width, size_t indent)
{
	if (p->column + n > width && p->column > indent)
		put_lines(p, 1, indent);
	put(p, s, n);
}

/* The last axis: words, as many to a line as fit `width` columns. */
static void
put_row(struct printer *p, int64_t at, size_t indent, size_t width)
{
	unsigned axis = p->s.rank - 1;
	int64_t size = p->s.sizes[axis];
	size_t room = width - 1;

	/* The bracket stands where the indent of other lines ends. */
	p->column = indent;
	for (int64_t i = 0; i < size; i++) {
		struct tpi_word w;

		if (p->is_cut && size > 2 * p->edge && i == p->edge) {
			put_wrapped(p, "...", 3, room, indent);
			put_text(p, p->comma);
			put_text(p, " ");
			i = size - p->edge;
		}
		make_word(p, at + i * p->s.strides[axis], &w);
		put_wrapped(p, w.s, w.n, room, indent);
		if (i + 1 < size) {
			put_text(p, p->comma);
			put_text(p, " ");
		}
	}
}

static void
put_axis(
    struct printer *p, unsigned axis, int64_t at, size_t indent, size_t width)
{
	unsigned left = p->s.rank - axis;
	int64_t size = p->s.sizes[axis];

	put_text(p, "[");
	if (left == 1) {
		put_row(p, at, indent, width);
		put_text(p, "]");
		return;
	}
	for (int64_t i = 0; i < size; i++) {
		if (p->is_cut && size > 2 * p->edge && i == p->edge) {
			put_text(p, "...");
			put_text(p, p->comma);
			put_lines(p, left - 1, indent);
			i = size - p->edge;
		}
		put_axis(p, axis + 1, at + i * p->s.strides[axis], indent + 1,
		    width - 1);
		if (i + 1 < size) {
			put_text(p, p->comma);
			put_lines(p, left - 1, indent);
		}
	}
	put_text(p, "]");
}

/* "(2, 3)", and "(2,)" with one axis. */
static size_t
shape_text(const struct tp_strided *s, char *buf, size_t size)
{
	size_t n = 0;

	buf[n++] = '(';
	for (unsigned d = 0; d < s->rank && n + 32 < size; d++)
		n += (size_t)snprintf(buf + n, size - n, "%s%" PRId64,
		    d ? ", " : "", s->sizes[d]);
	if (s->rank == 1)
		buf[n++] = ',';
	buf[n++] = ')';
	buf[n] = '\0';
	return n;
}

/* ", shape=(…), dtype=…)", on a line of its own when this one is full. */
static void
put_suffix(struct printer *p, const struct tp_print_options *o, bool shape,
    size_t line_width)
{
	char dims[32 * TP_MAX_RANK + 8], extra[sizeof(dims) + 160];
	int n;

	if (!shape && !o->dtype) {
		put_text(p, ")");
		return;
	}
	if (shape)
		shape_text(&p->s, dims, sizeof(dims));
	n = snprintf(extra, sizeof(extra), "%s%s%s%s%.100s)",
	    shape ? "shape=" : "", shape ? dims : "",
	    shape && o->dtype ? ", " : "", o->dtype ? "dtype=" : "",
	    o->dtype ? o->dtype : "");
	put_text(p, ",");
	if (p->column + (size_t)n + 1 > line_width)
		put_lines(p, 1, strlen(o->name) + 1);
	else
		put_text(p, " ");
	put(p, extra, (size_t)n);
}

static void
put_all(struct printer *p, const struct tp_print_options *o, uint64_t n)
{
	size_t prefix = o->name ? strlen(o->name) + 1 : 0;
	size_t line_width = p->line_width;
	bool is_plain_empty = p->s.rank == 1 && n == 0;
	struct tpi_word w;

	if (o->name) {
		put_text(p, o->name);
		put_text(p, "(");
		line_width = line_width > 1 ? line_width - 1 : 1;
	}
	if (n == 0) {
		put_text(p, "[]");
	} else {
		choose_format(p);
		if (p->s.rank) {
			put_axis(
			    p, 0, (int64_t)p->s.first, prefix + 1, line_width);
		} else {
			make_word(p, (int64_t)p->s.first, &w);
			put(p, w.s, w.n);
		}
	}
	if (o->name)
		put_suffix(p, o,
		    (n == 0 && !is_plain_empty) || (p->is_cut && o->shape),
		    p->line_width);
	for (; p->pending; p->pending--)
		put_char(p, ' ');
	flush(p);
}

enum tp_status
tp_print(const struct tp_strided *s, const struct tp_print_options *opts,
    tp_write_fn *write, void *ctx, struct tp_err *err)
{
	const struct tp_print_options none = {0}, *o = opts ? opts : &none;
	struct printer p = {.s = *s, .write = write, .ctx = ctx};
	enum tp_status rc;
	uint64_t n;

	p.kind = tp_dtype_kind(s->dtype);
	p.part = tpi_part_dtype(s->dtype);
	if (tp_dtype_bits(s->dtype) == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensors of dtype %s cannot be printed",
		    tp_dtype_name(s->dtype));
	rc = tp_shape_numel(s->sizes, s->rank, &n, err);
	if (rc)
		return rc;
	p.is_cut = n > (o->threshold ? o->threshold : 1000);
	p.is_bare = s->rank == 0 && !o->name;
	p.edge = o->edge_items ? o->edge_items : 3;
	p.line_width = o->line_width ? o->line_width : 75;
	p.comma = o->name ? "," : "";
	p.real.dtype = p.imag.dtype = p.part;
	p.real.precision = o->precision ? o->precision : 8;
	if (p.real.precision > 17)
		p.real.precision = 17;
	p.real.is_scalar = p.imag.is_scalar = p.is_bare;
	p.real.trims_zero = p.imag.trims_zero = p.kind == TP_KIND_COMPLEX;
	p.imag.precision = p.real.precision;
	p.imag.plus = true;
	put_all(&p, o, n);
	if (p.stopped)
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "the text could not be written");
	return TP_OK;
}

enum tp_status
tp_tensor_print(const struct tp_tensor *t, const struct tp_print_options *opts,
    tp_write_fn *write, void *ctx, struct tp_err *err)
{
	struct tp_strided s = tp_tensor_strided(t);

	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "printing a sparse tensor; tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "elements cannot be read inside tp_vmap");
	return tp_print(&s, opts, write, ctx, err);
}

struct text {
	char *buf;
	size_t size, n;
};

static int
append(void *ctx, const char *s, size_t n)
{
	struct text *t = ctx;

	for (size_t i = 0; i < n; i++, t->n++)
		if (t->n + 1 < t->size)
			t->buf[t->n] = s[i];
	return 0;
}

size_t
tp_tensor_text(const struct tp_tensor *t, const struct tp_print_options *opts,
    char *buf, size_t size)
{
	struct text text = {buf, size, 0};

	/* What has no elements to print has no text. */
	(void)!tp_tensor_print(t, opts, append, &text, NULL);
	if (size)
		buf[text.n < size ? text.n : size - 1] = '\0';
	return text.n;
}
