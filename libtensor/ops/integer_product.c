/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integer_product.c - MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv
 *
 *	sum = (a - zero_a) op (b - zero_b)
 *	y   = saturate(round((sum + bias) * (scale_a * scale_b / scale_y))
 *	          + zero_y)
 *
 * The differences are f64, and so the product is that of MatMul or Conv of f64,
 * which is exact: with operands of 8 bits no sum comes near 2^53. The factor is
 * rounded to f32 at each step, as in ONNX.
 */
#include "cast.h"
#include "chunk.h"
#include "quantize.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tp/broadcast.h"

#include "../tensor.h"

#include "../banned.h"

/* Which inputs are what; NONE where there is no such input. */
#define NONE UINT8_MAX

struct roles {
	bool is_conv;
	uint8_t a, zero_a, b, zero_b;
	uint8_t scale_a, scale_b, scale_y, zero_y, bias;
};

static const struct tp_tensor *
input(const struct tpi_call *c, uint8_t k)
{
	return k < c->n_in ? c->in[k] : NULL;
}

/*
 * Input k as it broadcasts to y: one number as a scalar, a list with n_behind
 * axes of size 1 behind it, anything else as it is.
 */
static enum tp_status
place(const struct tpi_call *c, uint8_t k, unsigned n_behind,
    const struct tp_tensor *y, struct tp_tensor **view, struct tp_err *err)
{
	const struct tp_tensor *t = input(c, k);
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK], common[TP_MAX_RANK];
	unsigned rank = t->n_elems == 1 ? 0 : t->rank, common_rank;
	struct tp_shape_ref shapes[2] = {
	    {tp_tensor_sizes(y), y->rank}, {sizes, rank}};

	for (unsigned d = 0; d < rank; d++) {
		sizes[d] = tp_tensor_sizes(t)[d];
		strides[d] = tp_tensor_strides(t)[d];
	}
	for (unsigned d = 0; rank == 1 && d < n_behind; d++) {
		sizes[1 + d] = 1;
		strides[1 + d] = 0;
		shapes[1].rank++;
	}
	if (shapes[1].rank > y->rank ||
	    tp_broadcast_shape(shapes, 2, common, &common_rank, NULL) ||
	    (y->rank && memcmp(common, tp_tensor_sizes(y),
			    y->rank * sizeof(common[0]))))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %u of shape %s does not fit shape %s",
		    c->op->onnx, k, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(y), y->rank));
	return tpi_tensor_derive(
	    t, sizes, strides, shapes[1].rank, t->first, view, err);
}

/* An operand as it is walked along y. */
struct term {
	struct tp_tensor *view; /* NULL: absent */
	struct tp_strided x;
	int64_t strides[TP_MAX_RANK];
};

static enum tp_status
take_term(const struct tpi_call *c, uint8_t k, unsigned n_behind,
    const struct tp_tensor *y, struct term *t, struct tp_err *err)
{
	enum tp_status rc;

	if (!input(c, k))
		return TP_OK;
	rc = place(c, k, n_behind, y, &t->view, err);
	if (!rc)
		t->x = tpi_broadcast_to(t->view, y, t->strides);
	return rc;
}

static void
load_term(
    const struct term *t, uint64_t from, size_t n, double otherwise, double *x)
{
	union tpi_chunk room;

	if (t->view)
		tpi_load_doubles(
		    t->x.dtype, tpi_chunk_read(&t->x, from, n, &room), n, x);
	for (size_t i = 0; !t->view && i < n; i++)
		x[i] = otherwise;
}

struct difference {
	struct term x, zero;
	struct tp_tensor *y;
};

static void
subtract_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct difference *d = ctx;
	double *y = tpi_chunk_place(d->y, from), zero[TPI_CHUNK];

	load_term(&d->x, from, n, 0, y);
	load_term(&d->zero, from, n, 0, zero);
	for (size_t i = 0; i < n; i++)
		y[i] -= zero[i];
}

static enum tp_status
subtract(const struct tpi_call *c, uint8_t k, uint8_t k_zero, unsigned n_behind,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *t = input(c, k);
	struct difference d = {.y = NULL};
	enum tp_status rc =
	    tpi_op_temp(c, TP_DTYPE_F64, tp_tensor_sizes(t), t->rank, out, err);

	d.y = *out;
	if (!rc)
		rc = take_term(c, k, 0, d.y, &d.x, err);
	if (!rc)
		rc = take_term(c, k_zero, n_behind, d.y, &d.zero, err);
	if (!rc)
		tpi_for_chunks(c, t->n_elems, subtract_chunk, &d);
	tp_tensor_free(d.x.view);
	tp_tensor_free(d.zero.view);
	return rc;
}

