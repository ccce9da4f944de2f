/* SPDX-License-Identifier: Apache-2.0 */
/* doubles.c - tensors in f64, for operators that compute in it */
#include "gemm.h"

#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
widen(struct tp_tensor *wide, const struct tp_tensor *t, struct tp_err *err)
{
	struct tp_iter it;
	enum tp_status rc;

	if (!tpi_unpack[t->dtype])
		return tp_tensor_assign(wide, t, TP_OVERFLOW_INF, err);
	rc = tp_iter_init(&it, &wide, 1, &t, 1, 0, err);
	if (!rc)
		tp_iter_run(&it, tpi_unpack[t->dtype], NULL);
	return rc;
}

enum tp_status
tpi_op_doubles(const struct tpi_call *c, const struct tp_tensor *t,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tp_tensor *wide = NULL;
	enum tp_status rc = tpi_op_temp(
	    c, TP_DTYPE_F64, tp_tensor_sizes(t), t->rank, &wide, err);

	*out = NULL;
	if (!rc)
		rc = widen(wide, t, err);
	if (!rc)
		rc = tp_tensor_reshape(wide, sizes, rank, out, err);
	tp_tensor_free(wide);
	return rc;
}
