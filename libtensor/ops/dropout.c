/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropout.c - Dropout: y = x, or in training x / (1 - ratio) where a mask is
 *
 * The mask is true where a uniform number of twister.h, drawn in row-major
 * order, is at least ratio. Before opset 10 it has the dtype of x, with ones.
 *
 *	opset	ratio		training
 *	1, 6	attribute	unless the attribute is_test is set
 *	7, 10	attribute	never
 *	12 on	input 1		input 2
 */
#include "chunk.h"
#include "twister.h"

#include "../tensor.h"

#include "../banned.h"

#define RATIO 0.5

static bool
has_mask_of_bools(const struct tpi_call *c)
{
	return c->op->since >= 10;
}

/* The ratio of what is dropped: 0 when nothing is. */
static enum tp_status
find_ratio(const struct tpi_call *c, double *ratio, struct tp_err *err)
{
	double training = c->op->since < 7 && !tpi_attr_int(c, "is_test", 0);
	enum tp_status rc = TP_OK;

	*ratio = tpi_attr_float(c, "ratio", RATIO);
	if (c->op->since >= 12) {
		rc = tpi_number_input(c, 1, RATIO, ratio, err);
		if (!rc)
			rc = tpi_number_input(c, 2, 0, &training, err);
	}
	if (rc)
		return rc;
	if (training == 0)
		*ratio = 0;
	if (!(*ratio >= 0 && *ratio < 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: ratio is %g, expected 0 or more and less than 1",
		    c->op->onnx, *ratio);
	return TP_OK;
}

static enum tp_status
infer_dropout(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_dtype dtype = c->in[0]->dtype;

	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s; it is implemented for floats", c->op->onnx,
		    tp_dtype_name(dtype));
	for (size_t k = 0; k < c->n_out; k++)
		infos[k] = tpi_info_of(c->in[0]);
	if (c->n_out > 1 && has_mask_of_bools(c))
		infos[1].dtype = TP_DTYPE_BOOL;
	return TP_OK;
}

/* Elements from number `at` on: y and, if it is wanted, the mask. */
static void
drop(struct tpi_call *c, struct tpi_twister *t, double ratio, uint64_t at,
    size_t n, double *x)
{
	double mask[TPI_CHUNK];

	for (size_t i = 0; i < n; i++) {
		mask[i] = ratio == 0 || tpi_twister_uniform(t) >= ratio;
		x[i] = mask[i] != 0 ? x[i] / (1 - ratio) : 0;
	}
	tpi_store_doubles(
	    c->out[0]->dtype, x, n, tpi_chunk_place(c->out[0], at));
	if (c->n_out > 1)
		tpi_store_doubles(
		    c->out[1]->dtype, mask, n, tpi_chunk_place(c->out[1], at));
}

static enum tp_status
run_dropout(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t strides[TP_MAX_RANK];
	struct tp_strided from = tpi_broadcast_to(x, c->out[0], strides);
	union tpi_chunk room;
	struct tpi_twister t;
	double ratio = 0, chunk[TPI_CHUNK];
	enum tp_status rc = find_ratio(c, &ratio, err);

	if (rc)
		return rc;
	tpi_twister_begin(&t, c);
	for (uint64_t at = 0; at < x->n_elems; at += TPI_CHUNK) {
		uint64_t left = x->n_elems - at;
		size_t n = left < TPI_CHUNK ? (size_t)left : TPI_CHUNK;

		tpi_load_doubles(
		    x->dtype, tpi_chunk_read(&from, at, n, &room), n, chunk);
		drop(c, &t, ratio, at, n, chunk);
	}
	return TP_OK;
}

static const struct tpi_attr_spec dropout_1_attrs[] = {
    {"consumed_inputs", TP_ATTR_INTS}, {"is_test", TP_ATTR_INT},
    {"ratio", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec dropout_6_attrs[] = {
    {"is_test", TP_ATTR_INT}, {"ratio", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec dropout_7_attrs[] = {
    {"ratio", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec dropout_12_attrs[] = {
    {"seed", TP_ATTR_INT}, {NULL, 0}};

#define ROW(from, to, most, spec)                                       \
	{                                                               \
		.name = "dropout", .onnx = "Dropout", .since = from,    \
		.until = to, .min_in = 1, .max_in = most, .min_out = 1, \
		.max_out = 2, .attrs = spec, .infer = infer_dropout,    \
		.run = run_dropout                                      \
	}

const struct tp_op tpi_dropout_ops[] = {
    ROW(12, 0, 3, dropout_12_attrs),
    ROW(10, 11, 1, dropout_7_attrs),
    ROW(7, 9, 1, dropout_7_attrs),
    ROW(6, 6, 1, dropout_6_attrs),
    ROW(1, 5, 1, dropout_1_attrs),
    {.name = NULL},
};
