/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_bound.c - how much memory a run takes at least, before it runs
 *
 * Shapes are inferred node by node. Where an operator reads its inputs to find
 * the shape of its outputs (Reshape, Expand, …) these are mostly small and
 * computed from shapes: nodes whose inputs are all known and small are really
 * run. Of other values there is only a shape: a tensor that repeats one zero.
 *
 * What cannot be told counts as nothing, so the result is a lower bound:
 * outputs of nodes with graphs and of functions, sizes that depend on values,
 * views.
 */
#include "graph_run.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "op.h"
#include "tensor.h"

#include "banned.h"

/* Inputs up to this are computed with, in memory up to that. */
#define SMALL_BYTES (1 << 14)
#define SCRATCH_BYTES (1 << 20)

/* What is known of a local. */
struct guess {
	struct tp_value shape; /* NONE: nothing */
	bool is_known;	       /* the elements are those of the run */
	uint64_t nbytes;       /* of its own memory */
};

struct bound {
	const struct tpi_frame *frame; /* of the run: inputs and constants */
	struct guess *guesses;	       /* of locals */
	struct tp_value *args;
	struct tp_storage *zero;
	struct tpi_limit *scratch;
};

/* The dtype of a tensor that stands for one of strings. */
static enum tp_dtype
stand_in(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_STRING ? TP_DTYPE_U64 : dtype;
}

/* A tensor of that shape, all of whose elements are one zero. */
static enum tp_status
make_shape(const struct bound *b, const struct tpi_info *info,
    struct tp_value *out, struct tp_err *err)
{
	static const int64_t strides[TP_MAX_RANK];
	bool is_string = info->dtype == TP_DTYPE_STRING;
	struct tp_tensor *t = NULL;
	enum tp_status rc;

	rc = tp_tensor_new(b->zero, stand_in(info->dtype), info->sizes, strides,
	    info->rank, 0, &t, err);
	if (rc)
		return rc;
	*out = tp_value_of(t);
	if (is_string)
		out->kind = TP_VALUE_STRINGS;
	return TP_OK;
}

/* False if the elements, unlike the shape, are not those of the run. */
static bool
find_input(
    const struct bound *b, struct tpi_place place, struct tp_value *value)
{
	if (place.kind == TPI_PLACE_LOCAL) {
		*value = b->guesses[place.index].shape;
		return b->guesses[place.index].is_known;
	}
	*value = *tpi_frame_at(b->frame, place);
	return true;
}

enum knowledge { NOTHING, SHAPES, ELEMENTS };

/*
 * What the inputs of a step tell. Elements of vectors and scalars may decide
 * about shapes, so these have to be known.
 */
static enum knowledge
gather(struct bound *b, const struct tpi_step *step)
{
	enum knowledge all = ELEMENTS;
	uint64_t nbytes = 0;

	for (size_t k = 0; k < step->node->n_inputs; k++) {
		struct tpi_place place = step->inputs[k];
		bool is_known = find_input(b, place, &b->args[k]);
		const struct tp_tensor *t = b->args[k].tensor;

		if (place.kind == TPI_PLACE_NONE)
			continue;
		if (!t)
			return NOTHING;
		if (!is_known && t->rank <= 1 &&
		    !(step->op->flags & TPI_OP_ELEMENTWISE))
			return NOTHING;
		if (t->n_elems > SMALL_BYTES)
			all = SHAPES;
		nbytes += t->n_elems;
		/* Strings are in a pool that this must not add to. */
		if (!is_known || b->args[k].kind == TP_VALUE_STRINGS)
			all = SHAPES;
	}
	return nbytes > SMALL_BYTES && all == ELEMENTS ? SHAPES : all;
}

static struct tp_op_opts
options(const struct bound *b, size_t i)
{
	return (struct tp_op_opts){.alloc = tpi_limit_alloc(b->scratch),
	    .n_threads = 1,
	    .seed = tpi_node_seed(b->frame, i)};
}

static uint64_t
bytes_of(enum tp_dtype dtype, uint64_t n_elems)
{
	uint64_t nbytes = 0;

	if (tp_dtype_nbytes(dtype, n_elems, &nbytes, NULL))
		return UINT64_MAX;
	return nbytes;
}

/* Really run it; failures are the run's to report. */
static void
compute(struct bound *b, const struct tpi_step *step, size_t i)
{
	const struct tp_op_opts opts = options(b, i);
	const struct tp_node *node = step->node;
	struct tp_value out[TPI_OP_FEW];

	if (step->n_made > TPI_OP_FEW ||
	    tp_op_run(step->op, node->attrs, node->n_attrs, b->args,
		node->n_inputs, out, step->n_made, &opts, NULL))
		return;
	for (size_t k = 0; k < step->n_made; k++) {
		struct guess *g = &b->guesses[step->first_local + k];

		g->shape = out[k];
		g->is_known = true;
		if (out[k].tensor && !(step->op->flags & TPI_OP_MAKES))
			g->nbytes = bytes_of(
			    out[k].tensor->dtype, out[k].tensor->n_elems);
	}
}

