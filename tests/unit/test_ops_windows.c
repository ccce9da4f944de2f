/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/: MaxUnpool, MaxRoiPool, Col2Im, DeformConv, CausalConvWithState, with
 * numbers that were worked out by hand
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

static void
elements_go_back_to_where_they_were(void **state)
{
	(void)state;
	/* (2 - 1) * 2 + 2 = 4 along each axis. */
	check_tensor(op_result("MaxUnpool", 9,
			 ATTRS(ATTR_INTS("kernel_shape", 2, 2),
			     ATTR_INTS("strides", 2, 2)),
			 INPUTS(F32(DIMS(1, 1, 2, 2), 1, 2, 3, 4),
			     I64(DIMS(1, 1, 2, 2), 5, 2, 8, 15))),
	    TP_DTYPE_F32, DIMS(1, 1, 4, 4),
	    NUMBERS(0, 0, 2, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4), 0);
	/* Pads cut the shape; indices count images and channels too. */
	check_tensor(op_result("MaxUnpool", 11,
			 ATTRS(ATTR_INTS("kernel_shape", 3),
			     ATTR_INTS("strides", 2), ATTR_INTS("pads", 1, 0)),
			 INPUTS(F64(DIMS(2, 1, 2), 1, 2, 3, 4),
			     I64(DIMS(2, 1, 2), 0, 3, 4, 6))),
	    TP_DTYPE_F64, DIMS(2, 1, 4), NUMBERS(1, 0, 0, 2, 3, 0, 4, 0), 0);
	/* An output_shape is another frame for the same places. */
	check_tensor(
	    op_result("MaxUnpool", 22, ATTRS(ATTR_INTS("kernel_shape", 2, 2)),
		INPUTS(F32(DIMS(1, 1, 1, 1), 7), I64(DIMS(1, 1, 1, 1), 2),
		    I64(DIMS(4), 1, 1, 3, 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 3, 1), NUMBERS(0, 7, 0), 0);
	op_refuses(TP_EARG, "MaxUnpool: index 2 of 2 elements", "MaxUnpool", 9,
	    ATTRS(ATTR_INTS("kernel_shape", 2)),
	    INPUTS(F32(DIMS(1, 1, 1), 7), I64(DIMS(1, 1, 1), 2)));
	op_refuses(TP_EARG, "MaxUnpool: index -1 of 2 elements", "MaxUnpool", 9,
	    ATTRS(ATTR_INTS("kernel_shape", 2)),
	    INPUTS(F32(DIMS(1, 1, 1), 7), I64(DIMS(1, 1, 1), -1)));
	op_refuses(TP_EARG,
	    "MaxUnpool: indices have dtype i64 and shape [1, 1, 2], expected "
	    "i64 and the shape of input 0, [1, 1, 1]",
	    "MaxUnpool", 9, ATTRS(ATTR_INTS("kernel_shape", 2)),
	    INPUTS(F32(DIMS(1, 1, 1), 7), I64(DIMS(1, 1, 2), 0, 1)));
	op_refuses(TP_EARG, "MaxUnpool: no input of axis 2 was pooled to 2",
	    "MaxUnpool", 9,
	    ATTRS(
		ATTR_INTS("kernel_shape", 2), ATTR_INTS("strides", INT64_MAX)),
	    INPUTS(F32(DIMS(1, 1, 2), 7, 8), I64(DIMS(1, 1, 2), 0, 1)));
}

#define FIVE_BY_FOUR                                                         \
	F32(DIMS(1, 1, 4, 5), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, \
	    15, 16, 17, 18, 19, 20)

static void
regions_are_pooled(void **state)
{
	(void)state;
	/* Columns 1 … 4 and rows 0 … 2 in 2 x 2 cells, which overlap. */
	check_tensor(
	    op_result("MaxRoiPool", 1, ATTRS(ATTR_INTS("pooled_shape", 2, 2)),
		INPUTS(FIVE_BY_FOUR, F32(DIMS(1, 5), 0, 1, 0, 4, 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 2, 2), NUMBERS(8, 10, 13, 15), 0);
	/* Half of 2 and of 6 is 1 and 3; what is behind the end is nothing. */
	check_tensor(op_result("MaxRoiPool", 1,
			 ATTRS(ATTR_INTS("pooled_shape", 1, 2),
			     ATTR_FLOAT("spatial_scale", 0.5)),
			 INPUTS(FIVE_BY_FOUR,
			     F32(DIMS(2, 5), 0, 2, 2, 6, 6, 0, 8, 0, 20, 0))),
	    TP_DTYPE_F32, DIMS(2, 1, 1, 2), NUMBERS(18, 19, 5, 0), 0);
	op_refuses(TP_EARG, "MaxRoiPool: region 0 is of image 1 of 1",
	    "MaxRoiPool", 22, ATTRS(ATTR_INTS("pooled_shape", 1, 1)),
	    INPUTS(FIVE_BY_FOUR, F32(DIMS(1, 5), 1, 0, 0, 1, 1)));
	op_refuses(TP_EARG, "MaxRoiPool: region 0 ends at NaN", "MaxRoiPool", 1,
	    ATTRS(ATTR_INTS("pooled_shape", 1, 1)),
	    INPUTS(FIVE_BY_FOUR, F32(DIMS(1, 5), 0, (double)NAN, 0, 1, 1)));
	op_refuses(TP_EARG, "MaxRoiPool: pooled_shape has 0, the least is 1",
	    "MaxRoiPool", 1, ATTRS(ATTR_INTS("pooled_shape", 0, 1)),
	    INPUTS(FIVE_BY_FOUR, F32(DIMS(1, 5), 0, 0, 0, 1, 1)));
	op_refuses(TP_EARG,
	    "MaxRoiPool: inputs of shapes [1, 1, 4, 5] and [1, 4], expected "
	    "[N, C, H, W] and [regions, 5] of one dtype",
	    "MaxRoiPool", 1, ATTRS(ATTR_INTS("pooled_shape", 1, 1)),
	    INPUTS(FIVE_BY_FOUR, F32(DIMS(1, 4), 0, 0, 1, 1)));
}

static void
blocks_are_added_up(void **state)
{
	(void)state;
	check_tensor(op_result("Col2Im", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 10, 20, 30),
			     I64(DIMS(1), 4), I64(DIMS(1), 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(1, 12, 23, 30), 0);
	/* Blocks at -1, 1, 3 of 4, their second tap two further. */
	check_tensor(
	    op_result("Col2Im", 18,
		ATTRS(ATTR_INTS("strides", 2), ATTR_INTS("dilations", 2),
		    ATTR_INTS("pads", 1, 2)),
		INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 10, 20, 30), I64(DIMS(1), 4),
		    I64(DIMS(1), 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(0, 12, 0, 23), 0);
	/* Two channels of 2 x 2 from columns of 1 x 2. */
	check_tensor(op_result("Col2Im", 18, NO_ATTRS,
			 INPUTS(F64(DIMS(1, 4, 2), 1, 2, 3, 4, 5, 6, 7, 8),
			     I64(DIMS(2), 2, 2), I64(DIMS(2), 1, 2))),
	    TP_DTYPE_F64, DIMS(1, 2, 2, 2), NUMBERS(1, 3, 2, 4, 5, 7, 6, 8), 0);
	op_refuses(TP_EARG,
	    "Col2Im: input 0 has shape [1, 2, 3], expected [N, C * 2, 4]",
	    "Col2Im", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 10, 20, 30), I64(DIMS(1), 5),
		I64(DIMS(1), 2)));
	op_refuses(TP_EARG, "Col2Im: block_shape has 2 numbers, expected 1",
	    "Col2Im", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 1), I64(DIMS(1), 1), I64(DIMS(2), 1, 1)));
	op_refuses(TP_EARG, "Col2Im: image_shape has 0, the least is 1",
	    "Col2Im", 18, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 1), I64(DIMS(1), 0), I64(DIMS(1), 1)));
}

