/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/random.c, dropout.c, twister.c: numbers that Matsumoto and Nishimura's
 * generator is known for, moments of what is drawn, and seeds
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define N 20000

/* What init_genrand(5489), the seed of std::mt19937, gives first. */
static const uint32_t first_numbers[] = {
    3499211612, 581869302, 3890346734, 3586334585, 545404204, 4161255391};

static double
uniform_of(uint32_t a, uint32_t b)
{
	return ((a >> 5) * 67108864.0 + (b >> 6)) / 9007199254740992.0;
}

static void
numbers_are_those_of_the_twister(void **state)
{
	double want[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		want[i] =
		    uniform_of(first_numbers[2 * i], first_numbers[2 * i + 1]);
	check_tensor(op_result("RandomUniform", 1,
			 ATTRS(ATTR_INT("dtype", 11), ATTR_INTS("shape", 3),
			     ATTR_FLOAT("seed", 5489)),
			 NULL, 0),
	    TP_DTYPE_F64, DIMS(3), want, 3, 0);
	for (int i = 0; i < 3; i++)
		want[i] = 10 - 4 * want[i];
	check_tensor(op_result("RandomUniform", 22,
			 ATTRS(ATTR_INT("dtype", 11), ATTR_INTS("shape", 1, 3),
			     ATTR_FLOAT("seed", 5489), ATTR_FLOAT("low", 10),
			     ATTR_FLOAT("high", 6)),
			 NULL, 0),
	    TP_DTYPE_F64, DIMS(1, 3), want, 3, 0);
}

/* The 10000th is 4123659995 for that seed, as the C++ standard says. */
static void
the_state_is_renewed(void **state)
{
	struct tp_tensor *y = op_result("RandomUniform", 1,
	    ATTRS(ATTR_INT("dtype", 11), ATTR_INTS("shape", 5000),
		ATTR_FLOAT("seed", 5489)),
	    NULL, 0);
	double x = number_at(y, 4999) * 9007199254740992.0;

	(void)state;
	assert_true(fmod(x, 67108864.0) == (double)(4123659995u >> 6));
	tp_tensor_free(y);
}

static struct tp_tensor *
draw(const char *onnx, int opset, double seed, int64_t n)
{
	const struct tp_attr attrs[] = {ATTR_INT("dtype", 11),
	    {.name = TP_STR("shape"), .kind = TP_ATTR_INTS, .ints = &n, .n = 1},
	    ATTR_FLOAT("seed", seed)};

	return op_result(onnx, opset, attrs, 3, NULL, 0);
}

/* Mean, variance and fourth moment of what should be standard normal. */
static void
normal_numbers_have_their_moments(void **state)
{
	struct tp_tensor *y = draw("RandomNormal", 1, 7, N);
	double sum = 0, squares = 0, fourths = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		double x = number_at(y, i);

		sum += x;
		squares += x * x;
		fourths += x * x * x * x;
	}
	/* Four standard errors. */
	assert_true(fabs(sum / N) < 4 * sqrt(1.0 / N));
	assert_true(fabs(squares / N - 1) < 4 * sqrt(2.0 / N));
	assert_true(fabs(fourths / N - 3) < 4 * sqrt(96.0 / N));
	tp_tensor_free(y);
}

static void
uniform_numbers_fill_their_range(void **state)
{
	struct tp_tensor *y = draw("RandomUniform", 1, 7, N);
	int counts[16] = {0};

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		double x = number_at(y, i);

		assert_true(x >= 0 && x < 1);
		counts[(int)(x * 16)]++;
	}
	for (int k = 0; k < 16; k++)
		assert_true(fabs(counts[k] - N / 16.0) < 4 * sqrt(N / 16.0));
	tp_tensor_free(y);
}

static bool
same(struct tp_tensor *a, struct tp_tensor *b)
{
	bool same = true;

	for (uint64_t i = 0; i < tp_tensor_numel(a); i++)
		same = same && number_at(a, i) == number_at(b, i);
	tp_tensor_free(a);
	tp_tensor_free(b);
	return same;
}

/* Only whole parts count, and only 32 bits of them; all floats are seeds. */
static void
seeds_decide(void **state)
{
	static const double odd[] = {-1, NAN, INFINITY, 1e300, -1e300};

	(void)state;
	assert_true(same(
	    draw("RandomUniform", 1, 3, 9), draw("RandomUniform", 1, 3.75, 9)));
	assert_true(same(draw("RandomNormal", 1, 3, 9),
	    draw("RandomNormal", 1, 0x1p32 + 3, 9)));
	assert_false(same(
	    draw("RandomUniform", 1, 3, 9), draw("RandomUniform", 1, 4, 9)));
	assert_true(same(draw("RandomUniform", 1, -1, 9),
	    draw("RandomUniform", 1, 0xffffffff, 9)));
	for (size_t k = 0; k < COUNT_OF(odd); k++)
		tp_tensor_free(draw("RandomNormal", 1, odd[k], 9));
}

static void
coins_fall_by_their_probability(void **state)
{
	const int64_t sizes[] = {N};
	struct tp_tensor *p = placed_tensor(TP_DTYPE_F32, sizes, 1, PACKED), *y;
	double sum = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		set_number(p, i, 0.25);
	y = op_result("Bernoulli", 15,
	    ATTRS(ATTR_INT("dtype", 9), ATTR_FLOAT("seed", 1)), INPUTS(p));
	assert_int_equal(tp_tensor_dtype(y), TP_DTYPE_BOOL);
	for (uint64_t i = 0; i < N; i++)
		sum += number_at(y, i);
	assert_true(fabs(sum / N - 0.25) < 4 * sqrt(0.1875 / N));
	tp_tensor_free(y);
	check_tensor(op_result("Bernoulli", 22, ATTRS(ATTR_FLOAT("seed", 1)),
			 INPUTS(F64(DIMS(4), 0, 1, 1, 0))),
	    TP_DTYPE_F64, DIMS(4), NUMBERS(0, 1, 1, 0), 0);
}

