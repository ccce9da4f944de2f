/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn.c - RNN, GRU, LSTM: sequences of both directions through a cell
 *
 *	X  [steps, batch, n_in]       W  [directions, gates * n, n_in]
 *	Y  [steps, directions, batch, n]
 *			              R  [directions, gates * n, n]
 *	Y_h, Y_c, and what they begin with: [directions, batch, n]
 *
 * With layout 1 the batch comes first in all but the weights. Steps behind the
 * end of a sequence are 0 in Y, and Y_h is what was before them.
 */
#include "rnn.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
infer_rnn(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_rnn_layer l;
	enum tp_status rc = tpi_rnn_read(c, &l, err);

	for (size_t k = 0; k < c->n_out && !rc; k++) {
		int64_t *size = infos[k].sizes;

		infos[k].dtype = c->in[TPI_RNN_X]->dtype;
		infos[k].rank = k == 0 ? 4 : 3;
		if (l.is_batch_first)
			*size++ = l.n_batch;
		if (k == 0)
			*size++ = l.n_steps;
		*size++ = l.n_directions;
		if (!l.is_batch_first)
			*size++ = l.n_batch;
		*size = l.n;
	}
	return rc;
}

/* Axes a and b of an input change places on the way to f64. */
static enum tp_status
take_turned(const struct tpi_call *c, struct tpi_rnn_layer *l, size_t k, int a,
    int b, struct tp_err *err)
{
	struct tp_tensor *turned = NULL;
	enum tp_status rc;

	if (!c->in[k])
		return TP_OK;
	rc = tp_tensor_transpose(c->in[k], a, b, &turned, err);
	if (!rc)
		rc = tpi_op_doubles(c, turned, tp_tensor_sizes(turned),
		    turned->rank, &l->doubles[k], err);
	tp_tensor_free(turned);
	return rc;
}

static enum tp_status
take_lens(const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[TPI_RNN_LENS];
	const int64_t *lens;
	enum tp_status rc;

	if (!t)
		return TP_OK;
	if (t->dtype != TP_DTYPE_I32 && t->dtype != TP_DTYPE_I64)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: sequence_lens has dtype %s, expected i32", c->op->onnx,
		    tp_dtype_name(t->dtype));
	rc = tpi_op_temp(c, TP_DTYPE_I64, tp_tensor_sizes(t), 1, &l->lens, err);
	if (!rc)
		rc = tp_tensor_assign(l->lens, t, TP_OVERFLOW_INF, err);
	if (rc)
		return rc;
	lens = tp_tensor_data(l->lens);
	for (int64_t b = 0; b < l->n_batch; b++)
		if (lens[b] < 0 || lens[b] > l->n_steps)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: sequence %" PRId64 " has length %" PRId64
			    ", there are %" PRId64 " steps",
			    c->op->onnx, b, lens[b], l->n_steps);
	return TP_OK;
}

static enum tp_status
take_inputs(
    const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	int batch = l->is_batch_first;
	enum tp_status rc = take_turned(c, l, TPI_RNN_X, 0, batch, err);

	if (!rc)
		rc = take_turned(c, l, TPI_RNN_W, 1, 2, err);
	if (!rc)
		rc = take_turned(c, l, TPI_RNN_R, 1, 2, err);
	if (!rc)
		rc = take_turned(c, l, TPI_RNN_B, 0, 0, err);
	if (!rc)
		rc = take_turned(c, l, TPI_RNN_P, 0, 0, err);
	if (!rc)
		rc = take_turned(c, l, TPI_RNN_INITIAL_H, 0, batch, err);
	if (!rc)
		rc = take_turned(c, l, TPI_RNN_INITIAL_C, 0, batch, err);
	return rc ? rc : take_lens(c, l, err);
}

/* Part d of an input that has one for each direction, or NULL. */
static const double *
part_of(const struct tpi_rnn_layer *l, enum tpi_rnn_input k, int64_t d)
{
	const struct tp_tensor *t = l->doubles[k];
	const double *all = t ? tp_tensor_data(t) : NULL;

	return all ? all + t->n_elems / (uint64_t)l->n_directions * (uint64_t)d
		   : NULL;
}

