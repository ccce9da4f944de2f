/* SPDX-License-Identifier: Apache-2.0 */
/* einsum_read.c - from the text of an equation to axes and steps */
#include "einsum.h"

#include <inttypes.h>
#include <string.h>

#include "../tensor.h"

#include "../banned.h"

/* A label is a letter, or DOTS + i for the i-th axis of "..." from its end. */
#define DOTS 256
#define N_LABELS (DOTS + TP_MAX_RANK)

struct term {
	unsigned n;
	int labels[TP_MAX_RANK + 1];
	int dots_at; /* where "..." is among them, or -1 */
};

struct reading {
	const struct tpi_call *c;
	const char *at, *end;	   /* of the text that is left */
	unsigned n_dots;	   /* axes of the longest "..." */
	int16_t axis_of[N_LABELS]; /* or -1 */
	uint8_t n_uses[N_LABELS];  /* 2 for more */
	/* By axis, in the order in which they are met. */
	unsigned n_axes;
	int64_t sizes[TPI_EINSUM_AXES];
};

static enum tp_status
refuse(const struct reading *r, const char *why, struct tp_err *err)
{
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: equation '%s': %s",
	    r->c->op->onnx, TP_BRIEF(tpi_attr_find(r->c, "equation")->s), why);
}

static void
skip_spaces(struct reading *r)
{
	while (r->at < r->end && *r->at == ' ')
		r->at++;
}

static bool
take(struct reading *r, const char *text)
{
	size_t n = strlen(text);

	skip_spaces(r);
	if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n))
		return false;
	r->at += n;
	return true;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters and at most one "...". */
static enum tp_status
read_term(struct reading *r, struct term *t, struct tp_err *err)
{
	t->n = 0;
	t->dots_at = -1;
	for (;;) {
		skip_spaces(r);
		if (t->dots_at < 0 && take(r, "...")) {
			t->dots_at = (int)t->n;
			continue;
		}
		if (r->at == r->end || !is_letter(*r->at))
			return TP_OK;
		if (t->n == TP_MAX_RANK)
			return refuse(r, "more letters than axes", err);
		t->labels[t->n++] = (unsigned char)*r->at++;
	}
}

/* "..." becomes n labels. */
static void
expand_dots(struct term *t, unsigned n)
{
	unsigned at = (unsigned)t->dots_at;

	if (t->dots_at < 0)
		return;
	memmove(t->labels + at + n, t->labels + at,
	    (t->n - at) * sizeof(t->labels[0]));
	for (unsigned i = 0; i < n; i++)
		t->labels[at + i] = DOTS + (int)(n - 1 - i);
	t->n += n;
}

/* One axis of an operand: its size and that of others of the label agree. */
static enum tp_status
use_label(struct reading *r, int label, int64_t size, struct tp_err *err)
{
	int64_t *known;

	if (r->axis_of[label] < 0) {
		r->sizes[r->n_axes] = size;
		r->axis_of[label] = (int16_t)r->n_axes++;
	}
	known = &r->sizes[r->axis_of[label]];
	if (*known == 1)
		*known = size;
	if (size != 1 && size != *known)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis '%c' has sizes %" PRId64 " and %" PRId64,
		    r->c->op->onnx, label < DOTS ? label : '.', *known, size);
	if (r->n_uses[label] < 2)
		r->n_uses[label]++;
	return TP_OK;
}

static enum tp_status
read_operand(struct reading *r, const struct tp_tensor *x, struct term *t,
    struct tp_err *err)
{
	enum tp_status rc = read_term(r, t, err);
	unsigned n_dots;

	if (rc)
		return rc;
	if (t->n > x->rank || (t->dots_at < 0 && t->n < x->rank))
		return refuse(r, "a term has not the axes of its input", err);
	n_dots = x->rank - t->n;
	expand_dots(t, n_dots);
	if (n_dots > r->n_dots)
		r->n_dots = n_dots;
	for (unsigned d = 0; d < x->rank && !rc; d++)
		rc = use_label(r, t->labels[d], tp_tensor_sizes(x)[d], err);
	return rc;
}

/* Without "->": what "..." stands for, then letters used once, in order. */
static void
imply_output(const struct reading *r, struct term *t)
{
	t->n = 0;
	t->dots_at = 0;
	for (int label = 0; label < DOTS; label++)
		if (r->n_uses[label] == 1)
			t->labels[t->n++] = label;
}

