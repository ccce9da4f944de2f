/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/softmax.c, layer_norm.c, normalize.c, batch_norm.c, lp_norm.c, loss.c:
 * against their definitions in long double
 */
#include "support/op_calls.h"

#include <float.h>

#include "support/fail_alloc.h"

/* Before opset 13 a row is all axes from the axis on, 1 if none is named. */
static void
rows_were_flattened_once(void **state)
{
	const double e = exp(1), f = exp(2);
	const double all = 2 + e + f;

	(void)state;
	check_tensor(op_result("Softmax", 11, NO_ATTRS,
			 INPUTS(F64(DIMS(1, 2, 2), 0, 1, 2, 0))),
	    TP_DTYPE_F64, DIMS(1, 2, 2),
	    NUMBERS(1 / all, e / all, f / all, 1 / all), 1e-15);
	check_tensor(op_result("Softmax", 13, NO_ATTRS,
			 INPUTS(F64(DIMS(1, 2, 2), 0, 1, 2, 0))),
	    TP_DTYPE_F64, DIMS(1, 2, 2),
	    NUMBERS(1 / (1 + e), e / (1 + e), f / (1 + f), 1 / (1 + f)), 1e-15);
	check_tensor(op_result("LogSoftmax", 1, ATTRS(ATTR_INT("axis", 0)),
			 INPUTS(F64(DIMS(1, 2, 2), 0, 1, 2, 0))),
	    TP_DTYPE_F64, DIMS(1, 2, 2),
	    NUMBERS(-log(all), 1 - log(all), 2 - log(all), -log(all)), 1e-15);
	check_tensor(op_result("LogSoftmax", 13, ATTRS(ATTR_INT("axis", 1)),
			 INPUTS(F64(DIMS(1, 2, 1), 1000, 1001))),
	    TP_DTYPE_F64, DIMS(1, 2, 1), NUMBERS(-log1p(e), 1 - log1p(e)),
	    1e-15);
	check_tensor(op_result("Hardmax", 11, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2, 2), 0, 2, 2, 1))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(0, 1, 0, 0), 0);
	check_tensor(op_result("Hardmax", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2, 2), 0, 2, 2, 1))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(0, 1, 1, 0), 0);
	/* The axis behind the last: rows of one element. */
	check_tensor(op_result("Softmax", 11, ATTRS(ATTR_INT("axis", 2)),
			 INPUTS(F32(DIMS(1, 2), 5, 7))),
	    TP_DTYPE_F32, DIMS(1, 2), NUMBERS(1, 1), 0);
	op_refuses(TP_EARG, "Softmax: axis 2 of a tensor of rank 2", "Softmax",
	    13, ATTRS(ATTR_INT("axis", 2)), INPUTS(F32(DIMS(1, 2), 5, 7)));
	op_refuses(TP_EARG, "Hardmax: axis -1 of a tensor of rank 0", "Hardmax",
	    13, NO_ATTRS, INPUTS(F32(SCALAR, 5)));
}

#define N_LONG 1000

static struct tp_tensor *
random_row(void)
{
	static const int64_t n = N_LONG;
	struct tp_tensor *t = NULL;
	uint64_t seed = 3;

	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, &n, 1, &t, err));
	for (uint64_t i = 0; i < N_LONG; i++)
		set_number(t, i, (double)next_random(&seed) / 0x1p64 * 4 + 1);
	return t;
}

/* Not further from the exact result than the next float. */
static void
check_ulp(const struct tp_tensor *y, uint64_t i, long double want)
{
	float near = (float)want;
	double got = number_at(y, i);

	assert_true(got >= (double)nextafterf(near, -INFINITY) &&
		    got <= (double)nextafterf(near, INFINITY));
}