static void
set_directions(const struct tpi_call *c, struct tpi_rnn_layer *l)
{
	for (int64_t d = 0; d < l->n_directions; d++) {
		struct tpi_rnn *way = &l->directions[d];
		size_t gates = l->cell->n_gates * (size_t)l->n;

		way->n = (size_t)l->n;
		way->n_in = (size_t)l->n_in;
		way->w = part_of(l, TPI_RNN_W, d);
		way->r = part_of(l, TPI_RNN_R, d);
		way->wb = part_of(l, TPI_RNN_B, d);
		way->rb = way->wb ? way->wb + gates : NULL;
		way->p = part_of(l, TPI_RNN_P, d);
		way->clip = tpi_attr_float(c, "clip", (double)INFINITY);
		way->couples_input_forget =
		    tpi_attr_int(c, "input_forget", 0) != 0;
		way->is_linear_before_reset =
		    tpi_attr_int(c, "linear_before_reset", 0) != 0;
	}
}

/* Room for results in f64 and for a step of every sequence. */
static enum tp_status
make_room(const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err)
{
	const int64_t sizes[] = {l->n_steps, l->n_directions, l->n_batch, l->n};
	size_t n_each = (l->cell->n_gates + 2) * (size_t)l->n, n_sequences = 0;
	enum tp_status rc = tpi_op_temp(c, TP_DTYPE_F64, sizes, 4, &l->y, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, sizes + 1, 3, &l->y_h, err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, sizes + 1, 3, &l->y_c, err);
	if (rc)
		return rc;
	if (tp_mul_size(
		(size_t)l->n_directions, (size_t)l->n_batch, &n_sequences) ||
	    tp_mul_size(n_each, n_sequences, &l->n_scratch))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %zu sequences of %zu numbers", c->op->onnx,
		    n_sequences, n_each);
	if (l->n_scratch)
		l->scratch =
		    tp_mem_array(c->alloc, l->n_scratch, sizeof(double));
	if (l->n_scratch && !l->scratch)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu sequences", c->op->onnx,
		    n_sequences);
	return TP_OK;
}

/* Row `at` of n numbers. */
static double *
row_of(const struct tp_tensor *t, uint64_t at, size_t n)
{
	return (double *)(void *)tpi_tensor_address(t) + at * n;
}

static void
begin_state(const struct tp_tensor *given, uint64_t at, double *s, size_t n)
{
	if (given)
		memcpy(s, row_of(given, at, n), n * sizeof(*s));
	else
		memset(s, 0, n * sizeof(*s));
}

/* One sequence in one direction: part d * n_batch + b. */
static void
run_sequence(void *ctx, size_t part)
{
	const struct tpi_rnn_layer *l = ctx;
	size_t n = (size_t)l->n, n_batch = (size_t)l->n_batch;
	size_t d = part / n_batch, b = part % n_batch;
	bool is_backward = l->is_backward || d == 1;
	size_t n_steps = (size_t)l->n_steps, end = n_steps;
	double *room = l->scratch + part * (l->cell->n_gates + 2) * n;
	struct tpi_rnn_state s = {
	    .h = row_of(l->y_h, part, n),
	    .c = row_of(l->y_c, part, n),
	    .gates = room,
	    .spare = room + l->cell->n_gates * n,
	};

	if (l->lens)
		end = (size_t)((const int64_t *)tp_tensor_data(l->lens))[b];
	begin_state(l->doubles[TPI_RNN_INITIAL_H], part, s.h, n);
	begin_state(l->doubles[TPI_RNN_INITIAL_C], part, s.c, n);
	for (size_t i = 0; i < n_steps; i++) {
		size_t t = is_backward && i < end ? end - 1 - i : i;
		size_t at = (t * (size_t)l->n_directions + d) * n_batch + b;
		double *y = row_of(l->y, at, n);

		if (i >= end) {
			memset(y, 0, n * sizeof(*y));
			continue;
		}
		l->cell->step(&l->directions[d], &s,
		    row_of(l->doubles[TPI_RNN_X], t * n_batch + b,
			(size_t)l->n_in));
		memcpy(y, s.h, n * sizeof(*y));
	}
}

