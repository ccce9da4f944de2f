/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/make.c, range.c, marks.c, scatter.c and the corners of what moves
 * elements; test_ops_moves.c has where they go
 */
#include "support/op_calls.h"

#include "tp/sparse.h"

#include "support/tensors.h"

#define OF_TENSOR(key, value)                                \
	{                                                    \
		.name = TP_STR(key), .kind = TP_ATTR_TENSOR, \
		.tensor = &(const struct tp_value)           \
		{                                            \
			TP_VALUE_TENSOR, (value), NULL       \
		}                                            \
	}

static void
constants_are_what_attributes_say(void **state)
{
	struct tp_tensor *t = F64(DIMS(2), 0.1, 2);
	struct tp_tensor *values = I32(DIMS(2), 7, -9), *sparse = NULL;
	struct tp_tensor *at = I64(DIMS(2), 4, 1);

	(void)state;
	check_tensor(op_result("Constant", 13, ATTRS(ATTR_INT("value_int", -5)),
			 NULL, 0),
	    TP_DTYPE_I64, SCALAR, NUMBERS(-5), 0);
	check_tensor(op_result("Constant", 25,
			 ATTRS(ATTR_INTS("value_ints", 3, -1)), NULL, 0),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(3, -1), 0);
	check_tensor(op_result("Constant", 12,
			 ATTRS(ATTR_FLOAT("value_float", 0.1)), NULL, 0),
	    TP_DTYPE_F32, SCALAR, NUMBERS((double)0.1f), 0);
	check_tensor(op_result("Constant", 12,
			 ATTRS(ATTR_FLOATS("value_floats", 1, 0.5)), NULL, 0),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(1, 0.5), 0);
	check_tensor(
	    op_result("Constant", 1, ATTRS(OF_TENSOR("value", t)), NULL, 0),
	    TP_DTYPE_F64, DIMS(2), NUMBERS(0.1, 2), 0);
	RUN(tp_sparse_new(
	    values, at, (const int64_t[]){2, 3}, 2, &sparse, err));
	check_tensor(op_result("Constant", 11,
			 ATTRS(OF_TENSOR("sparse_value", sparse)), NULL, 0),
	    TP_DTYPE_I32, DIMS(2, 3), NUMBERS(0, -9, 0, 0, 7, 0), 0);
	tp_tensor_free(sparse);
	tp_tensor_free(values);
	tp_tensor_free(at);
	tp_tensor_free(t);
	op_refuses(TP_EARG, "Constant: 0 values, expected one", "Constant", 13,
	    NO_ATTRS, NULL, 0);
	op_refuses(TP_EARG,
	    "Constant (opset 1 on) has no attribute 'value_int'", "Constant", 9,
	    ATTRS(ATTR_INT("value_int", 1)), NULL, 0);
}

static void
shapes_make_tensors_and_tensors_shapes(void **state)
{
	struct tp_tensor *one = TENSOR(TP_DTYPE_I8, DIMS(1), 3);

	(void)state;
	check_tensor(op_result("ConstantOfShape", 9, NO_ATTRS,
			 INPUTS(I64(DIMS(2), 2, 1))),
	    TP_DTYPE_F32, DIMS(2, 1), NUMBERS(0, 0), 0);
	check_tensor(
	    op_result("ConstantOfShape", 25, ATTRS(OF_TENSOR("value", one)),
		INPUTS(I64(DIMS(1), 3))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(3, 3, 3), 0);
	check_tensor(op_result("ConstantOfShape", 9, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_I64, DIMS(0)))),
	    TP_DTYPE_F32, SCALAR, NUMBERS(0), 0);
	tp_tensor_free(one);
	op_refuses(TP_EARG, "ConstantOfShape: size -1 of axis 0",
	    "ConstantOfShape", 9, NO_ATTRS, INPUTS(I64(DIMS(1), -1)));
	check_tensor(op_result("Shape", 13, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_U4, DIMS(3, 0, 5)))),
	    TP_DTYPE_I64, DIMS(3), NUMBERS(3, 0, 5), 0);
	check_tensor(op_result("Shape", 15, ATTRS(ATTR_INT("start", -2)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(3, 0, 5)))),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(0, 5), 0);
	check_tensor(
	    op_result("Shape", 19,
		ATTRS(ATTR_INT("start", INT64_MIN), ATTR_INT("end", -1)),
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(3, 0, 5)))),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(3, 0), 0);
	check_tensor(op_result("Shape", 15,
			 ATTRS(ATTR_INT("start", 2), ATTR_INT("end", 1)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(3, 0, 5)))),
	    TP_DTYPE_I64, DIMS(0), NO_NUMBERS, 0);
	check_tensor(
	    op_result("Size", 1, NO_ATTRS, INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4))),
	    TP_DTYPE_I64, SCALAR, NUMBERS(4), 0);
}

