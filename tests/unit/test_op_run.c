/* SPDX-License-Identifier: Apache-2.0 */
/* op.c: finding operators, what they refuse, wrapping, threads, no memory */
#include "support/numbers.h"

#include <stdlib.h>

#include "support/fail_alloc.h"

#include "tp/op.h"

static const struct tp_op *
find(const char *onnx, int opset)
{
	const struct tp_op *op = NULL;

	RUN(tp_op_find(TP_STR(""), tp_str(onnx), opset, &op, err));
	return op;
}

static void
operators_are_found_by_domain_name_and_opset(void **state)
{
	const struct tp_op *op = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tp_op_info info;

	(void)state;
	info = tp_op_info(find("ReduceSum", 11));
	assert_int_equal(info.since, 1);
	assert_int_equal(info.until, 12);
	assert_int_equal(info.max_in, 1);
	info = tp_op_info(find("ReduceSum", TP_OP_NEWEST));
	assert_int_equal(info.since, 13);
	assert_string_equal(info.name, "sum");
	assert_string_equal(info.domain, "");
	assert_int_equal(
	    tp_op_find(TP_STR("ai.onnx"), TP_STR("Add"), 14, &op, NULL), TP_OK);
	assert_string_equal(tp_op_info(op).onnx, "Add");

	assert_int_equal(
	    tp_op_find(TP_STR(""), TP_STR("Tan"), 6, &op, &err), TP_ENOTFOUND);
	assert_null(op);
	assert_string_equal(
	    err.msg, "operator Tan of opset 6: implemented from opset 7 on");
	assert_int_equal(
	    tp_op_find(TP_STR("x.y"), TP_STR("Add"), 14, &op, &err),
	    TP_ENOTFOUND);
	assert_string_equal(err.msg, "no operator 'Add' in domain 'x.y'");
	/* One opset never has two meanings. */
	for (size_t i = 0; (op = tp_op_at(i)); i++)
		for (size_t j = 0; j < i; j++) {
			struct tp_op_info a = tp_op_info(op);
			struct tp_op_info b = tp_op_info(tp_op_at(j));

			if (strcmp(a.onnx, b.onnx))
				continue;
			assert_true((b.until && b.until < a.since) ||
				    (a.until && a.until < b.since));
		}
}

static enum tp_status
run(const struct tp_op *op, const struct tp_attr *attr, struct tp_tensor *a,
    struct tp_tensor *b, struct tp_tensor *into, struct tp_value *out,
    struct tp_err *err)
{
	const struct tp_op_opts opts = {.into = into};
	struct tp_value in[] = {tp_value_of(a), tp_value_of(b)};

	return tp_op_run(op, attr, attr != NULL, in, 2, out, 1, &opts, err);
}

static void
wrong_calls_are_refused_by_name(void **state)
{
	static const int64_t two[] = {2}, three[] = {3};
	static const double x[] = {1, 2, 3};
	struct tp_tensor *a = tensor_of(NULL, TP_DTYPE_F32, two, 1, x);
	struct tp_tensor *b = tensor_of(NULL, TP_DTYPE_F32, three, 1, x);
	struct tp_tensor *i = tensor_of(NULL, TP_DTYPE_I32, two, 1, x);
	struct tp_attr attr = {.name = TP_STR("axes"), .kind = TP_ATTR_INT};
	struct tp_err err = TP_ERR_INIT;
	struct tp_value out;

	(void)state;
	assert_int_equal(run(find("Exp", 13), NULL, i, NULL, NULL, &out, &err),
	    TP_EUNSUPPORTED);
	assert_string_equal(err.msg,
	    "Exp of dtype i32; it is implemented for f16, bf16, f32, f64");
	assert_int_equal(out.kind, TP_VALUE_NONE);
	assert_null(out.tensor);
	assert_int_equal(
	    run(find("Add", 14), NULL, a, NULL, NULL, &out, &err), TP_EARG);
	assert_string_equal(err.msg, "Add: 1 inputs, it takes 2 to 2");
	assert_int_equal(
	    run(find("Add", 14), NULL, NULL, a, NULL, &out, &err), TP_EARG);
	assert_string_equal(err.msg, "Add: input 0 is missing");
	assert_int_equal(
	    run(find("Add", 14), NULL, a, i, NULL, &out, &err), TP_EARG);
	assert_string_equal(
	    err.msg, "Add: input 1 has dtype i32, input 0 has f32");
	assert_int_equal(
	    run(find("Add", 14), NULL, a, b, NULL, &out, &err), TP_EARG);
	assert_string_equal(err.msg, "shapes do not fit along axis 0: 2 and 3");
	assert_int_equal(
	    run(find("Add", 14), &attr, a, a, NULL, &out, &err), TP_EARG);
	assert_string_equal(
	    err.msg, "Add (opset 7 on) has no attribute 'axes'");
	assert_int_equal(
	    run(find("ReduceMax", 13), &attr, a, NULL, NULL, &out, &err),
	    TP_EARG);
	assert_string_equal(err.msg,
	    "ReduceMax: attribute 'axes' is of kind int, expected ints");
	assert_int_equal(
	    run(find("Add", 14), NULL, a, a, b, &out, &err), TP_EARG);
	assert_string_equal(err.msg,
	    "Add: the result has dtype f32 and shape [2], its place has f32 "
	    "and [3]");
	assert_int_equal(
	    run(find("ReduceSum", 13), NULL, a, b, NULL, &out, &err), TP_EARG);
	assert_string_equal(err.msg,
	    "ReduceSum: axes has dtype f32 and shape [3], expected a list of "
	    "i64");
	assert_int_equal(
	    run(find("MatMul", 13), NULL, a, b, NULL, &out, &err), TP_EARG);
	assert_string_equal(err.msg, "MatMul: shapes [2] and [3] do not fit");
	tp_tensor_free(a);
	tp_tensor_free(b);
	tp_tensor_free(i);
}

