/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/dft.c, fourier.c, signal.c: transforms of every kind of length against
 * their definition and back again, windows and bands against their formulas
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define PI 3.14159265358979323846

static struct tp_tensor *
make_signal(const int64_t *sizes, unsigned rank)
{
	struct tp_tensor *x = placed_tensor(TP_DTYPE_F64, sizes, rank, PACKED);
	uint64_t seed = 5;

	for (uint64_t i = 0; i < tp_tensor_numel(x); i++)
		set_number(
		    x, i, (double)(next_random(&seed) % 2001) / 1000 - 1);
	return x;
}

/* Number k of the transform of n complex ones, by definition. */
static void
define(const struct tp_tensor *x, int64_t n, int64_t k, double *re, double *im)
{
	*re = *im = 0;
	for (int64_t j = 0; j < n; j++) {
		double angle = -2 * PI * (double)(j * k % n) / (double)n;
		double a = number_at(x, (uint64_t)(2 * j));
		double b = number_at(x, (uint64_t)(2 * j + 1));

		*re += a * cos(angle) - b * sin(angle);
		*im += a * sin(angle) + b * cos(angle);
	}
}

static void
check_length(int64_t n)
{
	const struct tp_attr inverse = ATTR_INT("inverse", 1);
	struct tp_tensor *x = make_signal((const int64_t[]){1, n, 2}, 3);
	struct tp_value y, back;

	RUN(op_try("DFT", 20, NO_ATTRS, &x, 1, &y, 1, NULL, err));
	for (int64_t k = 0; k < n; k += 1 + n / 7) {
		double re, im;

		define(x, n, k, &re, &im);
		assert_true(
		    fabs(number_at(y.tensor, (uint64_t)(2 * k)) - re) < 1e-11);
		assert_true(fabs(number_at(y.tensor, (uint64_t)(2 * k + 1)) -
				 im) < 1e-11);
	}
	RUN(op_try("DFT", 20, &inverse, 1, &y.tensor, 1, &back, 1, NULL, err));
	for (uint64_t i = 0; i < (uint64_t)(2 * n); i++)
		assert_true(
		    fabs(number_at(back.tensor, i) - number_at(x, i)) < 1e-13);
	tp_tensor_free(x);
	tp_value_release(&y);
	tp_value_release(&back);
}

static void
any_length_is_transformed(void **state)
{
	static const int64_t lengths[] = {
	    1, 2, 3, 8, 31, 32, 33, 64, 97, 100, 127, 128, 360, 1021, 1024};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(lengths); k++)
		check_length(lengths[k]);
}

static void
lengths_are_cut_and_filled(void **state)
{
	(void)state;
	check_tensor(op_result("DFT", 17, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 3, 1), 1, 2, 9), I64(SCALAR, 2))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(3, 0, -1, 0), 0);
	check_tensor(op_result("DFT", 20, ATTRS(ATTR_INT("onesided", 1)),
			 INPUTS(F32(DIMS(1, 2, 1), 1, 2), I64(SCALAR, 4))),
	    TP_DTYPE_F32, DIMS(1, 3, 2), NUMBERS(3, 0, 1, -2, -1, 0), 1e-6);
	/* Along another axis than the last. */
	check_tensor(
	    op_result("DFT", 20, NO_ATTRS,
		INPUTS(F32(DIMS(2, 2, 1), 1, 2, 3, 5), NULL, I64(SCALAR, 0))),
	    TP_DTYPE_F32, DIMS(2, 2, 2), NUMBERS(4, 0, 7, 0, -2, 0, -3, 0), 0);
}

