/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autograd_backward.c - from outputs back to what they were computed from
 *
 * Nodes with a gradient that has arrived wait in a heap, the latest node on
 * top. What a node was computed from is earlier than the node, so when it is on
 * top everything that adds to its gradient has been there.
 */
#include "tp/autograd.h"

#include <inttypes.h>
#include <string.h>

#include "tp/layout.h"
#include "tp/ops.h"
#include "tp/shape.h"

#include "autograd.h"
#include "tensor.h"

#include "banned.h"

struct heap {
	const struct tp_alloc *alloc;
	struct tpi_node **nodes; /* borrowed: the outputs hold them */
	size_t n, capacity;
};

static enum tp_status
push(struct heap *h, struct tpi_node *node, struct tp_err *err)
{
	size_t at = h->n;

	if (h->n == h->capacity) {
		size_t more = h->capacity ? 2 * h->capacity : 64;
		void *nodes = tp_mem_grow(
		    h->alloc, h->nodes, h->capacity, more, sizeof(*h->nodes));

		if (!nodes)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for %zu nodes", more);
		h->nodes = nodes;
		h->capacity = more;
	}
	h->n++;
	for (; at > 0; at = (at - 1) / 2) {
		struct tpi_node *above = h->nodes[(at - 1) / 2];

		if (above->number > node->number)
			break;
		h->nodes[at] = above;
	}
	h->nodes[at] = node;
	return TP_OK;
}

static struct tpi_node *
pop(struct heap *h)
{
	struct tpi_node *top = h->nodes[0], *last = h->nodes[--h->n];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < h->n &&
		    h->nodes[child + 1]->number > h->nodes[child]->number)
			child++;
		if (child >= h->n || h->nodes[child]->number < last->number)
			break;
		h->nodes[at] = h->nodes[child];
		at = child;
	}
	h->nodes[at] = last;
	return top;
}

/* Add g, which is taken, to what has arrived at a node. */
static enum tp_status
arrive(struct heap *h, struct tpi_node *node, struct tp_tensor *g,
    struct tp_err *err)
{
	struct tp_tensor *sum = NULL;
	enum tp_status rc;

	if (!node->incoming) {
		node->incoming = g;
		rc = push(h, node, err);
		if (rc) {
			node->incoming = NULL;
			tp_tensor_free(g);
		}
		return rc;
	}
	rc = tp_add(node->incoming, g, &sum, err);
	tp_tensor_free(g);
	if (rc)
		return rc;
	tp_tensor_free(node->incoming);
	node->incoming = sum;
	return TP_OK;
}

/* The gradient that an output begins with. */
static enum tp_status
begin(struct heap *h, const struct tp_tensor *y, const struct tp_tensor *grad,
    struct tp_err *err)
{
	struct tp_tensor *g = NULL;
	double one = 1;
	enum tp_status rc;

	if (!tp_tensor_requires_grad(y))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of shape %s that was computed from nothing that "
		    "requires gradients",
		    TP_SHAPE_TEXT(tp_tensor_sizes(y), y->rank));
	if (!grad && y->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "an output of shape %s needs a gradient to begin with",
		    TP_SHAPE_TEXT(tp_tensor_sizes(y), y->rank));
	if (grad &&
	    (grad->dtype != y->dtype || grad->rank != y->rank ||
		(y->rank && memcmp(tp_tensor_sizes(grad), tp_tensor_sizes(y),
				y->rank * sizeof(int64_t)))))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a gradient of dtype %s and shape %s for an output of %s "
		    "and %s",
		    tp_dtype_name(grad->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(grad), grad->rank),
		    tp_dtype_name(y->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(y), y->rank));
	if (grad)
		rc = tp_tensor_alias(grad, &g, err);
	else
		rc = tp_tensor_empty(
		    y->alloc, y->dtype, tp_tensor_sizes(y), y->rank, &g, err);
	if (!rc && !grad)
		rc = tp_convert(y->dtype, tp_tensor_data_mut(g), TP_DTYPE_F64,
		    &one, 1, TP_OVERFLOW_ERROR, 0, NULL, err);
	if (rc) {
		tp_tensor_free(g);
		return rc;
	}
	return arrive(h, y->autograd->node, g, err);
}