static void
diagonals_are_ones(void **state)
{
	(void)state;
	check_tensor(op_result("EyeLike", 9, ATTRS(ATTR_INT("k", 1)),
			 INPUTS(I32(DIMS(2, 3), 9, 9, 9, 9, 9, 9))),
	    TP_DTYPE_I32, DIMS(2, 3), NUMBERS(0, 1, 0, 0, 0, 1), 0);
	check_tensor(op_result("EyeLike", 22,
			 ATTRS(ATTR_INT("k", -1), ATTR_INT("dtype", 10)),
			 INPUTS(I32(DIMS(2, 2), 9, 9, 9, 9))),
	    TP_DTYPE_F16, DIMS(2, 2), NUMBERS(0, 0, 1, 0), 0);
	check_tensor(op_result("EyeLike", 9, ATTRS(ATTR_INT("k", INT64_MIN)),
			 INPUTS(F32(DIMS(1, 1), 9))),
	    TP_DTYPE_F32, DIMS(1, 1), NUMBERS(0), 0);
	op_refuses(TP_EARG, "EyeLike: dtype is 99, the number of no dtype",
	    "EyeLike", 9, ATTRS(ATTR_INT("dtype", 99)),
	    INPUTS(F32(DIMS(1, 1), 9)));
}

static void
ranges_end_before_their_limit(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Range", 11, NO_ATTRS,
		INPUTS(I32(SCALAR, 10), I32(SCALAR, 4), I32(SCALAR, -4))),
	    TP_DTYPE_I32, DIMS(2), NUMBERS(10, 6), 0);
	check_tensor(
	    op_result("Range", 11, NO_ATTRS,
		INPUTS(F32(SCALAR, 1), F32(SCALAR, 2), F32(SCALAR, 0.3))),
	    TP_DTYPE_F32, DIMS(4),
	    NUMBERS(1, (double)(float)(1 + (double)0.3f),
		(double)(float)(1 + 2 * (double)0.3f),
		(double)(float)(1 + 3 * (double)0.3f)),
	    0);
	check_tensor(op_result("Range", 27, ATTRS(ATTR_INT("stash_type", 1)),
			 INPUTS(TENSOR(TP_DTYPE_BF16, SCALAR, 1),
			     TENSOR(TP_DTYPE_BF16, SCALAR, 4),
			     TENSOR(TP_DTYPE_BF16, SCALAR, 2))),
	    TP_DTYPE_BF16, DIMS(2), NUMBERS(1, 3), 0);
	check_tensor(
	    op_result("Range", 11, NO_ATTRS,
		INPUTS(I64(SCALAR, 3), I64(SCALAR, 3), I64(SCALAR, 1))),
	    TP_DTYPE_I64, DIMS(0), NO_NUMBERS, 0);
	check_tensor(op_result("Range", 11, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_I8, SCALAR, -128),
			     TENSOR(TP_DTYPE_I8, SCALAR, 127),
			     TENSOR(TP_DTYPE_I8, SCALAR, 100))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(-128, -28, 72), 0);
	op_refuses(TP_EARG, "Range: delta leads nowhere, or too far", "Range",
	    11, NO_ATTRS,
	    INPUTS(I64(SCALAR, 0), I64(SCALAR, 1), I64(SCALAR, 0)));
	op_refuses(TP_EARG, "Range: delta leads nowhere, or too far", "Range",
	    11, NO_ATTRS,
	    INPUTS(F64(SCALAR, 0), F64(SCALAR, INFINITY), F64(SCALAR, 1)));
}

