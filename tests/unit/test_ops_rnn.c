/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/rnn.c: cells of one or two numbers against their formulas, written out;
 * directions, lengths, layouts, activations
 */
#include "support/op_calls.h"

#include "support/fail_alloc.h"

static double
sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static void
weights_are_rows_of_outputs(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("RNN", 14,
	    ATTRS(ATTR_STRINGS("activations", TP_STR("Affine")),
		ATTR_INT("hidden_size", 2)),
	    INPUTS(F32(DIMS(2, 1, 2), 1, 2, 3, 4),
		F32(DIMS(1, 2, 2), 1, 10, 100, 1000),
		F32(DIMS(1, 2, 2), 1, 2, 3, 4), F32(DIMS(1, 4), 1, 2, 3, 4)),
	    out, 2);
	/* [21, 2100] + [4, 6]; [43, 4300] + [25 + 4212, 75 + 8424] + [4, 6] */
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(2, 1, 1, 2),
	    NUMBERS(25, 2106, 4284, 12805), 0);
	check_tensor(out[1].tensor, TP_DTYPE_F32, DIMS(1, 1, 2),
	    NUMBERS(4284, 12805), 0);
}

/* h = x + h: what is summed up shows which steps were taken in which order. */
#define SUMS                                       \
	ATTR_STRING("direction", "bidirectional"), \
	    ATTR_STRINGS("activations", TP_STR("Affine"), TP_STR("Affine"))
#define ONES F32(DIMS(2, 1, 1), 1, 1), F32(DIMS(2, 1, 1), 1, 1)

static void
sequences_end_where_they_are_said_to(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("RNN", 7, ATTRS(SUMS),
	    INPUTS(F32(DIMS(3, 2, 1), 1, 10, 2, 20, 3, 30), ONES, NULL,
		I32(DIMS(2), 2, 3), F32(DIMS(2, 2, 1), 100, 200, 300, 400)),
	    out, 2);
	/* [step][direction][batch]; behind the end is 0. */
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(3, 2, 2, 1),
	    NUMBERS(101, 210, 303, 460, 103, 230, 302, 450, 0, 260, 0, 430), 0);
	check_tensor(out[1].tensor, TP_DTYPE_F32, DIMS(2, 2, 1),
	    NUMBERS(103, 260, 303, 460), 0);
	/* A sequence without steps stays where it begins. */
	op_results("RNN", 22, ATTRS(SUMS),
	    INPUTS(F32(DIMS(1, 1, 1), 5), ONES, NULL, I32(DIMS(1), 0),
		F32(DIMS(2, 1, 1), 7, 8)),
	    out, 2);
	check_tensor(
	    out[0].tensor, TP_DTYPE_F32, DIMS(1, 2, 1, 1), NUMBERS(0, 0), 0);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F32, DIMS(2, 1, 1), NUMBERS(7, 8), 0);
	op_refuses(TP_EARG, "RNN: sequence 0 has length 2, there are 1 steps",
	    "RNN", 14, ATTRS(SUMS),
	    INPUTS(F32(DIMS(1, 1, 1), 5), ONES, NULL, I32(DIMS(1), 2)));
}

static void
the_batch_may_come_first(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("RNN", 14, ATTRS(SUMS, ATTR_INT("layout", 1)),
	    INPUTS(F32(DIMS(2, 3, 1), 1, 2, 3, 10, 20, 30), ONES, NULL,
		I32(DIMS(2), 2, 3), F32(DIMS(2, 2, 1), 100, 300, 200, 400)),
	    out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(2, 3, 2, 1),
	    NUMBERS(101, 303, 103, 302, 0, 0, 210, 460, 230, 450, 260, 430), 0);
	check_tensor(out[1].tensor, TP_DTYPE_F32, DIMS(2, 2, 1),
	    NUMBERS(103, 303, 260, 460), 0);
	check_tensor(op_result("RNN", 1,
			 ATTRS(ATTR_STRING("direction", "reverse"),
			     ATTR_STRINGS("activations", TP_STR("Affine")),
			     ATTR_INT("output_sequence", 1)),
			 INPUTS(F32(DIMS(2, 1, 1), 1, 2), F32(DIMS(1, 1, 1), 1),
			     F32(DIMS(1, 1, 1), 1))),
	    TP_DTYPE_F32, DIMS(2, 1, 1, 1), NUMBERS(3, 2), 0);
}

