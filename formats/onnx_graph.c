/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_graph.c - may tensors of a graph change their element type?
 *
 * Every use of the tensors is looked at (onnx_uses.h). Then a second walk
 * writes the new types where the model speaks of them.
 */
#include "onnx_graph.h"

#include <inttypes.h>

#include "tp/onnx_dtype.h"

#include "onnx_slots.h"
#include "onnx_uses.h"

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

struct walk {
	const int32_t *types; /* of each tensor */
	struct tpi_onnx_scopes scopes;
	struct tp_err *err;
};

static struct tp_str
bytes(const ProtobufCBinaryData *b)
{
	return tpi_onnx_str(*b);
}

/*
 * ---- versions ----
 */

/* Do the operators of a model or function know the dtype? */
static enum tp_status
check_opsets(TpOnnx__OperatorSetIdProto *const *opsets, size_t n,
    const struct tpi_onnx_retype *c, struct tp_err *err)
{
	struct tp_onnx_since since = tp_onnx_since(c->to);

	for (size_t i = 0; i < n; i++)
		if (tpi_onnx_is_default(opsets[i]->domain) &&
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
	struct tp_onnx_since since = tp_onnx_since(c->to);

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
refuse(const struct tpi_onnx_retype *c, const char *what, struct tp_str name,
    struct tp_str op_type, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
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

/* A tpi_onnx_use_fn. */
static enum tp_status
check_use(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct tpi_onnx_retype *const *changes = ctx;
	const struct tpi_onnx_retype *c = &(*changes)[use->tensor];
	const TpOnnx__NodeProto *node = use->node;

	switch (use->kind) {
	case TPI_USE_INPUT:
		if (is_indifferent(node, use->input))
			return TP_OK;
		return refuse(c, "node",
		    node->name.len || !node->n_output ? bytes(&node->name)
						      : bytes(&node->output[0]),
		    bytes(&node->op_type), err);
	case TPI_USE_OUTPUT:
		return refuse(c,
		    use->function && use->frame->scope == use->function
			? "the function output"
			: "the graph output",
		    bytes(use->name), TP_STR(""), err);
	case TPI_USE_BINDING:
		return refuse(c, "a binding of training of", bytes(use->name),
		    TP_STR(""), err);
	case TPI_USE_FUNCTION:
		/* A function has opsets of its own. */
		return check_opsets(use->function->opset_import,
		    use->function->n_opset_import, c, err);
	}
	return TP_OK;
}

/*
 * ---- what else has to know ----
 */

static void
retype_values(struct walk *w, TpOnnx__ValueInfoProto *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const TpOnnx__TypeProto *type = values[i]->type;
		size_t c = tpi_onnx_scopes_find(&w->scopes, &values[i]->name);

		if (c == TP_NONE || !type)
			continue;
		if (type->tensor_type && type->tensor_type->has_elem_type)
			type->tensor_type->elem_type = w->types[c];
		if (type->sparse_tensor_type &&
		    type->sparse_tensor_type->has_elem_type)
			type->sparse_tensor_type->elem_type = w->types[c];
	}
}

/* Only the scope's own names: an outer one cannot be listed here. */
static enum tp_status
retype_scope(struct walk *w, const void *scope,
    TpOnnx__ValueInfoProto *const *input, size_t n_input,
    TpOnnx__ValueInfoProto *const *info, size_t n_info)
{
	enum tp_status rc = tpi_onnx_scopes_show(&w->scopes, scope, w->err);

	if (!rc) {
		retype_values(w, input, n_input);
		retype_values(w, info, n_info);
	}
	tpi_onnx_scopes_leave(&w->scopes, 0);
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

enum tp_status
tpi_onnx_retype_values(TpOnnx__ModelProto *model,
    const struct tpi_onnx_local *tensors, const int32_t *types, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	struct walk w = {.types = types, .err = err};
	enum tp_status rc =
	    tpi_onnx_scopes_init(&w.scopes, tensors, n, alloc, err);

	if (!rc)
		rc = retype_model(&w, model);
	tpi_onnx_scopes_release(&w.scopes);
	return rc;
}

/*
 * ---- the whole ----
 */

enum tp_status
tpi_onnx_retype(TpOnnx__ModelProto *model,
    const struct tpi_onnx_retype *changes, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	struct tpi_onnx_local *tensors;
	int32_t *types;
	enum tp_status rc = TP_OK;

	if (n == 0)
		return TP_OK;
	for (size_t i = 0; i < n; i++) {
		rc = check_versions(model, &changes[i], err);
		if (rc)
			return rc;
	}
	tensors = tp_mem_array(alloc, n, sizeof(*tensors));
	types = tp_mem_array(alloc, n, sizeof(*types));
	if (!tensors || !types)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the types of tensors");
	for (size_t i = 0; !rc && i < n; i++) {
		tensors[i] = changes[i].at;
		types[i] = changes[i].code;
	}
	if (!rc)
		rc = tpi_onnx_each_use(
		    model, tensors, n, alloc, check_use, &changes, err);
	if (!rc)
		rc = tpi_onnx_retype_values(
		    model, tensors, types, n, alloc, err);
	tp_mem_free(alloc, types, n, sizeof(*types));
	tp_mem_free(alloc, tensors, n, sizeof(*tensors));
	return rc;
}