static void
floats_are_right_to_the_last_bit_but_one(void **state)
{
	struct tp_tensor *x = random_row(), *y;
	long double sum = 0, mean, variance = 0, powers = 0;

	(void)state;
	for (uint64_t i = 0; i < N_LONG; i++) {
		sum += (long double)number_at(x, i);
		powers += expl((long double)number_at(x, i));
	}
	mean = sum / N_LONG;
	for (uint64_t i = 0; i < N_LONG; i++) {
		long double d = (long double)number_at(x, i) - mean;

		variance += d * d / N_LONG;
	}
	for (unsigned k = 0; k < 3; k++) {
		static const char *const names[] = {
		    "Softmax", "LogSoftmax", "LayerNormalization"};
		struct tp_value in = tp_value_of(x), out;

		RUN(tp_op_run(op_named(names[k], 17), NULL, 0, &in, 1, &out, 1,
		    NULL, err));
		for (uint64_t i = 0; i < N_LONG; i++) {
			long double v = (long double)number_at(x, i);

			check_ulp(out.tensor, i,
			    k == 0   ? expl(v) / powers
			    : k == 1 ? v - logl(powers)
				     : (v - mean) / sqrtl(variance +
							  (long double)1e-5f));
		}
		tp_value_release(&out);
	}
	y = op_result("ReduceSum", 13, NO_ATTRS, INPUTS(random_row()));
	check_ulp(y, 0, sum);
	tp_tensor_free(y);
	y = op_result("ReduceMean", 18, NO_ATTRS, INPUTS(random_row()));
	check_ulp(y, 0, mean);
	tp_tensor_free(y);
	y = op_result("ReduceLogSumExp", 18, NO_ATTRS, INPUTS(random_row()));
	check_ulp(y, 0, logl(powers));
	tp_tensor_free(y);
	tp_tensor_free(x);
}

static void
layers_tell_mean_and_deviation(void **state)
{
	const double d = 1 / sqrt(1.25 + 0.5);
	struct tp_value out[3];

	(void)state;
	op_results("LayerNormalization", 17,
	    ATTRS(ATTR_INT("axis", 1), ATTR_FLOAT("epsilon", 0.5),
		ATTR_INT("stash_type", 11)),
	    INPUTS(F32(DIMS(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8),
		F32(DIMS(2, 1), 1, 2), F32(DIMS(2), 0, 1)),
	    out, 3);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(2, 2, 2),
	    NUMBERS(-1.5 * d, -0.5 * d + 1, d, 3 * d + 1, -1.5 * d,
		-0.5 * d + 1, d, 3 * d + 1),
	    FLT_EPSILON);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F64, DIMS(2, 1, 1), NUMBERS(2.5, 6.5), 0);
	check_tensor(
	    out[2].tensor, TP_DTYPE_F64, DIMS(2, 1, 1), NUMBERS(d, d), 1e-15);
	/* A scale for each row. */
	check_tensor(
	    op_result("LayerNormalization", 17, ATTRS(ATTR_FLOAT("epsilon", 0)),
		INPUTS(F64(DIMS(2, 2), 1, 3, 1, 3), F64(DIMS(2, 1), 10, 100))),
	    TP_DTYPE_F64, DIMS(2, 2), NUMBERS(-10, 10, -100, 100), 1e-15);
	op_refuses(TP_EARG,
	    "LayerNormalization: input 1 of shape [3] does not broadcast to "
	    "[1, 2]",
	    "LayerNormalization", 17, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2), 1, 2), F32(DIMS(3), 1, 2, 3)));
	op_refuses(TP_EARG,
	    "LayerNormalization: stash_type i64, expected a float",
	    "LayerNormalization", 17, ATTRS(ATTR_INT("stash_type", 7)),
	    INPUTS(F32(DIMS(1, 2), 1, 2), F32(DIMS(2), 1, 2)));
}

