/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_check.c - is the graph of an ONNX model well-formed?
 *
 * A walk over the parsed tree. Each graph, and each body of a function, is a
 * scope: a table from names to what defines them,
 *
 *	0	an input or an initializer: there from the beginning
 *	i + 1	node i
 *
 * A name is looked up in its own scope, then in those around it. In each of
 * these the walk stands at some node, so it is known there whether the name is
 * defined before it is used; if it is not, the nodes are sorted to see if they
 * could be (Kahn).
 *
 * What a runtime would refuse is an error; what only the letter of the
 * specification forbids and runtimes accept is a warning.
 */
#include "onnx_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_slots.h"
#include "plugin.h"
#include "proto_alloc.h"
#include "proto_skim.h"

#include "banned.h"

/*
 * ---- telling ----
 */

static size_t
put_str(struct tp_str s, char *out, size_t n)
{
	if (out && s.len)
		memcpy(out + n, s.s, s.len);
	return n + s.len;
}

/* The path of a scope; with out NULL only its length. */
static size_t
put_path(const struct tpi_check_scope *s, char *out)
{
	char number[64];
	size_t n = 0;

	if (!s->path_of)
		return 0;
	if (s->outer && s->attribute)
		n = put_path(s->outer, out);
	snprintf(number, sizeof(number), "%s%zu.", n ? "/" : "",
	    s->outer ? s->outer->at : 0);
	n = put_str(tp_str(s->attribute ? number : s->path_of), out, n);
	if (s->domain.s) {
		n = put_str(tp_str(TP_BRIEF(s->domain)), out, n);
		n = put_str(TP_STR("."), out, n);
	}
	/* The same path may be told of very often. */
	if (s->name.len < TP_BRIEF_SIZE)
		n = put_str(s->name, out, n);
	else
		n = put_str(tp_str(TP_BRIEF(s->name)), out, n);
	if (s->attribute && s->graph) {
		snprintf(number, sizeof(number), "[%zu]", s->graph - 1);
		n = put_str(tp_str(number), out, n);
	}
	return n;
}

void
tpi_check_say(struct tpi_check *c, const struct tpi_check_scope *s,
    bool is_error, const char *fmt, ...)
{
	char text[TP_ERR_MSG_SIZE], *path = NULL;
	size_t n = s ? put_path(s, NULL) : 0;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	path = tp_mem_array(c->alloc, n + 1, 1);
	if (!path) {
		c->no_memory = true;
		return;
	}
	if (n)
		put_path(s, path);
	c->fn(c->ctx, is_error, (struct tp_str){path, n}, text);
	tp_mem_free(c->alloc, path, n + 1, 1);
}

/*
 * ---- nodes ----
 */

/* "" and "ai.onnx" are one domain. */
static struct tp_str
domain_of(ProtobufCBinaryData b)
{
	struct tp_str s = tpi_onnx_str(b);

	return tp_str_cmp(s, TP_STR("ai.onnx")) ? s : TP_STR("");
}

/* Into a new map; whether one comes twice may be told. */
static void
import_domains(struct tpi_check *c, TpOnnx__OperatorSetIdProto *const *sets,
    size_t n, bool tell_twice)
{
	tp_map_init(&c->domains, c->alloc);
	for (size_t i = 0; i < n && !c->no_memory; i++) {
		struct tp_str domain = domain_of(sets[i]->domain);
		enum tp_status rc =
		    tp_map_add(&c->domains, domain, i, NULL, NULL);

		if (rc == TP_EARG && tell_twice)
			tpi_check_say(c, NULL, true,
			    "domain '%s' is imported twice", TP_BRIEF(domain));
		c->no_memory |= rc != TP_OK && rc != TP_EARG;
	}
}

static void
name_parameter(struct tpi_check *c, struct tp_str name)
{
	enum tp_status rc = tp_map_add(&c->parameters, name, 0, NULL, NULL);

	c->no_memory |= rc != TP_OK && rc != TP_EARG;
}

static void
check_domain(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__NodeProto *node)
{
	struct tp_str domain = domain_of(node->domain);
	size_t i;

	/* Before version 3 there was one set of operators. */
	if (c->model->ir_version < 3 && domain.len == 0)
		return;
	if (tp_map_find(&c->domains, domain, &i))
		return;
	tpi_check_say(c, s, true,
	    "node %zu (%s): no version of domain '%s' is imported", s->at,
	    TP_BRIEF(tpi_onnx_str(node->op_type)), TP_BRIEF(domain));
}

