/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundtrip.c - ONNX models through other formats and back, judged by content
 *
 *	roundtrip FOLDER < list of models, one path a line
 *
 * For each model: ONNX -> native -> ONNX, and ONNX -> safetensors -> ONNX with
 * the graph of the original. What comes back must have the same canonical form
 * (onnx_canon.h). FOLDER receives the results, NUMBER.native.onnx and
 * NUMBER.graph.onnx, and `pairs`: original TAB result, for other judges.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tp/format.h>
#include <tp/transfer.h>

#include "onnx_canon.h"

struct totals {
	const char *folder;
	FILE *pairs;
	size_t n_models, n_tensors, n_failed;
};

/* Report a failed step; returns false so that a check is one return. */
static bool
failed(const char *model, const char *step, const char *message)
{
	printf("FAIL %s: %s: %s\n", model, step, message);
	return false;
}

/* Convert `from` to path; graph may be NULL. */
static bool
convert(const char *model, const char *step, struct tp_reader *from,
    struct tp_reader *graph, const char *path)
{
	const struct tp_transfer_options options = {
	    .create = {.force = true,
		.sync = TP_SYNC_NEVER,
		.external = TP_EXTERNAL_NEVER},
	    .allow_loss = TP_LOSS_ALL,
	    .graph = graph,
	    .n_threads = 1,
	};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	enum tp_status rc;

	rc = tp_transfer_plan(&from, 1, path, &options, &t, &err);
	if (!rc)
		rc = tp_transfer_run(t, &err);
	if (!rc)
		rc = tp_transfer_verify(t, &err);
	tp_transfer_free(t);
	return rc ? failed(model, step, err.msg) : true;
}

static struct tp_reader *
open_model(const char *model, const char *path)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (tp_open(path, NULL, &r, &err))
		failed(model, path, err.msg);
	return r;
}

static bool
same_content(const char *model, const char *step, const char *back)
{
	return onnx_same_content(model, back)
		   ? true
		   : failed(model, step, "the content has changed");
}

/* Through `middle` and back to NUMBER.NAME.onnx. */
static bool
there_and_back(struct totals *sum, const char *model, struct tp_reader *r,
    const char *middle, const char *name, bool with_graph)
{
	char between[4096], back[4096];
	struct tp_reader *half;
	bool ok;

	snprintf(between, sizeof(between), "%s/middle%s", sum->folder, middle);
	snprintf(back, sizeof(back), "%s/%04zu.%s.onnx", sum->folder,
	    sum->n_models, name);
	/* Some file systems flush when a rename replaces a file. */
	remove(between);
	if (!convert(model, name, r, NULL, between))
		return false;
	half = open_model(model, between);
	if (!half)
		return false;
	ok = convert(model, name, half, with_graph ? r : NULL, back) &&
	     same_content(model, name, back);
	tp_close(half);
	if (ok)
		fprintf(sum->pairs, "%s\t%s\n", model, back);
	return ok;
}

static void
try_model(struct totals *sum, const char *model)
{
	struct tp_reader *r = open_model(model, model);
	bool native, graph;

	sum->n_models++;
	if (!r) {
		sum->n_failed++;
		return;
	}
	sum->n_tensors += tp_reader_n_entries(r);
	native = there_and_back(sum, model, r, ".tpt", "native", false);
	graph = there_and_back(sum, model, r, ".safetensors", "graph", true);
	sum->n_failed += !native || !graph;
	tp_close(r);
}

int
main(int argc, char **argv)
{
	struct totals sum = {.folder = argc == 2 ? argv[1] : NULL};
	char line[4096], path[4096];

	if (!sum.folder) {
		fprintf(stderr, "usage: %s FOLDER < list\n", argv[0]);
		return 2;
	}
	snprintf(path, sizeof(path), "%s/pairs", sum.folder);
	sum.pairs = fopen(path, "w");
	if (!sum.pairs) {
		perror(path);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		try_model(&sum, line);
	}
	printf("%zu models, %zu tensors, %zu failed\n", sum.n_models,
	    sum.n_tensors, sum.n_failed);
	if (fclose(sum.pairs))
		return 2;
	return sum.n_failed ? 1 : 0;
}