/* The mean is not taken away; the result has the dtype of the scale. */
static void
roots_of_mean_squares_are_divided_by(void **state)
{
	const double d = 1 / sqrt(12.5);

	(void)state;
	check_tensor(
	    op_result("RMSNormalization", 23, ATTRS(ATTR_FLOAT("epsilon", 0)),
		INPUTS(F32(DIMS(1, 2), 3, 4), F32(DIMS(2), 1, 2))),
	    TP_DTYPE_F32, DIMS(1, 2), NUMBERS(3 * d, 8 * d), FLT_EPSILON);
	check_tensor(op_result("RMSNormalization", 23,
			 ATTRS(ATTR_FLOAT("epsilon", 0), ATTR_INT("axis", 0)),
			 INPUTS(TENSOR(TP_DTYPE_F16, DIMS(1, 2), 3, 4),
			     F64(DIMS(2), 1, 2))),
	    TP_DTYPE_F64, DIMS(1, 2), NUMBERS(3 * d, 8 * d), 1e-15);
}

static void
channels_and_groups_of_them_are_rows(void **state)
{
	const struct tp_attr exact = ATTR_FLOAT("epsilon", 0);
	const struct tp_attr groups[] = {exact, ATTR_INT("num_groups", 2)};

	(void)state;
	check_tensor(op_result("InstanceNormalization", 6, &exact, 1,
			 INPUTS(F64(DIMS(1, 2, 2), 1, 3, 5, 9),
			     F64(DIMS(2), 10, 1), F64(DIMS(2), 0, 7))),
	    TP_DTYPE_F64, DIMS(1, 2, 2), NUMBERS(-10, 10, 6, 8), 1e-15);
	/* From opset 21 a scale for each channel, before for each group. */
	check_tensor(
	    op_result("GroupNormalization", 21, groups, 2,
		INPUTS(F64(DIMS(1, 4, 1), 1, 3, 5, 9), F64(DIMS(4), 1, 2, 3, 4),
		    F64(DIMS(4), 0, 0, 1, 1))),
	    TP_DTYPE_F64, DIMS(1, 4, 1), NUMBERS(-1, 2, -2, 5), 1e-15);
	check_tensor(op_result("GroupNormalization", 18, groups, 2,
			 INPUTS(F64(DIMS(1, 4, 1), 1, 3, 5, 9),
			     F64(DIMS(2), 1, 2), F64(DIMS(2), 0, 1))),
	    TP_DTYPE_F64, DIMS(1, 4, 1), NUMBERS(-1, 1, -1, 3), 1e-15);
	op_refuses(TP_EARG,
	    "GroupNormalization: num_groups 2 does not divide the 3 channels",
	    "GroupNormalization", 21, groups, 2,
	    INPUTS(F32(DIMS(1, 3), 1, 2, 3), F32(DIMS(3), 1, 2, 3),
		F32(DIMS(3), 1, 2, 3)));
	op_refuses(TP_EARG,
	    "InstanceNormalization: input 2 has shape [1], expected [2]",
	    "InstanceNormalization", 6, NO_ATTRS,
	    INPUTS(
		F32(DIMS(1, 2, 1), 1, 2), F32(DIMS(2), 1, 2), F32(DIMS(1), 1)));
}

static void
any_axes_are_brought_to_mean_and_variance(void **state)
{
	(void)state;
	check_tensor(op_result("MeanVarianceNormalization", 13,
			 ATTRS(ATTR_INTS("axes", -1, 0)),
			 INPUTS(F32(DIMS(2, 2, 1), 1, 5, 3, 9))),
	    TP_DTYPE_F32, DIMS(2, 2, 1), NUMBERS(-1, -1, 1, 1), FLT_EPSILON);
	/* What has no variance is 0, not NaN. */
	check_tensor(op_result("MeanVarianceNormalization", 9, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2, 1, 2), 1, 3, 5, 5))),
	    TP_DTYPE_F32, DIMS(1, 2, 1, 2), NUMBERS(-1, 1, 0, 0), FLT_EPSILON);
	op_refuses(TP_EARG,
	    "MeanVarianceNormalization: axis 3 of a tensor of rank 3",
	    "MeanVarianceNormalization", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 1)));
}

#define BATCH                                                \
	F64(DIMS(2, 2, 1), 1, 5, 3, 9), F64(DIMS(2), 10, 1), \
	    F64(DIMS(2), 0, 7), F64(DIMS(2), 1, 5), F64(DIMS(2), 4, 1)

