/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_uses.c - where a model uses some tensors
 */
#include "onnx_uses.h"

#include "banned.h"

struct walk {
	struct tpi_onnx_scopes scopes;
	const TpOnnx__FunctionProto *function;
	tpi_onnx_use_fn *fn;
	void *ctx;
	struct tp_err *err;
};

/* A place that names something: tell of it if it is one of the tensors. */
static enum tp_status
look_at(struct walk *w, const struct tpi_onnx_frame *frame,
    enum tpi_use_kind kind, ProtobufCBinaryData *name, TpOnnx__NodeProto *node,
    size_t input)
{
	struct tpi_onnx_use use = {
	    .kind = kind,
	    .tensor = tpi_onnx_scopes_find(&w->scopes, name),
	    .name = name,
	    .node = node,
	    .input = input,
	    .function = w->function,
	    .frame = frame,
	    .scopes = &w->scopes,
	};

	return use.tensor == TP_NONE ? TP_OK : w->fn(w->ctx, &use, w->err);
}

static enum tp_status walk_graph(struct walk *w,
    const struct tpi_onnx_frame *outer, const TpOnnx__GraphProto *g);

static enum tp_status
walk_node(
    struct walk *w, const struct tpi_onnx_frame *frame, TpOnnx__NodeProto *node)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; !rc && k < node->n_input; k++)
		rc = look_at(w, frame, TPI_USE_INPUT, &node->input[k], node, k);
	for (size_t k = 0; !rc && k < node->n_attribute; k++) {
		const TpOnnx__AttributeProto *a = node->attribute[k];

		if (a->g)
			rc = walk_graph(w, frame, a->g);
		for (size_t j = 0; !rc && j < a->n_graphs; j++)
			rc = walk_graph(w, frame, a->graphs[j]);
	}
	return rc;
}

/* Everything inside g but training, which only the main graph has. */
static enum tp_status
walk_inside(struct walk *w, const struct tpi_onnx_frame *outer,
    const TpOnnx__GraphProto *g)
{
	struct tpi_onnx_frame frame = {.scope = g, .outer = outer};
	enum tp_status rc = tpi_onnx_scopes_enter(&w->scopes, g, w->err);

	for (; !rc && frame.node < g->n_node; frame.node++)
		rc = walk_node(w, &frame, g->node[frame.node]);
	for (size_t i = 0; !rc && i < g->n_output; i++)
		rc = look_at(
		    w, &frame, TPI_USE_OUTPUT, &g->output[i]->name, NULL, 0);
	return rc;
}

static enum tp_status
walk_graph(struct walk *w, const struct tpi_onnx_frame *outer,
    const TpOnnx__GraphProto *g)
{
	size_t mark = w->scopes.n_undo;
	enum tp_status rc = walk_inside(w, outer, g);

	tpi_onnx_scopes_leave(&w->scopes, mark);
	return rc;
}

static enum tp_status
walk_bindings(
    struct walk *w, TpOnnx__StringStringEntryProto *const *bindings, size_t n)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++) {
		rc = look_at(
		    w, NULL, TPI_USE_BINDING, &bindings[i]->key, NULL, 0);
		if (!rc)
			rc = look_at(w, NULL, TPI_USE_BINDING,
			    &bindings[i]->value, NULL, 0);
	}
	return rc;
}

/* Training sees the main graph and assigns to its initializers. */
static enum tp_status
walk_training(struct walk *w, const TpOnnx__TrainingInfoProto *t)
{
	size_t mark = w->scopes.n_undo;
	enum tp_status rc = TP_OK;

	if (t->initialization)
		rc = walk_graph(w, NULL, t->initialization);
	if (!rc && t->algorithm)
		rc = walk_inside(w, NULL, t->algorithm);
	if (!rc)
		rc = walk_bindings(
		    w, t->initialization_binding, t->n_initialization_binding);
	if (!rc)
		rc = walk_bindings(w, t->update_binding, t->n_update_binding);
	tpi_onnx_scopes_leave(&w->scopes, mark);
	return rc;
}

/* What was shown since the mark is defined in the function. */
static enum tp_status
tell_defined(struct walk *w, size_t mark)
{
	enum tp_status rc = TP_OK;

	for (size_t i = mark; !rc && i < w->scopes.n_undo; i++) {
		struct tpi_onnx_use use = {
		    .kind = TPI_USE_FUNCTION,
		    .tensor = tpi_onnx_scopes_shown(&w->scopes, i),
		    .function = w->function,
		};

		rc = w->fn(w->ctx, &use, w->err);
	}
	return rc;
}

static enum tp_status
walk_function(struct walk *w, const TpOnnx__FunctionProto *f)
{
	struct tpi_onnx_frame frame = {.scope = f};
	size_t mark = w->scopes.n_undo;
	enum tp_status rc = tpi_onnx_scopes_show(&w->scopes, f, w->err);

	w->function = f;
	if (!rc)
		rc = tell_defined(w, mark);
	for (; !rc && frame.node < f->n_node; frame.node++)
		rc = walk_node(w, &frame, f->node[frame.node]);
	for (size_t i = 0; !rc && i < f->n_output; i++)
		rc = look_at(w, &frame, TPI_USE_OUTPUT, &f->output[i], NULL, 0);
	tpi_onnx_scopes_leave(&w->scopes, mark);
	w->function = NULL;
	return rc;
}

static enum tp_status
walk_model(struct walk *w, const TpOnnx__ModelProto *m)
{
	enum tp_status rc = TP_OK;

	if (m->graph)
		rc = walk_inside(w, NULL, m->graph);
	for (size_t i = 0; !rc && i < m->n_training_info; i++)
		rc = walk_training(w, m->training_info[i]);
	tpi_onnx_scopes_leave(&w->scopes, 0);
	for (size_t i = 0; !rc && i < m->n_functions; i++)
		rc = walk_function(w, m->functions[i]);
	return rc;
}

enum tp_status
tpi_onnx_each_use(TpOnnx__ModelProto *model,
    const struct tpi_onnx_local *tensors, size_t n,
    const struct tp_alloc *alloc, tpi_onnx_use_fn *fn, void *ctx,
    struct tp_err *err)
{
	struct walk w = {.fn = fn, .ctx = ctx, .err = err};
	enum tp_status rc =
	    tpi_onnx_scopes_init(&w.scopes, tensors, n, alloc, err);

	if (!rc)
		rc = walk_model(&w, model);
	tpi_onnx_scopes_release(&w.scopes);
	return rc;
}
