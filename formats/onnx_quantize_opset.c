/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quantize_opset.c - the form of narrowed weights, and its opset
 *
 * DequantizeLinear came with opset 10, its axis with 13, its blocks with 21;
 * dtypes came with opsets of their own. A higher opset is asked for only where
 * there is no other form.
 */
#include "onnx_quantize.h"

#include <inttypes.h>

#include "tp/onnx_dtype.h"

#include "onnx_message.h"

#include "banned.h"

#define DEQUANTIZE_TENSOR 10
#define DEQUANTIZE_CHANNEL 13
#define DEQUANTIZE_BLOCK 21
#define NUMPY_BROADCASTING 7

/* Which nodes a change concerns. */
struct which {
	enum {
		WHICH_ALL,
		WHICH_INPUTS,
		WHICH_INPUTS_BELOW,
		WHICH_OUTPUTS,
		WHICH_HAS,
		WHICH_NUMBER,
		WHICH_NOT_NUMBER,
		WHICH_TEXT,
		WHICH_NOT_TEXT,
	} kind;
	int64_t number;
	const char *attribute, *text;
};

#define ALWAYS                           \
	{                                \
		WHICH_ALL, 0, NULL, NULL \
	}
#define INPUTS(n)                           \
	{                                   \
		WHICH_INPUTS, n, NULL, NULL \
	}
#define INPUTS_BELOW(n)                           \
	{                                         \
		WHICH_INPUTS_BELOW, n, NULL, NULL \
	}
#define OUTPUTS(n)                           \
	{                                    \
		WHICH_OUTPUTS, n, NULL, NULL \
	}
#define HAS(name)                        \
	{                                \
		WHICH_HAS, 0, name, NULL \
	}
#define IS_SET(name)                            \
	{                                       \
		WHICH_NOT_NUMBER, 0, name, NULL \
	}
#define IS_NUMBER(name, n)                  \
	{                                   \
		WHICH_NUMBER, n, name, NULL \
	}
#define IS(name, value)                    \
	{                                  \
		WHICH_TEXT, 0, name, value \
	}
#define IS_NOT(name, value)                    \
	{                                      \
		WHICH_NOT_TEXT, 0, name, value \
	}

/* change 0: it has none. */
static const struct {
	const char *op_type;
	struct which which;
	int64_t change;
} operators[] = {
#define TPI_ONNX_CHANGE(name, which, opset) {name, which, opset},
#define TPI_ONNX_STEADY(name) {name, ALWAYS, 0},
#include "onnx_opsets.def"
#undef TPI_ONNX_CHANGE
#undef TPI_ONNX_STEADY
};

/* The IR version that came with an opset. */
static const struct {
	int64_t opset, ir_version;
} versions[] = {
    {9, 4}, {10, 5}, {11, 6}, {12, 7}, {15, 8}, {19, 9}, {21, 10}, {23, 11}};

static bool
is_cast(const struct tp_recipe *recipe)
{
	return recipe->scheme->scale == TP_DTYPE_NONE;
}

static int64_t
dequantize_since(const struct tp_recipe *recipe)
{
	int64_t dtype = tp_onnx_since(recipe->scheme->dtype).opset, per = 0;

	switch (recipe->per) {
	case TP_PER_TENSOR:
		per = DEQUANTIZE_TENSOR;
		break;
	case TP_PER_CHANNEL:
		per = DEQUANTIZE_CHANNEL;
		break;
	case TP_PER_BLOCK:
		per = DEQUANTIZE_BLOCK;
		break;
	}
	return dtype > per ? dtype : per;
}

enum tpi_onnx_expand
tpi_onnx_expand_of(const struct tp_recipe *recipe, int64_t opset)
{
	if (is_cast(recipe))
		return TPI_EXPAND_CAST;
	return opset >= dequantize_since(recipe) ? TPI_EXPAND_DEQUANTIZE
						 : TPI_EXPAND_ARITHMETIC;
}

/* The lowest opset in which there is a form. */
static int64_t
least_opset(const struct tp_recipe *recipe)
{
	int64_t since = tp_onnx_since(recipe->scheme->dtype).opset;

	return !is_cast(recipe) && recipe->per == TP_PER_BLOCK
		   ? dequantize_since(recipe)
		   : since;
}

/*
 * ---- raising ----
 */

