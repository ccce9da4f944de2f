/* SPDX-License-Identifier: Apache-2.0 */
/* ops/sequence.c, optional.c: lists of tensors, and what may be there */
#include "support/op_calls.h"

#include <inttypes.h>

#include "support/fail_alloc.h"

/* The one output of an operator on values, which are released. */
static enum tp_status
try_values(const char *onnx, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_value *in, size_t n_in, struct tp_value *out,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_op_opts opts = {.n_threads = 1, .alloc = alloc};
	enum tp_status rc = tp_op_run(op_named(onnx, opset), attrs, n_attrs, in,
	    n_in, out, 1, &opts, err);

	for (size_t k = 0; k < n_in; k++)
		tp_value_release(&in[k]);
	return rc;
}

#define VALUES(...) LIST(struct tp_value, __VA_ARGS__)
#define OF(t) tp_value_of(t)

static struct tp_value
values(const char *onnx, int opset, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_value *in, size_t n_in)
{
	struct tp_value out;

	RUN(try_values(onnx, opset, attrs, n_attrs, in, n_in, &out, NULL, err));
	return out;
}

static void
refuses(const char *message, const char *onnx, int opset,
    const struct tp_attr *attrs, size_t n_attrs, struct tp_value *in,
    size_t n_in)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_value out;

	assert_int_equal(
	    try_values(onnx, opset, attrs, n_attrs, in, n_in, &out, NULL, &err),
	    TP_EARG);
	assert_int_equal(out.kind, TP_VALUE_NONE);
	assert_string_equal(err.msg, message);
}

/* Sequences of scalars, by their numbers. */
static struct tp_value
sequence(const double *x, size_t n)
{
	struct tp_value in[8];

	for (size_t k = 0; k < n; k++)
		in[k] = OF(op_tensor(TP_DTYPE_F32, NULL, 0, &x[k], 1));
	return values("SequenceConstruct", 11, NO_ATTRS, in, n);
}

static void
check_sequence(struct tp_value v, const double *x, size_t n)
{
	assert_int_equal(v.kind, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_list_count(v.list), n);
	for (size_t k = 0; k < n; k++)
		assert_true(
		    number_at(tp_list_at(v.list, k)->tensor, 0) == x[k]);
	tp_value_release(&v);
}

#define SEQUENCE(...) sequence(NUMBERS(__VA_ARGS__))

static void
sequences_grow_and_shrink_anywhere(void **state)
{
	(void)state;
	check_sequence(values("SequenceInsert", 11, NO_ATTRS,
			   VALUES(SEQUENCE(1, 2), OF(F32(SCALAR, 9)))),
	    NUMBERS(1, 2, 9));
	check_sequence(
	    values("SequenceInsert", 11, NO_ATTRS,
		VALUES(SEQUENCE(1, 2), OF(F32(SCALAR, 9)), OF(I64(SCALAR, 0)))),
	    NUMBERS(9, 1, 2));
	check_sequence(values("SequenceInsert", 11, NO_ATTRS,
			   VALUES(SEQUENCE(1, 2), OF(F32(SCALAR, 9)),
			       OF(I32(SCALAR, -1)))),
	    NUMBERS(1, 9, 2));
	check_sequence(
	    values("SequenceErase", 11, NO_ATTRS, VALUES(SEQUENCE(1, 2, 3))),
	    NUMBERS(1, 2));
	check_sequence(values("SequenceErase", 11, NO_ATTRS,
			   VALUES(SEQUENCE(1, 2, 3), OF(I64(SCALAR, -3)))),
	    NUMBERS(2, 3));
	check_tensor(
	    values("SequenceLength", 11, NO_ATTRS, VALUES(SEQUENCE(1, 2, 3)))
		.tensor,
	    TP_DTYPE_I64, SCALAR, NUMBERS(3), 0);
	check_tensor(values("SequenceAt", 11, NO_ATTRS,
			 VALUES(SEQUENCE(1, 2, 3), OF(I64(SCALAR, -2))))
			 .tensor,
	    TP_DTYPE_F32, SCALAR, NUMBERS(2), 0);
}

static void
an_empty_sequence_knows_its_dtype(void **state)
{
	struct tp_value v =
	    values("SequenceEmpty", 11, ATTRS(ATTR_INT("dtype", 7)), NULL, 0);

	(void)state;
	assert_int_equal(tp_value_type(&v).kind, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_value_type(&v).element, TP_VALUE_TENSOR);
	assert_int_equal(tp_value_type(&v).dtype, TP_DTYPE_I64);
	refuses("SequenceInsert: input 1 has dtype f32, the sequence i64",
	    "SequenceInsert", 11, NO_ATTRS, VALUES(v, OF(F32(SCALAR, 1))));
	v = values("SequenceEmpty", 11, NO_ATTRS, NULL, 0);
	check_sequence(values("SequenceInsert", 11, NO_ATTRS,
			   VALUES(v, OF(F32(SCALAR, 1)))),
	    NUMBERS(1));
}

