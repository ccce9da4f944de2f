/* SPDX-License-Identifier: Apache-2.0 */
/* autograd: each gradient against differences, histories, writes, no memory */
#include "support/functions.h"

#include <pthread.h>

#include "support/fail_alloc.h"

#include "tp/layout.h"

#define N 12 /* elements of the first input */

static struct tp_tensor *
random_tensor(const struct tp_alloc *alloc, const char *shape, double low,
    double high, uint64_t *seed)
{
	struct tp_tensor *t = NULL;
	int64_t sizes[8];
	unsigned rank = 0;

	for (; shape[rank]; rank++)
		sizes[rank] = shape[rank] - '0';
	RUN(tp_tensor_empty(alloc, TP_DTYPE_F64, sizes, rank, &t, err));
	fill_random(t, low, high, seed);
	return t;
}

static void
every_gradient_is_that_of_differences(void **state)
{
	uint64_t seed = 20261130;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(function_cases); i++) {
		const struct function_case *c = &function_cases[i];
		struct tp_err found = TP_ERR_INIT;
		struct tp_tensor *in[FUNCTION_INPUTS];
		size_t n = 0;

		for (; n < FUNCTION_INPUTS && c->shapes[n]; n++)
			in[n] = random_tensor(
			    NULL, c->shapes[n], c->low, c->high, &seed);
		if (tp_gradcheck(c->fn, NULL, (args_t)in, n, &found)) {
			print_error("%s: %s\n", c->name, found.msg);
			fail();
		}
		while (n > 0)
			tp_tensor_free(in[--n]);
	}
}

/* Its history ends in a detached handle: a gradient is lost. */
static enum tp_status
call_wrong(
    void *ctx, args_t in, size_t n, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc = tp_tensor_detach(in[0], &t, err);

	(void)ctx;
	(void)n;
	if (!rc)
		rc = tp_mul(in[0], t, out, err);
	tp_tensor_free(t);
	return rc;
}

static void
a_wrong_gradient_is_found(void **state)
{
	static const double x[] = {3};
	struct tp_tensor *t = tensor_of(NULL, TP_DTYPE_F64, NULL, 0, x);
	struct tp_err found = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_gradcheck(call_wrong, NULL, (args_t)&t, 1, &found),
	    TP_EMISMATCH);
	/* The weight of the only output is 1/2: 1.5 where it should be 3. */
	assert_non_null(strstr(found.msg,
	    "gradient of input 0, element 0: 1.5, by differences 3"));
	tp_tensor_free(t);
}

static struct tp_tensor *
leaf_of(const double *x, int64_t n)
{
	struct tp_tensor *t = tensor_of(NULL, TP_DTYPE_F32, &n, 1, x);

	RUN(tp_tensor_set_requires_grad(t, true, err));
	return t;
}

static struct tp_tensor *
sum_of(const struct tp_tensor *t)
{
	struct tp_tensor *y = NULL;

	RUN(tp_sum(t, NULL, 0, false, &y, err));
	return y;
}

/* Example 1 of the tensor core. */
static void
a_write_between_is_found(void **state)
{
	static const double two[] = {1, 2};
	struct tp_tensor *x, *h = NULL, *one = NULL, *y;
	struct tp_err found = TP_ERR_INIT;

	(void)state;
	for (int writes = 0; writes < 2; writes++) {
		x = leaf_of(two, 2);
		RUN(tp_exp(x, &h, err));
		assert_int_equal(tp_tensor_version(h), 0);
		RUN(tp_scalar(NULL, TP_DTYPE_F32, 1, &one, err));
		if (writes) {
			RUN(tp_add_(h, one, err));
			assert_int_equal(tp_tensor_version(h), 1);
		}
		y = sum_of(h);
		if (writes) {
			assert_int_equal(tp_backward(y, NULL, &found), TP_EARG);
			assert_string_equal(found.msg,
			    "one of the variables needed for gradient "
			    "computation has been modified by an inplace "
			    "operation: op exp saved version 0, it is at "
			    "version 1 now");
			assert_null(tp_tensor_grad(x));
		} else {
			RUN(tp_backward(y, NULL, err));
			assert_true(number_at(tp_tensor_grad(x), 0) ==
				    (double)(float)exp(1));
			assert_true(number_at(tp_tensor_grad(x), 1) ==
				    (double)(float)exp(2));
		}
		tp_tensor_free(x);
		tp_tensor_free(h);
		tp_tensor_free(one);
		tp_tensor_free(y);
	}
}