/* Two steps of a cell of one number: w, r, wb, rb by gate. */
static void
resets_come_before_or_after_the_product(void **state)
{
	const double w[] = {0.5, -0.3, 0.8}, r[] = {0.2, 0.7, -0.6};
	const double wb[] = {0.1, 0.2, 0.3}, rb[] = {-0.4, 0.5, 0.9};
	const double x[] = {1.5, -0.5};

	(void)state;
	for (int linear = 0; linear < 2; linear++) {
		double h = 0.25, y[2];

		for (unsigned t = 0; t < 2; t++) {
			double z =
			    sigmoid(w[0] * x[t] + r[0] * h + wb[0] + rb[0]);
			double reset =
			    sigmoid(w[1] * x[t] + r[1] * h + wb[1] + rb[1]);
			double back = linear ? reset * (h * r[2] + rb[2])
					     : reset * h * r[2] + rb[2];

			h = (1 - z) * tanh(w[2] * x[t] + back + wb[2]) + z * h;
			y[t] = h;
		}
		check_tensor(op_result("GRU", linear ? 3 : 14,
				 ATTRS(ATTR_INT("linear_before_reset", linear)),
				 INPUTS(F64(DIMS(2, 1, 1), x[0], x[1]),
				     F64(DIMS(1, 3, 1), w[0], w[1], w[2]),
				     F64(DIMS(1, 3, 1), r[0], r[1], r[2]),
				     F64(DIMS(1, 6), wb[0], wb[1], wb[2], rb[0],
					 rb[1], rb[2]),
				     NULL, F64(DIMS(1, 1, 1), 0.25))),
		    TP_DTYPE_F64, DIMS(2, 1, 1, 1), NUMBERS(y[0], y[1]), 1e-15);
	}
	op_refuses(TP_EARG,
	    "GRU (opset 1 on) has no attribute 'linear_before_reset'", "GRU", 1,
	    ATTRS(ATTR_INT("linear_before_reset", 1)),
	    INPUTS(F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 3, 1), 1, 2, 3),
		F32(DIMS(1, 3, 1), 1, 2, 3)));
}

static double
bound(double x, double clip)
{
	return fmax(-clip, fmin(x, clip));
}

/* Gates i o f c, peepholes i o f. */
static void
cells_are_seen_by_their_gates(void **state)
{
	const double w[] = {0.5, -0.3, 0.8, 2.5}, r[] = {0.2, 0.7, -0.6, 0.4};
	const double p[] = {0.3, -0.9, 0.6}, x[] = {1.5, -0.5};

	(void)state;
	for (int how = 0; how < 4; how++) {
		bool coupled = how & 1;
		double clip = how & 2 ? 0.4 : 100, h = 0.25, c = -0.75, y[2];
		struct tp_value out[3];

		for (unsigned t = 0; t < 2; t++) {
			double i = sigmoid(
			    bound(w[0] * x[t] + r[0] * h + p[0] * c, clip));
			double f =
			    coupled
				? 1 - i
				: sigmoid(bound(
				      w[2] * x[t] + r[2] * h + p[2] * c, clip));
			double g = tanh(bound(w[3] * x[t] + r[3] * h, clip));

			c = f * c + i * g;
			h = sigmoid(bound(
				w[1] * x[t] + r[1] * h + p[1] * c, clip)) *
			    tanh(bound(c, clip));
			y[t] = h;
		}
		op_results("LSTM", how ? 14 : 7,
		    ATTRS(ATTR_INT("input_forget", coupled),
			ATTR_FLOAT("clip", clip)),
		    INPUTS(F64(DIMS(2, 1, 1), x[0], x[1]),
			F64(DIMS(1, 4, 1), w[0], w[1], w[2], w[3]),
			F64(DIMS(1, 4, 1), r[0], r[1], r[2], r[3]), NULL, NULL,
			F64(DIMS(1, 1, 1), 0.25), F64(DIMS(1, 1, 1), -0.75),
			F64(DIMS(1, 3), p[0], p[1], p[2])),
		    out, 3);
		check_tensor(out[0].tensor, TP_DTYPE_F64, DIMS(2, 1, 1, 1),
		    NUMBERS(y[0], y[1]), 1e-14);
		check_tensor(out[1].tensor, TP_DTYPE_F64, DIMS(1, 1, 1),
		    NUMBERS(y[1]), 1e-14);
		check_tensor(out[2].tensor, TP_DTYPE_F64, DIMS(1, 1, 1),
		    NUMBERS(c), 1e-14);
	}
}