static void
check_item(const struct tp_value *v, size_t k, const int64_t *sizes,
    size_t rank, const double *x, size_t n)
{
	struct tp_tensor *t = NULL;

	RUN(tp_tensor_alias(tp_list_at(v->list, k)->tensor, &t, err));
	check_tensor(t, TP_DTYPE_F32, sizes, rank, x, n, 0);
}

#define LINE F32(DIMS(1, 5), 1, 2, 3, 4, 5)

static void
tensors_are_cut_and_joined(void **state)
{
	struct tp_value v = values("SplitToSequence", 11,
	    ATTRS(ATTR_INT("axis", 1)), VALUES(OF(LINE), OF(I64(SCALAR, 2))));

	(void)state;
	assert_int_equal(tp_list_count(v.list), 3);
	check_item(&v, 0, DIMS(1, 2), NUMBERS(1, 2));
	check_item(&v, 2, DIMS(1, 1), NUMBERS(5));
	check_tensor(values("ConcatFromSequence", 11,
			 ATTRS(ATTR_INT("axis", -1)), VALUES(v))
			 .tensor,
	    TP_DTYPE_F32, DIMS(1, 5), NUMBERS(1, 2, 3, 4, 5), 0);
	v = values("SplitToSequence", 24,
	    ATTRS(ATTR_INT("axis", -1), ATTR_INT("keepdims", 0)),
	    VALUES(OF(LINE), OF(I64(DIMS(3), 1, 0, 4))));
	assert_int_equal(tp_list_count(v.list), 3);
	check_item(&v, 1, DIMS(1, 0), NO_NUMBERS);
	check_item(&v, 2, DIMS(1, 4), NUMBERS(2, 3, 4, 5));
	tp_value_release(&v);
	v = values("SplitToSequence", 11,
	    ATTRS(ATTR_INT("axis", 1), ATTR_INT("keepdims", 0)),
	    VALUES(OF(LINE)));
	assert_int_equal(tp_list_count(v.list), 5);
	check_item(&v, 3, DIMS(1), NUMBERS(4));
	check_tensor(
	    values("ConcatFromSequence", 11,
		ATTRS(ATTR_INT("axis", 1), ATTR_INT("new_axis", 1)), VALUES(v))
		.tensor,
	    TP_DTYPE_F32, DIMS(1, 5), NUMBERS(1, 2, 3, 4, 5), 0);
}

static bool
has_element(int opset, struct tp_value *in, size_t n_in)
{
	struct tp_value out =
	    values("OptionalHasElement", opset, NO_ATTRS, in, n_in);
	bool has = number_at(out.tensor, 0) != 0;

	assert_int_equal(tp_tensor_dtype(out.tensor), TP_DTYPE_BOOL);
	tp_value_release(&out);
	return has;
}

static void
an_optional_has_something_or_not(void **state)
{
	const struct tp_attr type = {.name = TP_STR("type"),
	    .kind = TP_ATTR_TYPE,
	    .type = {TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_F32}};
	struct tp_value none = values("Optional", 15, &type, 1, NULL, 0);
	struct tp_value some =
	    values("Optional", 15, NO_ATTRS, VALUES(OF(F32(SCALAR, 3))));
	struct tp_value copy;

	(void)state;
	assert_int_equal(tp_value_type(&none).kind, TP_VALUE_OPTIONAL);
	assert_int_equal(tp_value_type(&none).element, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_value_type(&none).dtype, TP_DTYPE_F32);
	RUN(tp_value_copy(&none, &copy, err));
	refuses("OptionalGetElement: the optional is empty",
	    "OptionalGetElement", 15, NO_ATTRS, VALUES(copy));
	assert_false(has_element(15, &none, 1));
	RUN(tp_value_copy(&some, &copy, err));
	refuses("Optional: input 0 is an optional already", "Optional", 15,
	    NO_ATTRS, VALUES(copy));
	RUN(tp_value_copy(&some, &copy, err));
	check_tensor(
	    values("OptionalGetElement", 18, NO_ATTRS, VALUES(copy)).tensor,
	    TP_DTYPE_F32, SCALAR, NUMBERS(3), 0);
	assert_true(has_element(18, &some, 1));
	assert_true(has_element(15, VALUES(SEQUENCE(1))));
	/* From opset 18 on nothing at all is one, too. */
	assert_true(has_element(18, VALUES(OF(F32(SCALAR, 3)))));
	assert_true(has_element(18, VALUES(SEQUENCE(1))));
	assert_false(has_element(18, NULL, 0));
	refuses("Optional: neither a value nor a type", "Optional", 15,
	    NO_ATTRS, NULL, 0);
}

