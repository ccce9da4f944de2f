/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.c - from real numbers to integers and back
 *
 * Everything is a loop over four operands: result, source, scale, zero point.
 * Blocks become broadcasting by splitting their axis in two,
 *
 *	[..., n, ...]  ->  [..., n / block, block, ...]
 *
 * with one scale for each index of the first; a last short block is a second,
 * smaller loop.
 */
#include "tp/quant.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/iter.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "quantizer.h"
#include "tensor.h"

#include "banned.h"

#define STAGE 512

struct work {
	bool to_integers;
	bool in_f32;		 /* quotients are rounded to f32 */
	enum tp_dtype dtypes[4]; /* result, source, scale, zero point */
	uint64_t n_done;
	struct tp_cast_stats *stats;
	enum tp_status rc;
	struct tp_err *err;
};

/* n elements that lie `step` bytes apart, as double. */
static enum tp_status
load(enum tp_dtype dtype, const char *data, int64_t step, size_t n, double *out,
    struct tp_err *err)
{
	_Alignas(16) char packed[STAGE * 8];
	size_t size = tp_dtype_bits(dtype) / 8;

	for (size_t i = 0; i < n; i++)
		memcpy(packed + i * size, data + (int64_t)i * step, size);
	return tp_convert(
	    TP_DTYPE_F64, out, dtype, packed, n, TP_OVERFLOW_INF, 0, NULL, err);
}

static enum tp_status
store(struct work *w, char *data, int64_t step, size_t n, const double *v)
{
	_Alignas(16) char packed[STAGE * 8];
	size_t size = tp_dtype_bits(w->dtypes[0]) / 8;
	enum tp_status rc = tp_convert(w->dtypes[0], packed, TP_DTYPE_F64, v, n,
	    w->to_integers ? TP_OVERFLOW_SATURATE : TP_OVERFLOW_INF, w->n_done,
	    w->stats, w->err);

	for (size_t i = 0; i < n && !rc; i++)
		memcpy(data + (int64_t)i * step, packed + i * size, size);
	return rc;
}

static enum tp_status
to_integers(const struct work *w, size_t n, const double *x, const double *s,
    const double *z, double *out)
{
	for (size_t i = 0; i < n; i++) {
		double q = x[i] / s[i];

		/* Rounding a quotient of floats twice gives the same float. */
		if (w->in_f32)
			q = (double)(float)q;
		if (isnan(q))
			return tp_fail(w->err, TP_ERANGE, TP_NO_OFFSET,
			    "element %" PRIu64 ": %g with scale %g has no "
			    "quantized value",
			    w->n_done + i, x[i], s[i]);
		out[i] = rint(q) + z[i];
	}
	return TP_OK;
}

static enum tp_status
stage(struct work *w, char *const *data, const int64_t *steps, size_t n)
{
	double in[3][STAGE] = {{0}}, out[STAGE];
	enum tp_status rc = TP_OK;

	for (unsigned k = 0; k < 3 && !rc; k++)
		if (w->dtypes[k + 1] != TP_DTYPE_NONE)
			rc = load(w->dtypes[k + 1], data[k + 1], steps[k + 1],
			    n, in[k], w->err);
	if (rc)
		return rc;
	if (w->to_integers)
		rc = to_integers(w, n, in[0], in[1], in[2], out);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = (in[0][i] - in[2][i]) * in[1][i];
	return rc ? rc : store(w, data[0], steps[0], n, out);
}

static void
loop(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	struct work *w = ctx;

	for (size_t i = 0; i < n && !w->rc; i += STAGE) {
		size_t part = n - i < STAGE ? n - i : STAGE;
		char *at[4] = {NULL};

		for (unsigned k = 0; k < 4; k++)
			if (w->dtypes[k] != TP_DTYPE_NONE)
				at[k] = data[k] + (int64_t)i * steps[k];
		w->rc = stage(w, at, steps, part);
		w->n_done += part;
	}
}

static enum tp_status
run(struct work *w, struct tp_tensor *out, const struct tp_tensor *in,
    const struct tp_tensor *scale, const struct tp_tensor *zero_point)
{
	const struct tp_tensor *read[] = {in, scale, zero_point};
	struct tp_iter it;
	enum tp_status rc = tp_iter_init(
	    &it, &out, 1, read, zero_point ? 3 : 2, TP_ITER_IN_ORDER, w->err);

	if (rc)
		return rc;
	tp_iter_run(&it, loop, w);
	return w->rc;
}

