/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.c - QuantizeLinear and DequantizeLinear
 *
 *	y = saturate(round(x / scale) + zero)		to integers
 *	y = saturate(x / scale + zero)			to floats of 4 and 8 bits
 *	x = (y - zero) * scale
 *
 * The quotient is that of ONNX: in the dtype of the scale or that of the
 * attribute `precision`, in f32 before opset 23, rounded there and then, half
 * to even, to an integer.
 */
#include "quantize.h"
#include "cast.h"
#include "chunk.h"
#include "grid.h"
#include "kernel.h"

#include <inttypes.h>

#include "tp/onnx_dtype.h"

#include "../tensor.h"

#include "../banned.h"

/* Adding this to a number below 2^51 leaves it as the last bits. */
#define SHIFT 0x1.8p52

void
tpi_store_saturated(enum tp_dtype dtype, const double *x, size_t n, void *dst)
{
	const struct tpi_cast how = {.to = dtype};
	bool is_signed = tp_dtype_kind(dtype) == TP_KIND_INT;
	int bits = (int)tp_dtype_bits(dtype) - is_signed;
	double low = is_signed ? -ldexp(1, bits) : 0, high = ldexp(1, bits) - 1;
	uint64_t whole[TPI_CHUNK];

	for (size_t i = 0; i < n; i++) {
		double v = x[i] > low ? x[i] : low;

		v = v < high ? v : high;
		whole[i] = tpi_f64_bits(v + SHIFT) - tpi_f64_bits(SHIFT);
	}
	tpi_cast_numbers(&how, TP_DTYPE_U64, whole, n, dst);
}

/* A dtype of an attribute, `otherwise` where it is absent or 0. */
static enum tp_status
find_dtype(const struct tpi_call *c, const char *name, enum tp_dtype otherwise,
    enum tp_dtype *dtype, struct tp_err *err)
{
	int64_t code = tpi_attr_int(c, name, 0);

	*dtype = code ? tp_onnx_dtype(code) : otherwise;
	if (code && tp_dtype_bits(*dtype) == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute '%s' is %" PRId64 ", which is no dtype",
		    c->op->onnx, name, code);
	return TP_OK;
}

/* Integers of up to 32 bits, floats of up to 8. */
static bool
can_hold(enum tp_dtype dtype)
{
	unsigned bits = tp_dtype_bits(dtype);

	return (tpi_is_integer(dtype) && bits <= 32) ||
	       (tp_dtype_kind(dtype) == TP_KIND_FLOAT && bits <= 8);
}

/* That of the zero point, else of output_dtype, else u8. */
static enum tp_status
infer_quantize(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_dtype given = c->in[2] ? c->in[2]->dtype : TP_DTYPE_U8, dtype;
	enum tp_dtype_kind from = tp_dtype_kind(c->in[0]->dtype);
	enum tp_status rc = find_dtype(c, "output_dtype", given, &dtype, err);

	if (!rc)
		rc = tpi_grid_check(c, err);
	if (rc)
		return rc;
	if (c->in[2] && dtype != given)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output_dtype is %s, zero points have %s", c->op->onnx,
		    tp_dtype_name(dtype), tp_dtype_name(given));
	if ((from != TP_KIND_FLOAT && !tpi_is_integer(c->in[0]->dtype)) ||
	    !can_hold(dtype))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: %s to %s", c->op->onnx, tp_dtype_name(c->in[0]->dtype),
		    tp_dtype_name(dtype));
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = dtype;
	return TP_OK;
}

struct quantize {
	struct tpi_grid grid;
	struct tp_strided x;
	enum tp_dtype precision; /* of the quotient */
	struct tpi_cast how;	 /* to floats */
	struct tp_tensor *y;
};

/* x as its dtype holds it. */
static void
round_to(enum tp_dtype dtype, double *x, size_t n)
{
	union tpi_chunk room;

	if (dtype == TP_DTYPE_F32) {
		for (size_t i = 0; i < n; i++)
			x[i] = (double)(float)x[i];
	} else if (dtype != TP_DTYPE_F64) {
		tpi_store_doubles(dtype, x, n, &room);
		tpi_load_doubles(dtype, &room, n, x);
	}
}

static void
quantize_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct quantize *q = ctx;
	double x[TPI_CHUNK], scale[TPI_CHUNK], zero[TPI_CHUNK];
	void *dst = tpi_chunk_place(q->y, from);
	union tpi_chunk room;
	bool whole = tpi_is_integer(q->y->dtype);

	tpi_load_doubles(
	    q->x.dtype, tpi_chunk_read(&q->x, from, n, &room), n, x);
	tpi_grid_scales(&q->grid, from, n, scale);
	tpi_grid_zeros(&q->grid, from, n, zero);
	round_to(q->precision, x, n);
	round_to(q->precision, scale, n);
	for (size_t i = 0; i < n; i++)
		x[i] /= scale[i];
	round_to(q->precision, x, n);
	if (!whole) {
		/* A zero keeps its sign. */
		for (size_t i = 0; i < n; i++)
			x[i] = zero[i] != 0 ? x[i] + zero[i] : x[i];
		tpi_cast_doubles(&q->how, x, n, dst);
		return;
	}
	/* NaN, of 0 / 0, is the zero point. */
	for (size_t i = 0; i < n; i++)
		x[i] = (x[i] == x[i] ? rint(x[i]) : 0) + zero[i];
	tpi_store_saturated(q->y->dtype, x, n, dst);
}

