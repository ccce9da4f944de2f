/* SPDX-License-Identifier: Apache-2.0 */
/* run_files.c - values from files that the command line names */
#include "run_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp/onnx_program.h"

#include "untrusted.h"

/* Put the file before what is wrong with it. */
static enum tp_status
blame(const char *path, const struct tp_err *why, struct tp_err *err)
{
	return tp_fail(
	    err, why->status, why->offset, "%.200s: %s", path, why->msg);
}

/* Where the file's name ends: the longest one that is there. */
static size_t
path_length(const char *text)
{
	size_t n = strlen(text);
	char *path = strdup(text);

	while (path && n > 0) {
		path[n] = '\0';
		if (access(path, F_OK) == 0)
			break;
		while (n > 0 && text[n - 1] != ':')
			n--;
		n -= n > 0;
	}
	free(path);
	return n ? n : strlen(text);
}

static enum tp_status
find_entry(
    struct tp_reader *r, const char *name, size_t *entry, struct tp_err *err)
{
	*entry = 0;
	if (name) {
		*entry = tp_reader_find(r, tp_str(name));
		if (*entry == TP_NONE)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "no tensor '%s'", TP_BRIEF(tp_str(name)));
	} else if (tp_reader_n_entries(r) != 1) {
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "%zu tensors, which one is not said (FILE:TENSOR)",
		    tp_reader_n_entries(r));
	}
	return TP_OK;
}

static enum tp_status
read_entry(const char *path, const char *name, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err)
{
	const struct tp_open_options options = {
	    .limits = cli_untrusted_limits(), .warn = cli_warn};
	struct tp_reader *r = NULL;
	enum tp_status rc;
	size_t entry;

	rc = tp_open(path, &options, &r, err);
	if (!rc)
		rc = find_entry(r, name, &entry, err);
	if (!rc)
		rc = tp_reader_value(r, entry, strings, out, err);
	if (!rc)
		rc = tp_reader_check_files(r, err);
	tp_close(r);
	return rc;
}

static bool
is_message(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".pb");
}

enum tp_status
run_files_value(const char *text, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err)
{
	const struct tp_type tensor = {.kind = TP_VALUE_TENSOR};
	const struct tp_open_options options = {
	    .limits = cli_untrusted_limits()};
	size_t n = path_length(text);
	const char *name = text[n] ? text + n + 1 : NULL;
	struct tp_err why = TP_ERR_INIT;
	char *path = strdup(text);
	enum tp_status rc;

	*out = (struct tp_value){.kind = TP_VALUE_NONE};
	if (!path)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a name");
	path[n] = '\0';
	if (!name && is_message(path))
		rc = tp_onnx_value_read(
		    path, &options, &tensor, strings, out, &why);
	else
		rc = read_entry(path, name, strings, out, &why);
	if (rc)
		blame(path, &why, err);
	free(path);
	return rc;
}

void
run_files_plan(
    const struct cli_list *texts, const char *after, struct sandbox_plan *plan)
{
	for (size_t i = 0; i < texts->n; i++) {
		const char *text = texts->items[i].text;
		char *path;

		if (after)
			text = strpbrk(text, after);
		path = text ? strdup(text + (after != NULL)) : NULL;
		if (text && !path)
			plan->no_memory = true;
		if (!path)
			continue;
		path[path_length(path)] = '\0';
		/* An attribute may be anything else as well. */
		if (!access(path, F_OK))
			sandbox_plan_add(plan, SANDBOX_READ, path);
		free(path);
	}
}

enum tp_status
run_files_fill(const char *path, run_name_fn *name, const void *ctx,
    struct tp_strings *strings, struct tp_value *values, size_t n,
    size_t *n_found, struct tp_err *err)
{
	const struct tp_open_options options = {
	    .limits = cli_untrusted_limits(), .warn = cli_warn};
	struct tp_err why = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	enum tp_status rc;
	size_t entry;

	*n_found = 0;
	rc = tp_open(path, &options, &r, &why);
	for (size_t k = 0; k < n && !rc; k++) {
		entry = tp_reader_find(r, name(ctx, k));
		if (entry == TP_NONE || values[k].kind != TP_VALUE_NONE)
			continue;
		rc = tp_reader_value(r, entry, strings, &values[k], &why);
		*n_found += !rc;
	}
	if (!rc)
		rc = tp_reader_check_files(r, &why);
	tp_close(r);
	return rc ? blame(path, &why, err) : TP_OK;
}