/* y = sum(x * x + x), twice: 2x + 1 each time. */
static void
gradients_add_up(void **state)
{
	static const double two[] = {1, -3};
	struct tp_tensor *x = leaf_of(two, 2), *s = NULL, *t = NULL, *y, *g;

	(void)state;
	RUN(tp_mul(x, x, &s, err));
	RUN(tp_add(s, x, &t, err));
	y = sum_of(t);
	assert_true(tp_tensor_requires_grad(y));
	RUN(tp_backward(y, NULL, err));
	g = tp_tensor_grad(x);
	assert_true(number_at(g, 0) == 3 && number_at(g, 1) == -5);
	RUN(tp_backward(y, NULL, err));
	assert_ptr_equal(tp_tensor_grad(x), g);
	assert_true(number_at(g, 0) == 6 && number_at(g, 1) == -10);
	tp_tensor_clear_grad(x);
	assert_null(tp_tensor_grad(x));
	/* tp_grad collects nothing, and reaches results between. */
	g = NULL;
	RUN(tp_grad((args_t)&y, NULL, 1, (args_t)&s, 1, &g, err));
	assert_true(number_at(g, 0) == 1 && number_at(g, 1) == 1);
	assert_null(tp_tensor_grad(x));
	tp_tensor_free(g);
	/* The history outlives what it was computed from. */
	tp_tensor_free(x);
	tp_tensor_free(s);
	tp_tensor_free(t);
	RUN(tp_backward(y, NULL, err));
	tp_tensor_free(y);
}

static void
views_and_their_writes_are_in_the_history(void **state)
{
	static const double four[] = {1, 2, 3, 4};
	struct tp_tensor *x = leaf_of(four, 4), *h = NULL, *v = NULL, *y;
	struct tp_tensor *three = NULL, *raw = NULL, *z = NULL;
	struct tp_err found = TP_ERR_INIT;

	(void)state;
	RUN(tp_scalar(NULL, TP_DTYPE_F32, 3, &three, err));
	RUN(tp_add(x, three, &h, err));
	RUN(tp_slice(h, 0, TP_OMIT, TP_OMIT, -2, &v, err));
	assert_ptr_equal(tp_tensor_storage(v), tp_tensor_storage(h));
	RUN(tp_mul_(v, three, err));
	y = sum_of(v);
	RUN(tp_backward(y, NULL, err));
	for (uint64_t i = 0; i < 4; i++)
		assert_true(number_at(tp_tensor_grad(x), i) == (i % 2 ? 3 : 0));
	/* What h became is not what its history says. */
	assert_int_equal(tp_neg(h, &z, &found), TP_EARG);
	assert_null(z);
	assert_string_equal(found.msg,
	    "neg: input 0, the result of add, was written without its "
	    "history: version 0, it is at version 1 now");
	/* Other handles have no history. */
	RUN(tp_tensor_alias(v, &raw, err));
	assert_false(tp_tensor_requires_grad(raw));
	tp_tensor_free(raw);
	RUN(tp_tensor_slice(v, 0, 0, 1, 1, &raw, err));
	assert_false(tp_tensor_requires_grad(raw));
	tp_tensor_free(raw);
	tp_tensor_free(v);
	/* x itself, and a view of it, may not be written. */
	assert_int_equal(tp_mul_(x, three, &found), TP_EARG);
	assert_non_null(strstr(found.msg, "mul in place on a tensor that"));
	RUN(tp_slice(x, 0, 0, 2, 1, &v, err));
	assert_int_equal(tp_mul_(v, three, NULL), TP_EARG);
	assert_int_equal(tp_tensor_version(x), 0);
	tp_tensor_free(v);
	tp_tensor_free(x);
	tp_tensor_free(h);
	tp_tensor_free(y);
	tp_tensor_free(three);
}

