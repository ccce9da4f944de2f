/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - ONNX models read and written again, in every layout there is
 *
 *	rewrite FOLDER < list of models, one path a line
 *
 * Each model is written with its weights inside, outside and half and half,
 * with its Constants taken out and left alone. What is written must have the
 * canonical form of the original (onnx_canon.h), and written once more it must
 * have the same bytes. FOLDER receives the files.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tp/format.h>
#include <tp/transfer.h>

#include "onnx_canon.h"

static const struct layout {
	const char *name;
	unsigned open_flags;
	struct tp_create_options create;
} layouts[] = {
    {"inside", 0, {.external = TP_EXTERNAL_NEVER}},
    {"constants", TP_OPEN_KEEP_CONSTANTS, {.external = TP_EXTERNAL_NEVER}},
    {"outside", 0, {.external = TP_EXTERNAL_ALWAYS, .external_threshold = 1}},
    {"pages", 0,
	{.external = TP_EXTERNAL_ALWAYS,
	    .external_threshold = 16,
	    .align = 4096}},
    {"auto", 0, {.external = TP_EXTERNAL_AUTO}},
};
#define N_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/*
 * A skeleton does not tell an empty list that was kept from a list that was
 * taken out; if nothing else in it tells, the writer asks for the weight rather
 * than lose one.
 */
static bool
is_ambiguous(const char *model, const struct layout *l)
{
	const char *slash = strrchr(model, '/');

	return !strcmp(slash ? slash + 1 : model,
		   "constant-value-floats-empty.onnx") &&
	       l->open_flags & TP_OPEN_KEEP_CONSTANTS;
}

static bool
failed(const char *model, const struct layout *l, const char *message)
{
	printf("FAIL %s: %s: %s\n", model, l->name, message);
	return false;
}

static bool
rewrite(
    const char *model, const struct layout *l, const char *from, const char *to)
{
	struct tp_transfer_options options = {
	    .create = l->create,
	    .allow_loss = TP_LOSS_ALIAS,
	    .n_threads = 1,
	};
	struct tp_open_options open = {
	    .limits = tp_limits_default(),
	    .flags = l->open_flags,
	};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	struct tp_transfer *t = NULL;
	enum tp_status rc;

	options.create.force = true;
	options.create.sync = TP_SYNC_NEVER;
	rc = tp_open(from, &open, &r, &err);
	if (!rc)
		rc = tp_transfer_plan(&r, 1, to, &options, &t, &err);
	if (!rc)
		rc = tp_transfer_run(t, &err);
	if (!rc)
		rc = tp_transfer_verify(t, &err);
	tp_transfer_free(t);
	tp_close(r);
	if (is_ambiguous(model, l))
		return rc == TP_ENOTFOUND && strstr(err.msg, "missing: 'c'")
			   ? true
			   : failed(model, l, "was not refused");
	return rc ? failed(model, l, err.msg) : true;
}

/* Both absent is the same too. */
static bool
same_bytes(const char *a, const char *b)
{
	FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
	bool same = !f == !g;
	int c = 0;

	while (same && f && c != EOF) {
		c = getc(f);
		same = c == getc(g);
	}
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

static bool
try_layout(const char *folder, const char *model, const struct layout *l)
{
	char once[2][4096], twice[2][4096];
	static const char *const suffixes[] = {"", ".data"};

	/* The same name in two folders: the model names its data file. */
	for (int i = 0; i < 2; i++) {
		snprintf(once[i], sizeof(once[i]), "%s/once/m.onnx%s", folder,
		    suffixes[i]);
		snprintf(twice[i], sizeof(twice[i]), "%s/twice/m.onnx%s",
		    folder, suffixes[i]);
		remove(once[i]);
		remove(twice[i]);
	}
	if (!rewrite(model, l, model, once[0]))
		return false;
	if (is_ambiguous(model, l))
		return true;
	if (!onnx_same_content(model, once[0]))
		return failed(model, l, "the content has changed");
	if (!rewrite(model, l, once[0], twice[0]))
		return false;
	for (int i = 0; i < 2; i++)
		if (!same_bytes(once[i], twice[i]))
			return failed(model, l, "not the same bytes again");
	return true;
}

int
main(int argc, char **argv)
{
	size_t n_models = 0, n_failed = 0;
	char line[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER < list\n", argv[0]);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		bool ok = true;

		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < N_LAYOUTS; i++)
			ok = try_layout(argv[1], line, &layouts[i]) && ok;
		n_models++;
		n_failed += !ok;
	}
	printf("%zu models, %zu failed\n", n_models, n_failed);
	return n_failed || !n_models ? 1 : 0;
}
