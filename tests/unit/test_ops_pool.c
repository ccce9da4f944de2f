/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/pool.c, ops/spatial.c: pools against the definition, output by output and
 * tap by tap, and attributes that are wrong
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

/* Two spatial axes, by definition. */
struct window_case {
	int64_t input[2], kernel[2], stride[2], dilation[2], pads[4];
	int ceil_mode;
	int64_t output[2]; /* worked out by hand */
};

static const struct window_case cases[] = {
    {{4, 5}, {2, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0, {3, 3}},
    {{4, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 0, 1, 2}, 0, {2, 3}},
    {{7, 9}, {2, 2}, {3, 2}, {2, 3}, {0, 1, 1, 0}, 0, {2, 4}},
    /* 7 + 0 - 2 = 5, half of it rounded up: the last starts at 6 of 7. */
    {{7, 6}, {2, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 1, {4, 3}},
    /* Rounded up, axis 1 would begin its last window in the padding. */
    {{4, 3}, {1, 1}, {2, 3}, {1, 1}, {0, 0, 1, 1}, 1, {2, 1}},
    {{300, 1}, {5, 1}, {1, 1}, {60, 1}, {9, 0, 3, 0}, 0, {72, 1}},
    {{1, 700}, {1, 4}, {1, 1}, {1, 3}, {0, 2, 0, 1}, 0, {1, 694}},
};

#define ATTR_LIST(key, list)                                               \
	{                                                                  \
		.name = TP_STR(key), .kind = TP_ATTR_INTS, .ints = (list), \
		.n = sizeof(list) / sizeof(*(list))                        \
	}

enum what { LARGEST, AVERAGE, AVERAGE_PADDED, POWERS };

/* Output o of a plane of x; *from is where the largest was, in the plane. */
static double
pool_one(const struct window_case *w, enum what what, double p,
    const struct tp_tensor *x, uint64_t plane, const int64_t *o, int64_t *from)
{
	double largest = -INFINITY, sum = 0, powers = 0, n = 0, n_padded = 0;

	*from = -1;
	for (int64_t i = 0; i < w->kernel[0]; i++)
		for (int64_t j = 0; j < w->kernel[1]; j++) {
			int64_t r = o[0] * w->stride[0] + i * w->dilation[0] -
				    w->pads[0];
			int64_t s = o[1] * w->stride[1] + j * w->dilation[1] -
				    w->pads[1];
			double v;

			if (r < w->input[0] + w->pads[2] &&
			    s < w->input[1] + w->pads[3])
				n_padded++;
			if (r < 0 || s < 0 || r >= w->input[0] ||
			    s >= w->input[1])
				continue;
			v = number_at(
			    x, plane * (uint64_t)(w->input[0] * w->input[1]) +
				   (uint64_t)(r * w->input[1] + s));
			n++;
			sum += v;
			powers += pow(fabs(v), p);
			if (v > largest) {
				largest = v;
				*from = r * w->input[1] + s;
			}
		}
	return what == LARGEST		? largest
	       : what == AVERAGE	? sum / n
	       : what == AVERAGE_PADDED ? sum / n_padded
					: pow(powers, 1 / p);
}

static void
fill_mixed(struct tp_tensor *x)
{
	uint64_t seed = 77;
	bool is_unsigned = tp_dtype_kind(tp_tensor_dtype(x)) == TP_KIND_UINT;

	for (uint64_t i = 0; i < tp_tensor_numel(x); i++)
		set_number(x, i,
		    (double)(next_random(&seed) % 200) -
			(is_unsigned ? 0 : 100));
}

static void
check_pool(const char *onnx, enum what what, double p, enum tp_dtype dtype,
    const struct window_case *w, enum placement how)
{
	const int64_t sizes[] = {2, 3, w->input[0], w->input[1]};
	const struct tp_attr attrs[] = {ATTR_LIST("kernel_shape", w->kernel),
	    ATTR_LIST("strides", w->stride), ATTR_LIST("pads", w->pads),
	    ATTR_LIST("dilations", w->dilation),
	    ATTR_INT("ceil_mode", w->ceil_mode),
	    what == POWERS ? (struct tp_attr)ATTR_INT("p", (int64_t)p)
			   : (struct tp_attr)ATTR_INT("count_include_pad", 1)};
	size_t n_attrs = what == LARGEST || what == AVERAGE ? 5 : 6;
	struct tp_tensor *x = placed_tensor(dtype, sizes, 4, how), *outs[2];
	struct tp_value values[2];
	double unit = dtype == TP_DTYPE_F32 ? 0x1p-23 : 0x1p-50;

	fill_mixed(x);
	RUN(op_try(onnx, 22, attrs, n_attrs, &x, 1, values,
	    what == LARGEST ? 2 : 1, NULL, err));
	outs[0] = values[0].tensor;
	outs[1] = what == LARGEST ? values[1].tensor : NULL;
	assert_int_equal(tp_tensor_sizes(outs[0])[2], w->output[0]);
	assert_int_equal(tp_tensor_sizes(outs[0])[3], w->output[1]);
	for (uint64_t i = 0; i < tp_tensor_numel(outs[0]); i++) {
		int64_t at = (int64_t)i, from;
		int64_t o[2] = {
		    at / w->output[1] % w->output[0], at % w->output[1]};
		uint64_t plane = i / (uint64_t)(w->output[0] * w->output[1]);
		double want = pool_one(w, what, p, x, plane, o, &from);
		double got = number_at(outs[0], i);

		assert_true(fabs(got - want) <= unit * fabs(want) ||
			    (isnan(got) && isnan(want)));
		if (what == LARGEST)
			assert_true(number_at(outs[1], i) ==
				    (double)((int64_t)plane * w->input[0] *
						 w->input[1] +
					     from));
	}
	tp_tensor_free(x);
	tp_tensor_free(outs[0]);
	tp_tensor_free(outs[1]);
}

static void
pools_are_what_their_windows_say(void **state)
{
	static const enum tp_dtype dtypes[] = {
	    TP_DTYPE_F32, TP_DTYPE_F64, TP_DTYPE_I8, TP_DTYPE_U8};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(cases); k++)
		for (int how = 0; how < N_PLACEMENTS; how++)
			for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
				enum placement place = (enum placement)how;

				check_pool("MaxPool", LARGEST, 0, dtypes[d],
				    &cases[k], place);
				if (d > 1)
					continue;
				check_pool("AveragePool", AVERAGE, 0, dtypes[d],
				    &cases[k], place);
				check_pool("AveragePool", AVERAGE_PADDED, 0,
				    dtypes[d], &cases[k], place);
				for (int p = 1; p < 4; p++)
					check_pool("LpPool", POWERS, p,
					    dtypes[d], &cases[k], place);
			}
}