/* The quotient has a dtype of its own from opset 23 on. */
static enum tp_status
find_precision(
    const struct tpi_call *c, enum tp_dtype *dtype, struct tp_err *err)
{
	enum tp_dtype scale = c->in[1]->dtype, otherwise = scale;

	if (c->op->since < 23 || tp_dtype_bits(scale) < 16)
		otherwise = scale == TP_DTYPE_F64 ? scale : TP_DTYPE_F32;
	return find_dtype(c, "precision", otherwise, dtype, err);
}

static enum tp_status
run_quantize(struct tpi_call *c, struct tp_err *err)
{
	struct quantize q = {
	    .x = tp_tensor_strided(c->in[0]),
	    .how = {.to = c->out[0]->dtype,
		.saturate = tpi_attr_int(c, "saturate", 1) != 0},
	    .y = c->out[0],
	};
	enum tp_status rc = find_precision(c, &q.precision, err);

	if (!rc && tp_dtype_kind(q.precision) != TP_KIND_FLOAT)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: precision %s",
		    c->op->onnx, tp_dtype_name(q.precision));
	if (!rc)
		rc = tpi_grid_init(&q.grid, c, err);
	if (rc)
		return rc;
	tpi_for_chunks(c, q.y->n_elems, quantize_chunk, &q);
	tpi_grid_release(&q.grid);
	return TP_OK;
}

static enum tp_status
infer_dequantize(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_dtype dtype, from = c->in[0]->dtype;
	enum tp_status rc =
	    find_dtype(c, "output_dtype", c->in[1]->dtype, &dtype, err);

	if (!rc)
		rc = tpi_grid_check(c, err);
	if (rc)
		return rc;
	if (c->in[2] && c->in[2]->dtype != from)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: zero points have dtype %s, input 0 has %s",
		    c->op->onnx, tp_dtype_name(c->in[2]->dtype),
		    tp_dtype_name(from));
	if ((tp_dtype_kind(from) != TP_KIND_FLOAT && !tpi_is_integer(from)) ||
	    tp_dtype_kind(dtype) != TP_KIND_FLOAT || tp_dtype_bits(dtype) < 16)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: %s to %s", c->op->onnx, tp_dtype_name(from),
		    tp_dtype_name(dtype));
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = dtype;
	return TP_OK;
}

static void
dequantize_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct quantize *q = ctx;
	double x[TPI_CHUNK], scale[TPI_CHUNK], zero[TPI_CHUNK];
	union tpi_chunk room;

	tpi_load_doubles(
	    q->x.dtype, tpi_chunk_read(&q->x, from, n, &room), n, x);
	tpi_grid_scales(&q->grid, from, n, scale);
	tpi_grid_zeros(&q->grid, from, n, zero);
	for (size_t i = 0; i < n; i++)
		x[i] = (x[i] - zero[i]) * scale[i];
	tpi_store_doubles(q->y->dtype, x, n, tpi_chunk_place(q->y, from));
}

static enum tp_status
run_dequantize(struct tpi_call *c, struct tp_err *err)
{
	struct quantize q = {.x = tp_tensor_strided(c->in[0]), .y = c->out[0]};
	enum tp_status rc = tpi_grid_init(&q.grid, c, err);

	if (rc)
		return rc;
	tpi_for_chunks(c, q.y->n_elems, dequantize_chunk, &q);
	tpi_grid_release(&q.grid);
	return TP_OK;
}

static const struct tpi_attr_spec quantize_attrs[] = {
    {"axis", TP_ATTR_INT},
    {"saturate", TP_ATTR_INT},
    {"block_size", TP_ATTR_INT},
    {"output_dtype", TP_ATTR_INT},
    {"precision", TP_ATTR_INT},
    {NULL, 0},
};
static const struct tpi_attr_spec attrs_21[] = {
    {"axis", TP_ATTR_INT},
    {"saturate", TP_ATTR_INT},
    {"block_size", TP_ATTR_INT},
    {"output_dtype", TP_ATTR_INT},
    {NULL, 0},
};
static const struct tpi_attr_spec attrs_19[] = {
    {"axis", TP_ATTR_INT}, {"saturate", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec axis_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec attrs_21_dequantize[] = {
    {"axis", TP_ATTR_INT}, {"block_size", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec dequantize_attrs[] = {
    {"axis", TP_ATTR_INT},
    {"block_size", TP_ATTR_INT},
    {"output_dtype", TP_ATTR_INT},
    {NULL, 0},
};

#define ROW(op, onnx_name, FROM, TO, ATTRS)                                 \
	{                                                                   \
		.name = #op, .onnx = onnx_name, .since = FROM, .until = TO, \
		.min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,       \
		.attrs = ATTRS, .infer = infer_##op, .run = run_##op        \
	}

const struct tp_op tpi_quantize_ops[] = {
    ROW(quantize, "QuantizeLinear", 23, 0, quantize_attrs),
    ROW(quantize, "QuantizeLinear", 21, 22, attrs_21),
    ROW(quantize, "QuantizeLinear", 19, 20, attrs_19),
    ROW(quantize, "QuantizeLinear", 13, 18, axis_attrs),
    ROW(quantize, "QuantizeLinear", 10, 12, NULL),
    ROW(dequantize, "DequantizeLinear", 23, 0, dequantize_attrs),
    ROW(dequantize, "DequantizeLinear", 21, 22, attrs_21_dequantize),
    ROW(dequantize, "DequantizeLinear", 13, 20, axis_attrs),
    ROW(dequantize, "DequantizeLinear", 10, 12, NULL),
    {.name = NULL},
};