static enum tp_status
check_operand(
    const struct tpi_call *c, uint8_t k, uint8_t k_zero, struct tp_err *err)
{
	const struct tp_tensor *t = input(c, k), *zero = input(c, k_zero);
	enum tp_dtype_kind kind;

	assert(t);
	kind = tp_dtype_kind(t->dtype);
	if (tp_dtype_bits(t->dtype) > 8 || kind == TP_KIND_BOOL)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %u has dtype %s, expected one of up to 8 bits",
		    c->op->onnx, k, tp_dtype_name(t->dtype));
	if (zero && zero->dtype != t->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %u has dtype %s, input %u has %s", c->op->onnx,
		    k_zero, tp_dtype_name(zero->dtype), k,
		    tp_dtype_name(t->dtype));
	return TP_OK;
}

/* MatMul or Conv of f64, with the attributes of this call. */
static enum tp_status
multiply(const struct tpi_call *c, bool is_conv, struct tp_tensor *a,
    struct tp_tensor *b, struct tp_tensor **sum, struct tp_err *err)
{
	const char *onnx = is_conv ? "Conv" : "MatMul";
	const struct tp_value in[2] = {tp_value_of(a), tp_value_of(b)};
	const struct tp_op *op;
	struct tp_op_opts opts = *c->opts;
	struct tp_value out;
	enum tp_status rc;

	opts.into = NULL;
	rc = tp_op_find(TP_STR(""), tp_str(onnx), TP_OP_NEWEST, &op, err);
	if (rc)
		return rc;
	rc = tp_op_run(op, c->attrs, c->n_attrs, in, 2, &out, 1, &opts, err);
	if (!rc)
		*sum = out.tensor;
	return rc;
}

static enum tp_status
make_sum(const struct tpi_call *c, const struct roles *r,
    struct tp_tensor **sum, struct tp_err *err)
{
	const struct tp_tensor *b = c->in[r->b];
	unsigned behind_b = r->is_conv && b->rank ? b->rank - 1 : 0;
	struct tp_tensor *x = NULL, *y = NULL;
	enum tp_status rc = check_operand(c, r->a, r->zero_a, err);

	*sum = NULL;
	if (!rc)
		rc = check_operand(c, r->b, r->zero_b, err);
	if (!rc)
		rc = subtract(c, r->a, r->zero_a, !r->is_conv, &x, err);
	if (!rc)
		rc = subtract(c, r->b, r->zero_b, behind_b, &y, err);
	if (!rc)
		rc = multiply(c, r->is_conv, x, y, sum, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

struct narrowing {
	const struct tp_tensor *sum;
	struct tp_tensor *y;
	struct tpi_cast how;
	struct term scale_a, scale_b, scale_y, zero_y, bias;
};

/* i32, modulo 2^32. */
static void
wrap_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct narrowing *t = ctx;
	const double *sum = tp_tensor_data(t->sum);

	tpi_cast_numbers(
	    &t->how, TP_DTYPE_F64, sum + from, n, tpi_chunk_place(t->y, from));
}

static void
narrow_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct narrowing *t = ctx;
	const double *sum = (const double *)tp_tensor_data(t->sum) + from;
	double a[TPI_CHUNK], b[TPI_CHUNK], y[TPI_CHUNK];
	double zero[TPI_CHUNK], bias[TPI_CHUNK];
	void *dst = tpi_chunk_place(t->y, from);
	bool is_float = tp_dtype_kind(t->y->dtype) == TP_KIND_FLOAT;

	load_term(&t->scale_a, from, n, 1, a);
	load_term(&t->scale_b, from, n, 1, b);
	load_term(&t->scale_y, from, n, 1, y);
	load_term(&t->zero_y, from, n, 0, zero);
	load_term(&t->bias, from, n, 0, bias);
	for (size_t i = 0; i < n; i++) {
		float factor = (float)(a[i] * b[i]) / (float)y[i];
		double value = (sum[i] + bias[i]) * (double)factor;

		y[i] = (is_float ? value : rint(value)) + zero[i];
	}
	if (is_float)
		tpi_cast_doubles(&t->how, y, n, dst);
	else
		tpi_store_saturated(t->y->dtype, y, n, dst);
}

static enum tp_status
check_scales(
    const struct tpi_call *c, const struct roles *r, struct tp_err *err)
{
	const uint8_t scales[] = {r->scale_a, r->scale_b, r->scale_y};
	const struct tp_tensor *bias = input(c, r->bias);

	for (unsigned i = 0; i < 3; i++)
		if (tp_dtype_kind(c->in[scales[i]]->dtype) != TP_KIND_FLOAT)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %u has dtype %s, expected a float",
			    c->op->onnx, scales[i],
			    tp_dtype_name(c->in[scales[i]]->dtype));
	if (bias && bias->dtype != TP_DTYPE_I32)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %u has dtype %s, expected i32", c->op->onnx,
		    r->bias, tp_dtype_name(bias->dtype));
	return check_operand(c, r->zero_y, NONE, err);
}