static void
indices_may_count_columns_first(void **state)
{
	struct tp_value out[2];

	(void)state;
	/* 5 is at row 0 of column 1, 9 at row 1 of column 2; ties: first. */
	op_results("MaxPool", 8,
	    ATTRS(
		ATTR_INTS("kernel_shape", 2, 2), ATTR_INT("storage_order", 1)),
	    INPUTS(F32(DIMS(1, 2, 2, 3), 1, 5, 2, 0, 3, 9, 7, 7, 7, 7, 7, 7)),
	    out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(1, 2, 1, 2),
	    NUMBERS(5, 9, 7, 7), 0);
	check_tensor(out[1].tensor, TP_DTYPE_I64, DIMS(1, 2, 1, 2),
	    NUMBERS(2, 5, 6, 8), 0);
}

static void
nan_is_the_largest_of_a_window(void **state)
{
	struct tp_value out[2];

	(void)state;
	for (size_t n_out = 1; n_out <= 2; n_out++) {
		op_results("MaxPool", 12, ATTRS(ATTR_INTS("kernel_shape", 2)),
		    INPUTS(TENSOR(TP_DTYPE_F16, DIMS(1, 1, 4), 1, (double)NAN,
			0, -(double)INFINITY)),
		    out, n_out);
		check_tensor(out[0].tensor, TP_DTYPE_F16, DIMS(1, 1, 3),
		    NUMBERS((double)NAN, (double)NAN, 0), 0);
	}
	check_tensor(
	    out[1].tensor, TP_DTYPE_I64, DIMS(1, 1, 3), NUMBERS(1, 1, 2), 0);
}