#define SQUARE F32(DIMS(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9)
#define NOUGHTS 0, 0, 0, 0

static void
windows_are_deformed(void **state)
{
	(void)state;
	/* Not moved: a convolution, and a bias. */
	check_tensor(op_result("DeformConv", 19, NO_ATTRS,
			 INPUTS(SQUARE, F32(DIMS(1, 1, 2, 2), 1, 2, 3, 4),
			     F32(DIMS(1, 8, 2, 2), NOUGHTS, NOUGHTS, NOUGHTS,
				 NOUGHTS, NOUGHTS, NOUGHTS, NOUGHTS, NOUGHTS),
			     F32(DIMS(1), 0.5))),
	    TP_DTYPE_F32, DIMS(1, 1, 2, 2), NUMBERS(37.5, 47.5, 67.5, 77.5), 0);
	/* One tap at rows 0.5, columns 1.25; at -0.5 half of it is outside. */
	check_tensor(
	    op_result("DeformConv", 22, NO_ATTRS,
		INPUTS(F32(DIMS(1, 1, 1, 3), 1, 2, 4), F32(DIMS(1, 1, 1, 1), 1),
		    F32(DIMS(1, 2, 1, 3), 0, 0, 0.25, -0.5, 0.25, 5))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 3), NUMBERS(0.5, 2.5, 0), 0);
	/* Two groups of offsets, a mask, and a channel a group. */
	check_tensor(
	    op_result("DeformConv", 19,
		ATTRS(ATTR_INT("group", 2), ATTR_INT("offset_group", 2)),
		INPUTS(F64(DIMS(1, 2, 2), 1, 2, 3, 4),
		    F64(DIMS(2, 1, 1), 10, 100),
		    F64(DIMS(1, 2, 2), 1, 0, 0, -1), NULL,
		    F64(DIMS(1, 2, 2), 1, 0.5, 1, 2))),
	    TP_DTYPE_F64, DIMS(1, 2, 2), NUMBERS(20, 10, 300, 600), 0);
	op_refuses(TP_EARG,
	    "DeformConv: input 2 has dtype f32 and shape [1, 1, 3], expected "
	    "f32 and [N, 2, outputs…]",
	    "DeformConv", 19, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 3), 1, 2, 3), F32(DIMS(1, 1, 2), 1, 1),
		F32(DIMS(1, 1, 3), 1, 2, 3)));
	op_refuses(TP_EARG,
	    "DeformConv: weights of shape [1, 1, 1] do not fit 1 channels in 1 "
	    "groups, 0 of offsets",
	    "DeformConv", 19, ATTRS(ATTR_INT("offset_group", 0)),
	    INPUTS(F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)));
}