static void
check_node(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__NodeProto *node)
{
	struct tp_str op_type = tpi_onnx_str(node->op_type);

	if (op_type.len == 0)
		tpi_check_say(c, s, true, "node %zu names no operator", s->at);
	check_domain(c, s, node);
	for (size_t i = 0; i < node->n_input; i++) {
		struct tp_str name = tpi_onnx_str(node->input[i]);

		if (name.len && !tpi_check_use(c, s, name))
			tpi_check_say(c, s, true,
			    "node %zu (%s): input '%s' is defined nowhere",
			    s->at, TP_BRIEF(op_type), TP_BRIEF(name));
	}
	tpi_check_attributes(c, s, node);
	for (size_t i = 0; i < node->n_attribute; i++) {
		const TpOnnx__AttributeProto *a = node->attribute[i];

		for (size_t k = 0; k <= a->n_graphs; k++) {
			const TpOnnx__GraphProto *g =
			    k ? a->graphs[k - 1] : a->g;

			if (g)
				tpi_check_graph(c, g,
				    &(struct tpi_check_scope){.outer = s,
					.path_of = "",
					.attribute = true,
					.name = tpi_onnx_str(a->name),
					.graph = k});
		}
	}
}

static void
check_nodes(struct tpi_check *c, struct tpi_check_scope *s)
{
	for (s->at = 0; s->at < s->n_nodes && !c->no_memory; s->at++)
		check_node(c, s, s->nodes[s->at]);
	tpi_check_order(c, s);
}

/*
 * ---- graphs, functions, the model ----
 */

static void
define_outputs(struct tpi_check *c, struct tpi_check_scope *s)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		for (size_t k = 0; k < s->nodes[i]->n_output; k++) {
			struct tp_str name =
			    tpi_onnx_str(s->nodes[i]->output[k]);

			if (name.len)
				tpi_check_define(c, s, name, i + 1);
		}
}

static void
define_inputs(
    struct tpi_check *c, struct tpi_check_scope *s, const TpOnnx__GraphProto *g)
{
	bool told = false;
	size_t none;

	for (size_t i = 0; i < g->n_input; i++) {
		struct tp_str name = tpi_onnx_str(g->input[i]->name);

		if (name.len)
			tpi_check_define(c, s, name, 0);
		else
			tpi_check_say(c, s, true, "input %zu has no name", i);
	}
	/* One that is an input is its default. */
	for (size_t i = 0; i < g->n_initializer + g->n_sparse_initializer;
	     i++) {
		struct tp_str name = tpi_check_initializer_name(g, i);
		enum tp_status rc =
		    tp_map_add(&s->initializers, name, i, NULL, NULL);

		if (rc == TP_EARG)
			tpi_check_say(c, s, true,
			    "initializer '%s' appears twice", TP_BRIEF(name));
		else
			c->no_memory |= rc != TP_OK;
		if (rc || tp_map_find(&s->names, name, &none))
			continue;
		tpi_check_define(c, s, name, 0);
		/* Before version 4 each was the default of an input. */
		if (s->path_of || c->model->ir_version >= 4 ||
		    c->model->ir_version < 1 || told)
			continue;
		told = true;
		tpi_check_say(c, s, true,
		    "initializer '%s' is no input, which ir_version %" PRId64
		    " demands",
		    TP_BRIEF(name), c->model->ir_version);
	}
}

static void
check_outputs(
    struct tpi_check *c, struct tpi_check_scope *s, const TpOnnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_output; i++) {
		struct tp_str name = tpi_onnx_str(g->output[i]->name);
		size_t def;

		if (!name.len)
			tpi_check_say(c, s, true, "output %zu has no name", i);
		else if (!tp_map_find(&s->names, name, &def) &&
			 !tpi_check_use(c, s, name))
			tpi_check_say(c, s, true,
			    "output '%s' is defined nowhere", TP_BRIEF(name));
		else if (!tp_map_find(&s->names, name, &def))
			tpi_check_say(c, s, false,
			    "output '%s' comes from around the graph",
			    TP_BRIEF(name));
	}
}

