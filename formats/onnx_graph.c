/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_graph.c - may tensors of a graph change their element type?
 *
 * One walk over the model, whatever the number of changes. `active` holds for
 * each changed name the change that a node would mean by it at this place of
 * the walk: entering a scope sets its own names and hides those it redefines,
 * leaving it puts back what was there (the undo log).
 *
 *	main graph          w -> change 0
 *	  then_branch       w -> change 1   (its own w)
 *	  else_branch       w -> change 0   (captured)
 */
#include "onnx_graph.h"

#include <inttypes.h>
#include <string.h>

#include "tp/map.h"

#include "onnx_dtype.h"
#include "onnx_slots.h"

#include "banned.h"

/* Consumers that take any type and whose outputs do not depend on it. */
static const struct {
	const char *op_type;
	size_t input;
} indifferent[] = {
    {"Cast", 0},     /* its `to` names the output type */
    {"CastLike", 0}, /* input 1 gives the output type */
    {"Shape", 0},    /* looks at the sizes only */
    {"Size", 0},
};

#define NO_CHANGE SIZE_MAX

struct undo {
	size_t name, change;
};

struct walk {
	const struct tp_alloc *alloc;
	const struct tpi_onnx_retype *changes;
	size_t n_changes;
	size_t *first_in_scope; /* number of a scope -> change */
	size_t *next_in_scope;	/* chains the changes of a scope */
	size_t *name_of;	/* change -> number of its name */
	size_t *active;		/* number of a name -> change */
	struct tp_map scopes;	/* address of a scope -> its number */
	struct tp_map names;	/* name -> its number */
	struct undo *undo;
	size_t n_undo, cap_undo;
	struct tp_err *err;
};

static struct tp_str
bytes(const ProtobufCBinaryData *b)
{
	return tpi_onnx_str(*b);
}

static enum tp_status
no_memory(struct walk *w)
{
	return tp_fail(w->err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the consumers of %zu tensors", w->n_changes);
}

/*
 * ---- which change a name means ----
 */

static enum tp_status
set_active(struct walk *w, size_t name, size_t change)
{
	struct undo *grown;
	size_t cap;

	if (w->n_undo == w->cap_undo) {
		cap = w->cap_undo ? w->cap_undo * 2 : 64;
		grown = tp_mem_grow(
		    w->alloc, w->undo, w->cap_undo, cap, sizeof(*grown));
		if (!grown)
			return no_memory(w);
		w->undo = grown;
		w->cap_undo = cap;
	}
	w->undo[w->n_undo++] = (struct undo){name, w->active[name]};
	w->active[name] = change;
	return TP_OK;
}

static void
leave(struct walk *w, size_t mark)
{
	while (w->n_undo > mark) {
		struct undo u = w->undo[--w->n_undo];

		w->active[u.name] = u.change;
	}
}

static size_t
find_active(const struct walk *w, const ProtobufCBinaryData *name)
{
	size_t number;

	/* "" leaves out an optional input or output. */
	if (name->len == 0 || !tp_map_find(&w->names, bytes(name), &number))
		return NO_CHANGE;
	return w->active[number];
}

/* A name that a scope defines no longer means that of an outer scope. */
static enum tp_status
hide(struct walk *w, const ProtobufCBinaryData *name)
{
	size_t number;

	if (!tp_map_find(&w->names, bytes(name), &number) ||
	    w->active[number] == NO_CHANGE)
		return TP_OK;
	return set_active(w, number, NO_CHANGE);
}

static enum tp_status
hide_outputs(struct walk *w, TpOnnx__NodeProto *const *nodes, size_t n)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = 0; !rc && k < nodes[i]->n_output; k++)
			rc = hide(w, &nodes[i]->output[k]);
	return rc;
}

static enum tp_status
show_changes(struct walk *w, const void *scope)
{
	struct tp_str key = {(const char *)&scope, sizeof(scope)};
	enum tp_status rc = TP_OK;
	size_t c;

	if (!tp_map_find(&w->scopes, key, &c))
		return TP_OK;
	for (; !rc && c != NO_CHANGE; c = w->next_in_scope[c])
		rc = set_active(w, w->name_of[c], c);
	return rc;
}