static double
scalar_result(const char *onnx, enum tp_dtype dtype, double a, double b)
{
	struct tp_tensor *x = tensor_of(NULL, dtype, NULL, 0, &a);
	struct tp_tensor *y = tensor_of(NULL, dtype, NULL, 0, &b);
	struct tp_value out;
	double got;

	RUN(run(find(onnx, 17), NULL, x, y, NULL, &out, err));
	got = number_at(out.tensor, 0);
	tp_value_release(&out);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return got;
}

static void
integers_wrap_and_division_is_defined(void **state)
{
	(void)state;
	assert_true(
	    scalar_result("Mul", TP_DTYPE_I16, INT16_MIN, INT16_MIN) == 0);
	assert_true(
	    scalar_result("Add", TP_DTYPE_I32, INT32_MAX, 1) == INT32_MIN);
	assert_true(scalar_result("Sub", TP_DTYPE_U8, 3, 5) == 254);
	assert_true(scalar_result("Div", TP_DTYPE_I32, -7, 2) == -3);
	assert_true(
	    scalar_result("Div", TP_DTYPE_I32, INT32_MIN, -1) == INT32_MIN);
	assert_true(scalar_result("Div", TP_DTYPE_I8, 5, 0) == 0);
	assert_true(scalar_result("Pow", TP_DTYPE_I32, -1, -3) == -1);
	assert_true(scalar_result("Pow", TP_DTYPE_I32, 2, -3) == 0);
	assert_true(scalar_result("Pow", TP_DTYPE_I64, 3, 5) == 243);
	assert_true(isnan(scalar_result("Pow", TP_DTYPE_F32, -8, 1.0 / 3)));
	/* 2049 is a tie of f16, one bit more of the true sum decides. */
	assert_true(scalar_result("Add", TP_DTYPE_F16, 2048, 1) == 2048);
	assert_true(scalar_result("Add", TP_DTYPE_F16, 2050, 1) == 2052);
}

static void
powers_take_exponents_of_another_dtype(void **state)
{
	static const int64_t n[] = {2};
	struct tp_tensor *x =
	    tensor_of(NULL, TP_DTYPE_I32, n, 1, (const double[]){3, 2});
	struct tp_tensor *e =
	    tensor_of(NULL, TP_DTYPE_F32, n, 1, (const double[]){6, 0.5});
	struct tp_value out;

	(void)state;
	RUN(run(find("Pow", 13), NULL, x, e, NULL, &out, err));
	assert_int_equal(tp_tensor_dtype(out.tensor), TP_DTYPE_I32);
	assert_true(number_at(out.tensor, 0) == 729);
	assert_true(number_at(out.tensor, 1) == 1);
	tp_value_release(&out);
	assert_int_equal(
	    run(find("Pow", 7), NULL, x, e, NULL, &out, NULL), TP_EARG);
	tp_tensor_free(x);
	tp_tensor_free(e);
}

