/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/gemm.c and what is made with it: MatMul, Gemm. Sums are checked against
 * exact arithmetic, and against the bits that every machine must find.
 */
#include "support/exact.h"
#include "support/fail_alloc.h"
#include "support/op_calls.h"

/* Shapes beyond one tile and one block in each direction, and of nothing. */
static const int64_t sizes_mnk[][3] = {{1, 1, 1}, {3, 17, 5}, {4, 16, 256},
    {5, 15, 257}, {513, 3, 2}, {130, 257, 30}, {1, 300, 513}, {7, 1, 700},
    {2, 3, 0}, {0, 3, 4}, {3, 0, 4}};

static void
fill_random(struct tp_tensor *t, uint64_t seed)
{
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(
		    t, i, (double)(int64_t)(next_random(&seed) % 4001) - 2000);
}

/* Row i of a times column j of b, whichever way they lie; exact below 2^53. */
static double
exact_sum(const struct tp_tensor *a, const struct tp_tensor *b, bool a_crossed,
    bool b_crossed, uint64_t i, uint64_t j, const int64_t *mnk)
{
	uint64_t m = (uint64_t)mnk[0], n = (uint64_t)mnk[1];
	uint64_t depth = (uint64_t)mnk[2];
	double sum = 0;

	for (uint64_t k = 0; k < depth; k++)
		sum += number_at(a, a_crossed ? k * m + i : i * depth + k) *
		       number_at(b, b_crossed ? j * depth + k : k * n + j);
	return sum;
}

static void
check_gemm(enum tp_dtype dtype, const int64_t *mnk, unsigned variant)
{
	bool a_crossed = variant & 1, b_crossed = variant & 2;
	const int64_t a_sizes[2][2] = {{mnk[0], mnk[2]}, {mnk[2], mnk[0]}};
	const int64_t b_sizes[2][2] = {{mnk[2], mnk[1]}, {mnk[1], mnk[2]}};
	const int64_t c_sizes[4][2] = {
	    {mnk[0], mnk[1]}, {1, mnk[1]}, {mnk[0], 1}, {1, 1}};
	enum placement how = (enum placement)(variant % N_PLACEMENTS);
	struct tp_tensor *in[3] = {
	    placed_tensor(dtype, a_sizes[a_crossed], 2, how),
	    placed_tensor(dtype, b_sizes[b_crossed], 2, how),
	    placed_tensor(dtype, c_sizes[variant / 4 % 4], 2, how)};
	const struct tp_attr attrs[] = {ATTR_INT("transA", a_crossed),
	    ATTR_INT("transB", b_crossed),
	    ATTR_FLOAT("alpha", variant & 8 ? 0.5 : 1),
	    ATTR_FLOAT("beta", variant & 8 ? -2 : 1)};
	double alpha = attrs[2].f, beta = attrs[3].f;
	struct tp_value out;

	for (unsigned k = 0; k < 3; k++)
		fill_random(in[k], 91 + k);
	RUN(op_try("Gemm", 13, attrs, 4, in, 3, &out, 1, NULL, err));
	assert_int_equal(
	    tp_tensor_numel(out.tensor), mnk[0] ? mnk[0] * mnk[1] : 0);
	for (uint64_t at = 0; at < tp_tensor_numel(out.tensor); at++) {
		uint64_t i = at / (uint64_t)mnk[1], j = at % (uint64_t)mnk[1];
		uint64_t c_i = tp_tensor_sizes(in[2])[0] == 1 ? 0 : i;
		uint64_t c_n = (uint64_t)tp_tensor_sizes(in[2])[1];
		double want =
		    alpha * exact_sum(
				in[0], in[1], a_crossed, b_crossed, i, j, mnk) +
		    beta * number_at(in[2], c_i * c_n + (c_n == 1 ? 0 : j));

		if (dtype == TP_DTYPE_F32)
			want = (double)(float)want;
		else if (dtype != TP_DTYPE_F64)
			want = trunc(want);
		assert_true(number_at(out.tensor, at) == want);
	}
	tp_value_release(&out);
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
}

static void
gemm_is_exact_for_whole_numbers(void **state)
{
	static const enum tp_dtype dtypes[] = {
	    TP_DTYPE_F32, TP_DTYPE_F64, TP_DTYPE_I64, TP_DTYPE_I32};

	(void)state;
	/* Sums stay below 2^53, those of i32 below 2^31 in the small ones. */
	for (size_t s = 0; s < COUNT_OF(sizes_mnk); s++)
		for (unsigned variant = 0; variant < 16; variant++)
			for (size_t d = 0; d < 4; d++)
				if (d < 3 || sizes_mnk[s][2] <= 256)
					check_gemm(
					    dtypes[d], sizes_mnk[s], variant);
}

static void
gemm_of_old_opsets_takes_c_as_it_is(void **state)
{
	(void)state;
	check_tensor(op_result("Gemm", 6, ATTRS(ATTR_INT("broadcast", 1)),
			 INPUTS(F32(DIMS(2, 1), 1, 2), F32(DIMS(1, 2), 3, 4),
			     F32(DIMS(2), 10, 20))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(13, 24, 16, 28), 0);
	op_refuses(TP_EARG,
	    "Gemm: input 2 of shape [2] does not fit the product of shape "
	    "[2, 2]",
	    "Gemm", 6, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 1), 1, 2), F32(DIMS(1, 2), 3, 4),
		F32(DIMS(2), 10, 20)));
	op_refuses(TP_EARG, "Gemm: shapes [2, 1] and [2, 2] do not fit", "Gemm",
	    11, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 1), 1, 2), F32(DIMS(2, 2), 3, 4, 5, 6)));
	op_refuses(TP_EARG, "Gemm: shapes [2] and [2] do not fit", "Gemm", 11,
	    NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2), F32(DIMS(2), 3, 4)));
	op_refuses(TP_EARG,
	    "Gemm: input 2 of shape [1, 1, 2] does not fit the product of "
	    "shape [1, 2]",
	    "Gemm", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1), 1), F32(DIMS(1, 2), 3, 4),
		F32(DIMS(1, 1, 2), 3, 4)));
	/* The sum of no products is nothing, whatever is added. */
	check_tensor(op_result("Gemm", 13, ATTRS(ATTR_FLOAT("beta", 3)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 0)),
			     EMPTY(TP_DTYPE_F32, DIMS(0, 2)), F32(SCALAR, 2))),
	    TP_DTYPE_F32, DIMS(1, 2), NUMBERS(6, 6), 0);
}