static struct tp_tensor *
pool_five(struct tp_attr auto_pad)
{
	return op_result("MaxPool", 1,
	    ATTRS(ATTR_INTS("kernel_shape", 2), ATTR_INTS("strides", 2),
		auto_pad),
	    INPUTS(F32(DIMS(1, 1, 5), 1, 2, 3, 4, 5)));
}

/* auto_pad: as many outputs as strides fit, the odd pad at one end. */
static void
pads_may_be_found(void **state)
{
	(void)state;
	check_tensor(
	    pool_five((struct tp_attr)ATTR_STRING("auto_pad", "SAME_UPPER")),
	    TP_DTYPE_F32, DIMS(1, 1, 3), NUMBERS(2, 4, 5), 0);
	check_tensor(
	    pool_five((struct tp_attr)ATTR_STRING("auto_pad", "SAME_LOWER")),
	    TP_DTYPE_F32, DIMS(1, 1, 3), NUMBERS(1, 3, 5), 0);
	check_tensor(
	    pool_five((struct tp_attr)ATTR_STRING("auto_pad", "VALID")),
	    TP_DTYPE_F32, DIMS(1, 1, 2), NUMBERS(2, 4), 0);
	check_tensor(pool_five((struct tp_attr)ATTR_STRING("auto_pad", "")),
	    TP_DTYPE_F32, DIMS(1, 1, 2), NUMBERS(2, 4), 0);
}

static struct tp_tensor *
pool_planes(const char *onnx, int opset, struct tp_tensor *x)
{
	const struct tp_attr p = ATTR_FLOAT("p", 1.5);
	struct tp_value out;

	RUN(op_try(onnx, opset, &p, !strcmp(onnx, "GlobalLpPool"), &x, 1, &out,
	    1, NULL, err));
	return out.tensor;
}

/* Over whole planes, of which there may be more than a block. */
static void
planes_are_pooled_whole(void **state)
{
	static const int64_t sizes[] = {3, 150, 2, 3};
	struct tp_tensor *x = placed_tensor(TP_DTYPE_F32, sizes, 4, STRIDED);
	struct tp_tensor *y[3];

	(void)state;
	fill_mixed(x);
	y[0] = pool_planes("GlobalMaxPool", 1, x);
	y[1] = pool_planes("GlobalAveragePool", 22, x);
	y[2] = pool_planes("GlobalLpPool", 1, x);
	assert_int_equal(tp_tensor_rank(y[0]), 4);
	assert_int_equal(tp_tensor_numel(y[0]), 450);
	for (uint64_t i = 0; i < 450; i++) {
		double most = -(double)INFINITY, sum = 0, powers = 0;

		for (uint64_t k = 0; k < 6; k++) {
			double v = number_at(x, 6 * i + k);

			most = fmax(most, v);
			sum += v;
			powers += pow(fabs(v), 1.5);
		}
		assert_true(number_at(y[0], i) == most);
		assert_true(number_at(y[1], i) == (double)(float)(sum / 6));
		powers = pow(powers, 1 / 1.5);
		assert_true(fabs(number_at(y[2], i) - powers) <= 1e-6 * powers);
	}
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(y[k]);
	tp_tensor_free(x);
	/* Planes of one element without axes, planes of none. */
	check_tensor(op_result("GlobalAveragePool", 1, NO_ATTRS,
			 INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(1, 2, 3, 4), 0);
	check_tensor(op_result("GlobalAveragePool", 1, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 1, 0)))),
	    TP_DTYPE_F32, DIMS(1, 1, 1), NUMBERS((double)NAN), 0);
	check_tensor(op_result("GlobalMaxPool", 1, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 1, 0)))),
	    TP_DTYPE_F32, DIMS(1, 1, 1), NUMBERS(-(double)INFINITY), 0);
}

