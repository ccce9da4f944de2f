/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_inputs.c - the inputs and expectations of one run, from all that may say
 * something of them
 *
 *	--input NAME=…	first, then --in FILE in their order, then the data
 *	set, and with a seed whatever is still missing
 */
#include "run.h"

#include <string.h>

#include "run_files.h"

static struct tp_str
input_name(const void *graph, size_t k)
{
	return ((const struct tp_graph *)graph)->inputs[k].name;
}

static struct tp_str
output_name(const void *graph, size_t k)
{
	return ((const struct tp_graph *)graph)->outputs[k].name;
}

/* Values that options name one by one. */
static enum tp_status
take_named(const struct run_model *m, const struct run_input_options *o,
    struct run_values *v, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < v->n && !rc; k++) {
		const char *text =
		    run_seed_find(&o->named, m->graph->inputs[k].name);

		if (text)
			rc = run_files_value(
			    text, m->strings, &v->items[k], err);
	}
	return rc;
}

static enum tp_status
take_files(const struct cli_list *files, run_name_fn *name,
    const struct run_model *m, struct run_values *v, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	size_t n_found;

	for (size_t i = 0; i < files->n && !rc; i++) {
		rc = run_files_fill(files->items[i].text, name, m->graph,
		    m->strings, v->items, v->n, &n_found, err);
		if (!rc && !n_found)
			cli_note("%s has no tensor that is asked for",
			    files->items[i].text);
	}
	return rc;
}

static enum tp_status
seed_rest(const struct run_model *m, const struct run_input_options *o,
    struct run_values *v, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < v->n && !rc; k++) {
		if (v->items[k].kind != TP_VALUE_NONE || m->has_default[k])
			continue;
		if (o->seeded)
			rc = run_seed_value(
			    &o->seed, &m->graph->inputs[k], &v->items[k], err);
		else
			rc = tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "input '%s' is not given",
			    TP_BRIEF(m->graph->inputs[k].name));
	}
	return rc;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for values");
}

enum tp_status
run_inputs(const struct run_model *m, const struct run_input_options *o,
    const char *folder, struct run_values *out, struct tp_err *err)
{
	enum tp_status rc;

	if (!run_values_init(out, m->graph->n_inputs))
		return no_memory(err);
	rc = take_named(m, o, out, err);
	if (!rc)
		rc = take_files(&o->in, input_name, m, out, err);
	if (!rc && folder)
		rc = run_data_inputs(m, folder, out, err);
	if (!rc)
		rc = seed_rest(m, o, out, err);
	return rc;
}

enum tp_status
run_expectations(const struct run_model *m, const struct run_input_options *o,
    const char *folder, struct run_values *out, struct tp_err *err)
{
	enum tp_status rc;

	if (!run_values_init(out, m->graph->n_outputs))
		return no_memory(err);
	rc = take_files(&o->expect, output_name, m, out, err);
	if (!rc && folder)
		rc = run_data_outputs(m, folder, out, err);
	return rc;
}

const char *
run_inputs_check(const struct run_input_options *o)
{
	static char message[200];

	for (size_t i = 0; i < o->named.n; i++)
		if (!strchr(o->named.items[i].text, '=')) {
			snprintf(message, sizeof(message),
			    "--input %.120s: not NAME=FILE[:TENSOR]",
			    o->named.items[i].text);
			return message;
		}
	return run_seed_check(&o->seed);
}

/* True if a list has an item for one of the inputs and no other. */
static enum tp_status
check_names(const struct run_model *m, const struct cli_list *list,
    bool may_be_bare, struct tp_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->items[i].text;
		const struct cli_list one = {&list->items[i], 1};
		bool used = may_be_bare && !strchr(text, '=');

		for (size_t k = 0; k < m->graph->n_inputs && !used; k++)
			used = run_seed_find(&one, m->graph->inputs[k].name) !=
			       NULL;
		if (!used)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "the model has no input that --%s %.120s names",
			    list->items[i].option->name, text);
	}
	return TP_OK;
}

enum tp_status
run_inputs_check_names(const struct run_model *m,
    const struct run_input_options *o, struct tp_err *err)
{
	enum tp_status rc = check_names(m, &o->named, false, err);

	if (!rc)
		rc = check_names(m, &o->seed.shapes, false, err);
	return rc ? rc : check_names(m, &o->seed.ints, true, err);
}

void
run_inputs_release(struct run_input_options *o)
{
	cli_list_release(&o->in);
	cli_list_release(&o->expect);
	cli_list_release(&o->named);
	cli_list_release(&o->seed.shapes);
	cli_list_release(&o->seed.ints);
}
