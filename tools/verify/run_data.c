/* SPDX-License-Identifier: Apache-2.0 */
/* run_data.c - inputs and expectations of a data set */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "untrusted.h"

/* "folder/input_3.pb", to be freed with free. */
static char *
data_path(const char *folder, const char *what, size_t i)
{
	size_t size = strlen(folder) + strlen(what) + 32;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s/%s_%zu.pb", folder, what, i);
	return path;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a data set");
}

/* Value i of its kind. Errors name the file. */
static enum tp_status
read_value(const char *folder, const char *what, size_t i,
    const struct tp_type *type, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err)
{
	const struct tp_open_options options = {
	    .limits = cli_untrusted_limits()};
	char *path = data_path(folder, what, i);
	struct tp_err why = TP_ERR_INIT;
	struct stat st;
	enum tp_status rc;

	if (!path)
		return no_memory(err);
	if (stat(path, &st))
		rc = tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "%s_%zu.pb is missing", what, i);
	else if ((rc = tp_onnx_value_read(
		      path, &options, type, strings, out, &why)))
		tp_fail(err, rc, why.offset, "%s_%zu.pb: %s", what, i, why.msg);
	free(path);
	return rc;
}

/* A file that nothing asks for is a sign of a misunderstanding. */
static enum tp_status
check_end(const char *folder, const char *what, size_t n, struct tp_err *err)
{
	char *path = data_path(folder, what, n);
	enum tp_status rc = TP_OK;
	struct stat st;

	if (!path)
		return no_memory(err);
	if (!stat(path, &st))
		rc = tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "%s_%zu.pb, but the model has %zu %ss", what, n, n, what);
	free(path);
	return rc;
}

enum tp_status
run_data_inputs(const struct run_model *m, const char *folder,
    struct run_values *v, struct tp_err *err)
{
	const struct tp_graph *g = m->graph;
	enum tp_status rc = TP_OK;
	size_t n = 0;

	for (size_t k = 0; k < g->n_inputs && !rc; k++) {
		if (m->has_default[k])
			continue;
		if (v->items[k].kind == TP_VALUE_NONE)
			rc = read_value(folder, "input", n, &g->inputs[k].type,
			    m->strings, &v->items[k], err);
		n++;
	}
	if (!rc)
		rc = check_end(folder, "input", n, err);
	return rc;
}

enum tp_status
run_data_outputs(const struct run_model *m, const char *folder,
    struct run_values *v, struct tp_err *err)
{
	const struct tp_graph *g = m->graph;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < g->n_outputs && !rc; k++)
		if (v->items[k].kind == TP_VALUE_NONE)
			rc = read_value(folder, "output", k,
			    &g->outputs[k].type, m->strings, &v->items[k], err);
	if (!rc)
		rc = check_end(folder, "output", g->n_outputs, err);
	return rc;
}