/* What is mirrored need not be there; imaginary ends do not count. */
static void
real_signals_come_back(void **state)
{
	const struct tp_attr both[] = {
	    ATTR_INT("inverse", 1), ATTR_INT("onesided", 1)};

	(void)state;
	check_tensor(op_result("DFT", 20, both, 2,
			 INPUTS(F32(DIMS(1, 3, 2), 10, 7, -2, 2, -2, 9))),
	    TP_DTYPE_F32, DIMS(1, 4, 1), NUMBERS(1, 2, 3, 4), 0);
	for (int64_t n = 4; n < 90; n += 17) {
		const int64_t sizes[] = {1, n, 1};
		struct tp_tensor *x = make_signal(sizes, 3), *y, *again;
		struct tp_value half;

		RUN(op_try("DFT", 20, &both[1], 1, &x, 1, &half, 1, NULL, err));
		assert_int_equal(tp_tensor_sizes(half.tensor)[1], n / 2 + 1);
		y = op_result("DFT", 20, both, 2,
		    INPUTS(half.tensor, I64(SCALAR, (double)n)));
		again = make_signal(sizes, 3);
		for (uint64_t i = 0; i < (uint64_t)n; i++)
			assert_true(fabs(number_at(y, i) -
					 number_at(again, i)) < 1e-14);
		tp_tensor_free(x);
		tp_tensor_free(y);
		tp_tensor_free(again);
	}
}

static void
frames_are_transformed(void **state)
{
	(void)state;
	check_tensor(op_result("STFT", 17, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 5, 1), 1, 2, 3, 5, 9),
			     I64(SCALAR, 2), NULL, I64(SCALAR, 2))),
	    TP_DTYPE_F32, DIMS(1, 2, 2, 2), NUMBERS(3, 0, -1, 0, 8, 0, -2, 0),
	    0);
	check_tensor(op_result("STFT", 17, ATTRS(ATTR_INT("onesided", 0)),
			 INPUTS(F32(DIMS(1, 3, 2), 1, 1, 2, 0, 3, -1),
			     I64(SCALAR, 1), F32(DIMS(2), 1, 10))),
	    TP_DTYPE_F32, DIMS(1, 2, 2, 2),
	    NUMBERS(21, 1, -19, 1, 32, -10, -28, 10), 0);
}

static void
check_window(
    const char *onnx, int periodic, int n, double a, double b, double c)
{
	const struct tp_attr attrs[] = {
	    ATTR_INT("periodic", periodic), ATTR_INT("output_datatype", 11)};
	struct tp_tensor *y =
	    op_result(onnx, 17, attrs, 2, INPUTS(I64(SCALAR, n)));

	assert_int_equal(tp_tensor_dtype(y), TP_DTYPE_F64);
	assert_int_equal(tp_tensor_numel(y), n);
	for (int i = 0; i < n; i++) {
		double t = 2 * PI * i / (periodic ? n : n - 1);
		double want = a - b * cos(t) + c * cos(2 * t);

		assert_true(fabs(number_at(y, (uint64_t)i) - want) < 1e-14);
	}
	tp_tensor_free(y);
}

static void
windows_are_sums_of_cosines(void **state)
{
	(void)state;
	for (int periodic = 0; periodic < 2; periodic++)
		for (int n = 2; n < 3000; n = 3 * n + 1) {
			check_window("HannWindow", periodic, n, 0.5, 0.5, 0);
			check_window("HammingWindow", periodic, n, 25. / 46,
			    21. / 46, 0);
			check_window(
			    "BlackmanWindow", periodic, n, 0.42, 0.5, 0.08);
		}
	check_tensor(op_result("HannWindow", 17, ATTRS(ATTR_INT("periodic", 0)),
			 INPUTS(I64(SCALAR, 1))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(1), 0);
	check_tensor(
	    op_result("HannWindow", 17, ATTRS(ATTR_INT("output_datatype", 6)),
		INPUTS(I64(SCALAR, 4))),
	    TP_DTYPE_I32, DIMS(4), NUMBERS(0, 0, 1, 0), 0);
	check_tensor(
	    op_result("HannWindow", 17, NO_ATTRS, INPUTS(I64(SCALAR, 0))),
	    TP_DTYPE_F32, DIMS(0), NO_NUMBERS, 0);
}

/*
 * From 0 to 700 Hz are 781.17 mel: with one band edges at 0, 1/3 and 2/3 of
 * them, 0, 182.0 and 411.2 Hz. 18 / 1000 of these are bins 0, 3, 7.
 */
static void
bands_are_triangles(void **state)
{
	(void)state;
	check_tensor(
	    op_result("MelWeightMatrix", 17, NO_ATTRS,
		INPUTS(I64(SCALAR, 1), I64(SCALAR, 17), I64(SCALAR, 1000),
		    F32(SCALAR, 0), F32(SCALAR, 700))),
	    TP_DTYPE_F32, DIMS(9, 1),
	    NUMBERS(0, 1. / 3, 2. / 3, 1, 0.75, 0.5, 0.25, 0, 0), 1e-7);
}

static void
wrong_signals_are_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG,
	    "DFT: the signal has shape [0, 4, 3], its last axis is to have 1 "
	    "or 2 numbers",
	    "DFT", 20, NO_ATTRS, INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 4, 3))));
}

