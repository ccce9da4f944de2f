/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees.c - TreeEnsemble of ai.onnx.ml 5: what the leaves of trees say together
 *
 *	X [N, F] or [F]		Y [N, n_targets]
 *
 * Node i compares feature nodes_featureids[i] with nodes_splits[i] and goes to
 * node, or to leaf if that is flagged, nodes_truenodeids[i] or …false….
 * Members of sets lie in membership_values, a NaN behind each set, in the order
 * of the nodes that ask for them. Nothing in a file keeps nodes from going in
 * circles: a walk that is longer than there are nodes is refused.
 */
#include "../op.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/layout.h"
#include "tp/sparse.h"

#include "../tensor.h"
#include "scores.h"

#include "../banned.h"

enum mode { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, N_MODES };
enum aggregate { AVERAGE, SUM, MIN, MAX };

struct set {
	size_t first, n; /* of the members */
};

struct ensemble {
	size_t n_nodes, n_leaves, n_roots;
	int64_t n_targets, n_features;
	enum aggregate aggregate;
	enum tpi_scores after;
	/* Of nodes: */
	const int64_t *features, *next[2], *is_leaf[2]; /* [1]: if true */
	const int64_t *missing; /* goes to true; or NULL */
	struct tp_tensor *modes, *splits;
	struct set *sets;
	/* Of leaves: */
	const int64_t *targets;
	struct tp_tensor *weights, *members;
	const int64_t *roots;
};

/* A list of integers, of n unless that is SIZE_MAX, which says how many. */
static enum tp_status
take_ints(const struct tpi_call *c, const char *name, size_t *n,
    const int64_t **list, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	if (!a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is missing",
		    c->op->onnx, name);
	if (*n == SIZE_MAX)
		*n = a->n;
	if (a->n != *n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu elements, expected %zu", c->op->onnx, name,
		    a->n, *n);
	*list = a->ints;
	return TP_OK;
}

/* The numbers of an attribute as f64. */
static enum tp_status
take_numbers(const struct tpi_call *c, const char *name, size_t *n,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);
	const struct tp_tensor *t = a ? a->tensor->tensor : NULL;

	if (!t || a->tensor->kind != TP_VALUE_TENSOR ||
	    tp_tensor_is_sparse(t) || t->rank != 1 ||
	    tp_dtype_kind(t->dtype) == TP_KIND_COMPLEX)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s is no list of numbers", c->op->onnx, name);
	if (*n == SIZE_MAX)
		*n = (size_t)t->n_elems;
	if (t->n_elems != *n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %" PRIu64 " elements, expected %zu",
		    c->op->onnx, name, t->n_elems, *n);
	return tpi_op_doubles(c, t, tp_tensor_sizes(t), 1, out, err);
}

static enum tp_status
take_lists(const struct tpi_call *c, struct ensemble *e, struct tp_err *err)
{
	size_t n_members = SIZE_MAX, n_missing;
	enum tp_status rc;

	e->n_nodes = e->n_leaves = e->n_roots = SIZE_MAX;
	rc = take_ints(c, "nodes_featureids", &e->n_nodes, &e->features, err);
	if (!rc)
		rc = take_ints(
		    c, "nodes_truenodeids", &e->n_nodes, &e->next[1], err);
	if (!rc)
		rc = take_ints(
		    c, "nodes_falsenodeids", &e->n_nodes, &e->next[0], err);
	if (!rc)
		rc = take_ints(
		    c, "nodes_trueleafs", &e->n_nodes, &e->is_leaf[1], err);
	if (!rc)
		rc = take_ints(
		    c, "nodes_falseleafs", &e->n_nodes, &e->is_leaf[0], err);
	n_missing = e->n_nodes;
	if (!rc && tpi_attr_find(c, "nodes_missing_value_tracks_true"))
		rc = take_ints(c, "nodes_missing_value_tracks_true", &n_missing,
		    &e->missing, err);
	if (!rc)
		rc = take_ints(
		    c, "leaf_targetids", &e->n_leaves, &e->targets, err);
	if (!rc)
		rc = take_ints(c, "tree_roots", &e->n_roots, &e->roots, err);
	if (!rc)
		rc =
		    take_numbers(c, "nodes_modes", &e->n_nodes, &e->modes, err);
	if (!rc)
		rc = take_numbers(
		    c, "nodes_splits", &e->n_nodes, &e->splits, err);
	if (!rc)
		rc = take_numbers(
		    c, "leaf_weights", &e->n_leaves, &e->weights, err);
	if (!rc && tpi_attr_find(c, "membership_values"))
		rc = take_numbers(
		    c, "membership_values", &n_members, &e->members, err);
	return rc;
}

static bool
is_below(int64_t i, uint64_t n)
{
	return i >= 0 && (uint64_t)i < n;
}

static enum tp_status
check_node(const struct tpi_call *c, const struct ensemble *e, size_t i,
    struct tp_err *err)
{
	double mode = ((const double *)tp_tensor_data(e->modes))[i];

