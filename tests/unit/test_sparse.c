/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c: coordinate form to dense and back */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "tp/iter.h"
#include "tp/layout.h"
#include "tp/print.h"
#include "tp/sparse.h"
#include "tp/view.h"

#include "support/tensors.h"

static struct tp_tensor *
make_sparse(enum tp_dtype dtype, const void *values, size_t nbytes,
    const int64_t *indices, int64_t n, unsigned per_value, const int64_t *sizes,
    unsigned rank)
{
	const int64_t shape[] = {n, per_value};
	struct tp_tensor *v = make_tensor(dtype, shape, 1, values, nbytes);
	struct tp_tensor *i =
	    make_tensor(TP_DTYPE_I64, shape, per_value ? 2 : 1, indices,
		(size_t)n * (per_value ? per_value : 1) * 8);
	struct tp_tensor *t = NULL;

	assert_int_equal(tp_sparse_new(v, i, sizes, rank, &t, NULL), TP_OK);
	tp_tensor_free(v);
	tp_tensor_free(i);
	return t;
}

static void
assert_dense(const struct tp_tensor *t, const void *want, size_t nbytes)
{
	struct tp_tensor *dense = NULL;

	assert_int_equal(tp_to_dense(t, &dense, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(dense), want, nbytes);
	tp_tensor_free(dense);
}

static const int64_t grid[] = {2, 3};

static void
coordinates_and_numbers_say_the_same(void **state)
{
	static const float values[] = {5, 7}, want[] = {0, 5, 0, 0, 0, 7};
	struct tp_tensor *a = make_sparse(TP_DTYPE_F32, values, 8,
	    (const int64_t[]){0, 1, 1, 2}, 2, 2, grid, 2);
	struct tp_tensor *b = make_sparse(
	    TP_DTYPE_F32, values, 8, (const int64_t[]){1, 5}, 2, 0, grid, 2);
	struct tp_tensor *alias = NULL;

	(void)state;
	assert_true(tp_tensor_is_sparse(a) && tp_sparse_is_coalesced(a));
	assert_int_equal(tp_tensor_numel(a), 6);
	assert_null(tp_tensor_data(a));
	assert_dense(a, want, sizeof(want));
	assert_dense(b, want, sizeof(want));
	assert_int_equal(tp_tensor_alias(a, &alias, NULL), TP_OK);
	tp_tensor_free(a);
	assert_dense(alias, want, sizeof(want));
	tp_tensor_free(alias);
	tp_tensor_free(b);
}

static void
what_is_there_twice_is_added_up(void **state)
{
	static const float values[] = {1, 2, 4, 8};
	static const float want[] = {0, 9, 0, 2, 0, 4};
	static const int8_t small[] = {100, 100, 1};
	static const int8_t want_small[] = {-56, 0, 0, 1, 0, 0};
	static const uint8_t yes[] = {1, 1};
	struct tp_tensor *t = make_sparse(TP_DTYPE_F32, values, 16,
	    (const int64_t[]){1, 3, 5, 1}, 4, 0, grid, 2);
	struct tp_tensor *c = NULL, *d = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_false(tp_sparse_is_coalesced(t));
	assert_dense(t, want, sizeof(want));
	assert_int_equal(tp_coalesce(t, &c, NULL), TP_OK);
	assert_true(tp_sparse_is_coalesced(c));
	assert_memory_equal(tp_tensor_data(tp_sparse_values(c)),
	    ((const float[]){9, 2, 4}), 12);
	assert_memory_equal(tp_tensor_data(tp_sparse_indices(c)),
	    ((const int64_t[]){0, 1, 1, 0, 1, 2}), 48);
	tp_tensor_free(c);
	tp_tensor_free(t);

	t = make_sparse(
	    TP_DTYPE_I8, small, 3, (const int64_t[]){0, 0, 3}, 3, 0, grid, 2);
	assert_dense(t, want_small, sizeof(want_small));
	tp_tensor_free(t);
	t = make_sparse(
	    TP_DTYPE_BOOL, yes, 2, (const int64_t[]){4, 4}, 2, 0, grid, 2);
	assert_int_equal(tp_to_dense(t, &d, &err), TP_EUNSUPPORTED);
	assert_null(d);
	tp_tensor_free(t);
}

static void
zeros_are_left_out(void **state)
{
	const float x[] = {0, -0.0f, 3, NAN, 0, 4};
	static const uint8_t nibbles[] = {0x70, 0x00, 0x0f}; /* 0 7 0 0 15 */
	static const int64_t five[] = {5};
	struct tp_tensor *t = make_tensor(TP_DTYPE_F32, grid, 2, x, sizeof(x));
	struct tp_tensor *s = NULL;

	(void)state;
	assert_int_equal(tp_to_sparse(t, &s, NULL), TP_OK);
	assert_int_equal(tp_tensor_numel(tp_sparse_values(s)), 3);
	assert_memory_equal(tp_tensor_data(tp_sparse_indices(s)),
	    ((const int64_t[]){0, 2, 1, 0, 1, 2}), 48);
	tp_tensor_free(s);
	tp_tensor_free(t);

	t = make_tensor(TP_DTYPE_U4, five, 1, nibbles, 3);
	assert_int_equal(tp_to_sparse(t, &s, NULL), TP_OK);
	assert_int_equal(tp_tensor_numel(tp_sparse_values(s)), 2);
	assert_dense(s, nibbles, 3);
	tp_tensor_free(s);
	tp_tensor_free(t);
}

static void
a_scalar_and_nothing_at_all_are_tensors_too(void **state)
{
	static const float one = 3, none = 0;
	static const int64_t empty[] = {4, 0};
	struct tp_tensor *t = make_sparse(
	    TP_DTYPE_F32, &one, 4, (const int64_t[]){0}, 1, 0, NULL, 0);

	(void)state;
	assert_int_equal(tp_tensor_rank(t), 0);
	assert_dense(t, &one, 4);
	tp_tensor_free(t);
	t = make_sparse(TP_DTYPE_F32, &none, 0, NULL, 0, 0, empty, 2);
	assert_int_equal(tp_tensor_numel(t), 0);
	assert_dense(t, "", 0);
	tp_tensor_free(t);
}

static void
misuse_is_refused(void **state)
{
	static const float values[] = {5, 7};
	static const int64_t two[] = {2}, outside[] = {1, 6}, below[] = {-1, 0};
	struct tp_tensor *v = make_tensor(TP_DTYPE_F32, two, 1, values, 8);
	struct tp_tensor *bad = make_tensor(TP_DTYPE_I64, two, 1, outside, 16);
	struct tp_tensor *low = make_tensor(TP_DTYPE_I64, two, 1, below, 16);
	struct tp_tensor *t = NULL, *w = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tp_iter it;
	char text[100] = "old";

	(void)state;
	assert_int_equal(tp_sparse_new(v, bad, grid, 2, &t, &err), TP_EARG);
	assert_string_equal(err.msg, "sparse index 6 of value 1, outside 0..5");
	assert_int_equal(tp_sparse_new(v, low, grid, 2, &t, &err), TP_EARG);
	assert_int_equal(tp_sparse_new(v, v, grid, 2, &t, &err), TP_EARG);
	assert_null(t);
	tp_tensor_free(v);
	tp_tensor_free(bad);
	tp_tensor_free(low);

	t = make_sparse(
	    TP_DTYPE_F32, values, 8, (const int64_t[]){1, 5}, 2, 0, grid, 2);
	assert_int_equal(
	    tp_tensor_transpose(t, 0, 1, &w, &err), TP_EUNSUPPORTED);
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &w, &err), TP_EUNSUPPORTED);
	assert_int_equal(tp_iter_init(&it, NULL, 0,
			     (const struct tp_tensor *const *)&t, 1, 0, &err),
	    TP_EUNSUPPORTED);
	assert_int_equal(tp_tensor_check_write(t, &err), TP_EUNSUPPORTED);
	assert_null(w);
	assert_null(tp_tensor_data(t));
	assert_int_equal(tp_tensor_text(t, NULL, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	tp_tensor_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(coordinates_and_numbers_say_the_same),
	    cmocka_unit_test(what_is_there_twice_is_added_up),
	    cmocka_unit_test(zeros_are_left_out),
	    cmocka_unit_test(a_scalar_and_nothing_at_all_are_tensors_too),
	    cmocka_unit_test(misuse_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
