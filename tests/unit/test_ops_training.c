/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/optimizer.c: one step of each method against its formula, and inputs that
 * do not go together
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define MOST 6

static enum tp_status
step(const char *onnx, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in, struct tp_value *out,
    size_t n_out, const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_op_opts opts = {.n_threads = 2, .alloc = alloc};
	struct tp_value values[OP_CALL_IN];
	const struct tp_op *op = NULL;

	assert_int_equal(tp_op_find(TP_STR("ai.onnx.preview.training"),
			     tp_str(onnx), 1, &op, NULL),
	    TP_OK);
	for (size_t k = 0; k < n_in; k++)
		values[k] = tp_value_of(in[k]);
	return tp_op_run(
	    op, attrs, n_attrs, values, n_in, out, n_out, &opts, err);
}

static void
stepped(const char *onnx, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in, struct tp_value *out,
    size_t n_out)
{
	struct tp_err err = TP_ERR_INIT;

	if (step(onnx, attrs, n_attrs, in, n_in, out, n_out, NULL, &err)) {
		print_error("%s\n", err.msg);
		fail();
	}
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

#define ONE(x) F64(DIMS(1), x)
#define IS(k, x) \
	check_tensor(out[k].tensor, TP_DTYPE_F64, DIMS(1), NUMBERS(x), 1e-15)

static void
adagrad_sums_squares(void **state)
{
	double rate = 0.5 / (1 + 3 * 0.25), g = 2 + 0.125 * 4, h = 6 + g * g;
	struct tp_value out[MOST];

	(void)state;
	stepped("Adagrad",
	    ATTRS(ATTR_FLOAT("decay_factor", 0.25),
		ATTR_FLOAT("norm_coefficient", 0.125),
		ATTR_FLOAT("epsilon", 0.0625)),
	    INPUTS(F32(SCALAR, 0.5), I64(SCALAR, 3), ONE(4), ONE(2), ONE(6)),
	    out, 2);
	IS(0, 4 - rate * g / (sqrt(h) + 0.0625));
	IS(1, h);
}

static void
check_adam(double t)
{
	double g = 2 + 0.125 * 4;
	double v = 0.75 * 3 + 0.25 * g, h = 0.5 * 5 + 0.5 * g * g, x;
	double rate =
	    t > 0 ? 0.25 * sqrt(1 - pow(0.5, t)) / (1 - pow(0.75, t)) : 0.25;
	struct tp_value out[MOST];

	stepped("Adam",
	    ATTRS(ATTR_FLOAT("alpha", 0.75), ATTR_FLOAT("beta", 0.5),
		ATTR_FLOAT("norm_coefficient", 0.125),
		ATTR_FLOAT("norm_coefficient_post", 0.0625),
		ATTR_FLOAT("epsilon", 0.5)),
	    INPUTS(F32(SCALAR, 0.25), I64(SCALAR, t), ONE(4), ONE(2), ONE(3),
		ONE(5)),
	    out, 3);
	x = 4 - rate * v / (sqrt(h) + 0.5);
	IS(0, x * (1 - 0.0625));
	IS(1, v);
	IS(2, h);
}

static void
adam_averages(void **state)
{
	(void)state;
	check_adam(0);
	check_adam(1);
	check_adam(40);
}

static void
check_momentum(bool nesterov, double t)
{
	const struct tp_attr attrs[] = {ATTR_FLOAT("alpha", 0.75),
	    ATTR_FLOAT("beta", 0.5), ATTR_FLOAT("norm_coefficient", 0.125),
	    {.name = TP_STR("mode"),
		.kind = TP_ATTR_STRING,
		.s = tp_str(nesterov ? "nesterov" : "standard")}};
	double g = 2 + 0.125 * 4, v = 0.75 * 3 + (t > 0 ? 0.5 : 1) * g;
	struct tp_value out[MOST];

	stepped("Momentum", attrs, 4,
	    INPUTS(F32(DIMS(1), 0.25), I64(DIMS(1), t), ONE(4), ONE(2), ONE(3)),
	    out, 2);
	IS(0, 4 - 0.25 * (nesterov ? g + 0.75 * v : v));
	IS(1, v);
}

static void
momentum_goes_on(void **state)
{
	(void)state;
	for (int nesterov = 0; nesterov < 2; nesterov++) {
		check_momentum(nesterov, 0);
		check_momentum(nesterov, 7);
	}
}

/* Groups: all values, all gradients, all states; each in its own shape. */
static void
tensors_come_in_groups(void **state)
{
	struct tp_value out[MOST];

	(void)state;
	stepped("Adagrad", ATTRS(ATTR_FLOAT("epsilon", 0)),
	    INPUTS(F32(SCALAR, 1), I64(SCALAR, 0), ONE(10),
		F32(DIMS(2, 1), 20, 30), ONE(3), F32(DIMS(2, 1), 0, 4), ONE(16),
		F32(DIMS(2, 1), 1, 9)),
	    out, 4);
	IS(0, 10 - 3. / 5);
	check_tensor(out[1].tensor, TP_DTYPE_F32, DIMS(2, 1),
	    NUMBERS(20, 30 - 4. / 5), 1e-7);
	IS(2, 25);
	check_tensor(
	    out[3].tensor, TP_DTYPE_F32, DIMS(2, 1), NUMBERS(1, 25), 0);
}

static void
refuses(const char *message, const char *onnx, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in, size_t n_out)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_value out[MOST];

	assert_int_equal(
	    step(onnx, attrs, n_attrs, in, n_in, out, n_out, NULL, &err),
	    TP_EARG);
	assert_string_equal(err.msg, message);
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

#define R F32(SCALAR, 1)
#define T I64(SCALAR, 1)

static void
what_does_not_go_together_is_refused(void **state)
{
	(void)state;
	refuses("Adagrad: 4 inputs, expected R, T and 3 for each tensor",
	    "Adagrad", NO_ATTRS, INPUTS(R, T, ONE(1), ONE(1)), 2);
	refuses("Adagrad: 1 outputs, expected 2", "Adagrad", NO_ATTRS,
	    INPUTS(R, T, ONE(1), ONE(1), ONE(1)), 1);
	refuses("Adagrad: input 3 has not the dtype (a float) and shape of "
		"input 2",
	    "Adagrad", NO_ATTRS,
	    INPUTS(R, T, ONE(1), F64(DIMS(2), 1, 1), ONE(1)), 2);
	refuses("Adagrad: input 4 has not the dtype (a float) and shape of "
		"input 2",
	    "Adagrad", NO_ATTRS, INPUTS(R, T, ONE(1), ONE(1), F32(DIMS(1), 1)),
	    2);
	refuses("Adagrad: input 3 has not the dtype (a float) and shape of "
		"input 2",
	    "Adagrad", NO_ATTRS, INPUTS(R, T, ONE(1), NULL, ONE(1)), 2);
	refuses("Adagrad: input 0 has shape [2], expected up to 1 numbers",
	    "Adagrad", NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 1), T, ONE(1), ONE(1), ONE(1)), 2);
	refuses("Momentum: attribute 'alpha' is missing", "Momentum", NO_ATTRS,
	    INPUTS(R, T, ONE(1), ONE(1), ONE(1)), 2);
	refuses("Momentum: mode is 'heavy', expected standard or nesterov",
	    "Momentum",
	    ATTRS(ATTR_FLOAT("alpha", 0), ATTR_FLOAT("beta", 0),
		ATTR_FLOAT("norm_coefficient", 0),
		ATTR_STRING("mode", "heavy")),
	    INPUTS(R, T, ONE(1), ONE(1), ONE(1)), 2);
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct tp_tensor *in[] = {R, T, ONE(1), ONE(2), ONE(3), ONE(4)};
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;
	struct tp_value out[3];

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		rc = step("Adam", NO_ATTRS, in, 6, out, 3, &a.alloc, NULL);
		for (size_t k = 0; k < 3; k++)
			tp_value_release(&out[k]);
	}
	assert_true(a.n_rounds > 3);
	for (size_t k = 0; k < 6; k++)
		tp_tensor_free(in[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(adagrad_sums_squares),
	    cmocka_unit_test(adam_averages),
	    cmocka_unit_test(momentum_goes_on),
	    cmocka_unit_test(tensors_come_in_groups),
	    cmocka_unit_test(what_does_not_go_together_is_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
