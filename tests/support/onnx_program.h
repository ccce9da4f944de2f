/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_program.h - models made in memory, opened to be computed
 *
 * PROGRAM_TEST(f) runs f with a folder of its own, an empty store of messages
 * and a pool of strings.
 */
#ifndef TEST_ONNX_PROGRAM_H
#define TEST_ONNX_PROGRAM_H

#include "support/cmocka_all.h"

#include "tp/onnx_program.h"

#include "support/onnx_build.h"
#include "support/onnx_files.h"

static struct tp_strings *pool;

static inline int
program_setup(void **state)
{
	assert_int_equal(tp_strings_new(NULL, 0, &pool, NULL), TP_OK);
	build_reset();
	return temp_dir_setup(state);
}

static inline int
program_teardown(void **state)
{
	tp_strings_free(pool);
	pool = NULL;
	return temp_dir_teardown(state);
}

#define PROGRAM_TEST(f) \
	cmocka_unit_test_setup_teardown(f, program_setup, program_teardown)

static inline const char *
model_path(void)
{
	return temp_path(&test_dir, "m.onnx");
}

static inline struct tp_onnx_program *
open_model(const TpOnnx__ModelProto *m)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_onnx_program *p;

	onnx_put(model_path(), m);
	if (tp_onnx_program_open(model_path(), NULL, pool, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static inline void
assert_refused(
    const TpOnnx__ModelProto *m, enum tp_status status, const char *message)
{
	struct tp_onnx_program *p = (void *)&p;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	onnx_put(model_path(), m);
	rc = tp_onnx_program_open(model_path(), NULL, pool, &p, &err);
	assert_null(p);
	if (rc != status || !strstr(err.msg, message))
		fail_msg(
		    "status %d, '%s' does not say '%s'", rc, err.msg, message);
}

#define assert_str(text, expected) \
	assert_int_equal(tp_str_cmp((text), tp_str(expected)), 0)

static inline void
assert_floats(const struct tp_value *v, const float *expected, size_t n)
{
	assert_int_equal(v->kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_tensor_dtype(v->tensor), TP_DTYPE_F32);
	assert_int_equal(tp_tensor_numel(v->tensor), n);
	assert_memory_equal(tp_tensor_data(v->tensor), expected, n * 4);
}

/* `size` floats of which the one at `index` is 0.5. */
static inline TpOnnx__SparseTensorProto *
sparse_of(const char *name, int64_t size, int64_t index)
{
	TpOnnx__SparseTensorProto *s =
	    build_message(&tp_onnx__sparse_tensor_proto__descriptor);

	s->values = build_floats(name, SHAPE(1), 1);
	s->indices = build_tensor(NULL, INT64, SHAPE(1));
	BUILD_ADD(s->indices->int64_data, s->indices->n_int64_data, index);
	BUILD_ADD(s->dims, s->n_dims, size);
	return s;
}

#endif