static void
batches_are_normalized_by_what_is_given_or_found(void **state)
{
	const struct tp_attr exact = ATTR_FLOAT("epsilon", 0);
	const struct tp_attr test[] = {exact, ATTR_INT("is_test", 1)};
	const struct tp_attr train[] = {
	    exact, ATTR_FLOAT("momentum", 0.75), ATTR_INT("training_mode", 1)};
	const int opsets[] = {15, 9, 7};
	struct tp_value out[5];

	(void)state;
	for (size_t k = 0; k < COUNT_OF(opsets); k++)
		check_tensor(op_result("BatchNormalization", opsets[k], &exact,
				 1, INPUTS(BATCH)),
		    TP_DTYPE_F64, DIMS(2, 2, 1), NUMBERS(0, 7, 10, 11), 1e-15);
	check_tensor(op_result("BatchNormalization", 6, test, 2, INPUTS(BATCH)),
	    TP_DTYPE_F64, DIMS(2, 2, 1), NUMBERS(0, 7, 10, 11), 1e-15);
	check_tensor(
	    op_result("BatchNormalization", 6, &exact, 1, INPUTS(BATCH)),
	    TP_DTYPE_F64, DIMS(2, 2, 1), NUMBERS(-10, 6, 10, 8), 1e-15);
	op_results("BatchNormalization", 14, train, 3, INPUTS(BATCH), out, 3);
	check_tensor(out[0].tensor, TP_DTYPE_F64, DIMS(2, 2, 1),
	    NUMBERS(-10, 6, 10, 8), 1e-15);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F64, DIMS(2), NUMBERS(1.25, 5.5), 1e-15);
	check_tensor(
	    out[2].tensor, TP_DTYPE_F64, DIMS(2), NUMBERS(3.25, 1.75), 1e-15);
	op_results("BatchNormalization", 9, train, 2, INPUTS(BATCH), out, 5);
	for (unsigned k = 0; k < 3; k++)
		tp_value_release(&out[k]);
	check_tensor(
	    out[3].tensor, TP_DTYPE_F64, DIMS(2), NUMBERS(2, 7), 1e-15);
	check_tensor(
	    out[4].tensor, TP_DTYPE_F64, DIMS(2), NUMBERS(1, 4), 1e-15);
}

/* Every element of an example has numbers of its own. */
static void
batches_need_not_be_spatial(void **state)
{
	const struct tp_attr attrs[] = {
	    ATTR_FLOAT("epsilon", 0), ATTR_INT("spatial", 0)};

	(void)state;
	check_tensor(op_result("BatchNormalization", 7, attrs, 2,
			 INPUTS(F64(DIMS(1, 1, 2), 3, 5),
			     F64(DIMS(1, 2), 1, 10), F64(DIMS(1, 2), 0, 1),
			     F64(DIMS(1, 2), 1, 2), F64(DIMS(1, 2), 1, 4))),
	    TP_DTYPE_F64, DIMS(1, 1, 2), NUMBERS(2, 16), 1e-15);
	op_refuses(TP_EARG,
	    "BatchNormalization: input 1 has shape [1], expected one number "
	    "for each of 2 channels",
	    "BatchNormalization", 15, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2), 1, 2), F32(DIMS(1), 1), F32(DIMS(1), 1),
		F32(DIMS(1), 1), F32(DIMS(1), 1)));
}