/* `count` blocks from element `start` on, their axis split in two. */
static enum tp_status
split_blocks(const struct tp_tensor *t, unsigned axis, int64_t start,
    int64_t count, int64_t block, struct tp_tensor **out, struct tp_err *err)
{
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *part = NULL;
	enum tp_status rc;
	unsigned rank = 0;

	if (t->rank == TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "blocks in a tensor of rank %u", t->rank);
	rc = tp_tensor_narrow(t, (int)axis, start, count * block, &part, err);
	if (rc)
		return rc;
	for (unsigned d = 0; d < t->rank; d++) {
		if (d == axis)
			sizes[rank++] = count;
		sizes[rank++] = d == axis ? block : tp_tensor_sizes(t)[d];
	}
	rc = tp_tensor_reshape(part, sizes, rank, out, err);
	tp_tensor_free(part);
	return rc;
}

static enum tp_status
split_param(const struct tp_tensor *t, unsigned axis, int64_t from,
    int64_t count, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *part = NULL;
	enum tp_status rc;

	if (!t)
		return TP_OK;
	rc = tp_tensor_narrow(t, (int)axis, from, count, &part, err);
	if (!rc)
		rc = tp_tensor_unsqueeze(part, (int)axis + 1, out, err);
	tp_tensor_free(part);
	return rc;
}

/* `count` blocks of `block` elements; the first is number `from`. */
static enum tp_status
run_some_blocks(struct work *w, const struct tp_quant_params *p,
    struct tp_tensor *out, const struct tp_tensor *in, int64_t from,
    int64_t count, int64_t block)
{
	struct tp_tensor *y = NULL, *x = NULL, *scale = NULL, *zero = NULL;
	int64_t start = from * (int64_t)p->block;
	enum tp_status rc;

	if (count == 0 || block == 0)
		return TP_OK;
	rc = split_blocks(out, p->axis, start, count, block, &y, w->err);
	if (!rc)
		rc = split_blocks(in, p->axis, start, count, block, &x, w->err);
	if (!rc)
		rc =
		    split_param(p->scale, p->axis, from, count, &scale, w->err);
	if (!rc)
		rc = split_param(
		    p->zero_point, p->axis, from, count, &zero, w->err);
	if (!rc)
		rc = run(w, y, x, scale, zero);
	tp_tensor_free(y);
	tp_tensor_free(x);
	tp_tensor_free(scale);
	tp_tensor_free(zero);
	return rc;
}

/* in -> out by the parameters that are bound to `bound`. */
static enum tp_status
run_all(struct work *w, struct tp_tensor *out, const struct tp_tensor *in,
    const struct tp_tensor *bound)
{
	struct tp_quant_params p;
	enum tp_status rc = tp_tensor_quant_params(bound, &p, w->err);
	int64_t size, n_whole;

	if (rc)
		return rc;
	w->dtypes[0] = out->dtype;
	w->dtypes[1] = in->dtype;
	w->dtypes[2] = tp_tensor_dtype(p.scale);
	w->dtypes[3] =
	    p.zero_point ? tp_tensor_dtype(p.zero_point) : TP_DTYPE_NONE;
	if (p.per != TP_PER_BLOCK)
		return run(w, out, in, p.scale, p.zero_point);

	size = tp_tensor_sizes(in)[p.axis];
	n_whole = size / (int64_t)p.block;
	rc = run_some_blocks(w, &p, out, in, 0, n_whole, (int64_t)p.block);
	if (!rc)
		rc = run_some_blocks(w, &p, out, in, n_whole, 1,
		    size - n_whole * (int64_t)p.block);
	return rc;
}

/* The values of t, row-major, in another dtype that holds them all. */
static enum tp_status
convert_all(const struct tp_tensor *t, enum tp_dtype dtype,
    struct tp_cast_stats *stats, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *packed = NULL, *made = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);

	if (!rc)
		rc = tp_tensor_empty(
		    t->alloc, dtype, tp_tensor_sizes(t), t->rank, &made, err);
	if (!rc && t->n_elems > 0)
		rc = tp_convert(dtype, tp_tensor_data_mut(made), t->dtype,
		    tp_tensor_data(packed), (size_t)t->n_elems,
		    TP_OVERFLOW_SATURATE, 0, stats, err);
	tp_tensor_free(packed);
	if (rc) {
		tp_tensor_free(made);
		return rc;
	}
	*out = made;
	return TP_OK;
}

