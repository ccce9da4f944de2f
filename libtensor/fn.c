/* SPDX-License-Identifier: Apache-2.0 */
/* fn.c - running a function of tp/ops.h, and chains of them */
#include "fn.h"

#include "tp/op.h"
#include "tp/ops.h"

#include "batch.h"
#include "op.h"
#include "tensor.h"

#include "banned.h"

enum tp_status
tpi_run_op(const char *onnx, const struct tp_attr *attrs, size_t n_attrs,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_op_opts opts = {.alloc = in[0]->alloc, .into = into};
	struct tp_value values[TPI_FN_INPUTS], result;
	enum tp_status rc;

	/* Values may be owned, so they are not const; inputs are only read. */
	for (unsigned k = 0; k < n_in; k++)
		values[k] = tp_value_of((struct tp_tensor *)(uintptr_t)in[k]);
	rc = tp_op_run(tpi_op_newest(onnx), attrs, n_attrs, values, n_in,
	    &result, 1, &opts, err);
	*out = result.tensor;
	return rc;
}

enum tp_status
tpi_forward_op(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	(void)args;
	return tpi_run_op(fn->onnx, NULL, 0, in, n_in, into, out, err);
}

enum tp_status
tpi_apply(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_node *node = NULL;
	struct tp_tensor *made = NULL;
	enum tp_status rc;

	if (out)
		*out = NULL;
	if (tpi_batch_level(in, n_in) > 0)
		return tpi_apply_batched(fn, args, in, n_in, into, out, err);
	rc = tpi_node_new(fn, args, in, n_in, into, &node, err);
	if (!rc)
		rc = fn->forward(fn, args, in, n_in, into, &made, err);
	if (!rc && node) {
		rc = tpi_node_attach(node, into ? into : made, err);
		node = NULL;
	}
	tpi_node_unref(node);
	if (rc || into)
		tp_tensor_free(made);
	else
		*out = made;
	return rc;
}

const struct tp_tensor *
tpi_calc_keep(
    struct tpi_calc *c, enum tp_status rc, struct tp_tensor *const *made)
{
	if (!rc && c->n == TPI_CALC_TEMPS)
		rc = tp_fail(c->err, TP_ELIMIT, TP_NO_OFFSET,
		    "more than %u steps", TPI_CALC_TEMPS);
	if (rc) {
		tp_tensor_free(*made);
		c->rc = rc;
		return NULL;
	}
	c->temps[c->n++] = *made;
	return *made;
}

const struct tp_tensor *
tpi_calc1(struct tpi_calc *c, tpi_unary_fn *fn, const struct tp_tensor *x)
{
	struct tp_tensor *y = NULL;

	if (c->rc)
		return NULL;
	return tpi_calc_keep(c, fn(x, &y, c->err), &y);
}

const struct tp_tensor *
tpi_calc2(struct tpi_calc *c, tpi_binary_fn *fn, const struct tp_tensor *a,
    const struct tp_tensor *b)
{
	struct tp_tensor *y = NULL;

	if (c->rc)
		return NULL;
	return tpi_calc_keep(c, fn(a, b, &y, c->err), &y);
}

enum tp_status
tpi_calc_end(
    struct tpi_calc *c, const struct tp_tensor *result, struct tp_tensor **out)
{
	bool found = false;

	*out = NULL;
	for (unsigned i = 0; i < c->n; i++) {
		if (!c->rc && c->temps[i] == result) {
			*out = c->temps[i];
			found = true;
		} else {
			tp_tensor_free(c->temps[i]);
		}
	}
	c->n = 0;
	if (!c->rc && !found)
		c->rc = tp_tensor_alias(result, out, c->err);
	return c->rc;
}
