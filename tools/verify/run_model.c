/* SPDX-License-Identifier: Apache-2.0 */
/* run_model.c - a model in memory, ready to be computed; lists of values */
#include "run.h"

#include <stdlib.h>

#include "tp/map.h"

/* Which inputs have a value in the model already. */
static enum tp_status
find_defaults(struct run_model *m, struct tp_err *err)
{
	const struct tp_graph *g = m->graph;
	enum tp_status rc = TP_OK;
	struct tp_map constants;
	size_t at;

	m->has_default = calloc(g->n_inputs + 1, sizeof(*m->has_default));
	if (!m->has_default)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the inputs of a model");
	tp_map_init(&constants, NULL);
	for (size_t i = 0; i < g->n_constants && !rc; i++) {
		rc = tp_map_add(&constants, g->constants[i].name, i, NULL, err);
		/* A name twice is for the program to refuse. */
		rc = rc == TP_EARG ? TP_OK : rc;
	}
	for (size_t k = 0; k < g->n_inputs && !rc; k++)
		m->has_default[k] =
		    tp_map_find(&constants, g->inputs[k].name, &at);
	tp_map_release(&constants);
	return rc;
}

enum tp_status
run_model_open(struct run_model *m, const char *path,
    struct tp_strings *strings, struct tp_err *err)
{
	const struct tp_graph_model *model;
	enum tp_status rc;

	*m = (struct run_model){.path = path, .strings = strings};
	rc = tp_onnx_program_open(path, NULL, strings, &m->file, err);
	if (rc)
		return rc;
	model = tp_onnx_program_model(m->file);
	m->graph = &model->graph;
	rc = find_defaults(m, err);
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