void
tpi_check_graph(
    struct tpi_check *c, const TpOnnx__GraphProto *g, struct tpi_check_scope *s)
{
	s->nodes = g->node;
	s->n_nodes = g->n_node;
	tpi_check_scope_init(c, s);
	if (!g->name.len)
		tpi_check_say(c, s, false, "the graph has no name");
	define_inputs(c, s, g);
	define_outputs(c, s);
	tpi_check_values(c, s, g);
	check_nodes(c, s);
	check_outputs(c, s, g);
	/* Graphs of the training see the names of the main graph. */
	if (!s->outer && s->n_training) {
		for (size_t i = 0; i < s->n_training; i++)
			tpi_check_training(c, s, i);
	}
	tpi_check_scope_release(c, s);
}

void
tpi_check_training(struct tpi_check *c, struct tpi_check_scope *main, size_t i)
{
	const TpOnnx__TrainingInfoProto *t = c->model->training_info[i];
	const TpOnnx__GraphProto *const graphs[] = {
	    t->initialization, t->algorithm};
	static const char *const names[] = {"initialization", "algorithm"};

	for (size_t k = 0; k < 2; k++) {
		char path[48];

		if (!graphs[k])
			continue;
		snprintf(path, sizeof(path), "training[%zu].%s", i, names[k]);
		tpi_check_graph(c, graphs[k],
		    &(struct tpi_check_scope){.outer = main, .path_of = path});
	}
}

static void
check_function(struct tpi_check *c, const TpOnnx__FunctionProto *f)
{
	struct tpi_check_scope s = {.path_of = "function:",
	    .domain = tpi_onnx_str(f->domain),
	    .name = tpi_onnx_str(f->name),
	    .nodes = f->node,
	    .n_nodes = f->n_node};
	const struct tp_map outer = c->domains;

	c->function = f;
	import_domains(c, f->opset_import, f->n_opset_import, false);
	tp_map_init(&c->parameters, c->alloc);
	for (size_t i = 0; i < f->n_attribute; i++)
		name_parameter(c, tpi_onnx_str(f->attribute[i]));
	for (size_t i = 0; i < f->n_attribute_proto; i++)
		name_parameter(c, tpi_onnx_str(f->attribute_proto[i]->name));
	tpi_check_scope_init(c, &s);
	if (!f->name.len)
		tpi_check_say(c, &s, true, "a function has no name");
	for (size_t i = 0; i < f->n_input; i++)
		if (f->input[i].len)
			tpi_check_define(c, &s, tpi_onnx_str(f->input[i]), 0);
	define_outputs(c, &s);
	check_nodes(c, &s);
	for (size_t i = 0; i < f->n_output; i++)
		if (!tpi_check_use(c, &s, tpi_onnx_str(f->output[i])))
			tpi_check_say(c, &s, true,
			    "output '%s' is defined nowhere",
			    TP_BRIEF(tpi_onnx_str(f->output[i])));
	tpi_check_scope_release(c, &s);
	tp_map_release(&c->parameters);
	tp_map_release(&c->domains);
	c->domains = outer;
	c->function = NULL;
}

static void
check_model(struct tpi_check *c)
{
	const TpOnnx__ModelProto *m = c->model;
	struct tpi_check_scope s = {.n_training = m->n_training_info};

	if (!m->has_ir_version || m->ir_version < 1)
		tpi_check_say(c, NULL, true, "the model has no ir_version");
	if (m->ir_version >= 3 && m->n_opset_import == 0)
		tpi_check_say(
		    c, NULL, true, "the model imports no set of operators");
	import_domains(c, m->opset_import, m->n_opset_import, true);
	tpi_check_graph(c, m->graph, &s);
	for (size_t i = 0; i < m->n_functions && !c->no_memory; i++)
		check_function(c, m->functions[i]);
	tp_map_release(&c->domains);
}

enum tp_status
tp_onnx_check(
    struct tp_reader *r, tp_onnx_problem_fn *fn, void *ctx, struct tp_err *err)
{
	struct tp_attachment graph = {.data = NULL};
	struct tpi_check c = {.alloc = r->alloc, .fn = fn, .ctx = ctx};
	ProtobufCMessage *m = NULL;
	enum tp_status rc;

	rc = tpi_onnx_find_graph(r, &graph, err);
	if (!rc)
		rc = tpi_skim_unpack(r->alloc, graph.data, graph.nbytes,
		    &tp_onnx__model_proto__descriptor, &r->limits, &m, err);
	if (rc)
		return rc;
	c.model = (const TpOnnx__ModelProto *)m;
	if (c.model->graph)
		check_model(&c);
	else
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "the graph of the model is no graph");
	if (c.no_memory)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the check of a graph");
	tpi_proto_free(r->alloc, m);
	return rc;
}