static enum tp_status
refuse(const struct tpi_onnx_edit *e, const struct tp_recipe *recipe,
    int64_t need, struct tp_str op_type, const char *why, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s%s needs opset %" PRId64 ", the graph has %" PRId64
	    ", which cannot be raised: %s%s",
	    recipe->scheme->name,
	    !is_cast(recipe) && recipe->per == TP_PER_BLOCK ? " per block" : "",
	    need, tpi_onnx_edit_opset(e), TP_BRIEF(op_type), why);
}

static bool
concerns(const struct which *which, const TpOnnx__NodeProto *node)
{
	const TpOnnx__AttributeProto *a =
	    which->attribute
		? tpi_onnx_attribute(node, tp_str(which->attribute))
		: NULL;
	size_t n = (size_t)which->number;
	bool same;

	switch (which->kind) {
	case WHICH_ALL:
		return true;
	case WHICH_INPUTS:
		return node->n_input >= n;
	case WHICH_INPUTS_BELOW:
		return node->n_input < n;
	case WHICH_OUTPUTS:
		return node->n_output >= n;
	case WHICH_HAS:
		return a != NULL;
	case WHICH_NUMBER:
	case WHICH_NOT_NUMBER:
		same = a && a->i == which->number; /* 0 if it is not there */
		return a && same == (which->kind == WHICH_NUMBER);
	case WHICH_TEXT:
	case WHICH_NOT_TEXT:
		same = a && a->has_s &&
		       !tp_str_cmp(tpi_onnx_str(a->s), tp_str(which->text));
		return a && same == (which->kind == WHICH_TEXT);
	}
	return true;
}

static enum tp_status
check_node(const struct tpi_onnx_edit *e, const TpOnnx__NodeProto *node,
    const struct tp_recipe *recipe, int64_t need, struct tp_err *err)
{
	struct tp_str op_type = tpi_onnx_str(node->op_type);
	int64_t have = tpi_onnx_edit_opset(e);
	bool known = false;

	if (!tpi_onnx_is_default(node->domain))
		return TP_OK;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (tp_str_cmp(op_type, tp_str(operators[i].op_type)))
			continue;
		known = true;
		if (operators[i].change > have && operators[i].change <= need &&
		    concerns(&operators[i].which, node))
			return refuse(e, recipe, need, op_type,
			    " means something else there", err);
	}
	return known ? TP_OK
		     : refuse(e, recipe, need, op_type,
			   " is no operator whose history is known", err);
}

static enum tp_status
check_raise(const struct tpi_onnx_edit *e, const struct tp_recipe *recipe,
    int64_t need, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (tpi_onnx_edit_opset(e) < NUMPY_BROADCASTING)
		return refuse(e, recipe, need, TP_STR(""),
		    "operators below 7 broadcast otherwise", err);
	if (e->model->n_functions)
		return refuse(e, recipe, need, TP_STR(""),
		    "the model has functions, which have opsets of their own",
		    err);
	for (size_t i = 0; !rc && i < e->slots.n_scopes; i++) {
		const TpOnnx__GraphProto *g = e->slots.scopes[i].graph;

		for (size_t k = 0; !rc && k < g->n_node; k++)
			rc = check_node(e, g->node[k], recipe, need, err);
	}
	return rc;
}

enum tp_status
tpi_onnx_needed_opset(struct tpi_onnx_edit *e, const struct tp_recipe *recipe,
    int64_t *opset, struct tp_err *err)
{
	int64_t have = tpi_onnx_edit_opset(e), need = least_opset(recipe);
	enum tp_status rc;

	*opset = need > have ? need : have;
	if (*opset == have || need <= e->raisable)
		return TP_OK;
	rc = check_raise(e, recipe, need, err);
	if (!rc)
		e->raisable = need;
	return rc;
}

void
tpi_onnx_set_versions(
    struct tpi_onnx_edit *e, int64_t opset, enum tp_dtype codes)
{
	TpOnnx__ModelProto *m = e->model;
	int64_t ir_version = tp_onnx_since(codes).ir_version;

	if (opset > tpi_onnx_edit_opset(e)) {
		for (size_t i = 0; i < sizeof(versions) / sizeof(*versions);
		     i++)
			if (opset >= versions[i].opset &&
			    ir_version < versions[i].ir_version)
				ir_version = versions[i].ir_version;
		for (size_t i = 0; i < m->n_opset_import; i++)
			if (tpi_onnx_is_default(m->opset_import[i]->domain))
				m->opset_import[i]->version = opset;
	}
	if (m->ir_version < ir_version) {
		m->has_ir_version = 1;
		m->ir_version = ir_version;
	}
}