static double
reciprocal(double x)
{
	return 1 / x;
}

/* All codes of f16 and bf16: computed in double, rounded once. */
static void
narrow_floats_are_rounded_once(void **state)
{
	static const struct {
		const char *onnx;
		double (*f)(double x);
	} functions[] = {{"Sqrt", sqrt}, {"Exp", exp}, {"Tanh", tanh},
	    {"Reciprocal", reciprocal}};
	static const enum tp_dtype dtypes[] = {TP_DTYPE_F16, TP_DTYPE_BF16};
	static const int64_t n[] = {65536};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(functions) * 2; k++) {
		struct tp_tensor *x = NULL;
		struct tp_value out;
		const uint16_t *got;
		uint16_t *codes;

		RUN(tp_tensor_empty(NULL, dtypes[k % 2], n, 1, &x, err));
		codes = tp_tensor_data_mut(x);
		for (size_t i = 0; i < 65536; i++)
			codes[i] = (uint16_t)i;
		RUN(run(find(functions[k / 2].onnx, 13), NULL, x, NULL, NULL,
		    &out, err));
		got = tp_tensor_data(out.tensor);
		for (size_t i = 0; i < 65536; i++) {
			double y = functions[k / 2].f(number_at(x, i));
			uint16_t want;

			assert_int_equal(
			    tp_convert(dtypes[k % 2], &want, TP_DTYPE_F64, &y,
				1, TP_OVERFLOW_INF, 0, NULL, NULL),
			    TP_OK);
			if (isnan(y))
				assert_true(isnan(number_at(out.tensor, i)));
			else
				assert_int_equal(got[i], want);
		}
		tp_value_release(&out);
		tp_tensor_free(x);
	}
}

/* -0 alone stays; the sum of nothing is 0; no axes at all may mean none. */
static void
sums_of_little_are_exact(void **state)
{
	static const int64_t one[] = {1}, none[] = {0};
	const struct tp_attr noop = {.name = TP_STR("noop_with_empty_axes"),
	    .kind = TP_ATTR_INT,
	    .i = 1};
	struct tp_tensor *x =
	    tensor_of(NULL, TP_DTYPE_F32, one, 1, (const double[]){-0.0});
	struct tp_tensor *empty = tensor_of(NULL, TP_DTYPE_F32, none, 1, NULL);
	struct tp_value out;

	(void)state;
	RUN(run(find("ReduceSum", 13), NULL, x, NULL, NULL, &out, err));
	assert_true(signbit(number_at(out.tensor, 0)));
	tp_value_release(&out);
	RUN(run(find("ReduceSum", 13), NULL, empty, NULL, NULL, &out, err));
	assert_true(number_at(out.tensor, 0) == 0);
	assert_false(signbit(number_at(out.tensor, 0)));
	tp_value_release(&out);
	RUN(run(find("ReduceSum", 13), &noop, empty, NULL, NULL, &out, err));
	assert_int_equal(tp_tensor_numel(out.tensor), 0);
	tp_value_release(&out);
	tp_tensor_free(x);
	tp_tensor_free(empty);
}

/* x += transpose(x) reads what it writes. */
static void
a_result_may_overlap_its_inputs(void **state)
{
	static const int64_t sizes[] = {2, 2};
	struct tp_tensor *x = tensor_of(
	    NULL, TP_DTYPE_F32, sizes, 2, (const double[]){1, 2, 3, 4});
	struct tp_tensor *t = NULL;
	struct tp_value out;

	(void)state;
	RUN(tp_tensor_transpose(x, 0, 1, &t, err));
	RUN(run(find("Add", 14), NULL, x, t, x, &out, err));
	assert_true(number_at(x, 0) == 2 && number_at(x, 1) == 5);
	assert_true(number_at(x, 2) == 5 && number_at(x, 3) == 8);
	assert_int_equal(tp_tensor_version(x), 1);
	tp_value_release(&out);
	RUN(run(find("MatMul", 13), NULL, x, t, x, &out, err));
	assert_true(number_at(x, 0) == 29 && number_at(x, 3) == 89);
	tp_value_release(&out);
	tp_tensor_free(t);
	tp_tensor_free(x);
}

