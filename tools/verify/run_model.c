/* SPDX-License-Identifier: Apache-2.0 */
/* run_model.c - a model in memory, ready to be computed; lists of values */
#include "run.h"

#include <stdlib.h>

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
	*m = (struct run_model){.path = m->path};
}

bool
run_model_has_default(const struct run_model *m, size_t k)
{
	for (size_t i = 0; i < m->graph->n_constants; i++)
		if (!tp_str_cmp(
			m->graph->constants[i].name, m->graph->inputs[k].name))
			return true;
	return false;
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