static enum tp_status
run_integer(struct tpi_call *c, bool is_conv, struct tp_err *err)
{
	const struct roles r = {
	    .is_conv = is_conv, .a = 0, .b = 1, .zero_a = 2, .zero_b = 3};
	struct narrowing t = {.how = {.to = TP_DTYPE_I32}};
	struct tp_tensor *sum = NULL;
	enum tp_status rc = make_sum(c, &r, &sum, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_I32, tp_tensor_sizes(sum),
		    sum->rank, &c->out[0], err);
	if (!rc) {
		t.sum = sum;
		t.y = c->out[0];
		tpi_for_chunks(c, sum->n_elems, wrap_chunk, &t);
	}
	tp_tensor_free(sum);
	return rc;
}

static enum tp_status
take_scales(const struct tpi_call *c, const struct roles *r,
    struct narrowing *t, struct tp_err *err)
{
	const struct tp_tensor *y = t->sum;
	/* Rows of a matrix; channels of an image. */
	unsigned row = r->is_conv ? 0 : 1;
	unsigned channel = r->is_conv && y->rank > 2 ? y->rank - 2 : 0;
	enum tp_status rc = take_term(c, r->scale_a, row, y, &t->scale_a, err);

	if (!rc)
		rc = take_term(c, r->scale_b, channel, y, &t->scale_b, err);
	if (!rc)
		rc = take_term(c, r->scale_y, row, y, &t->scale_y, err);
	if (!rc)
		rc = take_term(c, r->zero_y, row, y, &t->zero_y, err);
	if (!rc)
		rc = take_term(c, r->bias, channel, y, &t->bias, err);
	return rc;
}

static enum tp_status
run_linear(struct tpi_call *c, bool is_conv, struct tp_err *err)
{
	const struct roles r = {.is_conv = is_conv,
	    .a = 0,
	    .scale_a = 1,
	    .zero_a = 2,
	    .b = 3,
	    .scale_b = 4,
	    .zero_b = 5,
	    .scale_y = 6,
	    .zero_y = 7,
	    .bias = 8};
	struct narrowing t = {.how = {.to = c->in[7]->dtype, .saturate = true}};
	struct tp_tensor *sum = NULL;
	enum tp_status rc = check_scales(c, &r, err);

	if (!rc)
		rc = make_sum(c, &r, &sum, err);
	t.sum = sum;
	if (!rc)
		rc = take_scales(c, &r, &t, err);
	if (!rc)
		rc = tpi_op_temp(c, t.how.to, tp_tensor_sizes(sum), sum->rank,
		    &c->out[0], err);
	t.y = c->out[0];
	if (!rc)
		tpi_for_chunks(c, sum->n_elems, narrow_chunk, &t);
	tp_tensor_free(t.scale_a.view);
	tp_tensor_free(t.scale_b.view);
	tp_tensor_free(t.scale_y.view);
	tp_tensor_free(t.zero_y.view);
	tp_tensor_free(t.bias.view);
	tp_tensor_free(sum);
	return rc;
}

static enum tp_status
run_matmul_integer(struct tpi_call *c, struct tp_err *err)
{
	return run_integer(c, false, err);
}

static enum tp_status
run_conv_integer(struct tpi_call *c, struct tp_err *err)
{
	return run_integer(c, true, err);
}

static enum tp_status
run_qlinear_matmul(struct tpi_call *c, struct tp_err *err)
{
	return run_linear(c, false, err);
}

static enum tp_status
run_qlinear_conv(struct tpi_call *c, struct tp_err *err)
{
	return run_linear(c, true, err);
}

static const struct tpi_attr_spec conv_attrs[] = {
    {"auto_pad", TP_ATTR_STRING},
    {"dilations", TP_ATTR_INTS},
    {"group", TP_ATTR_INT},
    {"kernel_shape", TP_ATTR_INTS},
    {"pads", TP_ATTR_INTS},
    {"strides", TP_ATTR_INTS},
    {NULL, 0},
};

#define ROW(op, onnx_name, LEAST, MOST, ATTRS)                                \
	{                                                                     \
		.name = #op, .onnx = onnx_name, .since = 10, .min_in = LEAST, \
		.max_in = MOST, .min_out = 1, .max_out = 1,                   \
		.flags = TPI_OP_MAKES, .attrs = ATTRS, .run = run_##op        \
	}

const struct tp_op tpi_integer_product_ops[] = {
    ROW(matmul_integer, "MatMulInteger", 2, 4, NULL),
    ROW(conv_integer, "ConvInteger", 2, 4, conv_attrs),
    ROW(qlinear_matmul, "QLinearMatMul", 8, 8, NULL),
    ROW(qlinear_conv, "QLinearConv", 8, 9, conv_attrs),
    {.name = NULL},
};