static void
what_is_not_zero_is_found(void **state)
{
	(void)state;
	check_tensor(op_result("NonZero", 9, NO_ATTRS,
			 INPUTS(F32(DIMS(2, 3), 0, -0.0, NAN, 5, 0, -1))),
	    TP_DTYPE_I64, DIMS(2, 3), NUMBERS(0, 1, 1, 2, 0, 2), 0);
	check_tensor(op_result("NonZero", 13, NO_ATTRS, INPUTS(I32(SCALAR, 3))),
	    TP_DTYPE_I64, DIMS(0, 1), NO_NUMBERS, 0);
	check_tensor(op_result("NonZero", 13, NO_ATTRS,
			 INPUTS(BOOL(DIMS(4), 1, 0, 0, 1))),
	    TP_DTYPE_I64, DIMS(1, 2), NUMBERS(0, 3), 0);
	check_tensor(op_result("NonZero", 13, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F16, DIMS(2, 0)))),
	    TP_DTYPE_I64, DIMS(2, 0), NO_NUMBERS, 0);
}

static void
one_is_hot(void **state)
{
	(void)state;
	/* Indices and depth may be floats; what is outside is off. */
	check_tensor(op_result("OneHot", 11, NO_ATTRS,
			 INPUTS(F32(DIMS(3), 1, -1, 7), F32(SCALAR, 2),
			     I32(DIMS(2), 5, 9))),
	    TP_DTYPE_I32, DIMS(3, 2), NUMBERS(5, 9, 5, 9, 5, 5), 0);
	op_refuses(TP_EARG,
	    "OneHot: depth is 1 numbers, the first -1; expected one that is "
	    "not negative",
	    "OneHot", 11, NO_ATTRS,
	    INPUTS(I64(DIMS(1), 0), I64(SCALAR, -1), I32(DIMS(2), 0, 1)));
}

#define SCATTER(onnx, opset, how, x, at, u)                          \
	op_result(onnx, opset, ATTRS(ATTR_STRING("reduction", how)), \
	    INPUTS(x, at, u))

static void
updates_that_meet_are_reduced(void **state)
{
	(void)state;
	check_tensor(SCATTER("ScatterElements", 16, "add",
			 TENSOR(TP_DTYPE_I8, DIMS(3), 100, 1, 2),
			 I64(DIMS(4), 0, 2, 0, -3),
			 TENSOR(TP_DTYPE_I8, DIMS(4), 20, 5, 20, 1)),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(-115, 1, 7), 0);
	check_tensor(
	    SCATTER("ScatterND", 16, "mul", I32(DIMS(2, 2), 1, 2, 3, 4),
		I64(DIMS(2, 1), 1, 1), I32(DIMS(2, 2), 5, 6, 7, -8)),
	    TP_DTYPE_I32, DIMS(2, 2), NUMBERS(1, 2, 105, -192), 0);
	check_tensor(
	    SCATTER("ScatterElements", 18, "max", F32(DIMS(3), 1, 2, 3),
		I64(DIMS(4), 0, 1, 0, 2), F32(DIMS(4), -1, 5, 2, NAN)),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(2, 5, NAN), 0);
	check_tensor(
	    SCATTER("ScatterND", 18, "min",
		TENSOR(TP_DTYPE_U8, DIMS(3), 9, 2, 3), I64(DIMS(2, 1), 0, 1),
		TENSOR(TP_DTYPE_U8, DIMS(2), 200, 1)),
	    TP_DTYPE_U8, DIMS(3), NUMBERS(9, 1, 3), 0);
	check_tensor(
	    SCATTER("ScatterElements", 18, "add", BOOL(DIMS(3), 0, 0, 1),
		I64(DIMS(2), 0, 2), BOOL(DIMS(2), 1, 1)),
	    TP_DTYPE_BOOL, DIMS(3), NUMBERS(1, 0, 1), 0);
	/* 2048 + 1 + 1 is 2050: each step rounded, it stays 2048. */
	check_tensor(
	    SCATTER("ScatterElements", 18, "add",
		TENSOR(TP_DTYPE_F16, DIMS(1), 2048), I64(DIMS(2), 0, 0),
		TENSOR(TP_DTYPE_F16, DIMS(2), 1, 1)),
	    TP_DTYPE_F16, DIMS(1), NUMBERS(2050), 0);
	check_tensor(
	    SCATTER("ScatterElements", 18, "add", F32(DIMS(1), 16777216),
		I64(DIMS(2), 0, 0), F32(DIMS(2), 1, 1)),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(16777218), 0);
	op_refuses(TP_EARG, "ScatterND (opset 16 on) has no reduction 'max'",
	    "ScatterND", 17, ATTRS(ATTR_STRING("reduction", "max")),
	    INPUTS(F32(DIMS(1), 1), I64(DIMS(1, 1), 0), F32(DIMS(1), 1)));
	op_refuses(TP_EUNSUPPORTED, "ScatterND with reduction max of dtype c64",
	    "ScatterND", 18, ATTRS(ATTR_STRING("reduction", "max")),
	    INPUTS(TENSOR(TP_DTYPE_C64, DIMS(1), 1), I64(DIMS(1, 1), 0),
		TENSOR(TP_DTYPE_C64, DIMS(1), 1)));
}