static enum tp_status
read_output(struct reading *r, struct term *t, struct tp_err *err)
{
	bool seen[N_LABELS] = {false};
	enum tp_status rc = TP_OK;

	if (take(r, "->")) {
		rc = read_term(r, t, err);
		skip_spaces(r);
		if (!rc && r->at < r->end)
			rc = refuse(r, "more than an output after '->'", err);
	} else if (r->at == r->end) {
		imply_output(r, t);
	} else {
		rc = refuse(r, "expected a letter, '...', ',' or '->'", err);
	}
	if (rc)
		return rc;
	if (t->n + (t->dots_at < 0 ? 0 : r->n_dots) > TP_MAX_RANK)
		return refuse(r, "an output of more axes than tensors", err);
	expand_dots(t, r->n_dots);
	for (unsigned d = 0; d < t->n; d++) {
		if (r->axis_of[t->labels[d]] < 0)
			return refuse(r, "no input has an output's axis", err);
		if (seen[t->labels[d]])
			return refuse(r, "the output has an axis twice", err);
		seen[t->labels[d]] = true;
	}
	return TP_OK;
}

/* The place of each axis: those of the output come first. */
static void
order_axes(const struct reading *r, const struct term *output,
    struct tpi_einsum *e, unsigned *place)
{
	bool is_out[TPI_EINSUM_AXES] = {false};

	e->n_axes = 0;
	e->n_out = output->n;
	for (unsigned d = 0; d < output->n; d++) {
		unsigned axis = (unsigned)r->axis_of[output->labels[d]];

		is_out[axis] = true;
		place[axis] = e->n_axes++;
	}
	for (unsigned axis = 0; axis < r->n_axes; axis++)
		if (!is_out[axis])
			place[axis] = e->n_axes++;
	for (unsigned axis = 0; axis < r->n_axes; axis++)
		e->sizes[place[axis]] = r->sizes[axis];
}

/* A label that comes twice walks along a diagonal. */
static void
set_steps(const struct reading *r, const struct tp_tensor *x,
    const struct term *t, const unsigned *place, struct tpi_einsum_operand *o)
{
	for (unsigned d = 0; d < x->rank; d++) {
		unsigned axis = place[r->axis_of[t->labels[d]]];

		if (tp_tensor_sizes(x)[d] == 1)
			continue;
		o->steps[axis] += tp_tensor_strides(x)[d];
		o->has[axis] = true;
	}
}

static enum tp_status
read_operands(struct reading *r, struct term *terms, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < r->c->n_in && !rc; k++) {
		if (k > 0 && !take(r, ","))
			return refuse(r, "fewer terms than inputs", err);
		rc = read_operand(r, r->c->in[k], &terms[k], err);
	}
	if (!rc && take(r, ","))
		rc = refuse(r, "more terms than inputs", err);
	return rc;
}

static enum tp_status
read_all(struct reading *r, struct term *terms, struct tpi_einsum *e,
    struct tp_err *err)
{
	unsigned place[TPI_EINSUM_AXES];
	struct term output;
	enum tp_status rc = read_operands(r, terms, err);

	if (!rc)
		rc = read_output(r, &output, err);
	if (rc)
		return rc;
	order_axes(r, &output, e, place);
	for (size_t k = 0; k < r->c->n_in; k++)
		set_steps(r, r->c->in[k], &terms[k], place, &e->operands[k]);
	return TP_OK;
}

enum tp_status
tpi_einsum_read(
    const struct tpi_call *c, struct tpi_einsum *e, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "equation");
	struct reading r = {.c = c};
	struct term *terms;
	enum tp_status rc;

	if (!a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: equation is missing", c->op->onnx);
	for (size_t k = 0; k < c->n_in; k++)
		if (!c->in[k])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is missing", c->op->onnx, k);
		else if (c->in[k]->dtype != c->in[0]->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    tp_dtype_name(c->in[0]->dtype));
	r.at = a->s.s;
	r.end = a->s.s + a->s.len;
	for (unsigned label = 0; label < N_LABELS; label++)
		r.axis_of[label] = -1;
	terms = tp_mem_array(c->alloc, c->n_in, sizeof(*terms));
	e->operands = tp_mem_array(c->alloc, c->n_in, sizeof(*e->operands));
	rc = terms && e->operands
		 ? read_all(&r, terms, e, err)
		 : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		       "%s: no memory for %zu operands", c->op->onnx, c->n_in);
	tp_mem_free(c->alloc, terms, c->n_in, sizeof(*terms));
	if (rc)
		tpi_einsum_release(c, e);
	return rc;
}

void
tpi_einsum_release(const struct tpi_call *c, struct tpi_einsum *e)
{
	tp_mem_free(c->alloc, e->operands, c->n_in, sizeof(*e->operands));
	e->operands = NULL;
}