static void
numbers_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG, "DFT: axis -1 has the parts of a number", "DFT", 17,
	    ATTRS(ATTR_INT("axis", -1)), INPUTS(F32(DIMS(1, 1, 1), 1)));
	op_refuses(TP_EARG, "DFT: a transform of -3 numbers", "DFT", 17,
	    NO_ATTRS, INPUTS(F32(DIMS(1, 1, 1), 1), I64(SCALAR, -3)));
	op_refuses(TP_EARG, "DFT: a transform of 4611686018427387904 numbers",
	    "DFT", 17, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1), 1), I64(SCALAR, 0x1p62)));
	op_refuses(TP_EARG, "DFT: onesided, but the signal is complex", "DFT",
	    20, ATTRS(ATTR_INT("onesided", 1)),
	    INPUTS(F32(DIMS(1, 1, 2), 1, 1)));
	op_refuses(TP_EARG,
	    "STFT: frames of 2 numbers, 0 apart, of a signal of 2, with a "
	    "window of 0",
	    "STFT", 17, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2, 1), 1, 1), I64(SCALAR, 0), NULL,
		I64(SCALAR, 2)));
	op_refuses(TP_EARG, "HannWindow: a window of -1 numbers", "HannWindow",
	    17, NO_ATTRS, INPUTS(I64(SCALAR, -1)));
	op_refuses(TP_EARG, "HannWindow: output_datatype bool", "HannWindow",
	    17, ATTRS(ATTR_INT("output_datatype", 9)), INPUTS(I64(SCALAR, 1)));
	op_refuses(TP_EARG,
	    "MelWeightMatrix: 1 bands of 5 to 4 Hz, transforms of 8 numbers, 9 "
	    "a second",
	    "MelWeightMatrix", 17, NO_ATTRS,
	    INPUTS(I64(SCALAR, 1), I64(SCALAR, 8), I64(SCALAR, 9),
		F32(SCALAR, 5), F32(SCALAR, 4)));
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct tp_tensor *dft[] = {make_signal((const int64_t[]){1, 33, 1}, 3)};
	struct tp_tensor *stft[] = {
	    dft[0], I64(SCALAR, 3), F32(DIMS(2), 1, 1), I64(SCALAR, 2)};

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value y;

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(k ? "STFT" : "DFT", 20, NO_ATTRS,
			    k ? stft : dft, k ? 4 : 1, &y, 1, &a.alloc, NULL);
			tp_value_release(&y);
		}
		assert_true(a.n_rounds > 4);
	}
	for (size_t k = 0; k < COUNT_OF(stft); k++)
		tp_tensor_free(stft[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(any_length_is_transformed),
	    cmocka_unit_test(lengths_are_cut_and_filled),
	    cmocka_unit_test(real_signals_come_back),
	    cmocka_unit_test(frames_are_transformed),
	    cmocka_unit_test(windows_are_sums_of_cosines),
	    cmocka_unit_test(bands_are_triangles),
	    cmocka_unit_test(wrong_signals_are_refused),
	    cmocka_unit_test(numbers_that_do_not_fit_are_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
