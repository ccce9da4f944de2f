/* SPDX-License-Identifier: Apache-2.0 */
/* autograd.c - nodes of a history: making them, letting them go */
#include "tp/autograd.h"

#include <inttypes.h>
#include <string.h>

#include "autograd.h"
#include "fn.h"
#include "tensor.h"

#include "banned.h"

static _Thread_local bool is_off;

bool
tp_no_grad_begin(void)
{
	bool before = is_off;

	is_off = true;
	return before;
}

void
tp_no_grad_end(bool before)
{
	is_off = before;
}

static struct tpi_node *
node_of(const struct tp_tensor *t)
{
	return t && t->autograd ? t->autograd->node : NULL;
}

struct tpi_node *
tpi_node_ref(struct tpi_node *node)
{
	if (node)
		atomic_fetch_add_explicit(
		    &node->count, 1, memory_order_relaxed);
	return node;
}

/* Give up what a node holds; inputs that nobody else holds join the list. */
static void
empty_node(struct tpi_node *node, struct tpi_node **list)
{
	for (unsigned k = 0; k < TPI_FN_INPUTS; k++) {
		struct tpi_node *in = node->in[k];

		if (in && atomic_fetch_sub_explicit(
			      &in->count, 1, memory_order_acq_rel) == 1) {
			in->next = *list;
			*list = in;
		}
	}
	for (unsigned k = 0; k <= TPI_FN_INPUTS; k++)
		tp_tensor_free(node->saved[k].t);
	tp_tensor_free(node->grad);
	tp_mem_free(
	    node->alloc, node->numbers, node->n_numbers, sizeof(int64_t));
	tp_mem_free(node->alloc, node, 1, sizeof(*node));
}

/*
 * Saved tensors have no history, so that freeing them does not come back here:
 * a chain of any length is a loop.
 */
void
tpi_node_unref(struct tpi_node *node)
{
	if (!node || atomic_fetch_sub_explicit(
			 &node->count, 1, memory_order_acq_rel) != 1)
		return;
	node->next = NULL;
	while (node) {
		struct tpi_node *list = node->next;

		empty_node(node, &list);
		node = list;
	}
}

/* A node without inputs, later than all that were made before. */
static enum tp_status
new_node(const struct tp_alloc *alloc, enum tp_dtype dtype,
    struct tpi_node **out, struct tp_err *err)
{
	static atomic_uint_least64_t last;
	struct tpi_node *node = tp_mem_array(alloc, 1, sizeof(*node));

	*out = node;
	if (!node)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a node of autograd");
	atomic_init(&node->count, 1);
	node->alloc = alloc;
	node->dtype = dtype;
	node->number = atomic_fetch_add(&last, 1) + 1;
	return TP_OK;
}

static enum tp_status
new_handle_part(struct tp_tensor *t, struct tp_err *err)
{
	if (!t->autograd)
		t->autograd = tp_mem_array(t->alloc, 1, sizeof(*t->autograd));
	return t->autograd ? TP_OK
			   : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
				 "no memory for a history");
}

void
tpi_autograd_drop(struct tp_tensor *t)
{
	if (!t->autograd)
		return;
	tpi_node_unref(t->autograd->node);
	tp_mem_free(t->alloc, t->autograd, 1, sizeof(*t->autograd));
	t->autograd = NULL;
}

enum tp_status
tp_tensor_set_requires_grad(struct tp_tensor *t, bool on, struct tp_err *err)
{
	struct tpi_node *node = node_of(t);
	enum tp_status rc;

	if (node && node->fn)
		return on ? TP_OK
			  : tp_fail(err, TP_EARG, TP_NO_OFFSET,
				"the result of %s requires gradients because "
				"its inputs do; tp_tensor_detach it",
				node->fn->name);
	if (!on)
		tpi_autograd_drop(t);
	if (!on || node)
		return TP_OK;
	if (tp_dtype_kind(t->dtype) != TP_KIND_FLOAT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "gradients of a tensor of dtype %s, which is not a float",
		    tp_dtype_name(t->dtype));
	if (t->is_inference || t->quantizer || t->sparse || t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "gradients of %s tensor",
		    t->is_inference ? "an inference"
		    : t->quantizer  ? "a quantized"
		    : t->sparse	    ? "a sparse"
				    : "a batched");
	rc = new_node(t->alloc, t->dtype, &node, err);
	if (!rc)
		rc = new_handle_part(t, err);
	if (rc) {
		tpi_node_unref(node);
		return rc;
	}
	t->autograd->node = node;
	return TP_OK;
}

bool
tp_tensor_requires_grad(const struct tp_tensor *t)
{
	return node_of(t) != NULL;
}

struct tp_tensor *
tp_tensor_grad(const struct tp_tensor *t)
{
	struct tpi_node *node = node_of(t);

	return node ? node->grad : NULL;
}

void
tp_tensor_clear_grad(struct tp_tensor *t)
{
	struct tpi_node *node = node_of(t);

	if (!node)
		return;
	tp_tensor_free(node->grad);
	node->grad = NULL;
}