#define HUGE_SIZE (INT64_C(1) << 62)
#define PLANE_OF_16 \
	INPUTS(F32( \
	    DIMS(1, 1, 4, 4), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

static void
refuses(const char *message, struct tp_attr attr)
{
	op_refuses(TP_EARG, message, "MaxPool", 22,
	    ATTRS(ATTR_INTS("kernel_shape", 2, 2), attr), PLANE_OF_16);
}

static void
wrong_attributes_are_refused(void **state)
{
	(void)state;
	refuses("MaxPool: strides has 0, the least is 1",
	    (struct tp_attr)ATTR_INTS("strides", 1, 0));
	refuses("MaxPool: strides has 3 numbers, expected 2",
	    (struct tp_attr)ATTR_INTS("strides", 1, 1, 1));
	refuses("MaxPool: pads has -1, the least is 0",
	    (struct tp_attr)ATTR_INTS("pads", 0, 0, -1, 0));
	refuses("MaxPool: a kernel of 2 with stride 1, dilation "
		"4611686018427387904 does not fit an input of 4 with pads 0 "
		"and 0",
	    (struct tp_attr)ATTR_INTS("dilations", HUGE_SIZE, 1));
	refuses("MaxPool: a kernel of 2 with stride 1, dilation 1 does not fit "
		"an input of 4 with pads 9223372036854775807 and 0",
	    (struct tp_attr)ATTR_INTS("pads", INT64_MAX, 0, 0, 0));
	refuses("MaxPool: auto_pad 'SAME', expected NOTSET, SAME_UPPER, "
		"SAME_LOWER or VALID",
	    (struct tp_attr)ATTR_STRING("auto_pad", "SAME"));
	op_refuses(TP_EARG,
	    "MaxPool: a kernel of 4611686018427387904 with stride 1, dilation "
	    "1 "
	    "does not fit an input of 4 with pads 0 and 0",
	    "MaxPool", 1, ATTRS(ATTR_INTS("kernel_shape", HUGE_SIZE, 1)),
	    PLANE_OF_16);
	op_refuses(TP_EARG, "MaxPool: kernel_shape is missing", "MaxPool", 1,
	    NO_ATTRS, PLANE_OF_16);
	op_refuses(TP_EARG,
	    "LpPool: input 0 has shape [2], expected [N, C, D1, …]", "LpPool",
	    2, ATTRS(ATTR_INTS("kernel_shape", 1)), INPUTS(F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "LpPool: p is 0, expected more than 0", "LpPool",
	    18, ATTRS(ATTR_INTS("kernel_shape", 1), ATTR_INT("p", 0)),
	    INPUTS(F32(DIMS(1, 1, 2), 1, 2)));
	/* Nothing in images of any size is still nothing. */
	if (HAS_LONG_AXES)
		check_tensor(op_result("MaxPool", 1,
				 ATTRS(ATTR_INTS("kernel_shape", 1, 1)),
				 INPUTS(EMPTY(TP_DTYPE_F32,
				     DIMS(0, 1, HUGE_SIZE, HUGE_SIZE)))),
		    TP_DTYPE_F32, DIMS(0, 1, HUGE_SIZE, HUGE_SIZE), NO_NUMBERS,
		    0);
	/* As much padding as that kernel needs is looked at by nobody. */
	check_tensor(op_result("MaxPool", 1,
			 ATTRS(ATTR_INTS("kernel_shape", HUGE_SIZE / 2),
			     ATTR_STRING("auto_pad", "SAME_LOWER")),
			 INPUTS(F32(DIMS(1, 1, 2), 1, 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 2), NUMBERS(2, 2), 0);
}

static enum tp_status
pool_with(const struct tp_alloc *alloc, const char *onnx)
{
	static const int64_t sizes[] = {1, 2, 4, 4};
	const struct tp_attr attr = ATTR_INTS("kernel_shape", 2, 2);
	struct tp_tensor *x = placed_tensor(TP_DTYPE_F32, sizes, 4, STRIDED);
	size_t n_out = strcmp(onnx, "MaxPool") ? 1 : 2;
	struct tp_value out[2];
	enum tp_status rc = op_try(
	    onnx, 11, &attr, onnx[0] != 'G', &x, 1, out, n_out, alloc, NULL);

	for (size_t k = 0; k < n_out; k++)
		tp_value_release(&out[k]);
	tp_tensor_free(x);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const char *const names[] = {
	    "MaxPool", "AveragePool", "LpPool", "GlobalMaxPool"};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(names); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = pool_with(&a.alloc, names[k]);
		assert_true(a.n_rounds > 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pools_are_what_their_windows_say),
	    cmocka_unit_test(indices_may_count_columns_first),
	    cmocka_unit_test(nan_is_the_largest_of_a_window),
	    cmocka_unit_test(pads_may_be_found),
	    cmocka_unit_test(planes_are_pooled_whole),
	    cmocka_unit_test(wrong_attributes_are_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
