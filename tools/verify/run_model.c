/* SPDX-License-Identifier: Apache-2.0 */
/* run_model.c - a model in memory, ready to be computed; lists of values */
#include "run.h"

#include <stdlib.h>

#include "untrusted.h"

/* A name twice is for the program to refuse, or means its first place. */
static enum tp_status
list_name(struct tp_map *map, struct tp_str name, size_t i, struct tp_err *err)
{
	enum tp_status rc = tp_map_add(map, name, i, NULL, err);

	return rc == TP_EARG ? TP_OK : rc;
}

/* Inputs and outputs by name, and which inputs have a value already. */
static enum tp_status
list_names(struct run_model *m, struct tp_err *err)
{
	const struct tp_graph *g = m->graph;
	enum tp_status rc = TP_OK;
	size_t k;

	m->has_default = calloc(g->n_inputs + 1, sizeof(*m->has_default));
	if (!m->has_default)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the inputs of a model");
	for (size_t i = 0; i < g->n_inputs && !rc; i++)
		rc = list_name(&m->inputs, g->inputs[i].name, i, err);
	for (size_t i = 0; i < g->n_outputs && !rc; i++)
		rc = list_name(&m->outputs, g->outputs[i].name, i, err);
	for (size_t i = 0; i < g->n_constants && !rc; i++)
		if (tp_map_find(&m->inputs, g->constants[i].name, &k))
			m->has_default[k] = true;
	return rc;
}

enum tp_status
run_model_open(struct run_model *m, const char *path,
    struct tp_strings *strings, struct tp_err *err)
{
	const struct tp_open_options options = {
	    .limits = cli_untrusted_limits()};
	const struct tp_graph_model *model;
	enum tp_status rc;

	*m = (struct run_model){.path = path, .strings = strings};
	tp_map_init(&m->inputs, NULL);
	tp_map_init(&m->outputs, NULL);
	rc = tp_onnx_program_open(path, &options, strings, &m->file, err);
	if (rc)
		return rc;
	model = tp_onnx_program_model(m->file);
	m->graph = &model->graph;
	rc = list_names(m, err);
	if (!rc)
		rc = tp_program_new(NULL, model, &m->program, err);
	if (rc)
		run_model_close(m);
	return rc;
}

void
run_model_close(struct run_model *m)
{
	tp_program_free(m->program);
	tp_onnx_program_close(m->file);
	tp_map_release(&m->inputs);
	tp_map_release(&m->outputs);
	free(m->has_default);
	*m = (struct run_model){.path = m->path};
}

bool
run_values_init(struct run_values *v, size_t n)
{
	v->items = calloc(n + 1, sizeof(*v->items));
	v->n = v->items ? n : 0;
	return v->items != NULL;
}

void
run_values_release(struct run_values *v)
{
	for (size_t i = 0; i < v->n; i++)
		tp_value_release(&v->items[i]);
	free(v->items);
	*v = (struct run_values){.items = NULL};
}
