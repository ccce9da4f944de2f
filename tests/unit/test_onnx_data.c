/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_data.c - values in files of their own, as data sets keep them */
#include "support/onnx_program.h"

#include "support/fail_alloc.h"

static struct tp_type
type_of(enum tp_value_kind kind, enum tp_dtype dtype)
{
	return (struct tp_type){.kind = kind,
	    .element =
		kind == TP_VALUE_TENSOR ? TP_VALUE_NONE : TP_VALUE_TENSOR,
	    .dtype = dtype};
}

static enum tp_status
read_value(const void *message, struct tp_type type, struct tp_value *out,
    struct tp_err *err)
{
	const char *path = temp_path(&test_dir, "v.pb");

	onnx_put(path, message);
	return tp_onnx_value_read(path, NULL, &type, pool, out, err);
}

static void
test_tensor_values(void **state)
{
	TpOnnx__TensorProto *t = build_floats("v", SHAPE(2), 2);
	struct tp_err err = TP_ERR_INIT;
	struct tp_value v;

	(void)state;
	assert_int_equal(
	    read_value(t, type_of(TP_VALUE_TENSOR, TP_DTYPE_F32), &v, &err),
	    TP_OK);
	assert_floats(&v, (const float[]){0.5F, 1.5F}, 2);
	tp_value_release(&v);

	/* What nobody has declared is a tensor. */
	assert_int_equal(
	    read_value(t, (struct tp_type){.kind = TP_VALUE_NONE}, &v, &err),
	    TP_OK);
	tp_value_release(&v);

	/* u16 where bf16 is declared, and only there. */
	t = build_tensor("v", UINT16, SHAPE(1));
	t->has_raw_data = 1;
	t->raw_data =
	    (ProtobufCBinaryData){2, (uint8_t *)(uintptr_t) "\xc0\x7f"};
	assert_int_equal(
	    read_value(t, type_of(TP_VALUE_TENSOR, TP_DTYPE_BF16), &v, &err),
	    TP_OK);
	assert_int_equal(tp_tensor_dtype(v.tensor), TP_DTYPE_BF16);
	tp_value_release(&v);
	assert_int_equal(
	    read_value(t, type_of(TP_VALUE_TENSOR, TP_DTYPE_F32), &v, &err),
	    TP_OK);
	assert_int_equal(tp_tensor_dtype(v.tensor), TP_DTYPE_U16);
	tp_value_release(&v);

	t = build_tensor("v", FLOAT, SHAPE(5));
	assert_int_equal(
	    read_value(t, type_of(TP_VALUE_TENSOR, TP_DTYPE_F32), &v, &err),
	    TP_EFORMAT);
	assert_int_equal(v.kind, TP_VALUE_NONE);
}

static TpOnnx__SequenceProto *
sequence_of(size_t n)
{
	TpOnnx__SequenceProto *s =
	    build_message(&tp_onnx__sequence_proto__descriptor);

	s->has_elem_type = 1;
	s->elem_type = 1;
	for (size_t i = 0; i < n; i++)
		BUILD_ADD(s->tensor_values, s->n_tensor_values,
		    build_floats(
			"e", 1, (const int64_t[]){(int64_t)i + 1}, i + 1));
	return s;
}