static void
without_grad_nothing_is_recorded(void **state)
{
	static const double two[] = {1, 2};
	struct tp_tensor *x = leaf_of(two, 2), *y = NULL;
	bool outer = tp_no_grad_begin(), inner = tp_no_grad_begin();
	struct tp_err found = TP_ERR_INIT;

	(void)state;
	RUN(tp_exp(x, &y, err));
	assert_false(tp_tensor_requires_grad(y));
	tp_no_grad_end(inner);
	/* A step of learning. */
	RUN(tp_add_(x, y, err));
	tp_no_grad_end(outer);
	assert_int_equal(tp_backward(y, NULL, &found), TP_EARG);
	assert_non_null(strstr(found.msg, "from nothing that requires"));
	tp_tensor_free(y);
	RUN(tp_exp(x, &y, err));
	assert_true(tp_tensor_requires_grad(y));
	assert_int_equal(tp_backward(y, NULL, &found), TP_EARG);
	assert_string_equal(
	    found.msg, "an output of shape [2] needs a gradient to begin with");
	assert_int_equal(
	    tp_tensor_set_requires_grad(y, false, &found), TP_EARG);
	assert_non_null(strstr(found.msg, "the result of exp"));
	tp_tensor_free(y);
	RUN(tp_tensor_set_requires_grad(x, false, err));
	assert_false(tp_tensor_requires_grad(x));
	tp_tensor_free(x);
	x = tensor_of(NULL, TP_DTYPE_I32, NULL, 0, two);
	assert_int_equal(tp_tensor_set_requires_grad(x, true, NULL), TP_EARG);
	tp_tensor_free(x);
}

#define LONG 100000

/* x + 1 + 1 + …, back through all of it, and gone, on a small stack. */
static void *
run_long_chain(void *ctx)
{
	static const double zero[] = {0};
	struct tp_tensor *x = leaf_of(zero, 1), *one = NULL, *y = NULL;

	RUN(tp_scalar(NULL, TP_DTYPE_F32, 1, &one, err));
	RUN(tp_add(x, one, &y, err));
	for (int i = 1; i < LONG; i++) {
		struct tp_tensor *next = NULL;

		RUN(tp_add(y, one, &next, err));
		tp_tensor_free(y);
		y = next;
	}
	RUN(tp_backward(y, NULL, err));
	*(bool *)ctx =
	    number_at(y, 0) == LONG && number_at(tp_tensor_grad(x), 0) == 1;
	tp_tensor_free(y);
	tp_tensor_free(x);
	tp_tensor_free(one);
	return NULL;
}

static void
long_histories_need_no_stack(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok = false;

	(void)state;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
	assert_int_equal(
	    pthread_create(&thread, &attr, run_long_chain, &ok), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
	assert_true(ok);
}

static enum tp_status
learn(const struct tp_alloc *alloc, struct tp_err *err)
{
	uint64_t seed = 3;
	struct tp_tensor *x = NULL, *w = NULL, *h = NULL, *s = NULL, *y = NULL;
	const int64_t sizes[] = {2, 2};
	enum tp_status rc;

	rc = tp_tensor_empty(alloc, TP_DTYPE_F32, sizes, 2, &x, err);
	if (!rc)
		rc = tp_tensor_empty(alloc, TP_DTYPE_F32, sizes, 2, &w, err);
	for (uint64_t i = 0; i < 4 && !rc; i++)
		set_number(w, i, (double)(next_random(&seed) % 9));
	if (!rc)
		rc = tp_tensor_set_requires_grad(w, true, err);
	if (!rc)
		rc = tp_matmul(x, w, &h, err);
	if (!rc)
		rc = tp_add_(h, x, err);
	if (!rc)
		rc = tp_softmax(h, -1, &s, err);
	if (!rc)
		rc = tp_max(s, NULL, 0, false, &y, err);
	if (!rc)
		rc = tp_backward(y, NULL, err);
	tp_tensor_free(x);
	tp_tensor_free(w);
	tp_tensor_free(h);
	tp_tensor_free(s);
	tp_tensor_free(y);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = learn(&a.alloc, NULL);
	assert_true(a.n_rounds > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_gradient_is_that_of_differences),
	    cmocka_unit_test(a_wrong_gradient_is_found),
	    cmocka_unit_test(a_write_between_is_found),
	    cmocka_unit_test(gradients_add_up),
	    cmocka_unit_test(views_and_their_writes_are_in_the_history),
	    cmocka_unit_test(without_grad_nothing_is_recorded),
	    cmocka_unit_test(long_histories_need_no_stack),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