static enum tp_status
enter_graph(struct walk *w, const TpOnnx__GraphProto *g)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < g->n_input; i++)
		rc = hide(w, &g->input[i]->name);
	for (size_t i = 0; !rc && i < g->n_initializer; i++)
		rc = hide(w, &g->initializer[i]->name);
	for (size_t i = 0; !rc && i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			rc = hide(w, &g->sparse_initializer[i]->values->name);
	if (!rc)
		rc = hide_outputs(w, g->node, g->n_node);
	if (!rc)
		rc = show_changes(w, g);
	return rc;
}

/*
 * ---- versions ----
 */

/* "" and "ai.onnx" both name the operators of ONNX itself. */
static bool
is_default(const ProtobufCBinaryData *domain)
{
	return domain->len == 0 ||
	       tp_str_cmp(bytes(domain), TP_STR("ai.onnx")) == 0;
}

/* Do the operators of a model or function know the dtype? */
static enum tp_status
check_opsets(TpOnnx__OperatorSetIdProto *const *opsets, size_t n,
    const struct tpi_onnx_retype *c, struct tp_err *err)
{
	struct tpi_onnx_since since = tpi_onnx_since(c->to);

	for (size_t i = 0; i < n; i++)
		if (is_default(&opsets[i]->domain) &&
		    opsets[i]->version < since.opset)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "tensor '%s': the graph has opset %" PRId64
			    ", %s needs %" PRId64,
			    TP_BRIEF(c->entry), opsets[i]->version,
			    tp_dtype_name(c->to), since.opset);
	return TP_OK;
}

static enum tp_status
check_versions(const TpOnnx__ModelProto *m, const struct tpi_onnx_retype *c,
    struct tp_err *err)
{
	struct tpi_onnx_since since = tpi_onnx_since(c->to);

	if (m->ir_version < since.ir_version)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': the model has IR version %" PRId64
		    ", %s needs %" PRId64,
		    TP_BRIEF(c->entry), m->ir_version, tp_dtype_name(c->to),
		    since.ir_version);
	return check_opsets(m->opset_import, m->n_opset_import, c, err);
}

/*
 * ---- who minds ----
 */

static enum tp_status
refuse(struct walk *w, size_t change, const char *what, struct tp_str name,
    struct tp_str op_type)
{
	const struct tpi_onnx_retype *c = &w->changes[change];

	return tp_fail(w->err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s': %s instead of %s would make the graph invalid: "
	    "%s '%s'%s%s%s uses it (cast it back: --dtype 'NAME=%s')",
	    TP_BRIEF(c->entry), tp_dtype_name(c->to), tp_dtype_name(c->from),
	    what, TP_BRIEF(name), op_type.len ? " (" : "",
	    op_type.len ? TP_BRIEF(op_type) : "", op_type.len ? ")" : "",
	    tp_dtype_name(c->from));
}

static bool
is_indifferent(const TpOnnx__NodeProto *node, size_t input)
{
	for (size_t i = 0; i < sizeof(indifferent) / sizeof(*indifferent); i++)
		if (input == indifferent[i].input &&
		    tpi_onnx_is_op(node, tp_str(indifferent[i].op_type)))
			return true;
	return false;
}

static enum tp_status walk_graph(struct walk *w, const TpOnnx__GraphProto *g);

static enum tp_status
walk_nodes(struct walk *w, TpOnnx__NodeProto *const *nodes, size_t n)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++) {
		const TpOnnx__NodeProto *node = nodes[i];

		for (size_t k = 0; k < node->n_input; k++) {
			size_t c = find_active(w, &node->input[k]);

			if (c != NO_CHANGE && !is_indifferent(node, k))
				return refuse(w, c, "node",
				    node->name.len || !node->n_output
					? bytes(&node->name)
					: bytes(&node->output[0]),
				    bytes(&node->op_type));
		}
		for (size_t k = 0; !rc && k < node->n_attribute; k++) {
			const TpOnnx__AttributeProto *a = node->attribute[k];

			if (a->g)
				rc = walk_graph(w, a->g);
			for (size_t j = 0; !rc && j < a->n_graphs; j++)
				rc = walk_graph(w, a->graphs[j]);
		}
	}
	return rc;
}

static enum tp_status
walk_outputs(struct walk *w, const TpOnnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_output; i++) {
		size_t c = find_active(w, &g->output[i]->name);

		if (c != NO_CHANGE)
			return refuse(w, c, "the graph output",
			    bytes(&g->output[i]->name), TP_STR(""));
	}
	return TP_OK;
}