static void
infer(struct bound *b, const struct tpi_step *step, size_t i)
{
	const struct tp_op_opts opts = options(b, i);
	const struct tp_node *node = step->node;
	struct tpi_info infos[TPI_OP_FEW];

	if (step->n_made > TPI_OP_FEW ||
	    tpi_op_infer(step->op, node->attrs, node->n_attrs, b->args,
		node->n_inputs, infos, step->n_made, &opts, NULL))
		return;
	for (size_t k = 0; k < step->n_made; k++) {
		struct guess *g = &b->guesses[step->first_local + k];
		const struct tpi_info *info = &infos[k];
		uint64_t n;

		/* Which may be more than a tensor of this machine can have. */
		if (!tp_shape_numel(info->sizes, info->rank, &n, NULL) &&
		    !(step->op->flags & TPI_OP_MAKES))
			g->nbytes = bytes_of(stand_in(info->dtype), n);
		/* Without a shape, what follows is not guessed. */
		(void)!make_shape(b, info, &g->shape, NULL);
	}
}

static void
guess_step(struct bound *b, size_t i)
{
	const struct tpi_step *step = &b->frame->plan->steps[i];

	if (!step->op || step->has_refs || step->n_made == 0)
		return;
	switch (gather(b, step)) {
	case ELEMENTS:
		compute(b, step, i);
		if (b->guesses[step->first_local].is_known)
			return;
		infer(b, step, i);
		return;
	case SHAPES:
		infer(b, step, i);
		return;
	case NOTHING:
		return;
	}
}

/* False if the sum is more than any memory. */
static bool
count_outputs(
    const struct bound *b, const struct tpi_step *step, uint64_t *live)
{
	for (size_t k = 0; k < step->n_made; k++)
		if (tp_add_u64(
			*live, b->guesses[step->first_local + k].nbytes, live))
			return false;
	return true;
}

static void
drop_dead(struct bound *b, const struct tpi_step *step, uint64_t *live)
{
	for (size_t k = 0; k < step->n_dead; k++) {
		struct guess *g = &b->guesses[step->dead[k]];

		*live -= g->nbytes;
		tp_value_release(&g->shape);
	}
}

static void
walk(struct bound *b, struct tpi_memory *found)
{
	const struct tpi_plan *plan = b->frame->plan;
	uint64_t live = 0;

	for (size_t i = 0; i < plan->graph->n_nodes; i++) {
		guess_step(b, i);
		if (!count_outputs(b, &plan->steps[i], &live))
			live = UINT64_MAX;
		if (live > found->nbytes) {
			found->nbytes = live;
			found->node = i;
		}
		if (live == UINT64_MAX)
			return;
		drop_dead(b, &plan->steps[i], &live);
	}
}

static enum tp_status
begin(struct bound *b, const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tpi_plan *plan = b->frame->plan;
	enum tp_status rc;

	b->guesses = tp_mem_array(alloc, plan->n_locals, sizeof(*b->guesses));
	b->args = tp_mem_array(alloc, plan->most_inputs, sizeof(*b->args));
	if (!b->guesses || !b->args)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu shapes", plan->n_locals);
	rc = tpi_limit_new(alloc, SCRATCH_BYTES, &b->scratch, err);
	/* As wide as any element. */
	return rc ? rc : tp_storage_new(alloc, 16, &b->zero, err);
}

enum tp_status
tpi_frame_bound(
    const struct tpi_frame *frame, struct tpi_memory *found, struct tp_err *err)
{
	const struct tp_alloc *alloc = frame->run->opts->alloc;
	const struct tpi_plan *plan = frame->plan;
	struct bound b = {.frame = frame};
	enum tp_status rc = begin(&b, alloc, err);

	*found = (struct tpi_memory){0, 0};
	if (!rc)
		walk(&b, found);
	for (size_t l = 0; b.guesses && l < plan->n_locals; l++)
		tp_value_release(&b.guesses[l].shape);
	tp_mem_free(alloc, b.guesses, plan->n_locals, sizeof(*b.guesses));
	tp_mem_free(alloc, b.args, plan->most_inputs, sizeof(*b.args));
	tp_storage_unref(b.zero);
	tpi_limit_unref(b.scratch);
	return rc;
}
