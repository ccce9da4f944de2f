/* SPDX-License-Identifier: Apache-2.0 */
/* autograd_check.c - gradients against central differences */
#include "tp/autograd.h"

#include <inttypes.h>
#include <math.h>

#include "tp/layout.h"

#include "tensor.h"

#include "banned.h"

#define STEP 1e-6
#define RELATIVE 1e-5
#define ABSOLUTE 1e-7

struct check {
	tp_tensor_fn *fn;
	void *ctx;
	const struct tp_alloc *alloc;
	struct tp_tensor **own; /* copies that may be changed */
	size_t n;
};

static enum tp_status
call(const struct check *c, struct tp_tensor **y, struct tp_err *err)
{
	enum tp_status rc;

	*y = NULL;
	rc = c->fn(
	    c->ctx, (const struct tp_tensor *const *)c->own, c->n, y, err);
	if (!rc && (*y)->dtype != TP_DTYPE_F64) {
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "the function to check gives dtype %s, expected f64",
		    tp_dtype_name((*y)->dtype));
		tp_tensor_free(*y);
		*y = NULL;
	}
	return rc;
}

/* A weight for each output, so that one sum stands for all of them. */
static enum tp_status
make_weights(
    const struct tp_tensor *y, struct tp_tensor **out, struct tp_err *err)
{
	enum tp_status rc = tp_tensor_empty(
	    y->alloc, TP_DTYPE_F64, tp_tensor_sizes(y), y->rank, out, err);
	double *w;

	if (rc)
		return rc;
	w = tp_tensor_data_mut(*out);
	for (uint64_t i = 0; i < y->n_elems; i++)
		w[i] = 0.5 + (double)(i * 7919 % 1009) / 1009;
	return TP_OK;
}

/* The weighted sum of the outputs, of their changes by the change of one. */
static enum tp_status
evaluate(const struct check *c, const struct tp_tensor *weights, double *sum,
    struct tp_err *err)
{
	struct tp_tensor *y = NULL, *packed = NULL;
	enum tp_status rc = call(c, &y, err);

	if (!rc)
		rc = tp_tensor_clone(y, TP_LAYOUT_CONTIGUOUS, &packed, err);
	if (!rc) {
		const double *py = tp_tensor_data(packed);
		const double *pw = tp_tensor_data(weights);

		*sum = 0;
		for (uint64_t i = 0; i < packed->n_elems; i++)
			*sum += py[i] * pw[i];
	}
	tp_tensor_free(y);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
check_element(const struct check *c, const struct tp_tensor *weights, size_t k,
    uint64_t i, double found, struct tp_err *err)
{
	double *x = (double *)tp_tensor_data_mut(c->own[k]) + i, at = *x;
	double h = STEP * fmax(1, fabs(at)), low = 0, high = 0, expected;
	enum tp_status rc;

	*x = at + h;
	rc = evaluate(c, weights, &high, err);
	*x = at - h;
	if (!rc)
		rc = evaluate(c, weights, &low, err);
	*x = at;
	if (rc)
		return rc;
	expected = (high - low) / (2 * h);
	if (fabs(found - expected) <= ABSOLUTE + RELATIVE * fabs(expected))
		return TP_OK;
	return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
	    "gradient of input %zu, element %" PRIu64
	    ": %.9g, by differences %.9g",
	    k, i, found, expected);
}

/* Copies of the inputs that collect gradients. */
static enum tp_status
copy_inputs(const struct check *c, const struct tp_tensor *const *inputs,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < c->n && !rc; k++) {
		if (inputs[k]->dtype != TP_DTYPE_F64)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "input %zu has dtype %s, expected f64", k,
			    tp_dtype_name(inputs[k]->dtype));
		rc = tp_tensor_clone(
		    inputs[k], TP_LAYOUT_CONTIGUOUS, &c->own[k], err);
		if (!rc)
			rc = tp_tensor_set_requires_grad(c->own[k], true, err);
	}
	return rc;
}

static enum tp_status
compare(
    const struct check *c, const struct tp_tensor *weights, struct tp_err *err)
{
	bool before = tp_no_grad_begin();
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < c->n && !rc; k++) {
		const struct tp_tensor *g = tp_tensor_grad(c->own[k]);
		const double *found = g ? tp_tensor_data(g) : NULL;

		for (uint64_t i = 0; i < c->own[k]->n_elems && !rc; i++)
			rc = check_element(
			    c, weights, k, i, found ? found[i] : 0, err);
	}
	tp_no_grad_end(before);
	return rc;
}

enum tp_status
tp_gradcheck(tp_tensor_fn *fn, void *ctx, const struct tp_tensor *const *inputs,
    size_t n_inputs, struct tp_err *err)
{
	struct tp_tensor *y = NULL, *weights = NULL;
	struct check c = {.fn = fn, .ctx = ctx, .n = n_inputs};
	enum tp_status rc;

	if (n_inputs == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a function of nothing has no gradient");
	c.alloc = inputs[0]->alloc;
	c.own = tp_mem_array(c.alloc, n_inputs, sizeof(struct tp_tensor *));
	if (!c.own)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu inputs", n_inputs);
	rc = copy_inputs(&c, inputs, err);
	if (!rc)
		rc = call(&c, &y, err);
	if (!rc)
		rc = make_weights(y, &weights, err);
	if (!rc)
		rc = tp_backward(y, weights, err);
	if (!rc)
		rc = compare(&c, weights, err);
	for (size_t k = 0; k < n_inputs; k++)
		tp_tensor_free(c.own[k]);
	tp_mem_free(c.alloc, c.own, n_inputs, sizeof(struct tp_tensor *));
	tp_tensor_free(y);
	tp_tensor_free(weights);
	return rc;
}