/* Weights 1 : 3 : 0, as logarithms that are far from 0. */
static void
classes_are_drawn_by_weight(void **state)
{
	struct tp_tensor *y = op_result("Multinomial", 7,
	    ATTRS(ATTR_INT("sample_size", N), ATTR_INT("dtype", 7),
		ATTR_FLOAT("seed", 5)),
	    INPUTS(F64(DIMS(1, 3), 1000, 1000 + log(3), -INFINITY)));
	double n = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		assert_true(number_at(y, i) == 0 || number_at(y, i) == 1);
		n += number_at(y, i);
	}
	assert_true(fabs(n / N - 0.75) < 4 * sqrt(0.1875 / N));
	tp_tensor_free(y);
	op_refuses(TP_EARG, "Multinomial: dtype is f32, expected i32 or i64",
	    "Multinomial", 7, ATTRS(ATTR_INT("dtype", 1)),
	    INPUTS(F32(DIMS(1, 1), 1)));
	op_refuses(TP_EARG,
	    "Multinomial: sample_size 1 from shape [1, 0], expected [batch, "
	    "classes]",
	    "Multinomial", 7, NO_ATTRS,
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 0))));
}

/* The mask is where a number of the twister is at least the ratio. */
static void
dropout_drops_by_the_twister(void **state)
{
	struct tp_tensor *in[] = {
	    F64(DIMS(3), 3, 6, 9), F32(SCALAR, 0.75), BOOL(SCALAR, 1)};
	struct tp_value out[2];
	double want[3], mask[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		mask[i] = uniform_of(first_numbers[2 * i],
			      first_numbers[2 * i + 1]) >= 0.75;
		want[i] = mask[i] != 0 ? 3 * (i + 1) * 4 : 0;
	}
	op_results("Dropout", 13, ATTRS(ATTR_INT("seed", 5489)), in, 3, out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F64, DIMS(3), want, 3, 0);
	check_tensor(out[1].tensor, TP_DTYPE_BOOL, DIMS(3), mask, 3, 0);
}

/* Each opset says in another way whether it trains. */
static void
dropout_without_training_is_nothing(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("Dropout", 6, ATTRS(ATTR_INT("is_test", 1)),
	    INPUTS(F32(DIMS(2), 1, 2)), out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(2), NUMBERS(1, 2), 0);
	check_tensor(out[1].tensor, TP_DTYPE_F32, DIMS(2), NUMBERS(1, 1), 0);
	op_results("Dropout", 10, ATTRS(ATTR_FLOAT("ratio", 0.9)),
	    INPUTS(F32(DIMS(2), 1, 2)), out, 2);
	check_tensor(out[0].tensor, TP_DTYPE_F32, DIMS(2), NUMBERS(1, 2), 0);
	check_tensor(out[1].tensor, TP_DTYPE_BOOL, DIMS(2), NUMBERS(1, 1), 0);
	check_tensor(op_result("Dropout", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(2), 1, 2), F32(SCALAR, 0.9))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(1, 2), 0);
}

static void
wrong_drawing_is_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG, "RandomUniform: attribute 'shape' is missing",
	    "RandomUniform", 1, NO_ATTRS, NULL, 0);
	op_refuses(TP_EUNSUPPORTED, "RandomNormal: numbers of dtype i64",
	    "RandomNormal", 1,
	    ATTRS(ATTR_INTS("shape", 1), ATTR_INT("dtype", 7)), NULL, 0);
	op_refuses(TP_EARG,
	    "Dropout: ratio is 1, expected 0 or more and less than 1",
	    "Dropout", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1), F32(SCALAR, 1), BOOL(SCALAR, 1)));
	op_refuses(TP_EARG,
	    "Dropout: input 1 has shape [2], expected up to 1 numbers",
	    "Dropout", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1), F32(DIMS(2), 0, 0)));
	op_refuses(TP_EARG, "Dropout: input 1 is empty, expected one number",
	    "Dropout", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1), EMPTY(TP_DTYPE_F32, DIMS(0))));
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	struct tp_tensor *x = F32(DIMS(2, 2), 1, 2, 3, 4);
	enum tp_status rc = TP_OK;
	struct tp_value y;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		rc = op_try(
		    "Multinomial", 7, NO_ATTRS, &x, 1, &y, 1, &a.alloc, NULL);
		tp_value_release(&y);
	}
	assert_true(a.n_rounds > 3);
	tp_tensor_free(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_those_of_the_twister),
	    cmocka_unit_test(the_state_is_renewed),
	    cmocka_unit_test(normal_numbers_have_their_moments),
	    cmocka_unit_test(uniform_numbers_fill_their_range),
	    cmocka_unit_test(seeds_decide),
	    cmocka_unit_test(coins_fall_by_their_probability),
	    cmocka_unit_test(classes_are_drawn_by_weight),
	    cmocka_unit_test(dropout_drops_by_the_twister),
	    cmocka_unit_test(dropout_without_training_is_nothing),
	    cmocka_unit_test(wrong_drawing_is_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
