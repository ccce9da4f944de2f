/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_narrow.h - small graphs, narrowed and widened by way of files
 */
#ifndef TEST_ONNX_NARROW_H
#define TEST_ONNX_NARROW_H

#include <string.h>

#include "tp/onnx.h"
#include "tp/onnx_dtype.h"
#include "tp/quantized.h"
#include "tp/transfer.h"

#include "support/cmocka_all.h"
#include "support/onnx_build.h"
#include "support/onnx_files.h"
#include "support/onnx_text.h"

#define LARGEST 64

/* ---- making models ---- */

/* Numbers that are all different, some of them negative. */
static inline TpOnnx__TensorProto *
with_values(TpOnnx__TensorProto *t)
{
	size_t n = 1;
	float v[LARGEST];

	for (size_t i = 0; i < t->n_dims; i++)
		n *= (size_t)t->dims[i];
	assert_true(n <= LARGEST);
	for (size_t i = 0; i < n; i++)
		v[i] = (float)i * (i % 2 ? -0.25f : 1) + 0.125f;
	t->has_raw_data = 1;
	t->raw_data.len = n * sizeof(float);
	t->raw_data.data = build_take(t->raw_data.len);
	memcpy(t->raw_data.data, v, t->raw_data.len);
	return t;
}

static inline void
add_weight(
    TpOnnx__GraphProto *g, const char *name, size_t rank, const int64_t *dims)
{
	BUILD_ADD(g->initializer, g->n_initializer,
	    with_values(build_tensor(name, FLOAT, rank, dims)));
}

static inline void
add_constant(
    TpOnnx__GraphProto *g, const char *name, size_t rank, const int64_t *dims)
{
	TpOnnx__NodeProto *node = build_node("Constant", "", name);

	build_attribute(node, "value", A_TENSOR)->t =
	    with_values(build_tensor(NULL, FLOAT, rank, dims));
	BUILD_ADD(g->node, g->n_node, node);
}

static inline void
add_int(TpOnnx__NodeProto *node, const char *name, int64_t value)
{
	TpOnnx__AttributeProto *a = build_attribute(node, name, A_INT);

	a->has_i = 1;
	a->i = value;
}

/* If(c) -> y, else_branch to be added. */
static inline TpOnnx__NodeProto *
add_if(TpOnnx__GraphProto *g, TpOnnx__GraphProto *then_branch)
{
	TpOnnx__NodeProto *node = add_node(g, "If", "c", "y");

	build_attribute(node, "then_branch", A_GRAPH)->g = then_branch;
	return node;
}

static inline TpOnnx__GraphProto *
new_graph(void)
{
	build_reset();
	return build_graph();
}

/* ---- narrowing them ---- */

struct wish {
	const char *scheme;
	enum tp_quant_per per;
	bool asymmetric;
	unsigned axis; /* of no meaning unless fixed */
	bool fixed;
	const char *second; /* the scheme of the weight v, per tensor */
	bool half; /* the graph computes with f16; nothing else counts */
};

/* A tp_recipe_fn: all that may be narrowed is. */
static inline enum tp_status
choose(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	const struct wish *w = ctx;

	(void)err;
	if (recipe->why)
		return TP_OK;
	recipe->why = "small";
	if (tp_reader_entry(r, entry)->rank < 2)
		return TP_OK;
	*recipe = (struct tp_recipe){.scheme = tp_scheme_find(w->scheme),
	    .symmetric = !w->asymmetric,
	    .per = w->per,
	    .axis = w->fixed ? w->axis : TP_AXIS_AUTO,
	    .block = w->per == TP_PER_BLOCK ? 2 : 0};
	if (w->second &&
	    !tp_str_cmp(tp_reader_entry(r, entry)->local, TP_STR("v"))) {
		recipe->scheme = tp_scheme_find(w->second);
		recipe->per = TP_PER_TENSOR;
	}
	if (recipe->scheme->scale == TP_DTYPE_NONE)
		recipe->per = TP_PER_TENSOR;
	return TP_OK;
}

static inline void
no_problem(void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	(void)ctx;
	(void)scope;
	if (is_error)
		fail_msg("%s", message);
}

/* From `from` to `to`: narrowed as wished, or widened where w is NULL. */
static inline enum tp_status
narrow_file(const char *from, const char *to, struct wish *w,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	struct tp_quantize_options o = {.recipe = w ? choose : NULL,
	    .ctx = w,
	    .keep_graph = true,
	    .half_graph = w && w->half,
	    .n_threads = 1,
	    .alloc = alloc};
	struct tp_transfer_options to_options = {
	    .create = {.force = true, .sync = TP_SYNC_NEVER, .alloc = alloc},
	    .n_threads = 1};
	struct tp_open_options open = {.alloc = alloc};
	struct tp_reader *r = NULL, *q = NULL;
	struct tp_transfer *t = NULL;
	enum tp_status rc = tp_open(from, &open, &r, err);

	if (!rc)
		rc = w ? tp_quantize_reader(r, &o, &q, err)
		       : tp_dequantize_reader(r, &o, &q, err);
	if (!rc)
		rc = tp_transfer_plan(&q, 1, to, &to_options, &t, err);
	if (!rc)
		rc = tp_transfer_run(t, err);
	if (!rc)
		rc = tp_transfer_verify(t, err);
	tp_transfer_free(t);
	tp_close(q);
	tp_close(r);
	return rc;
}

/* A file as a message, if it is a valid model. */
static inline TpOnnx__ModelProto *
read_valid(const char *path)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	assert_int_equal(tp_open(path, NULL, &r, &err), TP_OK);
	assert_int_equal(tp_onnx_check(r, no_problem, NULL, &err), TP_OK);
	tp_close(r);
	return onnx_unpack(path);
}

/* The graph that comes out: narrowed, or widened where w is NULL. */
static inline TpOnnx__ModelProto *
changed(const TpOnnx__ModelProto *m, struct wish *w)
{
	const char *in = temp_path(&test_dir, "in.onnx");
	const char *out = temp_path(&test_dir, "out.onnx");
	struct tp_err err = TP_ERR_INIT;

	onnx_put(in, m);
	if (narrow_file(in, out, w, NULL, &err))
		fail_msg("%s: %s",
		    w ? (w->half ? "half" : w->scheme) : "widened", err.msg);
	return read_valid(out);
}

static inline void
drop(TpOnnx__ModelProto *m)
{
	protobuf_c_message_free_unpacked(&m->base, NULL);
}

static inline void
assert_text(const TpOnnx__ModelProto *m, const char *want)
{
	struct onnx_text got = {.n = 0};

	onnx_text_graph(&got, m->graph);
	assert_string_equal(got.s, want);
}

/* Nothing comes out, and the message has these words. */
static inline void
assert_refused(const TpOnnx__ModelProto *m, struct wish w, const char *words)
{
	const char *in = temp_path(&test_dir, "in.onnx");
	const char *out = temp_path(&test_dir, "none.onnx");
	struct tp_err err = TP_ERR_INIT;

	onnx_put(in, m);
	assert_int_equal(narrow_file(in, out, &w, NULL, &err), TP_EUNSUPPORTED);
	if (!strstr(err.msg, words))
		fail_msg("'%s' does not say '%s'", err.msg, words);
}

#endif