static double
activated(const char *name, double x)
{
	const struct tp_str names[] = {tp_str(name)};
	const struct tp_attr attr = {.name = TP_STR("activations"),
	    .kind = TP_ATTR_STRINGS,
	    .strings = names,
	    .n = 1};
	struct tp_tensor *y = op_result("RNN", 14, &attr, 1,
	    INPUTS(F64(DIMS(1, 1, 1), x), F64(DIMS(1, 1, 1), 1),
		F64(DIMS(1, 1, 1), 0)));
	double got = number_at(y, 0);

	tp_tensor_free(y);
	return got;
}

static bool
is_near(double a, double b)
{
	return fabs(a - b) < 1e-8 * fmax(1, fabs(b));
}

static void
activations_have_their_usual_parameters(void **state)
{
	const double x[] = {-2, -0.25, 0, 0.25, 2};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(x); i++) {
		double v = x[i];

		assert_true(is_near(activated("Relu", v), fmax(v, 0)));
		assert_true(is_near(activated("Tanh", v), tanh(v)));
		assert_true(is_near(activated("Sigmoid", v), sigmoid(v)));
		assert_true(is_near(activated("Affine", v), v));
		assert_true(
		    is_near(activated("LeakyRelu", v), v < 0 ? 0.01 * v : v));
		assert_true(
		    is_near(activated("ThresholdedRelu", v), v < 1 ? 0 : v));
		assert_true(is_near(activated("ScaledTanh", v), tanh(v)));
		assert_true(is_near(activated("HardSigmoid", v),
		    fmax(0, fmin(1, 0.2 * v + 0.5))));
		assert_true(
		    is_near(activated("Elu", v), v < 0 ? exp(v) - 1 : v));
		assert_true(
		    is_near(activated("Softsign", v), v / (1 + fabs(v))));
		assert_true(is_near(activated("Softplus", v), log(1 + exp(v))));
	}
	assert_true(activated("Softplus", 1000) == 1000);
}

/* Parameters go, in order, to those activations that have them. */
static void
parameters_go_to_who_has_them(void **state)
{
	(void)state;
	check_tensor(op_result("RNN", 14,
			 ATTRS(ATTR_STRING("direction", "bidirectional"),
			     ATTR_STRINGS("activations", TP_STR("Relu"),
				 TP_STR("ScaledTanh")),
			     ATTR_FLOATS("activation_alpha", 3),
			     ATTR_FLOATS("activation_beta", 0.5)),
			 INPUTS(F64(DIMS(1, 1, 1), 2), F64(DIMS(2, 1, 1), 1, 1),
			     F64(DIMS(2, 1, 1), 0, 0))),
	    TP_DTYPE_F64, DIMS(1, 2, 1, 1), NUMBERS(2, 3 * tanh(1)), 1e-15);
	op_refuses(TP_EARG, "RNN: no activation 'Gelu'", "RNN", 14,
	    ATTRS(ATTR_STRINGS("activations", TP_STR("Gelu"))),
	    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)));
	op_refuses(TP_EARG, "RNN: 1 activations, expected 2", "RNN", 14,
	    ATTRS(ATTR_STRINGS("activations", TP_STR("Relu")),
		ATTR_STRING("direction", "bidirectional")),
	    INPUTS(F32(DIMS(1, 1, 1), 2), ONES));
}

static void
wrong_shapes_are_named(void **state)
{
	(void)state;
	op_refuses(TP_EARG, "RNN: X has rank 2 and R 3, expected 3", "RNN", 14,
	    NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)));
	op_refuses(TP_EARG,
	    "LSTM: input 1 has shape [1, 1, 1], expected [1, 4, 1]", "LSTM", 14,
	    NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 4, 1), 0, 0, 0, 0)));
	op_refuses(TP_EARG, "RNN: input 3 has shape [2], expected [1, 2]",
	    "RNN", 14, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0), F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "RNN: hidden_size is 7, that of R is 1", "RNN", 14,
	    ATTRS(ATTR_INT("hidden_size", 7)),
	    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)));
	op_refuses(TP_EARG,
	    "GRU: direction is 'up', expected forward, reverse or "
	    "bidirectional",
	    "GRU", 14, ATTRS(ATTR_STRING("direction", "up")),
	    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 0)));
	if (HAS_LONG_AXES)
		op_refuses(TP_ELIMIT, "RNN: hidden size 4611686018427387904",
		    "RNN", 14, NO_ATTRS,
		    INPUTS(F32(DIMS(1, 1, 1), 2), F32(DIMS(1, 1, 1), 1),
			EMPTY(TP_DTYPE_F32, DIMS(1, 0, INT64_C(1) << 62))));
	/* Nothing at all is no fault. */
	check_tensor(op_result("RNN", 14, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, 1)),
			     F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 1), 0))),
	    TP_DTYPE_F32, DIMS(0, 1, 1, 1), NO_NUMBERS, 0);
}