	if (!(mode >= 0 && mode < N_MODES) || mode != floor(mode))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: node %zu has mode %g", c->op->onnx, i, mode);
	if (!is_below(e->features[i], (uint64_t)e->n_features))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: node %zu asks for feature %" PRId64 " of %" PRId64,
		    c->op->onnx, i, e->features[i], e->n_features);
	for (int k = 0; k < 2; k++) {
		size_t n = e->is_leaf[k][i] ? e->n_leaves : e->n_nodes;

		if (!is_below(e->next[k][i], n))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: node %zu goes to %s %" PRId64 " of %zu",
			    c->op->onnx, i, e->is_leaf[k][i] ? "leaf" : "node",
			    e->next[k][i], n);
	}
	return TP_OK;
}

static enum tp_status
check_indices(
    const struct tpi_call *c, const struct ensemble *e, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < e->n_nodes && !rc; i++)
		rc = check_node(c, e, i, err);
	for (size_t i = 0; i < e->n_leaves && !rc; i++)
		if (!is_below(e->targets[i], (uint64_t)e->n_targets))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: leaf %zu is for target %" PRId64
			    " of %" PRId64,
			    c->op->onnx, i, e->targets[i], e->n_targets);
	for (size_t i = 0; i < e->n_roots && !rc; i++)
		if (!is_below(e->roots[i], e->n_nodes))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: tree %zu begins at node %" PRId64 " of %zu",
			    c->op->onnx, i, e->roots[i], e->n_nodes);
	return rc;
}

/* Which members belong to which node. */
static enum tp_status
find_sets(const struct tpi_call *c, struct ensemble *e, struct tp_err *err)
{
	const double *modes = tp_tensor_data(e->modes), *x = NULL;
	size_t n = e->members ? (size_t)e->members->n_elems : 0, at = 0;

	if (e->members)
		x = tp_tensor_data(e->members);
	e->sets = tp_mem_array(c->alloc, e->n_nodes, sizeof(*e->sets));
	if (!e->sets)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu nodes", c->op->onnx, e->n_nodes);
	for (size_t i = 0; i < e->n_nodes; i++) {
		e->sets[i] = (struct set){at, 0};
		if (modes[i] != MEMBER)
			continue;
		if (at >= n)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: node %zu has no set of members", c->op->onnx,
			    i);
		while (at < n && x[at] == x[at])
			at++;
		e->sets[i].n = at++ - e->sets[i].first;
	}
	return TP_OK;
}

static bool
is_member(const struct ensemble *e, size_t i, double x)
{
	const struct set *set = &e->sets[i];

	for (size_t k = 0; k < set->n; k++)
		if (((const double *)tp_tensor_data(
			e->members))[set->first + k] == x)
			return true;
	return false;
}

static bool
goes_true(const struct ensemble *e, size_t i, double x)
{
	double split = ((const double *)tp_tensor_data(e->splits))[i];

	if (x != x && e->missing && e->missing[i])
		return true;
	switch ((enum mode)((const double *)tp_tensor_data(e->modes))[i]) {
	case LEQ:
		return x <= split;
	case LT:
		return x < split;
	case GTE:
		return x >= split;
	case GT:
		return x > split;
	case EQ:
		return x == split;
	case NEQ:
		return x != split;
	case MEMBER:
		return is_member(e, i, x);
	case N_MODES:
		break;
	}
	return false;
}