static void
test_sequence_values(void **state)
{
	struct tp_type type = type_of(TP_VALUE_SEQUENCE, TP_DTYPE_F32);
	TpOnnx__SequenceProto *outer =
	    build_message(&tp_onnx__sequence_proto__descriptor);
	struct tp_err err = TP_ERR_INIT;
	struct tp_value v;

	(void)state;
	assert_int_equal(read_value(sequence_of(2), type, &v, &err), TP_OK);
	assert_int_equal(v.kind, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_list_count(v.list), 2);
	assert_floats(tp_list_at(v.list, 1), (const float[]){0.5F, 1.5F}, 2);
	tp_value_release(&v);

	/* An empty one is what it was declared to be. */
	assert_int_equal(read_value(sequence_of(0), type, &v, &err), TP_OK);
	assert_int_equal(tp_list_count(v.list), 0);
	assert_int_equal(tp_value_type(&v).dtype, TP_DTYPE_F32);
	tp_value_release(&v);

	outer->has_elem_type = 1;
	outer->elem_type = 3;
	BUILD_ADD(
	    outer->sequence_values, outer->n_sequence_values, sequence_of(3));
	assert_int_equal(read_value(outer, type, &v, &err), TP_OK);
	assert_int_equal(tp_list_count(tp_list_at(v.list, 0)->list), 3);
	tp_value_release(&v);

	for (int depth = 0; depth < 2; depth++) {
		TpOnnx__SequenceProto *more =
		    build_message(&tp_onnx__sequence_proto__descriptor);

		more->has_elem_type = 1;
		more->elem_type = 3;
		BUILD_ADD(
		    more->sequence_values, more->n_sequence_values, outer);
		outer = more;
	}
	assert_int_equal(read_value(outer, type, &v, &err), TP_EUNSUPPORTED);
	assert_int_equal(v.kind, TP_VALUE_NONE);
	outer = sequence_of(1);
	outer->elem_type = 4;
	assert_int_equal(read_value(outer, type, &v, &err), TP_EUNSUPPORTED);
	outer->elem_type = 1000;
	assert_int_equal(read_value(outer, type, &v, &err), TP_EUNSUPPORTED);
}

static void
test_optional_values(void **state)
{
	struct tp_type type = type_of(TP_VALUE_OPTIONAL, TP_DTYPE_F32);
	TpOnnx__OptionalProto *o =
	    build_message(&tp_onnx__optional_proto__descriptor);
	struct tp_err err = TP_ERR_INIT;
	struct tp_value v;

	(void)state;
	assert_int_equal(read_value(o, type, &v, &err), TP_OK);
	assert_int_equal(v.kind, TP_VALUE_OPTIONAL);
	assert_int_equal(tp_list_count(v.list), 0);
	tp_value_release(&v);

	o->has_elem_type = 1;
	o->elem_type = 1;
	o->tensor_value = build_floats("e", SHAPE(1), 1);
	assert_int_equal(read_value(o, type, &v, &err), TP_OK);
	assert_int_equal(tp_list_count(v.list), 1);
	assert_floats(tp_list_at(v.list, 0), (const float[]){0.5F}, 1);
	tp_value_release(&v);

	o->elem_type = 3;
	o->tensor_value = NULL;
	o->sequence_value = sequence_of(2);
	assert_int_equal(read_value(o, type, &v, &err), TP_OK);
	assert_int_equal(tp_list_at(v.list, 0)->kind, TP_VALUE_SEQUENCE);
	tp_value_release(&v);
	o->elem_type = 4;
	assert_int_equal(read_value(o, type, &v, &err), TP_EUNSUPPORTED);
}

static void
test_values_without_memory(void **state)
{
	struct tp_type type = type_of(TP_VALUE_OPTIONAL, TP_DTYPE_F32);
	const char *path = temp_path(&test_dir, "v.pb");
	TpOnnx__OptionalProto *o =
	    build_message(&tp_onnx__optional_proto__descriptor);
	struct tp_open_options options = {0};
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	o->has_elem_type = 1;
	o->elem_type = 3;
	o->sequence_value = sequence_of(3);
	onnx_put(path, o);
	options.alloc = &a.alloc;
	while (fail_alloc_next(&a, rc)) {
		struct tp_value v;

		rc = tp_onnx_value_read(path, &options, &type, pool, &v, NULL);
		tp_value_release(&v);
	}
	assert_true(a.n_rounds > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PROGRAM_TEST(test_tensor_values),
	    PROGRAM_TEST(test_sequence_values),
	    PROGRAM_TEST(test_optional_values),
	    PROGRAM_TEST(test_values_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
