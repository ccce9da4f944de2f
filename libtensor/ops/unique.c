/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique.c - Unique: each element, or each slice along an axis, once
 *
 * Slices are compared element by element in row-major order. -0 and 0 are the
 * same, and so are all NaN, which come last.
 */
#include "moves.h"

#include <string.h>

#include "../tensor.h"
#include "indices.h"
#include "order.h"

#include "../banned.h"

struct items {
	struct tpi_keys keys;
	size_t n;	     /* items */
	size_t outer, inner; /* item i has keys [0 … outer-1][i][0 … inner-1] */
};

static int
order_items(const void *ctx, uint64_t a, uint64_t b)
{
	const struct items *t = ctx;

	for (size_t o = 0; o < t->outer; o++) {
		const uint64_t *row = t->keys.at + o * t->n * t->inner;

		for (size_t i = 0; i < t->inner; i++) {
			uint64_t x = row[a * t->inner + i];
			uint64_t y = row[b * t->inner + i];

			if (x != y)
				return x < y ? -1 : 1;
		}
	}
	return 0;
}

/* Items that are alike are a group, which has the number of its first one. */
struct groups {
	struct tpi_indices firsts, counts; /* n groups */
	struct tpi_indices group_of;	   /* an item each */
};

static void
release_groups(struct groups *g)
{
	tpi_indices_release(&g->firsts);
	tpi_indices_release(&g->counts);
	tpi_indices_release(&g->group_of);
}

/* sorted has the items in order. */
static void
count_groups(const struct items *t, const uint64_t *sorted, struct groups *g)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (i == 0 || order_items(t, sorted[i - 1], sorted[i])) {
			/* The sort is stable, so the first has come first. */
			g->firsts.at[n] = (int64_t)sorted[i];
			g->counts.at[n++] = 0;
		}
		g->counts.at[n - 1]++;
		g->group_of.at[sorted[i]] = (int64_t)n - 1;
	}
	g->firsts.n = g->counts.n = n;
}

/* Number the groups as they come up instead; old is for as many numbers. */
static void
renumber_groups(struct groups *g, uint64_t *old)
{
	size_t n = 0;

	for (size_t i = 0; i < g->group_of.n; i++) {
		size_t k = (size_t)g->group_of.at[i];

		/* The first item of a group names it anew. */
		if (g->firsts.at[k] == (int64_t)i)
			old[k] = n++;
		g->group_of.at[i] = (int64_t)old[k];
	}
	memset(g->counts.at, 0, g->counts.n * sizeof(*g->counts.at));
	for (size_t i = g->group_of.n; i-- > 0;) {
		g->firsts.at[g->group_of.at[i]] = (int64_t)i;
		g->counts.at[g->group_of.at[i]]++;
	}
}

static enum tp_status
find_groups(const struct tpi_call *c, const struct items *t, struct groups *g,
    struct tp_err *err)
{
	uint64_t *sorted = tp_mem_array(c->alloc, t->n, sizeof(*sorted));
	uint64_t *room = tp_mem_array(c->alloc, t->n, sizeof(*room));
	enum tp_status rc = TP_OK;

	if (!sorted || !room)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu items", c->op->onnx, t->n);
	if (!rc)
		rc = tpi_indices_make(c, &g->firsts, t->n, err);
	if (!rc)
		rc = tpi_indices_make(c, &g->counts, t->n, err);
	if (!rc)
		rc = tpi_indices_make(c, &g->group_of, t->n, err);
	if (!rc) {
		for (size_t i = 0; i < t->n; i++)
			sorted[i] = i;
		if (t->outer == 1 && t->inner == 1)
			tpi_sort_by_key(sorted, room, t->n, t->keys.at);
		else
			tpi_sort(sorted, room, t->n, order_items, t);
		count_groups(t, sorted, g);
		if (!tpi_attr_int(c, "sorted", 1))
			renumber_groups(g, room);
	}
	tp_mem_free(c->alloc, sorted, t->n, sizeof(*sorted));
	tp_mem_free(c->alloc, room, t->n, sizeof(*room));
	return rc;
}