/* Everything inside g but training, which only the main graph has. */
static enum tp_status
walk_inside(struct walk *w, const TpOnnx__GraphProto *g)
{
	enum tp_status rc = enter_graph(w, g);

	if (!rc)
		rc = walk_nodes(w, g->node, g->n_node);
	if (!rc)
		rc = walk_outputs(w, g);
	return rc;
}

static enum tp_status
walk_graph(struct walk *w, const TpOnnx__GraphProto *g)
{
	size_t mark = w->n_undo;
	enum tp_status rc = walk_inside(w, g);

	leave(w, mark);
	return rc;
}

static enum tp_status
walk_bindings(
    struct walk *w, TpOnnx__StringStringEntryProto *const *bindings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const ProtobufCBinaryData *ends[] = {
		    &bindings[i]->key, &bindings[i]->value};

		for (size_t k = 0; k < 2; k++) {
			size_t c = find_active(w, ends[k]);

			if (c != NO_CHANGE)
				return refuse(w, c, "a binding of training of",
				    bytes(ends[k]), TP_STR(""));
		}
	}
	return TP_OK;
}

/* Training sees the main graph and assigns to its initializers. */
static enum tp_status
walk_training(struct walk *w, const TpOnnx__TrainingInfoProto *t)
{
	size_t mark = w->n_undo;
	enum tp_status rc = TP_OK;

	if (t->initialization)
		rc = walk_graph(w, t->initialization);
	if (!rc && t->algorithm)
		rc = walk_inside(w, t->algorithm);
	if (!rc)
		rc = walk_bindings(
		    w, t->initialization_binding, t->n_initialization_binding);
	if (!rc)
		rc = walk_bindings(w, t->update_binding, t->n_update_binding);
	leave(w, mark);
	return rc;
}

/* Every change that was shown since the mark, by the function's own opsets. */
static enum tp_status
check_function(struct walk *w, const TpOnnx__FunctionProto *f, size_t mark)
{
	enum tp_status rc = TP_OK;

	for (size_t i = mark; !rc && i < w->n_undo; i++)
		rc = check_opsets(f->opset_import, f->n_opset_import,
		    &w->changes[w->active[w->undo[i].name]], w->err);
	return rc;
}

static enum tp_status
walk_function(struct walk *w, const TpOnnx__FunctionProto *f)
{
	size_t mark = w->n_undo;
	enum tp_status rc = show_changes(w, f);

	if (!rc)
		rc = check_function(w, f, mark);
	if (!rc)
		rc = walk_nodes(w, f->node, f->n_node);
	for (size_t i = 0; !rc && i < f->n_output; i++) {
		size_t c = find_active(w, &f->output[i]);

		if (c != NO_CHANGE)
			rc = refuse(w, c, "the function output",
			    bytes(&f->output[i]), TP_STR(""));
	}
	leave(w, mark);
	return rc;
}

static enum tp_status
walk_model(struct walk *w, const TpOnnx__ModelProto *m)
{
	enum tp_status rc = TP_OK;

	if (m->graph)
		rc = walk_inside(w, m->graph);
	for (size_t i = 0; !rc && i < m->n_training_info; i++)
		rc = walk_training(w, m->training_info[i]);
	leave(w, 0);
	for (size_t i = 0; !rc && i < m->n_functions; i++)
		rc = walk_function(w, m->functions[i]);
	return rc;
}

/*
 * ---- what else has to know ----
 */

static void
retype_values(struct walk *w, TpOnnx__ValueInfoProto *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const TpOnnx__TypeProto *type = values[i]->type;
		size_t c = find_active(w, &values[i]->name);

		if (c == NO_CHANGE || !type)
			continue;
		if (type->tensor_type && type->tensor_type->has_elem_type)
			type->tensor_type->elem_type = w->changes[c].code;
		if (type->sparse_tensor_type &&
		    type->sparse_tensor_type->has_elem_type)
			type->sparse_tensor_type->elem_type =
			    w->changes[c].code;
	}
}

/* Only the scope's own names: an outer one cannot be listed here. */
static enum tp_status
retype_scope(struct walk *w, const void *scope,
    TpOnnx__ValueInfoProto *const *input, size_t n_input,
    TpOnnx__ValueInfoProto *const *info, size_t n_info)
{
	enum tp_status rc = show_changes(w, scope);

	if (!rc) {
		retype_values(w, input, n_input);
		retype_values(w, info, n_info);
	}
	leave(w, 0);
	return rc;
}

static enum tp_status retype_graph(struct walk *w, TpOnnx__GraphProto *g);