/* Many gates: sums of more than a few rows, on one thread and on three. */
static void
threads_change_no_bit(void **state)
{
	enum { STEPS = 3, N_BATCH = 5, N = 7, N_IN = 9 };
	static const int64_t shapes[][3] = {
	    {STEPS, N_BATCH, N_IN}, {2, 4 * N, N_IN}, {2, 4 * N, N}};
	const struct tp_attr both = ATTR_STRING("direction", "bidirectional");
	struct tp_value in[3], out[2];
	uint64_t seed = 9;

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct tp_tensor *t = NULL;

		RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, shapes[k], 3, &t, err));
		for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
			set_number(
			    t, i, (double)next_random(&seed) / 0x1p64 - 0.5);
		in[k] = tp_value_of(t);
	}
	for (unsigned k = 0; k < 2; k++) {
		const struct tp_op_opts opts = {.n_threads = 1 + 2 * k};

		RUN(tp_op_run(op_named("LSTM", 22), &both, 1, in, 3, &out[k], 1,
		    &opts, err));
	}
	assert_int_equal(
	    tp_tensor_numel(out[0].tensor), STEPS * 2 * N_BATCH * N);
	assert_memory_equal(tp_tensor_data(out[0].tensor),
	    tp_tensor_data(out[1].tensor),
	    STEPS * 2 * N_BATCH * N * sizeof(float));
	/* The first step of the first sequence by its formula. */
	for (uint64_t j = 0; j < N; j++) {
		double gates[4];

		for (uint64_t g = 0; g < 4; g++) {
			gates[g] = 0;
			for (uint64_t i = 0; i < N_IN; i++)
				gates[g] += number_at(in[0].tensor, i) *
					    number_at(in[1].tensor,
						(g * N + j) * N_IN + i);
		}
		assert_true(
		    fabs(number_at(out[0].tensor, j) -
			 sigmoid(gates[1]) *
			     tanh(sigmoid(gates[0]) * tanh(gates[3]))) < 1e-7);
	}
	for (unsigned k = 0; k < 3; k++)
		tp_value_release(&in[k]);
	for (unsigned k = 0; k < 2; k++)
		tp_value_release(&out[k]);
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct tp_tensor *in[] = {F32(DIMS(2, 2, 1), 1, 2, 3, 4),
	    F32(DIMS(1, 4, 1), 1, 2, 3, 4), F32(DIMS(1, 4, 1), 1, 2, 3, 4),
	    F32(DIMS(1, 8), 1, 2, 3, 4, 5, 6, 7, 8), I32(DIMS(2), 1, 2),
	    F32(DIMS(1, 2, 1), 1, 2), F32(DIMS(1, 2, 1), 1, 2),
	    F32(DIMS(1, 3), 1, 2, 3)};
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;
	struct tp_value out[3];

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		rc = op_try("LSTM", 22, NO_ATTRS, in, COUNT_OF(in), out, 3,
		    &a.alloc, NULL);
		for (size_t i = 0; i < 3; i++)
			tp_value_release(&out[i]);
	}
	assert_true(a.n_rounds > 10);
	for (size_t k = 0; k < COUNT_OF(in); k++)
		tp_tensor_free(in[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(weights_are_rows_of_outputs),
	    cmocka_unit_test(sequences_end_where_they_are_said_to),
	    cmocka_unit_test(the_batch_may_come_first),
	    cmocka_unit_test(resets_come_before_or_after_the_product),
	    cmocka_unit_test(cells_are_seen_by_their_gates),
	    cmocka_unit_test(activations_have_their_usual_parameters),
	    cmocka_unit_test(parameters_go_to_who_has_them),
	    cmocka_unit_test(wrong_shapes_are_named),
	    cmocka_unit_test(threads_change_no_bit),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