static enum tp_status
write_list(struct tpi_call *c, size_t k, const struct tpi_indices *list,
    struct tp_err *err)
{
	const int64_t n = (int64_t)list->n;
	enum tp_status rc;

	if (k >= c->n_out)
		return TP_OK;
	rc = tpi_op_temp(c, TP_DTYPE_I64, &n, 1, &c->out[k], err);
	if (!rc && n)
		memcpy(tp_tensor_data_mut(c->out[k]), list->at,
		    list->n * sizeof(*list->at));
	return rc;
}

/* The first item of each group. */
static enum tp_status
write_items(struct tpi_call *c, const struct tp_tensor *x, unsigned axis,
    const struct groups *g, struct tp_err *err)
{
	struct tpi_pick_axis axes[TP_MAX_RANK] = {{0}};
	struct tpi_info info = tpi_info_of(x);
	enum tp_status rc;

	for (unsigned d = 0; d < x->rank; d++)
		axes[d].size = info.sizes[d];
	axes[axis] = (struct tpi_pick_axis){(int64_t)g->firsts.n, g->firsts.at};
	info.sizes[axis] = axes[axis].size;
	rc = tpi_op_temp(c, x->dtype, info.sizes, info.rank, &c->out[0], err);
	return rc ? rc : tpi_pick(c, x, axes, NULL, c->out[0], err);
}

/* Without an axis x becomes a line. */
static enum tp_status
take_items(const struct tpi_call *c, struct tp_tensor **x, unsigned *axis,
    struct items *t, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "axis");
	struct tpi_info info = tpi_info_of(c->in[0]);
	enum tp_status rc = TP_OK;

	*axis = 0;
	if (a)
		rc = tpi_op_axis(c, a->i, c->in[0]->rank, axis, err);
	else
		info = (struct tpi_info){
		    info.dtype, 1, {(int64_t)c->in[0]->n_elems}};
	if (!rc)
		rc = tpi_pack_as(c, c->in[0], info.sizes, info.rank, x, err);
	if (!rc)
		rc = tpi_keys_take(c, 0, &t->keys, err);
	if (rc)
		return rc;
	t->n = (size_t)info.sizes[*axis];
	t->outer = t->inner = 1;
	/* Without elements items have none, and are all alike. */
	if ((*x)->n_elems == 0)
		t->outer = 0;
	for (unsigned d = 0; d < info.rank && t->outer; d++)
		if (d != *axis)
			*(d < *axis ? &t->outer : &t->inner) *=
			    (size_t)info.sizes[d];
	if (tp_dtype_kind(info.dtype) == TP_KIND_COMPLEX)
		t->inner *= 2;
	return TP_OK;
}

static enum tp_status
run_unique(struct tpi_call *c, struct tp_err *err)
{
	struct items items = {.n = 0};
	struct tp_tensor *x = NULL;
	struct groups g = {.firsts = {0}};
	unsigned axis = 0;
	enum tp_status rc = take_items(c, &x, &axis, &items, err);

	if (!rc)
		rc = find_groups(c, &items, &g, err);
	if (!rc)
		rc = write_items(c, x, axis, &g, err);
	if (!rc)
		rc = write_list(c, 1, &g.firsts, err);
	if (!rc)
		rc = write_list(c, 2, &g.group_of, err);
	if (!rc)
		rc = write_list(c, 3, &g.counts, err);
	release_groups(&g);
	tpi_keys_release(&items.keys);
	tp_tensor_free(x);
	return rc;
}

static const struct tpi_attr_spec unique_attrs[] = {
    {"axis", TP_ATTR_INT}, {"sorted", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_unique_ops[] = {
    {.name = "unique",
	.onnx = "Unique",
	.since = 11,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 4,
	.flags = TPI_OP_MAKES | TPI_OP_MOVES,
	.strings_in = TPI_BIT(0),
	.strings_out = TPI_BIT(0),
	.attrs = unique_attrs,
	.run = run_unique},
    {.name = NULL},
};
