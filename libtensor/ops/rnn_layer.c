/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_layer.c - what attributes and shapes of RNN, GRU and LSTM say */
#include "rnn.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"

#include "../tensor.h"

#include "../banned.h"

static const struct tpi_rnn_cell *
cell_of(const struct tpi_call *c)
{
	const struct tpi_rnn_cell *cell = tpi_rnn_cells;

	while (strcmp(cell->onnx, c->op->onnx) != 0)
		cell++;
	return cell;
}

struct shape {
	enum tpi_rnn_input k;
	unsigned rank;
	int64_t sizes[3];
};

static enum tp_status
check_shape(const struct tpi_call *c, const struct shape *s, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[s->k];
	const int64_t *sizes = s->sizes;
	unsigned rank = s->rank, k = s->k;

	if (!t)
		return TP_OK;
	if (k != TPI_RNN_LENS && t->dtype != c->in[TPI_RNN_X]->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %u has dtype %s, input 0 has %s", c->op->onnx, k,
		    tp_dtype_name(t->dtype),
		    tp_dtype_name(c->in[TPI_RNN_X]->dtype));
	if (t->rank != rank ||
	    memcmp(tp_tensor_sizes(t), sizes, rank * sizeof(sizes[0])) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %u has shape %s, expected %s", c->op->onnx, k,
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(sizes, rank));
	return TP_OK;
}

/* All inputs against what X, R and the attributes say. */
static enum tp_status
check_inputs(
    const struct tpi_call *c, const struct tpi_rnn_layer *l, struct tp_err *err)
{
	int64_t d = l->n_directions, n = l->n;
	int64_t g = (int64_t)l->cell->n_gates;
	int64_t first = l->is_batch_first ? l->n_batch : d;
	int64_t second = l->is_batch_first ? d : l->n_batch;
	const struct shape expected[] = {
	    {TPI_RNN_W, 3, {d, g * n, l->n_in}},
	    {TPI_RNN_R, 3, {d, g * n, n}},
	    {TPI_RNN_B, 2, {d, 2 * g * n, 0}},
	    {TPI_RNN_LENS, 1, {l->n_batch, 0, 0}},
	    {TPI_RNN_INITIAL_H, 3, {first, second, n}},
	    {TPI_RNN_INITIAL_C, 3, {first, second, n}},
	    {TPI_RNN_P, 2, {d, 3 * n, 0}},
	};
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]) && !rc;
	     i++)
		rc = check_shape(c, &expected[i], err);
	return rc;
}

static enum tp_status
read_direction(
    const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "direction");
	struct tp_str name = a ? a->s : TP_STR("forward");

	l->n_directions = 1;
	if (tp_str_cmp(name, TP_STR("reverse")) == 0)
		l->is_backward = true;
	else if (tp_str_cmp(name, TP_STR("bidirectional")) == 0)
		l->n_directions = 2;
	else if (tp_str_cmp(name, TP_STR("forward")) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: direction is '%s', expected forward, reverse or "
		    "bidirectional",
		    c->op->onnx, TP_BRIEF(name));
	return TP_OK;
}

/* The next number of a list, if there is another. */
static void
take_next(const struct tp_attr *list, size_t *at, double *x)
{
	if (list && *at < list->n)
		*x = list->floats[(*at)++];
}

/*
 * Functions of all directions one behind the other; numbers of activation_alpha
 * and _beta are for those functions that have such a parameter.
 */
static enum tp_status
read_activations(
    const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	const struct tp_attr *names = tpi_attr_find(c, "activations");
	const struct tp_attr *alphas = tpi_attr_find(c, "activation_alpha");
	const struct tp_attr *betas = tpi_attr_find(c, "activation_beta");
	size_t each = l->cell->n_activations, alpha = 0, beta = 0;
	size_t n = each * (size_t)l->n_directions;

	if (names && names->n != n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu activations, expected %zu", c->op->onnx, names->n,
		    n);
	for (size_t i = 0; i < n; i++) {
		struct tp_str name =
		    names ? names->strings[i]
			  : tp_str(l->cell->activations[i % each]);
		struct tpi_activation *a =
		    &l->directions[i / each].activations[i % each];
		unsigned n_parameters = 0;

		if (!tpi_activation_find(name, a, &n_parameters))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: no activation '%s'", c->op->onnx,
			    TP_BRIEF(name));
		if (n_parameters > 0)
			take_next(alphas, &alpha, &a->alpha);
		if (n_parameters > 1)
			take_next(betas, &beta, &a->beta);
	}
	return TP_OK;
}

/* Everything but the numbers. */
enum tp_status
tpi_rnn_read(
    const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[TPI_RNN_X], *r = c->in[TPI_RNN_R];
	int64_t named;
	enum tp_status rc;

	*l = (struct tpi_rnn_layer){.cell = cell_of(c),
	    .is_batch_first = tpi_attr_int(c, "layout", 0) != 0};
	if (x->rank != 3 || r->rank != 3)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: X has rank %u and R %u, expected 3", c->op->onnx,
		    x->rank, r->rank);
	l->n_steps = tp_tensor_sizes(x)[l->is_batch_first];
	l->n_batch = tp_tensor_sizes(x)[!l->is_batch_first];
	l->n_in = tp_tensor_sizes(x)[2];
	l->n = tp_tensor_sizes(r)[2];
	named = tpi_attr_int(c, "hidden_size", l->n);
	if (named != l->n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: hidden_size is %" PRId64 ", that of R is %" PRId64,
		    c->op->onnx, named, l->n);
	/* No product of it and of numbers of gates overflows. */
	if (tp_mul_i64(2 * TPI_RNN_GATES, l->n, &named))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: hidden size %" PRId64, c->op->onnx, l->n);
	rc = read_direction(c, l, err);
	if (!rc)
		rc = read_activations(c, l, err);
	return rc ? rc : check_inputs(c, l, err);
}