static void
norms_of_rows_and_windows_divide(void **state)
{
	const struct tp_attr window[] = {ATTR_INT("size", 2),
	    ATTR_FLOAT("alpha", 2), ATTR_FLOAT("beta", 1),
	    ATTR_FLOAT("bias", 1)};

	(void)state;
	check_tensor(op_result("LpNormalization", 22, NO_ATTRS,
			 INPUTS(F64(DIMS(2, 2), 3, -4, 0, 0))),
	    TP_DTYPE_F64, DIMS(2, 2), NUMBERS(0.6, -0.8, 0, 0), 1e-15);
	check_tensor(op_result("LpNormalization", 1,
			 ATTRS(ATTR_INT("p", 1), ATTR_INT("axis", 0)),
			 INPUTS(F64(DIMS(2, 2), 3, -4, 1, 12))),
	    TP_DTYPE_F64, DIMS(2, 2), NUMBERS(0.75, -0.25, 0.25, 0.75), 1e-15);
	/* The longer side of a window is the one behind the element. */
	check_tensor(op_result("LRN", 13, window, 4,
			 INPUTS(F64(DIMS(1, 3, 1), 1, 2, 3))),
	    TP_DTYPE_F64, DIMS(1, 3, 1), NUMBERS(1. / 6, 2. / 14, 3. / 10),
	    1e-15);
	/* A window may be wider than there are channels. */
	check_tensor(
	    op_result("LRN", 1,
		ATTRS(ATTR_INT("size", INT64_MAX), ATTR_FLOAT("alpha", 0x1p63)),
		INPUTS(F64(DIMS(1, 2), 1, 2))),
	    TP_DTYPE_F64, DIMS(1, 2), NUMBERS(pow(6, -0.75), 2 * pow(6, -0.75)),
	    1e-14);
	op_refuses(TP_EARG, "LpNormalization: p is 3, expected 1 or 2",
	    "LpNormalization", 22, ATTRS(ATTR_INT("p", 3)),
	    INPUTS(F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "LRN: size is 0, expected 1 or more", "LRN", 13,
	    NO_ATTRS, INPUTS(F32(DIMS(1, 1), 1)));
}

static void
losses_are_weighed_and_ignored(void **state)
{
	const struct tp_attr ignore[] = {
	    ATTR_INT("ignore_index", -7), ATTR_STRING("reduction", "none")};
	const struct tp_attr sum = ATTR_STRING("reduction", "sum");

	(void)state;
	check_tensor(op_result("NegativeLogLikelihoodLoss", 13, ignore, 2,
			 INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6),
			     I64(DIMS(1, 3), 0, -7, 1), F32(DIMS(2), 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 3), NUMBERS(-10, 0, -600), 0);
	check_tensor(op_result("NegativeLogLikelihoodLoss", 12, ignore, 1,
			 INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6),
			     I32(DIMS(1, 3), 0, -7, 1), F32(DIMS(2), 10, 100))),
	    TP_DTYPE_F32, SCALAR, NUMBERS(-610. / 110), FLT_EPSILON);
	check_tensor(op_result("NegativeLogLikelihoodLoss", 22, ignore, 1,
			 INPUTS(F32(DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6),
			     I64(DIMS(1, 3), 0, -7, 1))),
	    TP_DTYPE_F32, SCALAR, NUMBERS(-3.5), 0);
	check_tensor(
	    op_result("NegativeLogLikelihoodLoss", 22, &sum, 1,
		INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), I64(DIMS(2), 0, 1))),
	    TP_DTYPE_F32, SCALAR, NUMBERS(-5), 0);
	op_refuses(TP_EARG,
	    "NegativeLogLikelihoodLoss: target 1 is 2, there are 2 classes",
	    "NegativeLogLikelihoodLoss", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), I64(DIMS(2), 0, 2)));
	op_refuses(TP_EARG,
	    "NegativeLogLikelihoodLoss: targets of shape [3] for input of "
	    "shape [2, 2], expected [N, ...] for [N, C, ...]",
	    "NegativeLogLikelihoodLoss", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), I64(DIMS(3), 0, 2, 1)));
	op_refuses(TP_EARG,
	    "SoftmaxCrossEntropyLoss: reduction is 'most', expected none, sum "
	    "or mean",
	    "SoftmaxCrossEntropyLoss", 13,
	    ATTRS(ATTR_STRING("reduction", "most")),
	    INPUTS(F32(DIMS(1, 1), 1), I64(DIMS(1), 0)));
}