/* (1 + 2i) (3 - i) = 5 + 5i, then times i. */
static void
complex_numbers_are_reduced(void **state)
{
	static const float x[] = {1, 2}, u[] = {3, -1, 0, 1};
	static const int64_t one[] = {1}, two[] = {2};
	struct tp_tensor *y = SCATTER("ScatterElements", 16, "mul",
	    make_tensor(TP_DTYPE_C64, one, 1, x, sizeof(x)), I64(DIMS(2), 0, 0),
	    make_tensor(TP_DTYPE_C64, two, 1, u, sizeof(u)));
	const float *got = tp_tensor_data(y);

	(void)state;
	assert_true(got[0] == -5 && got[1] == 5);
	tp_tensor_free(y);
	y = SCATTER("ScatterND", 16, "add",
	    make_tensor(TP_DTYPE_C64, one, 1, x, sizeof(x)),
	    I64(DIMS(2, 1), 0, 0),
	    make_tensor(TP_DTYPE_C64, two, 1, u, sizeof(u)));
	got = tp_tensor_data(y);
	assert_true(got[0] == 4 && got[1] == 2);
	tp_tensor_free(y);
}

static void
the_first_opsets_have_numbers_in_other_places(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Pad", 2,
		ATTRS(ATTR_INTS("pads", 1, 0), ATTR_FLOAT("value", 2.5)),
		INPUTS(F32(DIMS(2), 7, 8))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(2.5, 7, 8), 0);
	check_tensor(
	    op_result("Tile", 1, NO_ATTRS,
		INPUTS(F32(DIMS(2, 1), 7, 8), F32(SCALAR, 2), F32(SCALAR, 1))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(7, 7, 8, 8), 0);
	check_tensor(op_result("Split", 1, ATTRS(ATTR_INT("axis", 0)),
			 INPUTS(F32(DIMS(2), 7, 8), F32(DIMS(1), 2))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(7, 8), 0);
	op_refuses(TP_EARG, "Pad (opset 11 on) has no mode 'wrap'", "Pad", 13,
	    ATTRS(ATTR_STRING("mode", "wrap")),
	    INPUTS(F32(DIMS(1), 1), I64(DIMS(2), 0, 1)));
	op_refuses(TP_EARG, "Flatten: axis -1 of a tensor of rank 1", "Flatten",
	    9, ATTRS(ATTR_INT("axis", -1)), INPUTS(F32(DIMS(1), 1)));
}

/* 0 takes a size over, unless it may be one itself. */
static void
nothing_has_shapes_too(void **state)
{
	(void)state;
	check_tensor(op_result("Reshape", 14, ATTRS(ATTR_INT("allowzero", 1)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 3, 4)),
			     I64(DIMS(3), 3, 4, 0))),
	    TP_DTYPE_F32, DIMS(3, 4, 0), NO_NUMBERS, 0);
	check_tensor(
	    op_result("Pad", 13, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0)), I64(DIMS(2), 1, 1))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(0, 0), 0);
	check_tensor(
	    op_result("Concat", 13, ATTRS(ATTR_INT("axis", 0)),
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 2)), F32(DIMS(1, 2), 1, 2))),
	    TP_DTYPE_F32, DIMS(1, 2), NUMBERS(1, 2), 0);
	check_tensor(
	    op_result("Gather", 13, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0)), I64(DIMS(1), 1))),
	    TP_DTYPE_F32, DIMS(1, 0), NO_NUMBERS, 0);
	check_tensor(op_result("Trilu", 14, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 4)))),
	    TP_DTYPE_F32, DIMS(0, 4), NO_NUMBERS, 0);
	op_refuses(TP_EARG, "Gather: index 0 of an axis of size 0", "Gather",
	    13, NO_ATTRS,
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0)), I64(DIMS(1), 0)));
	op_refuses(TP_EARG, "Pad: mode reflect has nothing to pad axis 0 with",
	    "Pad", 13, ATTRS(ATTR_STRING("mode", "reflect")),
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0)), I64(DIMS(2), 1, 1)));
}