/* What the gradient of input k reads is as it was. */
static enum tp_status
check_saved(const struct tpi_node *node, unsigned k, struct tp_err *err)
{
	for (unsigned i = 0; i <= TPI_FN_INPUTS; i++) {
		const struct tpi_saved *s = &node->saved[i];

		if (!(node->fn->saves[k] & TPI_SAVE(i)) || !s->t ||
		    tp_tensor_version(s->t) == s->version)
			continue;
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "one of the variables needed for gradient computation has "
		    "been modified by an inplace operation: op %s saved "
		    "version %" PRIu64 ", it is at version %" PRIu64 " now",
		    node->fn->name, s->version, tp_tensor_version(s->t));
	}
	return TP_OK;
}

/* The tensor's own gradient: a tensor of its own, then added to in place. */
static enum tp_status
collect(struct tpi_node *node, const struct tp_tensor *g, struct tp_err *err)
{
	return node->grad
		   ? tp_add_(node->grad, g, err)
		   : tp_tensor_clone(g, TP_LAYOUT_CONTIGUOUS, &node->grad, err);
}

static enum tp_status
pass_on(struct heap *h, const struct tpi_node *node, const struct tp_tensor *g,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (unsigned k = 0; k < node->n_in && !rc; k++) {
		struct tp_tensor *gk = NULL;

		if (!node->in[k])
			continue;
		rc = check_saved(node, k, err);
		if (!rc)
			rc = node->fn->backward(node, k, g, &gk, err);
		if (!rc)
			rc = arrive(h, node->in[k], gk, err);
	}
	return rc;
}

/* Where tp_grad wants gradients; n 0: where they are collected. */
struct targets {
	const struct tp_tensor *const *inputs;
	size_t n;
	struct tp_tensor **grads;
};

static enum tp_status
hand_out(const struct targets *t, const struct tpi_node *node,
    const struct tp_tensor *g, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < t->n && !rc; i++)
		if (t->inputs[i]->autograd->node == node)
			rc = tp_tensor_clone(
			    g, TP_LAYOUT_CONTIGUOUS, &t->grads[i], err);
	return rc;
}

static enum tp_status
run(struct heap *h, const struct targets *t, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	while (h->n > 0) {
		struct tpi_node *node = pop(h);
		struct tp_tensor *g = node->incoming;

		node->incoming = NULL;
		if (!rc)
			rc = hand_out(t, node, g, err);
		if (!rc && node->fn)
			rc = pass_on(h, node, g, err);
		else if (!rc && !t->n)
			rc = collect(node, g, err);
		tp_tensor_free(g);
	}
	return rc;
}

static enum tp_status
go_back(const struct tp_tensor *const *outputs,
    const struct tp_tensor *const *grads, size_t n, const struct targets *t,
    struct tp_err *err)
{
	struct heap h = {.alloc = outputs[0]->alloc};
	bool before = tp_no_grad_begin();
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < n && !rc; i++)
		rc = begin(&h, outputs[i], grads ? grads[i] : NULL, err);
	if (!rc)
		rc = run(&h, t, err);
	for (size_t i = 0; i < h.n; i++) {
		tp_tensor_free(h.nodes[i]->incoming);
		h.nodes[i]->incoming = NULL;
	}
	tp_mem_free(h.alloc, h.nodes, h.capacity, sizeof(*h.nodes));
	tp_no_grad_end(before);
	return rc;
}

enum tp_status
tp_backward(
    const struct tp_tensor *y, const struct tp_tensor *grad, struct tp_err *err)
{
	const struct targets none = {NULL, 0, NULL};

	return go_back(&y, &grad, 1, &none, err);
}

enum tp_status
tp_grad(const struct tp_tensor *const *outputs,
    const struct tp_tensor *const *out_grads, size_t n_out,
    const struct tp_tensor *const *inputs, size_t n_in,
    struct tp_tensor **grads, struct tp_err *err)
{
	const struct targets t = {inputs, n_in, grads};
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < n_in; i++)
		grads[i] = NULL;
	if (n_out == 0 || n_in == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "gradients of %zu outputs with respect to %zu inputs",
		    n_out, n_in);
	for (size_t i = 0; i < n_in; i++)
		if (!tp_tensor_requires_grad(inputs[i]))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "input %zu does not require gradients", i);
	rc = go_back(outputs, out_grads, n_out, &t, err);
	for (size_t i = 0; i < n_in && rc; i++) {
		tp_tensor_free(grads[i]);
		grads[i] = NULL;
	}
	return rc;
}