/* a of any shape and b without a batch are one product of many rows. */
static void
batches_become_rows(void **state)
{
	static const int64_t a_sizes[] = {2, 3, 4, 5}, b_sizes[] = {5, 6};
	static const int64_t mnk[] = {24, 6, 5};

	(void)state;
	for (int how = 0; how < N_PLACEMENTS; how++) {
		struct tp_tensor *in[2] = {placed_tensor(TP_DTYPE_F32, a_sizes,
					       4, (enum placement)how),
		    placed_tensor(
			TP_DTYPE_F32, b_sizes, 2, (enum placement)how)};
		struct tp_value out;

		fill_random(in[0], 5);
		fill_random(in[1], 6);
		RUN(op_try("MatMul", 1, NO_ATTRS, in, 2, &out, 1, NULL, err));
		for (uint64_t i = 0; i < tp_tensor_numel(out.tensor); i++)
			assert_true(number_at(out.tensor, i) ==
				    exact_sum(in[0], in[1], false, false, i / 6,
					i % 6, mnk));
		tp_value_release(&out);
		tp_tensor_free(in[0]);
		tp_tensor_free(in[1]);
	}
}

/* Within half an ulp of the result plus K 2^-53 of what was summed. */
static void
sums_are_rounded_once(void **state)
{
	static const int64_t a_sizes[] = {9, 1000}, b_sizes[] = {1000, 33};
	struct tp_tensor *in[2] = {
	    placed_tensor(TP_DTYPE_F32, a_sizes, 2, PACKED),
	    placed_tensor(TP_DTYPE_F32, b_sizes, 2, PACKED)};
	struct tp_value out;

	(void)state;
	fill_wild(in[0], 1234);
	fill_wild(in[1], 4321);
	RUN(op_try("MatMul", 13, NO_ATTRS, in, 2, &out, 1, NULL, err));
	for (uint64_t at = 0; at < 9 * 33; at++) {
		struct exact_sum sum = {.n = 0};

		for (uint64_t k = 0; k < 1000; k++)
			exact_add(&sum, number_at(in[0], at / 33 * 1000 + k) *
					    number_at(in[1], k * 33 + at % 33));
		check_exact_f32(&sum, number_at(out.tensor, at));
	}
	tp_value_release(&out);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

/* Found with gcc and clang, without optimisation and with all of it. */
static void
every_machine_finds_the_same_bits(void **state)
{
	static const int64_t a_sizes[] = {70, 600}, b_sizes[] = {600, 90};
	static const struct {
		enum tp_dtype dtype;
		uint64_t hash;
	} known[] = {
	    {TP_DTYPE_F32, UINT64_C(0xfcb2fae14ff9bef3)},
	    {TP_DTYPE_F64, UINT64_C(0x0c95df883a69319b)},
	    {TP_DTYPE_F16, UINT64_C(0x9360319fee1401d9)},
	    {TP_DTYPE_BF16, UINT64_C(0x24df301bbf5f9339)},
	};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(known); k++) {
		struct tp_tensor *in[2] = {
		    placed_tensor(known[k].dtype, a_sizes, 2, PACKED),
		    placed_tensor(known[k].dtype, b_sizes, 2, PACKED)};

		fill_wild(in[0], 99);
		fill_wild(in[1], 98);
		for (unsigned threads = 1; threads <= 2; threads++) {
			const struct tp_op_opts opts = {.n_threads = threads};
			const struct tp_value values[] = {
			    tp_value_of(in[0]), tp_value_of(in[1])};
			struct tp_value out;

			RUN(tp_op_run(op_named("MatMul", 13), NULL, 0, values,
			    2, &out, 1, &opts, err));
			assert_int_equal(
			    hash_numbers(out.tensor), known[k].hash);
			tp_value_release(&out);
		}
		tp_tensor_free(in[0]);
		tp_tensor_free(in[1]);
	}
}

static enum tp_status
gemm_with(const struct tp_alloc *alloc)
{
	static const int64_t sizes[] = {3, 3};
	struct tp_tensor *x = placed_tensor(TP_DTYPE_F32, sizes, 2, STRIDED);
	struct tp_tensor *in[] = {x, x, x};
	struct tp_value out;
	enum tp_status rc =
	    op_try("Gemm", 13, NO_ATTRS, in, 3, &out, 1, alloc, NULL);

	tp_value_release(&out);
	tp_tensor_free(x);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = gemm_with(&a.alloc);
	assert_true(a.n_rounds > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gemm_is_exact_for_whole_numbers),
	    cmocka_unit_test(gemm_of_old_opsets_takes_c_as_it_is),
	    cmocka_unit_test(batches_become_rows),
	    cmocka_unit_test(sums_are_rounded_once),
	    cmocka_unit_test(every_machine_finds_the_same_bits),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
