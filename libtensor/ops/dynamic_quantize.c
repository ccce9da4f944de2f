/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dynamic_quantize.c - DynamicQuantizeLinear: f32 to u8 by its own range
 *
 *	scale = (max(x, 0) - min(x, 0)) / 255
 *	zero  = round(clip(-min(x, 0) / scale, 0, 255))
 *	y     = clip(round(x / scale) + zero, 0, 255)
 *
 * Each step is rounded to f32, and half to even.
 */
#include "chunk.h"
#include "quantize.h"

#include <math.h>

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
infer_dynamic(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	if (c->in[0]->dtype != TP_DTYPE_F32)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s; it is defined for f32", c->op->onnx,
		    tp_dtype_name(c->in[0]->dtype));
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = TP_DTYPE_U8;
	infos[1] = (struct tpi_info){.dtype = TP_DTYPE_F32};
	infos[2] = (struct tpi_info){.dtype = TP_DTYPE_U8};
	return TP_OK;
}

struct range {
	float low, high; /* 0 among them */
};

/* NaN is passed over. */
static struct range
find_range(const struct tp_strided *x, uint64_t n_elems)
{
	struct range r = {0, 0};
	union tpi_chunk room;

	for (uint64_t at = 0; at < n_elems; at += TPI_CHUNK) {
		uint64_t left = n_elems - at;
		size_t n = left < TPI_CHUNK ? (size_t)left : TPI_CHUNK;
		const float *p = tpi_chunk_read(x, at, n, &room);

		for (size_t i = 0; i < n; i++) {
			r.low = p[i] < r.low ? p[i] : r.low;
			r.high = p[i] > r.high ? p[i] : r.high;
		}
	}
	return r;
}

struct dynamic {
	struct tp_strided x;
	struct tp_tensor *y;
	float scale;
	uint8_t zero;
};

static void
quantize_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct dynamic *d = ctx;
	union tpi_chunk room;
	const float *x = tpi_chunk_read(&d->x, from, n, &room);
	double y[TPI_CHUNK];

	/* NaN, of 0 / 0, is the zero point. */
	for (size_t i = 0; i < n; i++) {
		float q = x[i] / d->scale;

		y[i] = (q == q ? rint((double)q) : 0) + d->zero;
	}
	tpi_store_saturated(TP_DTYPE_U8, y, n, tpi_chunk_place(d->y, from));
}

static enum tp_status
run_dynamic(struct tpi_call *c, struct tp_err *err)
{
	struct dynamic d = {.x = tp_tensor_strided(c->in[0]), .y = c->out[0]};
	struct range r = find_range(&d.x, c->in[0]->n_elems);
	float zero;

	(void)err;
	d.scale = (r.high - r.low) / 255;
	zero = -r.low / d.scale;
	/* NaN, of 0 / 0 or infinity, is 0. */
	zero = zero > 0 ? zero : 0;
	d.zero = (uint8_t)rint((double)(zero > 255 ? 255 : zero));
	tpi_for_chunks(c, d.y->n_elems, quantize_chunk, &d);
	*(float *)tp_tensor_data_mut(c->out[1]) = d.scale;
	*(uint8_t *)tp_tensor_data_mut(c->out[2]) = d.zero;
	return TP_OK;
}

const struct tp_op tpi_dynamic_quantize_ops[] = {
    {
	.name = "dynamic_quantize",
	.onnx = "DynamicQuantizeLinear",
	.since = 11,
	.min_in = 1,
	.max_in = 1,
	.min_out = 3,
	.max_out = 3,
	.infer = infer_dynamic,
	.run = run_dynamic,
    },
    {.name = NULL},
};