static void
cross_entropy_tells_its_probabilities(void **state)
{
	const double p = 1 / (1 + exp(1)), q = 1 - p;
	struct tp_value out[2];

	(void)state;
	op_results("SoftmaxCrossEntropyLoss", 13, NO_ATTRS,
	    INPUTS(F64(DIMS(2, 2), 1000, 1001, 0, 0), I64(DIMS(2), 0, 1)), out,
	    2);
	check_tensor(out[0].tensor, TP_DTYPE_F64, SCALAR,
	    NUMBERS((-log(p) + log(2)) / 2), 1e-15);
	check_tensor(out[1].tensor, TP_DTYPE_F64, DIMS(2, 2),
	    NUMBERS(log(p), log(q), -log(2), -log(2)), 1e-14);
}

static void
nothing_stays_nothing(void **state)
{
	(void)state;
	check_tensor(op_result("Softmax", 13, ATTRS(ATTR_INT("axis", 0)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 3)))),
	    TP_DTYPE_F32, DIMS(0, 3), NO_NUMBERS, 0);
	check_tensor(op_result("LayerNormalization", 17, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0)),
			     EMPTY(TP_DTYPE_F32, DIMS(0)))),
	    TP_DTYPE_F32, DIMS(2, 0), NO_NUMBERS, 0);
	check_tensor(op_result("InstanceNormalization", 6, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, 3)),
			     F32(DIMS(1), 1), F32(DIMS(1), 1))),
	    TP_DTYPE_F32, DIMS(0, 1, 3), NO_NUMBERS, 0);
	check_tensor(
	    op_result("BatchNormalization", 15, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, 3)), F32(DIMS(1), 1),
		    F32(DIMS(1), 1), F32(DIMS(1), 1), F32(DIMS(1), 1))),
	    TP_DTYPE_F32, DIMS(0, 1, 3), NO_NUMBERS, 0);
	check_tensor(op_result("NegativeLogLikelihoodLoss", 13, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 3)),
			     EMPTY(TP_DTYPE_I64, DIMS(0)))),
	    TP_DTYPE_F32, SCALAR, NUMBERS(NAN), 0);
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const struct {
		const char *onnx;
		int opset;
		size_t n_in, n_out;
	} ops[] = {{"Softmax", 11, 1, 1}, {"LayerNormalization", 17, 3, 3},
	    {"InstanceNormalization", 6, 3, 1}, {"BatchNormalization", 9, 5, 1},
	    {"BatchNormalization", 9, 5, 5},
	    {"MeanVarianceNormalization", 13, 1, 1}};
	struct tp_tensor *x = F32(DIMS(2, 2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9,
	    10, 11, 12, 13, 14, 15, 16);
	struct tp_tensor *list = F32(DIMS(2), 1, 2);
	struct tp_tensor *in[] = {x, list, list, list, list};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ops); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out[5];

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(ops[k].onnx, ops[k].opset, NO_ATTRS, in,
			    ops[k].n_in, out, ops[k].n_out, &a.alloc, NULL);
			for (size_t i = 0; i < ops[k].n_out; i++)
				tp_value_release(&out[i]);
		}
		assert_true(a.n_rounds > 2);
	}
	tp_tensor_free(x);
	tp_tensor_free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_were_flattened_once),
	    cmocka_unit_test(floats_are_right_to_the_last_bit_but_one),
	    cmocka_unit_test(layers_tell_mean_and_deviation),
	    cmocka_unit_test(roots_of_mean_squares_are_divided_by),
	    cmocka_unit_test(channels_and_groups_of_them_are_rows),
	    cmocka_unit_test(any_axes_are_brought_to_mean_and_variance),
	    cmocka_unit_test(batches_are_normalized_by_what_is_given_or_found),
	    cmocka_unit_test(batches_need_not_be_spatial),
	    cmocka_unit_test(norms_of_rows_and_windows_divide),
	    cmocka_unit_test(losses_are_weighed_and_ignored),
	    cmocka_unit_test(cross_entropy_tells_its_probabilities),
	    cmocka_unit_test(nothing_stays_nothing),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