enum tp_status
tpi_addressable(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	if (tp_dtype_bits(t->dtype) < 8)
		return convert_all(t,
		    tp_dtype_kind(t->dtype) == TP_KIND_INT ? TP_DTYPE_I8
							   : TP_DTYPE_U8,
		    NULL, out, err);
	return tp_tensor_contiguous(t, out, err);
}

static bool
is_real(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_F16 || dtype == TP_DTYPE_BF16 ||
	       dtype == TP_DTYPE_F32 || dtype == TP_DTYPE_F64;
}

enum tp_status
tp_dequantize(const struct tp_tensor *t, enum tp_dtype dtype,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *plain = NULL, *ints = NULL, *made = NULL;
	struct work w = {.err = err};
	enum tp_status rc;

	*out = NULL;
	if (!is_real(dtype))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "dequantizing to %s; f16, bf16, f32 or f64 is expected",
		    tp_dtype_name(dtype));
	rc = tp_int_repr(t, &plain, err);
	if (!rc)
		rc = tpi_addressable(plain, &ints, err);
	if (!rc)
		rc = tp_tensor_empty(
		    t->alloc, dtype, tp_tensor_sizes(t), t->rank, &made, err);
	if (!rc)
		rc = run_all(&w, made, ints, t);
	tp_tensor_free(plain);
	tp_tensor_free(ints);
	if (rc) {
		tp_tensor_free(made);
		return rc;
	}
	*out = made;
	return TP_OK;
}

enum tp_status
tp_quantize(const struct tp_tensor *real, const struct tp_quant_params *params,
    enum tp_dtype dtype, struct tp_tensor **out, struct tp_cast_stats *stats,
    struct tp_err *err)
{
	bool narrow = tp_dtype_bits(dtype) < 8;
	struct tp_tensor *packed = NULL, *ints = NULL, *plain = NULL;
	struct tp_tensor *made = NULL;
	struct work w = {
	    .to_integers = true,
	    .in_f32 = real->dtype == TP_DTYPE_F32 &&
		      tp_tensor_dtype(params->scale) == TP_DTYPE_F32,
	    .stats = narrow ? NULL : stats,
	    .err = err,
	};
	enum tp_status rc;

	*out = NULL;
	if (!is_real(real->dtype))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "quantizing elements of dtype %s",
		    tp_dtype_name(real->dtype));
	/* What lies outside of i8 lies outside of what is narrower still. */
	rc = tp_tensor_empty(real->alloc, narrow ? TP_DTYPE_I8 : dtype,
	    tp_tensor_sizes(real), real->rank, &ints, err);
	if (!rc && narrow && tp_dtype_kind(dtype) != TP_KIND_INT &&
	    tp_dtype_kind(dtype) != TP_KIND_UINT)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "elements of dtype %s cannot be quantized numbers",
		    tp_dtype_name(dtype));
	if (!rc)
		rc = tp_tensor_set_quantizer(ints, params, err);
	if (!rc)
		rc = tp_int_repr(ints, &plain, err);
	if (!rc)
		rc = tp_tensor_contiguous(real, &packed, err);
	if (!rc)
		rc = run_all(&w, plain, packed, ints);
	tp_tensor_free(plain);
	tp_tensor_free(packed);
	if (!rc && narrow) {
		rc = convert_all(ints, dtype, stats, &made, err);
		if (!rc)
			rc = tp_tensor_set_quantizer(made, params, err);
	} else if (!rc) {
		made = ints;
		ints = NULL;
	}
	tp_tensor_free(ints);
	if (rc) {
		tp_tensor_free(made);
		return rc;
	}
	*out = made;
	return TP_OK;
}

enum tp_status
tp_requantize(const struct tp_tensor *t, const struct tp_quant_params *params,
    enum tp_dtype dtype, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *real = NULL;
	enum tp_status rc;

	*out = NULL;
	rc = tp_dequantize(t, TP_DTYPE_F64, &real, err);
	if (!rc)
		rc = tp_quantize(real, params, dtype, out, NULL, err);
	tp_tensor_free(real);
	return rc;
}
