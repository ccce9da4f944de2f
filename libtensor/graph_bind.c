/* SPDX-License-Identifier: Apache-2.0 */
/* graph_bind.c - which operator or function a node stands for */
#include "graph.h"

#include <inttypes.h>

#include "op.h"

#include "banned.h"

/* "ai.onnx" is another way to write "". */
static struct tp_str
plain_domain(struct tp_str domain)
{
	return tp_str_cmp(domain, TP_STR("ai.onnx")) ? domain : TP_STR("");
}

static bool
same_domain(struct tp_str a, struct tp_str b)
{
	return tp_str_cmp(plain_domain(a), plain_domain(b)) == 0;
}

/* Domains that mean the same in every model. */
static bool
is_of_onnx(struct tp_str domain)
{
	static const char *const own[] = {"", "ai.onnx.ml", "ai.onnx.preview",
	    "ai.onnx.preview.training", "ai.onnx.training"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (same_domain(domain, tp_str(own[i])))
			return true;
	return false;
}

enum tp_status
tpi_callees_init(struct tp_program *program, struct tp_err *err)
{
	const struct tp_graph_model *model = program->model;
	enum tp_status rc = TP_OK;

	program->callees = tp_mem_array(
	    program->alloc, model->n_functions, sizeof(*program->callees));
	if (!program->callees)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu functions", model->n_functions);
	for (size_t i = 0; i < model->n_functions && !rc; i++) {
		const struct tp_function *f = &model->functions[i];
		size_t first;

		program->callees[i].function = f;
		rc =
		    tp_map_add(&program->callee_names, f->name, i, &first, err);
		if (rc != TP_EARG)
			continue;
		/* Of another domain or overload, or the earlier one is it. */
		program->callees[i].same_name =
		    program->callees[first].same_name;
		program->callees[first].same_name = &program->callees[i];
		rc = TP_OK;
	}
	return rc;
}

void
tpi_callees_release(struct tp_program *program)
{
	tp_mem_free(program->alloc, program->callees,
	    program->model->n_functions, sizeof(*program->callees));
	tp_map_release(&program->callee_names);
}

static struct tpi_callee *
find_callee(const struct tp_program *program, const struct tp_node *node)
{
	struct tpi_callee *c;
	size_t i;

	if (!tp_map_find(&program->callee_names, node->op, &i))
		return NULL;
	for (c = &program->callees[i]; c; c = c->same_name)
		if (same_domain(c->function->domain, node->domain) &&
		    !tp_str_cmp(c->function->overload, node->overload))
			return c;
	return NULL;
}

/* The version of a domain where function, or NULL the model, imports it. */
static enum tp_status
find_version(const struct tp_program *program,
    const struct tp_function *function, struct tp_str domain, int *version,
    struct tp_err *err)
{
	const struct tp_opset *sets =
	    function ? function->opsets : program->model->opsets;
	size_t n = function ? function->n_opsets : program->model->n_opsets;

	for (size_t i = 0; i < n; i++) {
		if (!same_domain(sets[i].domain, domain))
			continue;
		if (sets[i].version < 1 || sets[i].version >= TP_OP_NEWEST)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "opset %" PRId64 " of domain '%s'", sets[i].version,
			    TP_BRIEF(domain));
		*version = (int)sets[i].version;
		return TP_OK;
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s says no opset for domain '%s'",
	    function ? "its function" : "the model", TP_BRIEF(domain));
}

static enum tp_status
find_operator(const struct tp_program *program,
    const struct tp_function *function, const struct tp_node *node,
    const struct tp_op **op, struct tp_err *err)
{
	int version = 0;
	enum tp_status rc =
	    find_version(program, function, node->domain, &version, err);

	return rc ? rc : tp_op_find(node->domain, node->op, version, op, err);
}

static bool
has_attr(const struct tp_function *f, struct tp_str name)
{
	for (size_t i = 0; i < f->n_attr_names; i++)
		if (!tp_str_cmp(f->attr_names[i], name))
			return true;
	for (size_t i = 0; i < f->n_defaults; i++)
		if (!tp_str_cmp(f->defaults[i].name, name))
			return true;
	return false;
}

static enum tp_status
check_call(
    const struct tp_function *f, const struct tp_node *node, struct tp_err *err)
{
	if (node->n_inputs > f->graph.n_inputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu inputs, the function takes %zu", node->n_inputs,
		    f->graph.n_inputs);
	if (node->n_outputs > f->graph.n_outputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu outputs, the function has %zu", node->n_outputs,
		    f->graph.n_outputs);
	for (size_t i = 0; i < node->n_attrs; i++)
		if (!has_attr(f, node->attrs[i].name))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "the function has no attribute '%s'",
			    TP_BRIEF(node->attrs[i].name));
	return TP_OK;
}

static enum tp_status
bind_call(struct tp_program *program, struct tpi_callee *callee,
    struct tpi_step *step, unsigned depth, struct tp_err *err)
{
	const struct tp_function *f = callee->function;
	enum tp_status rc = check_call(f, step->node, err);

	if (!rc && callee->is_open)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "function '%s' calls itself", TP_BRIEF(f->name));
	if (!rc && !callee->plan) {
		callee->is_open = true;
		rc = tpi_plan_new(
		    program, &f->graph, NULL, f, depth + 1, &callee->plan, err);
		callee->is_open = false;
	}
	step->call = callee->plan;
	return rc;
}

enum tp_status
tpi_step_bind(struct tp_program *program, struct tpi_step *step,
    const struct tp_function *function, unsigned depth, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	struct tpi_callee *callee = find_callee(program, node);
	enum tp_status rc;

	if (callee && !is_of_onnx(node->domain))
		return bind_call(program, callee, step, depth, err);
	rc = find_operator(
	    program, function, node, &step->op, callee ? NULL : err);
	if (rc && callee)
		rc = bind_call(program, callee, step, depth, err);
	return rc;
}