static struct tp_tensor *
threaded(const char *onnx, struct tp_tensor *a, struct tp_tensor *b,
    unsigned n_threads)
{
	const struct tp_op_opts opts = {.n_threads = n_threads};
	struct tp_value in[] = {tp_value_of(a), tp_value_of(b)}, out;

	RUN(tp_op_run(find(onnx, 18), NULL, 0, in, 2, &out, 1, &opts, err));
	return out.tensor;
}

static void
threads_change_no_bit(void **state)
{
	static const char *const names[] = {
	    "Exp", "Add", "MatMul", "Softmax", "LayerNormalization"};
	static const int64_t sizes[] = {400, 400};
	struct tp_tensor *x = NULL;
	uint64_t seed = 77;

	(void)state;
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &x, err));
	for (uint64_t i = 0; i < tp_tensor_numel(x); i++)
		set_number(x, i, (double)(next_random(&seed) % 2000) / 999 - 1);
	for (size_t k = 0; k < COUNT_OF(names); k++) {
		bool two = k == 1 || k == 2;
		struct tp_tensor *one =
		    threaded(names[k], x, two ? x : NULL, 1);
		struct tp_tensor *many =
		    threaded(names[k], x, two ? x : NULL, 3);

		assert_memory_equal(tp_tensor_data(one), tp_tensor_data(many),
		    sizeof(float) * 400 * 400);
		tp_tensor_free(one);
		tp_tensor_free(many);
	}
	tp_tensor_free(x);
}

/*
 * Blocks of the product end inside of it in every direction; each element is
 * the sum in the order of k, rounded once. In f64 each product is rounded too.
 */
static void
check_product(enum tp_dtype dtype, enum placement how)
{
	static const int64_t a_sizes[] = {131, 517}, b_sizes[] = {517, 275};
	struct tp_tensor *a = placed_tensor(dtype, a_sizes, 2, how), *y;
	struct tp_tensor *b = placed_tensor(dtype, b_sizes, 2, how);
	double *pa = calloc(131 * 517, sizeof(*pa));
	double *pb = calloc(517 * 275, sizeof(*pb));
	uint64_t seed = 5;

	for (uint64_t i = 0; i < tp_tensor_numel(a); i++)
		set_number(a, i, (double)next_random(&seed) / 0x1p64 - 0.5);
	for (uint64_t i = 0; i < tp_tensor_numel(b); i++)
		set_number(b, i, (double)next_random(&seed) / 0x1p64 - 0.5);
	for (uint64_t i = 0; i < tp_tensor_numel(a); i++)
		pa[i] = number_at(a, i);
	for (uint64_t i = 0; i < tp_tensor_numel(b); i++)
		pb[i] = number_at(b, i);
	y = threaded("MatMul", a, b, 2);
	for (uint64_t i = 0; i < 131; i++)
		for (uint64_t j = 0; j < 275; j++) {
			double sum = 0;

			for (uint64_t k = 0; k < 517; k++)
				sum += pa[i * 517 + k] * pb[k * 275 + j];
			if (dtype == TP_DTYPE_F32)
				sum = (double)(float)sum;
			assert_true(number_at(y, i * 275 + j) == sum);
		}
	free(pa);
	free(pb);
	tp_tensor_free(y);
	tp_tensor_free(a);
	tp_tensor_free(b);
}

static void
products_of_any_size_are_sums_in_order(void **state)
{
	(void)state;
	check_product(TP_DTYPE_F32, PACKED);
	check_product(TP_DTYPE_F32, CROSSED);
	check_product(TP_DTYPE_F64, PACKED);
	check_product(TP_DTYPE_F64, BACKWARDS);
}

static void
vectors_are_promoted_and_dropped(void **state)
{
	static const int64_t v[] = {2}, m[] = {2, 3}, w[] = {3};
	static const double x[] = {1, 2, 3, 4, 5, 6};
	struct tp_tensor *a = tensor_of(NULL, TP_DTYPE_I32, v, 1, x);
	struct tp_tensor *b = tensor_of(NULL, TP_DTYPE_I32, m, 2, x);
	struct tp_tensor *c = tensor_of(NULL, TP_DTYPE_I32, w, 1, x);
	struct tp_tensor *y = threaded("MatMul", a, b, 1);

	(void)state;
	assert_int_equal(tp_tensor_rank(y), 1);
	assert_true(number_at(y, 0) == 9 && number_at(y, 2) == 15);
	tp_tensor_free(y);
	y = threaded("MatMul", b, c, 1);
	assert_int_equal(tp_tensor_rank(y), 1);
	assert_true(number_at(y, 0) == 14 && number_at(y, 1) == 32);
	tp_tensor_free(y);
	y = threaded("MatMul", a, a, 1);
	assert_int_equal(tp_tensor_rank(y), 0);
	assert_true(number_at(y, 0) == 5);
	tp_tensor_free(y);
	tp_tensor_free(a);
	tp_tensor_free(b);
	tp_tensor_free(c);
}