enum tp_status
tp_tensor_detach(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	return tp_tensor_alias(t, out, err);
}

/* The history of an input still describes its elements. */
static enum tp_status
check_fresh(const struct tpi_fn *fn, unsigned k, const struct tp_tensor *t,
    struct tp_err *err)
{
	const struct tpi_node *node = node_of(t);

	if (!node || !node->fn || t->autograd->version == tp_tensor_version(t))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %u, the result of %s, was written without its history: "
	    "version %" PRIu64 ", it is at version %" PRIu64 " now",
	    fn->name, k, node->fn->name, t->autograd->version,
	    tp_tensor_version(t));
}

/* A tensor that collects gradients, or a view of one, keeps its elements. */
static enum tp_status
check_in_place(
    const struct tpi_fn *fn, const struct tp_tensor *t, struct tp_err *err)
{
	const struct tpi_node *node = node_of(t);

	while (node && node->fn && node->fn->is_view)
		node = node->in[0];
	if (!node || node->fn)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s in place on a tensor that requires gradients itself; "
	    "tp_no_grad_begin first, or compute a new one",
	    fn->name);
}

/* Arguments and shapes of the inputs, which gradients ask for. */
static enum tp_status
keep_numbers(struct tpi_node *node, const struct tpi_args *args,
    const struct tp_tensor *const *in, struct tp_err *err)
{
	size_t n = args->n;
	int64_t *to;

	for (unsigned k = 0; k < node->n_in; k++)
		n += in[k] ? in[k]->rank : 0;
	node->numbers = tp_mem_array(node->alloc, n, sizeof(int64_t));
	if (!node->numbers)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a node of autograd");
	node->n_numbers = n;
	node->args = *args;
	node->args.list = to = node->numbers;
	if (args->n)
		memcpy(to, args->list, args->n * sizeof(*to));
	to += args->n;
	for (unsigned k = 0; k < node->n_in; k++) {
		unsigned rank = in[k] ? in[k]->rank : 0;

		node->ranks[k] = rank;
		node->sizes[k] = to;
		if (rank)
			memcpy(to, tp_tensor_sizes(in[k]), rank * sizeof(*to));
		to += rank;
	}
	return TP_OK;
}

/* Keep a tensor that some gradient reads. */
static enum tp_status
save(struct tpi_node *node, unsigned k, const struct tp_tensor *t,
    struct tp_err *err)
{
	if (t->is_inference)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an inference tensor cannot be kept for gradients",
		    node->fn->name);
	node->saved[k].version = tp_tensor_version(t);
	return tp_tensor_alias(t, &node->saved[k].t, err);
}

/* Which of inputs and output (the last) the wanted gradients read. */
static unsigned
saved_mask(const struct tpi_node *node)
{
	unsigned mask = 0;

	for (unsigned k = 0; k < node->n_in; k++)
		if (node->in[k])
			mask |= node->fn->saves[k];
	return mask;
}

enum tp_status
tpi_node_new(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tpi_node **out, struct tp_err *err)
{
	struct tpi_node *node = NULL;
	enum tp_status rc = TP_OK;
	bool wanted = false;
	unsigned mask;

	*out = NULL;
	for (unsigned k = 0; k < n_in; k++)
		wanted = wanted || node_of(in[k]);
	if (!wanted || is_off)
		return TP_OK;
	for (unsigned k = 0; k < n_in && !rc; k++)
		rc = check_fresh(fn, k, in[k], err);
	if (!rc && into)
		rc = check_in_place(fn, into, err);
	if (!rc)
		rc = new_node(in[0]->alloc, in[0]->dtype, &node, err);
	if (rc)
		return rc;
	node->fn = fn;
	node->n_in = n_in;
	for (unsigned k = 0; k < n_in; k++)
		node->in[k] = tpi_node_ref(node_of(in[k]));
	rc = keep_numbers(node, args, in, err);
	mask = saved_mask(node);
	for (unsigned k = 0; k < n_in && !rc; k++)
		if (in[k] && mask & TPI_SAVE(k))
			rc = save(node, k, in[k], err);
	/* After the write nothing may fail. */
	if (!rc && into && mask & TPI_SAVE_OUT)
		rc = save(node, TPI_FN_INPUTS, into, err);
	if (!rc && into)
		rc = new_handle_part(into, err);
	if (rc)
		tpi_node_unref(node);
	else
		*out = node;
	return rc;
}

enum tp_status
tpi_node_attach(struct tpi_node *node, struct tp_tensor *t, struct tp_err *err)
{
	struct tpi_saved *saved = &node->saved[TPI_FN_INPUTS];
	enum tp_status rc = TP_OK;

	if (saved->t)
		saved->version = tp_tensor_version(t);
	else if (saved_mask(node) & TPI_SAVE_OUT)
		rc = save(node, TPI_FN_INPUTS, t, err);
	if (!rc)
		rc = new_handle_part(t, err);
	if (rc) {
		tpi_node_unref(node);
		return rc;
	}
	tpi_node_unref(t->autograd->node);
	t->autograd->node = node;
	t->autograd->version = tp_tensor_version(t);
	return TP_OK;
}
