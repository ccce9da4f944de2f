/* SPDX-License-Identifier: Apache-2.0 */
/*
 * det.c - Det: determinants of the matrices at the end of a tensor
 *
 * Gaussian elimination in double, the largest of a column as its pivot.
 */
#include "gemm.h"

#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"

#include "../tensor.h"

#include "../banned.h"

/* Of m [n, n], which is changed. */
static double
determinant(double *m, size_t n)
{
	double det = 1;

	for (size_t k = 0; k < n; k++) {
		size_t pivot = k;

		for (size_t i = k + 1; i < n; i++)
			if (fabs(m[i * n + k]) > fabs(m[pivot * n + k]))
				pivot = i;
		if (pivot != k)
			det = -det;
		for (size_t j = k; j < n && pivot != k; j++) {
			double x = m[k * n + j];

			m[k * n + j] = m[pivot * n + j];
			m[pivot * n + j] = x;
		}
		det *= m[k * n + k];
		if (m[k * n + k] == 0)
			return det;
		for (size_t i = k + 1; i < n; i++) {
			double f = m[i * n + k] / m[k * n + k];

			for (size_t j = k + 1; j < n; j++)
				m[i * n + j] -= f * m[k * n + j];
		}
	}
	return det;
}

static enum tp_status
infer_det(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);

	if (x->rank < 2 || sizes[x->rank - 1] != sizes[x->rank - 2])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: shape %s, expected square matrices", c->op->onnx,
		    TP_SHAPE_TEXT(sizes, x->rank));
	infos[0] = tpi_info_of(x);
	infos[0].rank -= 2;
	return TP_OK;
}

static void
run_matrices(struct tpi_call *c, const struct tp_tensor *x, double *m, size_t n)
{
	enum tp_dtype dtype = x->dtype;
	size_t size = tp_dtype_bits(dtype) / 8;
	char *from = tpi_tensor_address(x), *y = tpi_tensor_address(c->out[0]);
	const int64_t steps[2] = {sizeof(double), (int64_t)size};

	for (uint64_t i = 0; i < c->out[0]->n_elems; i++) {
		char *unpacked[2] = {(char *)m, from + i * n * n * size};
		char *packed[2] = {y + i * size, (char *)m};

		tpi_unpack[dtype](NULL, unpacked, steps, n * n);
		m[0] = determinant(m, n);
		tpi_pack[dtype](NULL, packed, NULL, 1);
	}
}

static enum tp_status
run_det(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[0];
	size_t n = (size_t)tp_tensor_sizes(t)[t->rank - 1], n_elems;
	struct tp_tensor *x = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &x, err);
	double *m = NULL;

	if (rc)
		return rc;
	/* One more: a matrix without elements has a determinant too. */
	if (!tp_mul_size(n, n, &n_elems) && !tp_add_size(n_elems, 1, &n_elems))
		m = tpi_op_scratch(c, n_elems, sizeof(*m));
	if (m)
		run_matrices(c, x, m, n);
	else
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for a matrix of %zu rows", c->op->onnx, n);
	tp_mem_free(c->alloc, m, n_elems, sizeof(*m));
	tp_tensor_free(x);
	return rc;
}

const struct tp_op tpi_det_ops[] = {
    {
	.name = "det",
	.onnx = "Det",
	.since = 11,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.infer = infer_det,
	.run = run_det,
	.kernels = tpi_unpack,
    },
    {.name = NULL},
};