static void
wrong_places_and_kinds_are_named(void **state)
{
	(void)state;
	refuses("SequenceAt: position 2 of a sequence of 2", "SequenceAt", 11,
	    NO_ATTRS, VALUES(SEQUENCE(1, 2), OF(I64(SCALAR, 2))));
	refuses("SequenceInsert: position -3 of a sequence of 2",
	    "SequenceInsert", 11, NO_ATTRS,
	    VALUES(SEQUENCE(1, 2), OF(F32(SCALAR, 1)), OF(I64(SCALAR, -3))));
	refuses("SequenceLength: input 0 is a tensor, expected a sequence",
	    "SequenceLength", 11, NO_ATTRS, VALUES(OF(F32(SCALAR, 1))));
	refuses("SequenceConstruct: input 1 has dtype i64, the sequence f32",
	    "SequenceConstruct", 11, NO_ATTRS,
	    VALUES(OF(F32(SCALAR, 1)), OF(I64(SCALAR, 1))));
	refuses("SplitToSequence: parts of size 0", "SplitToSequence", 11,
	    NO_ATTRS, VALUES(OF(LINE), OF(I64(SCALAR, 0))));
	refuses("SplitToSequence: part 1 has size 9, 4 are left",
	    "SplitToSequence", 11, ATTRS(ATTR_INT("axis", 1)),
	    VALUES(OF(LINE), OF(I64(DIMS(2), 1, 9))));
	refuses("ConcatFromSequence: the sequence is empty",
	    "ConcatFromSequence", 11, ATTRS(ATTR_INT("axis", 0)),
	    VALUES(values("SequenceEmpty", 11, NO_ATTRS, NULL, 0)));
	refuses("ConcatFromSequence: axis is missing", "ConcatFromSequence", 11,
	    NO_ATTRS, VALUES(SEQUENCE(1)));
}

/* Without elements an axis may be as long as it likes. */
static void
nothing_is_not_cut_into_everything(void **state)
{
	/* As long as the machine can count. */
	int64_t n = PTRDIFF_MAX > INT32_MAX ? INT64_C(1) << 40 : 1 << 30;
	struct tp_err err = TP_ERR_INIT;
	struct tp_value out;
	char why[128];

	(void)state;
	assert_int_equal(
	    try_values("SplitToSequence", 11, NO_ATTRS,
		VALUES(OF(EMPTY(TP_DTYPE_F32, DIMS(n, 0)))), &out, NULL, &err),
	    TP_ELIMIT);
	snprintf(why, sizeof(why),
	    "SplitToSequence: a sequence of %" PRId64
	    ", the longest is 16777216",
	    n);
	assert_string_equal(err.msg, why);
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const char *const names[] = {"SplitToSequence",
	    "SequenceConstruct", "SequenceInsert", "SequenceErase",
	    "ConcatFromSequence", "Optional", "SequenceLength"};
	const struct tp_attr axis = ATTR_INT("axis", 0);

	(void)state;
	for (size_t k = 0; k < COUNT_OF(names); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc)) {
			bool lists = k == 2 || k == 3 || k == 4 || k == 6;
			struct tp_value in[2], out;

			in[0] = lists ? SEQUENCE(1, 2) : OF(F32(DIMS(2), 1, 2));
			in[1] = OF(k == 2 ? F32(DIMS(1), 1) : NULL);
			if (k == 4) {
				tp_value_release(&in[0]);
				in[0] = values("SplitToSequence", 11, &axis, 1,
				    VALUES(OF(F32(DIMS(2), 1, 2))));
			}
			rc = try_values(names[k], 18, &axis, k == 4 || k == 0,
			    in, 2, &out, &a.alloc, NULL);
			tp_value_release(&out);
		}
		assert_true(a.n_rounds > 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sequences_grow_and_shrink_anywhere),
	    cmocka_unit_test(an_empty_sequence_knows_its_dtype),
	    cmocka_unit_test(tensors_are_cut_and_joined),
	    cmocka_unit_test(an_optional_has_something_or_not),
	    cmocka_unit_test(wrong_places_and_kinds_are_named),
	    cmocka_unit_test(nothing_is_not_cut_into_everything),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