static enum tp_status
run_with(const struct tp_alloc *alloc, const char *onnx, bool is_binary)
{
	static const int64_t sizes[] = {2, 2};
	const struct tp_op_opts opts = {.alloc = alloc, .n_threads = 1};
	struct tp_tensor *x = NULL;
	struct tp_value in[2], out;
	enum tp_status rc;

	rc = tp_tensor_empty(alloc, TP_DTYPE_F32, sizes, 2, &x, NULL);
	if (rc)
		return rc;
	in[0] = tp_value_of(x);
	in[1] = tp_value_of(is_binary ? x : NULL);
	rc = tp_op_run(find(onnx, 18), NULL, 0, in, 2, &out, 1, &opts, NULL);
	if (rc)
		assert_null(out.tensor);
	tp_value_release(&out);
	tp_tensor_free(x);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const char *const names[] = {"Add", "MatMul", "Pow", "Softmax",
	    "ReduceSum", "LayerNormalization", "Transpose"};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(names); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = run_with(&a.alloc, names[k], k < 3);
		assert_true(a.n_rounds > 3);
	}
}

/* Places that had other numbers, packed or with gaps, which stay. */
static void
results_go_where_they_are_wanted(void **state)
{
	static const int64_t a_sizes[] = {2, 2}, y_sizes[] = {2, 1};
	static const int64_t none[] = {2, 0}, b_none[] = {0, 1};
	static const double x[] = {1, 2, 3, 4}, old[] = {9, 9, 9, 9};
	struct tp_tensor *a = tensor_of(NULL, TP_DTYPE_F32, a_sizes, 2, x);
	struct tp_tensor *b = tensor_of(NULL, TP_DTYPE_F32, y_sizes, 2, x);
	struct tp_tensor *e = tensor_of(NULL, TP_DTYPE_F32, none, 2, x);
	struct tp_tensor *f = tensor_of(NULL, TP_DTYPE_F32, b_none, 2, x);
	struct tp_tensor *wide = tensor_of(NULL, TP_DTYPE_F32, a_sizes, 2, old);
	struct tp_tensor *place = NULL;
	const struct tp_op *op = find("MatMul", 13);
	struct tp_value out;

	(void)state;
	RUN(tp_tensor_narrow(wide, 1, 0, 1, &place, err));
	RUN(run(op, NULL, a, b, place, &out, err));
	tp_value_release(&out);
	assert_true(number_at(wide, 0) == 5 && number_at(wide, 2) == 11);
	assert_true(number_at(wide, 1) == 9 && number_at(wide, 3) == 9);
	/* The sum of no products is 0. */
	RUN(run(op, NULL, e, f, place, &out, err));
	tp_value_release(&out);
	assert_true(number_at(wide, 0) == 0 && number_at(wide, 2) == 0);
	assert_true(number_at(wide, 1) == 9 && number_at(wide, 3) == 9);
	RUN(run(op, NULL, e, f, b, &out, err));
	tp_value_release(&out);
	assert_true(number_at(b, 0) == 0 && number_at(b, 1) == 0);
	tp_tensor_free(place);
	tp_tensor_free(wide);
	tp_tensor_free(a);
	tp_tensor_free(b);
	tp_tensor_free(e);
	tp_tensor_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(operators_are_found_by_domain_name_and_opset),
	    cmocka_unit_test(wrong_calls_are_refused_by_name),
	    cmocka_unit_test(integers_wrap_and_division_is_defined),
	    cmocka_unit_test(powers_take_exponents_of_another_dtype),
	    cmocka_unit_test(narrow_floats_are_rounded_once),
	    cmocka_unit_test(sums_of_little_are_exact),
	    cmocka_unit_test(a_result_may_overlap_its_inputs),
	    cmocka_unit_test(threads_change_no_bit),
	    cmocka_unit_test(products_of_any_size_are_sums_in_order),
	    cmocka_unit_test(vectors_are_promoted_and_dropped),
	    cmocka_unit_test(results_go_where_they_are_wanted),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