#define HUGE_SIZE INT64_C(4611686018427387904)

static void
numbers_without_measure_are_refused(void **state)
{
	struct tp_tensor *x = F32(DIMS(2), 1, 2);
	const struct {
		const char *onnx;
		struct tp_attr attrs[2];
		size_t n_attrs;
		double second[2];
		int64_t n_second;
	} calls[] = {
	    {"Pad", {{.n = 0}}, 0, {0x1p62, 0x1p62}, 2},
	    {"Pad", {{.n = 0}}, 0, {-0x1p63, -0x1p63}, 2},
	    {"Pad", {{.n = 0}}, 0, {0x1p62, -0x1p63}, 2},
	    {"Tile", {{.n = 0}}, 0, {0x1p62}, 1},
	    {"Tile", {{.n = 0}}, 0, {-1}, 1},
	    {"Reshape", {{.n = 0}}, 0, {-2, -1}, 2},
	    {"Reshape", {{.n = 0}}, 0, {0x1p62, -1}, 2},
	    {"Expand", {{.n = 0}}, 0, {-1, 2}, 2},
	    {"Unsqueeze", {{.n = 0}}, 0, {-0x1p63, 0}, 2},
	    {"Unsqueeze", {{.n = 0}}, 0, {1, 1}, 2},
	    {"Squeeze", {{.n = 0}}, 0, {0, 0}, 2},
	    {"Gather", {{.n = 0}}, 0, {-0x1p63}, 1},
	    {"Gather", {ATTR_INT("axis", INT64_MIN)}, 1, {0}, 1},
	    {"GatherElements", {{.n = 0}}, 0, {2, 0}, 2},
	    {"GatherND", {ATTR_INT("batch_dims", HUGE_SIZE)}, 1, {0}, 1},
	    {"Split", {{.n = 0}}, 0, {0x1p62, 0x1p62}, 2},
	    {"CenterCropPad", {{.n = 0}}, 0, {-1}, 1},
	    {"CenterCropPad", {ATTR_INTS("axes", 5)}, 1, {1}, 1},
	};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(calls); k++) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_value out;
		struct tp_tensor *in[] = {
		    x, op_tensor(TP_DTYPE_I64, &calls[k].n_second, 1,
			   calls[k].second, (size_t)calls[k].n_second)};
		enum tp_status rc = op_try(calls[k].onnx, 18, calls[k].attrs,
		    calls[k].n_attrs, in, 2, &out, 1, NULL, &err);

		if (rc != TP_EARG && rc != TP_ELIMIT && rc != TP_ENOMEM) {
			print_error(
			    "%s, call %zu: status %d\n", calls[k].onnx, k, rc);
			fail();
		}
		assert_true(err.msg[0]);
		assert_int_equal(out.kind, TP_VALUE_NONE);
		tp_tensor_free(in[1]);
	}
	tp_tensor_free(x);
}

