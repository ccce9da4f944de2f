/* SPDX-License-Identifier: Apache-2.0 */
/* graph_call.c - graphs inside graphs: of operators and of functions */
#include "graph_run.h"

#include <stdio.h>
#include <string.h>

#include "tp/checked.h"

#include "banned.h"

enum tp_status
tpi_frame_run_graph(void *ctx, const struct tp_graph *graph,
    const struct tp_value *inputs, size_t n_in, struct tp_value *outputs,
    size_t n_out, struct tp_err *err)
{
	struct tpi_frame *below = ctx;
	struct tpi_frame frame = {
	    .plan = tpi_program_find(below->run->program, graph),
	    .given = inputs,
	    .n_given = n_in,
	};

	for (size_t k = 0; k < n_out; k++)
		outputs[k] = tp_value_of(NULL);
	if (!frame.plan)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a graph that is not of this program");
	if (n_in != graph->n_inputs || n_out > graph->n_outputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "its graph '%s' has %zu inputs and %zu outputs, expected "
		    "%zu and at least %zu",
		    TP_BRIEF(graph->name), graph->n_inputs, graph->n_outputs,
		    n_in, n_out);
	return tpi_frame_run(&frame, below, outputs, n_out, err);
}

enum tp_status
tpi_frame_call(struct tpi_frame *frame, const struct tpi_step *step,
    const struct tp_attr *attrs, size_t n_attrs, struct tp_value *outputs,
    struct tp_err *err)
{
	struct tpi_frame inner = {
	    .plan = step->call,
	    .given = frame->args,
	    .n_given = step->node->n_inputs,
	    .attrs = attrs,
	    .n_attrs = n_attrs,
	};

	return tpi_frame_run(&inner, frame, outputs, step->n_made, err);
}

static const struct tp_attr *
find_attr(const struct tp_attr *attrs, size_t n, struct tp_str name)
{
	for (size_t i = 0; i < n; i++)
		if (!tp_str_cmp(attrs[i].name, name))
			return &attrs[i];
	return NULL;
}

/* What an attribute of that name is in this call of the function. */
static const struct tp_attr *
argument(const struct tpi_frame *frame, struct tp_str name)
{
	const struct tp_function *f = frame->plan->function;
	const struct tp_attr *a = find_attr(frame->attrs, frame->n_attrs, name);

	return a || !f ? a : find_attr(f->defaults, f->n_defaults, name);
}

enum tp_status
tpi_frame_attrs(const struct tpi_frame *frame, const struct tpi_step *step,
    struct tp_attr **out, size_t *n, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	struct tp_attr *attrs =
	    tp_mem_array(frame->run->alloc, node->n_attrs, sizeof(*attrs));

	*out = attrs;
	*n = 0;
	if (!attrs)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu attributes", node->n_attrs);
	for (size_t i = 0; i < node->n_attrs; i++) {
		const struct tp_attr *own = &node->attrs[i];
		const struct tp_attr *a =
		    own->ref.len ? argument(frame, own->ref) : own;

		if (!a)
			continue;
		attrs[*n] = *a;
		attrs[*n].name = own->name;
		attrs[*n].ref = TP_STR("");
		++*n;
	}
	return TP_OK;
}

/* "conv1", or "Conv#3" of a node without a name. */
static int
print_node(char *text, size_t size, const struct tp_node *node, size_t index)
{
	if (node->name.len)
		return snprintf(text, size, "%s", TP_BRIEF(node->name));
	return snprintf(text, size, "%s#%zu", TP_BRIEF(node->op), index);
}

/* The attribute whose graph the frame runs; "" in a function. */
static struct tp_str
attr_of(const struct tpi_frame *frame)
{
	const struct tp_node *node =
	    frame->below->plan->steps[frame->below->at].node;

	for (size_t i = 0; i < node->n_attrs; i++)
		if (node->attrs[i].kind == TP_ATTR_GRAPH &&
		    !node->attrs[i].ref.len &&
		    node->attrs[i].graph == frame->plan->graph)
			return node->attrs[i].name;
	return TP_STR("");
}

enum tp_status
tpi_scope_make(struct tpi_frame *frame, struct tp_err *err)
{
	const struct tpi_frame *below = frame->below;
	char node[TP_BRIEF_SIZE + 24], text[2 * TP_BRIEF_SIZE + 32];
	struct tp_str attr;
	size_t len, room;
	char *scope;

	if (!below)
		return TP_OK;
	attr = attr_of(frame);
	print_node(
	    node, sizeof(node), below->plan->steps[below->at].node, below->at);
	snprintf(text, sizeof(text), "%s%s%s%s", below->scope.len ? "/" : "",
	    node, attr.len ? "/" : "", TP_BRIEF(attr));
	len = strlen(text);
	if (tp_add_size(below->scope.len, len + 1, &room))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET, "a long scope");
	scope = tp_mem_array(frame->run->alloc, room, 1);
	if (!scope)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a scope");
	if (below->scope.len)
		memcpy(scope, below->scope.s, below->scope.len);
	memcpy(scope + below->scope.len, text, len + 1);
	frame->scope = (struct tp_str){scope, room - 1};
	return TP_OK;
}

void
tpi_scope_free(struct tpi_frame *frame)
{
	if (frame->scope.s)
		tp_mem_free(frame->run->alloc,
		    (void *)(uintptr_t)frame->scope.s, frame->scope.len + 1, 1);
}
