/* SPDX-License-Identifier: Apache-2.0 */
/* graph_gradient.c - Gradient: running steps again, with a history */
#include "graph_gradient.h"

#include "tp/access.h"
#include "tp/autograd.h"

#include "op.h"
#include "tensor.h"

#include "banned.h"

/* What leaves are now, and what was computed from them. */
struct rerun {
	struct tpi_frame *frame;
	const struct tpi_gradient *gradient;
	struct tp_tensor **made;     /* by number of place; NULL: as it was */
	const struct tp_tensor **in; /* of one step, TPI_OP_FEW more */
	size_t n_in;
};

static enum tp_status
take_leaf(struct rerun *r, size_t k, struct tp_err *err)
{
	const struct tp_value *v = &r->frame->args[k];
	struct tp_tensor **leaf =
	    &r->made[tpi_place_number(r->frame->plan, r->gradient->leaves[k])];
	enum tp_status rc;

	if (v->kind != TP_VALUE_TENSOR)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "input %zu is a value of kind '%s', expected a tensor", k,
		    tp_value_kind_name(v->kind));
	rc = tp_tensor_alias(v->tensor, leaf, err);
	if (!rc && k < r->gradient->n_xs)
		rc = tp_tensor_set_requires_grad(*leaf, true, err);
	return rc;
}

/* What the value at a place is now; NULL if it is no tensor. */
static const struct tp_tensor *
value_at(const struct rerun *r, struct tpi_place place)
{
	const struct tp_value *v = tpi_frame_at(r->frame, place);

	if (place.kind != TPI_PLACE_NONE && place.kind != TPI_PLACE_CAPTURED) {
		size_t n = tpi_place_number(r->frame->plan, place);

		if (r->made[n])
			return r->made[n];
	}
	return v->kind == TP_VALUE_TENSOR ? v->tensor : NULL;
}

static enum tp_status
run_again(struct rerun *r, const struct tpi_step *step, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	const struct tp_attr *attrs = node->attrs;
	struct tp_attr *bound = NULL;
	size_t n_attrs = node->n_attrs;
	const struct tp_op_opts opts = {.alloc = r->frame->run->alloc,
	    .n_threads = r->frame->run->opts->n_threads};
	struct tp_tensor **out;
	enum tp_status rc = TP_OK;

	if (!step->op || step->n_made != 1)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no gradient of functions and of several outputs");
	out = &r->made[tpi_place_number(r->frame->plan,
	    (struct tpi_place){TPI_PLACE_LOCAL, step->first_local})];
	for (size_t k = 0; k < node->n_inputs + TPI_OP_FEW; k++)
		r->in[k] =
		    k < node->n_inputs ? value_at(r, step->inputs[k]) : NULL;
	if (step->has_refs) {
		rc = tpi_frame_attrs(r->frame, step, &bound, &n_attrs, err);
		attrs = bound;
	}
	if (!rc && !*out)
		rc = tpi_run_differentiable(step->op, attrs, n_attrs, r->in,
		    node->n_inputs, &opts, out, err);
	tp_mem_free(r->frame->run->alloc, bound, node->n_attrs, sizeof(*bound));
	return rc;
}

static enum tp_status
run_path(struct rerun *r, struct tp_err *err)
{
	for (size_t i = 0; i < r->gradient->n_path; i++) {
		size_t at = r->gradient->path[i];
		const struct tpi_step *step = &r->frame->plan->steps[at];
		enum tp_status rc = run_again(r, step, err);

		if (rc) {
			tpi_blame_node(err, step->node, at);
			r->frame->run->is_blamed = true;
			return rc;
		}
	}
	return TP_OK;
}

/* A tensor like t, all elements the same. */
static enum tp_status
filled_like(const struct rerun *r, const struct tp_tensor *t, double value,
    struct tp_tensor **out, struct tp_err *err)
{
	enum tp_status rc = tp_tensor_empty(r->frame->run->alloc, t->dtype,
	    tp_tensor_sizes(t), t->rank, out, err);

	return rc ? rc : tp_tensor_fill(*out, value, TP_OVERFLOW_INF, err);
}

/* Gradients of the sum of y; NULL where y does not depend on x. */
static enum tp_status
differentiate(struct rerun *r, const struct tp_tensor **xs,
    struct tp_tensor **grads, struct tp_err *err)
{
	const struct tp_tensor *y = value_at(r, r->gradient->y);
	struct tp_tensor *ones = NULL;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < r->gradient->n_xs; k++)
		xs[k] = value_at(r, r->gradient->leaves[k]);
	if (!y)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "y is not a tensor");
	if (tp_tensor_requires_grad(y)) {
		rc = filled_like(r, y, 1, &ones, err);
		if (!rc)
			rc = tp_grad(&y, (const struct tp_tensor *const *)&ones,
			    1, xs, r->gradient->n_xs, grads, err);
	}
	tp_tensor_free(ones);
	for (size_t k = 0; k < r->gradient->n_xs && !rc; k++)
		if (!grads[k])
			rc = filled_like(r, xs[k], 0, &grads[k], err);
	return rc;
}

static enum tp_status
give_outputs(struct rerun *r, const struct tpi_step *step,
    struct tp_value *outputs, struct tp_err *err)
{
	const struct tp_alloc *alloc = r->frame->run->alloc;
	size_t n = r->gradient->n_xs;
	const struct tp_tensor **xs = tp_mem_array(alloc, n, sizeof(*xs));
	struct tp_tensor **grads = tp_mem_array(alloc, n, sizeof(*grads));
	enum tp_status rc;

	if (xs && grads)
		rc = differentiate(r, xs, grads, err);
	else
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu gradients", n);
	for (size_t k = 0; grads && k < n; k++) {
		if (!rc && k < step->n_made)
			outputs[k] = tp_value_of(grads[k]);
		else
			tp_tensor_free(grads[k]);
	}
	tp_mem_free(alloc, (void *)xs, n, sizeof(*xs));
	tp_mem_free(alloc, grads, n, sizeof(*grads));
	return rc;
}

enum tp_status
tpi_frame_gradient(struct tpi_frame *frame, const struct tpi_step *step,
    struct tp_value *outputs, struct tp_err *err)
{
	const struct tp_alloc *alloc = frame->run->alloc;
	const struct tpi_plan *plan = frame->plan;
	size_t n = tpi_place_count(plan);
	struct rerun r = {.frame = frame, .gradient = step->gradient};
	enum tp_status rc = TP_OK;

	r.made = tp_mem_array(alloc, n, sizeof(struct tp_tensor *));
	r.n_in = plan->most_inputs + TPI_OP_FEW;
	r.in = tp_mem_array(alloc, r.n_in, sizeof(const struct tp_tensor *));
	if (!r.made || !r.in)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a graph of %zu values", n);
	for (size_t k = 0; k < r.gradient->n_leaves && !rc; k++)
		rc = take_leaf(&r, k, err);
	if (!rc)
		rc = run_path(&r, err);
	if (!rc)
		rc = give_outputs(&r, step, outputs, err);
	for (size_t i = 0; r.made && i < n; i++)
		tp_tensor_free(r.made[i]);
	tp_mem_free(alloc, r.made, n, sizeof(struct tp_tensor *));
	tp_mem_free(
	    alloc, (void *)r.in, r.n_in, sizeof(const struct tp_tensor *));
	return rc;
}