/* Results where they are wanted, with the batch where it is wanted. */
static enum tp_status
give_results(
    const struct tpi_call *c, const struct tpi_rnn_layer *l, struct tp_err *err)
{
	static const int steps_first[] = {1, 2, 0, 3}, plain[] = {0, 1, 2, 3};
	struct tp_tensor *const results[] = {l->y, l->y_h, l->y_c};
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < c->n_out && !rc; k++) {
		struct tp_tensor *turned = NULL;

		if (k == 0)
			rc = tp_tensor_permute(c->out[k],
			    l->is_batch_first ? steps_first : plain, 4, &turned,
			    err);
		else
			rc = tp_tensor_transpose(
			    c->out[k], 0, l->is_batch_first, &turned, err);
		if (!rc)
			rc = tp_tensor_assign(
			    turned, results[k], TP_OVERFLOW_INF, err);
		tp_tensor_free(turned);
	}
	return rc;
}

static enum tp_status
run_rnn(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_rnn_layer l;
	enum tp_status rc = tpi_rnn_read(c, &l, err);

	if (!rc)
		rc = take_inputs(c, &l, err);
	if (!rc)
		rc = make_room(c, &l, err);
	if (!rc && l.y_h->n_elems > 0) {
		set_directions(c, &l);
		tp_parallel(c->n_threads,
		    (size_t)l.n_directions * (size_t)l.n_batch, run_sequence,
		    &l);
	}
	if (!rc)
		rc = give_results(c, &l, err);
	for (size_t k = 0; k < TPI_RNN_INPUTS; k++)
		tp_tensor_free(l.doubles[k]);
	tp_tensor_free(l.lens);
	tp_tensor_free(l.y);
	tp_tensor_free(l.y_h);
	tp_tensor_free(l.y_c);
	tp_mem_free(c->alloc, l.scratch, l.n_scratch, sizeof(double));
	return rc;
}

#define COMMON                                                         \
	{"activation_alpha", TP_ATTR_FLOATS},                          \
	    {"activation_beta", TP_ATTR_FLOATS},                       \
	    {"activations", TP_ATTR_STRINGS}, {"clip", TP_ATTR_FLOAT}, \
	    {"direction", TP_ATTR_STRING},                             \
	{                                                              \
		"hidden_size", TP_ATTR_INT                             \
	}
#define SEQUENCE                               \
	{                                      \
		"output_sequence", TP_ATTR_INT \
	}
#define LAYOUT                        \
	{                             \
		"layout", TP_ATTR_INT \
	}
#define LINEAR                                     \
	{                                          \
		"linear_before_reset", TP_ATTR_INT \
	}
#define COUPLED                             \
	{                                   \
		"input_forget", TP_ATTR_INT \
	}
#define END             \
	{               \
		NULL, 0 \
	}

static const struct tpi_attr_spec rnn_1[] = {COMMON, SEQUENCE, END},
				  rnn_7[] = {COMMON, END},
				  rnn_14[] = {COMMON, LAYOUT, END},
				  gru_1[] = {COMMON, SEQUENCE, END},
				  gru_3[] = {COMMON, SEQUENCE, LINEAR, END},
				  gru_7[] = {COMMON, LINEAR, END},
				  gru_14[] = {COMMON, LINEAR, LAYOUT, END},
				  lstm_1[] = {COMMON, SEQUENCE, COUPLED, END},
				  lstm_7[] = {COMMON, COUPLED, END},
				  lstm_14[] = {COMMON, COUPLED, LAYOUT, END};

#define ROW(c_name, onnx_name, from, to, inputs, outputs)                 \
	{                                                                 \
		.name = #c_name, .onnx = onnx_name, .since = from,        \
		.until = to, .min_in = 3, .max_in = inputs, .min_out = 1, \
		.max_out = outputs, .attrs = c_name##_##from,             \
		.infer = infer_rnn, .run = run_rnn,                       \
		.kernels = tpi_float_dtypes                               \
	}

const struct tp_op tpi_rnn_ops[] = {
    ROW(rnn, "RNN", 14, 0, 6, 2),
    ROW(rnn, "RNN", 7, 13, 6, 2),
    ROW(rnn, "RNN", 1, 6, 6, 2),
    ROW(gru, "GRU", 14, 0, 6, 2),
    ROW(gru, "GRU", 7, 13, 6, 2),
    ROW(gru, "GRU", 3, 6, 6, 2),
    ROW(gru, "GRU", 1, 2, 6, 2),
    ROW(lstm, "LSTM", 14, 0, TPI_RNN_INPUTS, 3),
    ROW(lstm, "LSTM", 7, 13, TPI_RNN_INPUTS, 3),
    ROW(lstm, "LSTM", 1, 6, TPI_RNN_INPUTS, 3),
    {.name = NULL},
};
