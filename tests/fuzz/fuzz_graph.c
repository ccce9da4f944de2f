/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_graph.c - any ONNX model, checked and run on small inputs
 *
 * Two runs of a program give the same outputs, bit by bit.
 */
#include "fuzz.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/graph.h"
#include "tp/onnx_program.h"

#define MAX_VALUES 16
#define MAX_BYTES ((size_t)2 << 20)

/* An allocator that has no more than MAX_BYTES beyond what was held before. */
static size_t n_given, n_before;

static void *
give(void *ctx, size_t n)
{
	(void)ctx;
	if (n > MAX_BYTES + n_before - n_given)
		return NULL;
	n_given += n;
	return malloc(n ? n : 1);
}

static void
take(void *ctx, void *p, size_t n)
{
	(void)ctx;
	n_given -= n;
	free(p);
}

static const struct tp_alloc small = {.alloc = give, .free = take};

/* Zeros of the shape that is declared, unfixed sizes being 1. */
static struct tp_value
make_input(const struct tp_binding *b)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	int64_t sizes[TP_MAX_RANK];

	if (b->type.kind != TP_VALUE_TENSOR || !b->has_shape)
		return tp_value_of(NULL);
	for (unsigned d = 0; d < b->rank; d++)
		sizes[d] = b->sizes[d] < 0 ? 1 : b->sizes[d];
	if (tp_tensor_empty(&small, b->type.dtype, sizes, b->rank, &t, &err))
		return tp_value_of(NULL);
	return tp_value_of(t);
}

/* The packed elements. */
static uint8_t *
elements(const struct tp_tensor *t, size_t *n)
{
	struct tp_strided s = tp_tensor_strided(t);
	uint64_t nbytes = 0;
	uint8_t *packed;

	MUST(!tp_dtype_nbytes(
	    tp_tensor_dtype(t), tp_tensor_numel(t), &nbytes, NULL));
	*n = (size_t)nbytes;
	packed = calloc(*n + 1, 1);
	MUST(packed);
	tp_gather(&s, 0, (size_t)tp_tensor_numel(t), packed);
	return packed;
}

static void
must_be_same(const struct tp_value *a, const struct tp_value *b)
{
	uint8_t *x, *y;
	size_t n, m;

	MUST(a->kind == b->kind);
	/* An expanded view may have more elements than anyone can look at. */
	if (a->kind != TP_VALUE_TENSOR ||
	    tp_tensor_numel(a->tensor) > MAX_BYTES)
		return;
	x = elements(a->tensor, &n);
	y = elements(b->tensor, &m);
	MUST(n == m && !memcmp(x, y, n));
	free(x);
	free(y);
}

static void
release(struct tp_value *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tp_value_release(&values[i]);
}

static bool
run(const struct tp_program *p, const struct tp_graph *g,
    struct tp_strings *strings, struct tp_value *out, size_t n_out)
{
	const struct tp_run_opts o = {.alloc = &small,
	    .n_threads = 1,
	    .strings = strings,
	    .max_iterations = 64};
	struct tp_value in[MAX_VALUES];
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	n_before = n_given;
	for (size_t i = 0; i < g->n_inputs; i++)
		in[i] = make_input(&g->inputs[i]);
	rc = tp_program_run(p, in, g->n_inputs, out, n_out, &o, &err);
	MUST(rc == TP_OK || err.msg[0]);
	release(in, g->n_inputs);
	return rc == TP_OK;
}

static void
run_twice(const struct tp_program *p, const struct tp_graph *g,
    struct tp_strings *strings)
{
	struct tp_value a[MAX_VALUES], b[MAX_VALUES];
	size_t n = g->n_outputs;
	bool done = run(p, g, strings, a, n);

	MUST(run(p, g, strings, b, n) == done);
	for (size_t i = 0; i < n && done; i++)
		must_be_same(&a[i], &b[i]);
	release(a, done ? n : 0);
	release(b, done ? n : 0);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_onnx_program *file = NULL;
	struct tp_program *p = NULL;
	struct tp_strings *strings = NULL;
	const struct tp_open_options options = {
	    .limits = {.expansion = FUZZ_EXPANSION}};
	const struct tp_graph_model *m;
	struct fuzz_cost cost = {0, 0};
	const char *path = fuzz_file("m.onnx", data, n);
	enum tp_status rc;

	MUST_OK(tp_strings_new(NULL, MAX_BYTES, &strings, &err), &err);
	fuzz_begin();
	rc = tp_onnx_program_open(path, &options, strings, &file, &err);
	m = rc ? NULL : tp_onnx_program_model(file);
	if (!rc)
		rc = tp_program_new(&small, m, &p, &err);
	fuzz_end(&cost, "planning a graph");
	if (m) {
		if (!rc && m->graph.n_inputs <= MAX_VALUES &&
		    m->graph.n_outputs <= MAX_VALUES)
			run_twice(p, &m->graph, strings);
		tp_program_free(p);
	}
	MUST(p || err.msg[0] || file);
	tp_onnx_program_close(file);
	tp_strings_free(strings);
	MUST(n_given == 0);
}