static void
what_does_not_fit_is_named(void **state)
{
	(void)state;
	op_refuses(TP_EARG,
	    "Concat: input 1 has shape [3], input 0 has [1, 2]; they meet at "
	    "axis 1",
	    "Concat", 13, ATTRS(ATTR_INT("axis", 1)),
	    INPUTS(F32(DIMS(1, 2), 1, 2), F32(DIMS(3), 1, 2, 3)));
	op_refuses(TP_EARG, "Concat: input 1 has dtype i32, input 0 has f32",
	    "Concat", 13, ATTRS(ATTR_INT("axis", 0)),
	    INPUTS(F32(DIMS(1), 1), I32(DIMS(1), 1)));
	op_refuses(TP_EARG, "Concat: axis is missing", "Concat", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1)));
	op_refuses(TP_EARG,
	    "ScatterElements: indices of shape [1] for updates of shape [2]",
	    "ScatterElements", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(1), 0), F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "ScatterND: updates of shape [2], expected [1]",
	    "ScatterND", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(1, 1), 0), F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "ScatterND: index 2 of axis 0 of size 2",
	    "ScatterND", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(1, 1), 2), F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "DepthToSpace: blocksize 0 of shape [1, 4, 1, 1]",
	    "DepthToSpace", 13, ATTRS(ATTR_INT("blocksize", 0)),
	    INPUTS(F32(DIMS(1, 4, 1, 1), 1, 2, 3, 4)));
	op_refuses(TP_EARG,
	    "ReverseSequence: length 3 of sequence 0, which has "
	    "2 steps",
	    "ReverseSequence", 10, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 1), 1, 2), I64(DIMS(1), 3)));
	op_refuses(TP_EARG,
	    "Split: 2 parts of together 3 for 1 outputs of an axis of size 2",
	    "Split", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "TensorScatter: write index 1 of an axis of size 2",
	    "TensorScatter", 24, ATTRS(ATTR_INT("axis", 1)),
	    INPUTS(
		F32(DIMS(1, 2), 1, 2), F32(DIMS(1, 2), 3, 4), I64(DIMS(1), 1)));
	op_refuses(TP_EARG,
	    "Compress: condition is true at 2, the axis has size 2", "Compress",
	    11, ATTRS(ATTR_INT("axis", 0)),
	    INPUTS(F32(DIMS(2), 1, 2), BOOL(DIMS(3), 0, 0, 1)));
	op_refuses(TP_EARG, "Squeeze: axis 0 has size 2, expected 1", "Squeeze",
	    13, NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(1), 0)));
}

/* A result of an operator that hands on its input can go somewhere, too. */
static void
values_are_put_where_they_are_wanted(void **state)
{
	struct tp_tensor *x = F32(DIMS(2), 1, 2), *y = F32(DIMS(2), 0, 0);
	struct tp_tensor *z = F32(DIMS(3), 0, 0, 0);
	struct tp_value in = tp_value_of(x), out;
	struct tp_op_opts opts = {.into = y};

	(void)state;
	RUN(tp_op_run(
	    op_named("Identity", 16), NULL, 0, &in, 1, &out, 1, &opts, err));
	assert_true(number_at(y, 1) == 2);
	tp_value_release(&out);
	opts.into = z;
	assert_int_equal(tp_op_run(op_named("Identity", 16), NULL, 0, &in, 1,
			     &out, 1, &opts, NULL),
	    TP_EARG);
	tp_tensor_free(x);
	tp_tensor_free(y);
	tp_tensor_free(z);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(constants_are_what_attributes_say),
	    cmocka_unit_test(shapes_make_tensors_and_tensors_shapes),
	    cmocka_unit_test(diagonals_are_ones),
	    cmocka_unit_test(ranges_end_before_their_limit),
	    cmocka_unit_test(what_is_not_zero_is_found),
	    cmocka_unit_test(one_is_hot),
	    cmocka_unit_test(updates_that_meet_are_reduced),
	    cmocka_unit_test(complex_numbers_are_reduced),
	    cmocka_unit_test(the_first_opsets_have_numbers_in_other_places),
	    cmocka_unit_test(nothing_has_shapes_too),
	    cmocka_unit_test(numbers_without_measure_are_refused),
	    cmocka_unit_test(what_does_not_fit_is_named),
	    cmocka_unit_test(values_are_put_where_they_are_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