static enum tp_status
find_leaf(const struct tpi_call *c, const struct ensemble *e, const double *x,
    size_t tree, size_t *leaf, struct tp_err *err)
{
	size_t at = (size_t)e->roots[tree];

	for (size_t steps = 0; steps < e->n_nodes; steps++) {
		int way = goes_true(e, at, x[e->features[at]]);
		size_t next = (size_t)e->next[way][at];

		if (e->is_leaf[way][at]) {
			*leaf = next;
			return TP_OK;
		}
		at = next;
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: the nodes of tree %zu go in a circle", c->op->onnx, tree);
}

static double
combine(enum aggregate how, double a, double b)
{
	if (how == MIN)
		return b < a ? b : a;
	if (how == MAX)
		return b > a ? b : a;
	return a + b;
}

/* One row of X to one of Y; *seen has a byte a target. */
static enum tp_status
score_row(const struct tpi_call *c, const struct ensemble *e, const double *x,
    double *y, unsigned char *seen, struct tp_err *err)
{
	size_t n = (size_t)e->n_targets;

	memset(y, 0, n * sizeof(*y));
	memset(seen, 0, n);
	for (size_t tree = 0; tree < e->n_roots; tree++) {
		size_t leaf = 0, target;
		double w;
		enum tp_status rc = find_leaf(c, e, x, tree, &leaf, err);

		if (rc)
			return rc;
		target = (size_t)e->targets[leaf];
		w = ((const double *)tp_tensor_data(e->weights))[leaf];
		y[target] =
		    seen[target] ? combine(e->aggregate, y[target], w) : w;
		seen[target] = 1;
	}
	for (size_t k = 0; k < n && e->aggregate == AVERAGE && e->n_roots; k++)
		y[k] /= (double)e->n_roots;
	tpi_scores_finish(e->after, y, n);
	return TP_OK;
}

static enum tp_status
infer_ensemble(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t n_targets = tpi_attr_int(c, "n_targets", 0);

	if (x->rank < 1 || x->rank > 2 || n_targets < 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an input of rank %u and %" PRId64 " targets",
		    c->op->onnx, x->rank, n_targets);
	infos[0].dtype = x->dtype;
	infos[0].rank = 2;
	infos[0].sizes[0] = x->rank == 2 ? tp_tensor_sizes(x)[0] : 1;
	infos[0].sizes[1] = n_targets;
	return TP_OK;
}

/* Released whatever the outcome. */
static enum tp_status
read_ensemble(const struct tpi_call *c, struct ensemble *e, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t aggregate = tpi_attr_int(c, "aggregate_function", SUM);
	int64_t after = tpi_attr_int(c, "post_transform", TPI_SCORES_NONE);
	enum tp_status rc;

	memset(e, 0, sizeof(*e));
	e->n_targets = tpi_attr_int(c, "n_targets", 0);
	e->n_features = tp_tensor_sizes(x)[x->rank - 1];
	if (aggregate < AVERAGE || aggregate > MAX || after < TPI_SCORES_NONE ||
	    after > TPI_SCORES_PROBIT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: aggregate_function %" PRId64
		    ", post_transform %" PRId64,
		    c->op->onnx, aggregate, after);
	e->aggregate = (enum aggregate)aggregate;
	e->after = (enum tpi_scores)after;
	rc = take_lists(c, e, err);
	if (!rc)
		rc = check_indices(c, e, err);
	return rc ? rc : find_sets(c, e, err);
}

static void
release_ensemble(const struct tpi_call *c, struct ensemble *e)
{
	if (e->sets)
		tp_mem_free(c->alloc, e->sets, e->n_nodes, sizeof(*e->sets));
	tp_tensor_free(e->modes);
	tp_tensor_free(e->splits);
	tp_tensor_free(e->weights);
	tp_tensor_free(e->members);
}

static enum tp_status
score_all(struct tpi_call *c, const struct ensemble *e, struct tp_tensor *x,
    struct tp_tensor *y, struct tp_err *err)
{
	size_t n = (size_t)e->n_targets;
	unsigned char *seen = tpi_op_scratch(c, n, 1);
	enum tp_status rc = TP_OK;

	if (!seen)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu targets", c->op->onnx, n);
	for (size_t r = 0; r < y->n_elems / n && !rc; r++)
		rc = score_row(c, e,
		    (const double *)tp_tensor_data(x) +
			r * (size_t)e->n_features,
		    (double *)tp_tensor_data_mut(y) + r * n, seen, err);
	tp_mem_free(c->alloc, seen, n, 1);
	return rc;
}

static enum tp_status
run_ensemble(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	struct tp_tensor *x = NULL, *y = NULL;
	struct ensemble e;
	enum tp_status rc = read_ensemble(c, &e, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, in, tp_tensor_sizes(in), in->rank, &x, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 2, &y, err);
	if (!rc && y->n_elems)
		rc = score_all(c, &e, x, y, err);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	release_ensemble(c, &e);
	return rc;
}

static const struct tpi_attr_spec ensemble_attrs[] = {
    {"aggregate_function", TP_ATTR_INT}, {"leaf_targetids", TP_ATTR_INTS},
    {"leaf_weights", TP_ATTR_TENSOR}, {"membership_values", TP_ATTR_TENSOR},
    {"n_targets", TP_ATTR_INT}, {"nodes_falseleafs", TP_ATTR_INTS},
    {"nodes_falsenodeids", TP_ATTR_INTS}, {"nodes_featureids", TP_ATTR_INTS},
    {"nodes_hitrates", TP_ATTR_TENSOR},
    {"nodes_missing_value_tracks_true", TP_ATTR_INTS},
    {"nodes_modes", TP_ATTR_TENSOR}, {"nodes_splits", TP_ATTR_TENSOR},
    {"nodes_trueleafs", TP_ATTR_INTS}, {"nodes_truenodeids", TP_ATTR_INTS},
    {"post_transform", TP_ATTR_INT}, {"tree_roots", TP_ATTR_INTS}, {NULL, 0}};

const struct tp_op tpi_trees_ops[] = {
    {.name = "tree_ensemble",
	.onnx = "TreeEnsemble",
	.domain = "ai.onnx.ml",
	.since = 5,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.attrs = ensemble_attrs,
	.infer = infer_ensemble,
	.run = run_ensemble,
	.kernels = tpi_float_dtypes},
    {.name = NULL},
};