static void
channels_are_convolved_with_their_past(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("CausalConvWithState", 27, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6),
		F32(DIMS(2, 1, 2), 10, 1, 1, 2)),
	    out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(1, 2, 3),
	    NUMBERS(1, 12, 23, 8, 14, 17), 0);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F32, DIMS(1, 2, 1), NUMBERS(3, 6), 0);
	/* Less input than state: old state moves up. */
	op_results("CausalConvWithState", 27, NO_ATTRS,
	    INPUTS(F64(DIMS(1, 1, 1), 5), F64(DIMS(1, 1, 3), 1, 10, 100),
		F64(DIMS(1), 0.5), F64(DIMS(1, 1, 2), 3, 4)),
	    out, 2);
	check_tensor(
	    out[0].tensor, TP_DTYPE_F64, DIMS(1, 1, 1), NUMBERS(543.5), 0);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F64, DIMS(1, 1, 2), NUMBERS(4, 5), 0);
	check_tensor(
	    op_result("CausalConvWithState", 27,
		ATTRS(ATTR_STRING("activation", "swish")),
		INPUTS(F64(DIMS(1, 1, 2), 0, 1), F64(DIMS(1, 1, 1), 1))),
	    TP_DTYPE_F64, DIMS(1, 1, 2), NUMBERS(0, 0.7310585786300049), 1e-15);
	op_refuses(TP_EARG,
	    "CausalConvWithState: activation 'relu', expected silu, swish or "
	    "none",
	    "CausalConvWithState", 27, ATTRS(ATTR_STRING("activation", "relu")),
	    INPUTS(F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 1), 1)));
	op_refuses(TP_EARG,
	    "CausalConvWithState: input 3 has dtype f32 and shape [1, 1, 2], "
	    "expected f32 and [1, 1, 1]",
	    "CausalConvWithState", 27, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 2), 1, 2), NULL,
		F32(DIMS(1, 1, 2), 1, 2)));
}

/* What every operator here is called with when memory runs out. */
static enum tp_status
call(const struct tp_alloc *alloc, size_t which)
{
	static const char *const names[] = {"MaxUnpool", "MaxRoiPool", "Col2Im",
	    "DeformConv", "CausalConvWithState"};
	const struct tp_attr attrs[][1] = {{ATTR_INTS("kernel_shape", 2)},
	    {ATTR_INTS("pooled_shape", 1, 2)}, {ATTR_INTS("strides", 1)},
	    {ATTR_INT("group", 1)}, {ATTR_STRING("activation", "silu")}};
	struct tp_tensor *in[][3] = {
	    {F32(DIMS(1, 1, 1), 1), I64(DIMS(1, 1, 1), 0), NULL},
	    {F32(DIMS(1, 1, 1, 1), 1), F32(DIMS(1, 5), 0, 0, 0, 1, 1), NULL},
	    {F32(DIMS(1, 2, 1), 1, 2), I64(DIMS(1), 2), I64(DIMS(1), 2)},
	    {F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)},
	    {F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 2), 1, 2), NULL}};
	struct tp_value out;
	enum tp_status rc = op_try(names[which], which == 4 ? 27 : 22,
	    attrs[which], 1, in[which], 3, &out, 1, alloc, NULL);

	tp_value_release(&out);
	for (size_t i = 0; i < COUNT_OF(in); i++)
		for (size_t k = 0; k < 3; k++)
			tp_tensor_free(in[i][k]);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	(void)state;
	for (size_t which = 0; which < 5; which++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = call(&a.alloc, which);
		assert_true(a.n_rounds > 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(elements_go_back_to_where_they_were),
	    cmocka_unit_test(regions_are_pooled),
	    cmocka_unit_test(blocks_are_added_up),
	    cmocka_unit_test(windows_are_deformed),
	    cmocka_unit_test(channels_are_convolved_with_their_past),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
