/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_quant.c - integers as the numbers they stand for
 *
 * real = (stored - zero point) * scale, worked out in double and rounded once
 * to the dtype of the other side, as a file of such numbers would hold them.
 */
#include "diff.h"

#include <stdlib.h>

#include "tp/convert.h"
#include "tp/tensor.h"

struct diff_quant {
	enum tp_dtype stored;
	struct tp_tensor *scale, *zero_point; /* zero_point may be NULL */
	enum tp_quant_per per;
	uint64_t size;	/* of the axis */
	uint64_t inner; /* elements for one step along the axis */
	uint64_t block, n_blocks;
};

static enum tp_status
check_count(const struct diff_quant *q, const struct tp_tensor *t,
    uint64_t outer, struct tp_str name, struct tp_err *err)
{
	uint64_t want = q->per == TP_PER_TENSOR ? 1
			: q->per == TP_PER_CHANNEL
			    ? q->size
			    : outer * q->n_blocks * q->inner;

	if (tp_tensor_numel(t) == want)
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s': its quantizer has %llu scales or zero points, "
	    "expected %llu",
	    TP_BRIEF(name), (unsigned long long)tp_tensor_numel(t),
	    (unsigned long long)want);
}

enum tp_status
diff_quant_open(struct tp_reader *r, size_t entry, struct diff_quant **out,
    struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(r, entry);
	const struct tp_quant_info *info = e->quant;
	struct diff_quant *q = calloc(1, sizeof(*q));
	uint64_t outer = 1;
	enum tp_status rc;

	*out = NULL;
	if (!q)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
	q->stored = e->dtype;
	q->per = info->per;
	q->size = q->inner = q->block = q->n_blocks = 1;
	if (info->per != TP_PER_TENSOR && info->axis < e->rank) {
		q->size = (uint64_t)e->shape[info->axis];
		for (unsigned d = 0; d < info->axis; d++)
			outer *= (uint64_t)e->shape[d];
		for (unsigned d = info->axis + 1; d < e->rank; d++)
			q->inner *= (uint64_t)e->shape[d];
		q->block =
		    info->per == TP_PER_BLOCK && info->block ? info->block : 1;
		q->n_blocks = q->size / q->block + (q->size % q->block != 0);
	}
	rc = tp_reader_tensor(r, info->scale, &q->scale, err);
	if (!rc)
		rc = check_count(q, q->scale, outer, e->name, err);
	if (!rc && info->zero_point != TP_NONE) {
		rc = tp_reader_tensor(r, info->zero_point, &q->zero_point, err);
		if (!rc)
			rc = check_count(q, q->zero_point, outer, e->name, err);
	}
	if (!rc &&
	    (!tp_tensor_is_row_major(q->scale) ||
		(q->zero_point && !tp_tensor_is_row_major(q->zero_point))))
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': a quantizer with strides", TP_BRIEF(e->name));
	if (rc)
		diff_quant_close(q);
	else
		*out = q;
	return rc;
}

void
diff_quant_close(struct diff_quant *q)
{
	if (!q)
		return;
	tp_tensor_free(q->scale);
	tp_tensor_free(q->zero_point);
	free(q);
}

enum tp_dtype
diff_quant_real(const struct diff_quant *q)
{
	return tp_tensor_dtype(q->scale) == TP_DTYPE_F64 ? TP_DTYPE_F64
							 : TP_DTYPE_F32;
}

/* The parameter of an element, and how many elements from it on have it. */
static size_t
find_parameter(const struct diff_quant *q, uint64_t element, uint64_t *run)
{
	uint64_t in = element % q->inner, at = element / q->inner % q->size;
	uint64_t outer = element / q->inner / q->size;

	if (q->per == TP_PER_TENSOR) {
		*run = UINT64_MAX;
		return 0;
	}
	*run = q->inner - in;
	if (q->per == TP_PER_CHANNEL)
		return (size_t)at;
	if (q->inner > 1) {
		*run = 1;
	} else {
		*run = q->block - at % q->block;
		if (*run > q->size - at)
			*run = q->size - at;
	}
	return (size_t)((outer * q->n_blocks + at / q->block) * q->inner + in);
}

void
diff_quant_apply(const struct diff_quant *q, enum tp_dtype to, void *out,
    const void *in, uint64_t first, size_t n, double *scratch)
{
	const void *scales = tp_tensor_data(q->scale);
	const void *zeros =
	    q->zero_point ? tp_tensor_data(q->zero_point) : NULL;

	/* Both conversions exist for all dtypes that a quantizer can have. */
	(void)!tp_convert(TP_DTYPE_F64, scratch, q->stored, in, n,
	    TP_OVERFLOW_INF, 0, NULL, NULL);
	for (size_t i = 0; i < n;) {
		uint64_t run;
		size_t k = find_parameter(q, first + i, &run);
		size_t end = run < n - i ? i + (size_t)run : n;
		double scale =
		    tp_load_f64(tp_tensor_dtype(q->scale), scales, k);
		double zero =
		    zeros
			? tp_load_f64(tp_tensor_dtype(q->zero_point), zeros, k)
			: 0;

		for (; i < end; i++)
			scratch[i] = (scratch[i] - zero) * scale;
	}
	(void)!tp_convert(
	    to, out, TP_DTYPE_F64, scratch, n, TP_OVERFLOW_INF, 0, NULL, NULL);
}