static enum tp_status
retype_nodes(struct walk *w, TpOnnx__NodeProto *const *nodes, size_t n)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = 0; !rc && k < nodes[i]->n_attribute; k++) {
			TpOnnx__AttributeProto *a = nodes[i]->attribute[k];

			if (a->g)
				rc = retype_graph(w, a->g);
			for (size_t j = 0; !rc && j < a->n_graphs; j++)
				rc = retype_graph(w, a->graphs[j]);
		}
	return rc;
}

static enum tp_status
retype_graph(struct walk *w, TpOnnx__GraphProto *g)
{
	enum tp_status rc = retype_scope(
	    w, g, g->input, g->n_input, g->value_info, g->n_value_info);

	if (!rc)
		rc = retype_nodes(w, g->node, g->n_node);
	return rc;
}

static enum tp_status
retype_model(struct walk *w, TpOnnx__ModelProto *m)
{
	enum tp_status rc = TP_OK;

	if (m->graph)
		rc = retype_graph(w, m->graph);
	for (size_t i = 0; !rc && i < m->n_training_info; i++) {
		TpOnnx__TrainingInfoProto *t = m->training_info[i];

		if (t->initialization)
			rc = retype_graph(w, t->initialization);
		if (!rc && t->algorithm)
			rc = retype_graph(w, t->algorithm);
	}
	for (size_t i = 0; !rc && i < m->n_functions; i++) {
		TpOnnx__FunctionProto *f = m->functions[i];

		rc =
		    retype_scope(w, f, NULL, 0, f->value_info, f->n_value_info);
		if (!rc)
			rc = retype_nodes(w, f->node, f->n_node);
	}
	return rc;
}

/*
 * ---- the whole ----
 */

/* Number the names and the scopes, chain the changes of each scope. */
static enum tp_status
index_changes(struct walk *w)
{
	enum tp_status rc;

	for (size_t i = w->n_changes; i-- > 0;) {
		const struct tpi_onnx_retype *c = &w->changes[i];
		struct tp_str scope = {
		    (const char *)&c->scope, sizeof(c->scope)};
		size_t name = w->names.n_used, first = w->scopes.n_used;

		rc = tp_map_add(&w->names, c->name, name, &name, w->err);
		if (rc && rc != TP_EARG)
			return rc;
		w->name_of[i] = name;
		w->active[name] = NO_CHANGE;

		rc = tp_map_add(&w->scopes, scope, first, &first, w->err);
		if (rc && rc != TP_EARG)
			return rc;
		w->next_in_scope[i] =
		    rc == TP_EARG ? w->first_in_scope[first] : NO_CHANGE;
		w->first_in_scope[first] = i;
	}
	return TP_OK;
}

enum tp_status
tpi_onnx_retype(TpOnnx__ModelProto *model,
    const struct tpi_onnx_retype *changes, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	struct walk w = {
	    .alloc = alloc, .changes = changes, .n_changes = n, .err = err};
	enum tp_status rc = TP_OK;

	if (n == 0)
		return TP_OK;
	for (size_t i = 0; i < n; i++) {
		rc = check_versions(model, &changes[i], err);
		if (rc)
			return rc;
	}
	tp_map_init(&w.scopes, alloc);
	tp_map_init(&w.names, alloc);
	w.next_in_scope = tp_mem_array(alloc, n, sizeof(size_t));
	w.first_in_scope = tp_mem_array(alloc, n, sizeof(size_t));
	w.name_of = tp_mem_array(alloc, n, sizeof(size_t));
	w.active = tp_mem_array(alloc, n, sizeof(size_t));
	if (!w.next_in_scope || !w.first_in_scope || !w.name_of || !w.active)
		rc = no_memory(&w);
	if (!rc)
		rc = index_changes(&w);
	if (!rc)
		rc = walk_model(&w, model);
	if (!rc)
		rc = retype_model(&w, model);

	tp_mem_free(alloc, w.undo, w.cap_undo, sizeof(*w.undo));
	tp_mem_free(alloc, w.active, n, sizeof(size_t));
	tp_mem_free(alloc, w.name_of, n, sizeof(size_t));
	tp_mem_free(alloc, w.first_in_scope, n, sizeof(size_t));
	tp_mem_free(alloc, w.next_in_scope, n, sizeof(size_t));
	tp_map_release(&w.names);
	tp_map_release(&w.scopes);
	return rc;
}
