/* SPDX-License-Identifier: Apache-2.0 */
/* access.c, and storages that change their size */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/access.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/ops.h"
#include "tp/print.h"
#include "tp/sparse.h"
#include "tp/view.h"
#include "tp/vmap.h"

#include "support/fail_alloc.h"

static struct tp_tensor *
new_tensor(enum tp_dtype dtype, int64_t rows, int64_t cols)
{
	const int64_t sizes[] = {rows, cols};
	struct tp_tensor *t = NULL;

	assert_int_equal(
	    tp_tensor_empty(NULL, dtype, sizes, 2, &t, NULL), TP_OK);
	return t;
}

static void
elements_are_found_by_their_index(void **state)
{
	struct tp_tensor *t = new_tensor(TP_DTYPE_F32, 2, 3), *v = NULL;
	const int64_t index[] = {2, 1};
	struct tp_err err = TP_ERR_INIT;
	double got = 0;
	float *x;

	(void)state;
	x = TP_TENSOR_DATA_MUT(t, float, &err);
	assert_non_null(x);
	assert_int_equal(tp_tensor_version(t), 1);
	for (int i = 0; i < 6; i++)
		x[i] = (float)i;
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	assert_true(*TP_TENSOR_AT(v, float, &err, 2, 1) == 5);
	assert_true(*TP_TENSOR_AT(v, float, &err, 1, 0) == 1);
	*TP_TENSOR_AT_MUT(v, float, &err, 2, 1) = 50;
	assert_true(x[5] == 50);
	assert_int_equal(tp_tensor_version(t), 2);
	assert_int_equal(tp_tensor_get(v, index, 2, &got, &err), TP_OK);
	assert_true(got == 50);
	assert_int_equal(tp_tensor_fill(v, 7, TP_OVERFLOW_ERROR, &err), TP_OK);
	assert_true(x[0] == 7 && x[5] == 7);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

static void
every_c_type_has_its_dtype(void **state)
{
	(void)state;
	assert_int_equal(TP_DTYPE_OF(bool), TP_DTYPE_BOOL);
	assert_int_equal(TP_DTYPE_OF(uint8_t), TP_DTYPE_U8);
	assert_int_equal(TP_DTYPE_OF(int8_t), TP_DTYPE_I8);
	assert_int_equal(TP_DTYPE_OF(int16_t), TP_DTYPE_I16);
	assert_int_equal(TP_DTYPE_OF(int64_t), TP_DTYPE_I64);
	assert_int_equal(TP_DTYPE_OF(float), TP_DTYPE_F32);
	assert_int_equal(TP_DTYPE_OF(double), TP_DTYPE_F64);
	assert_int_equal(TP_DTYPE_OF(float _Complex), TP_DTYPE_C64);
}

static void
floats_without_a_c_type_are_codes(void **state)
{
	struct tp_tensor *h = new_tensor(TP_DTYPE_F16, 1, 2);
	struct tp_tensor *e = new_tensor(TP_DTYPE_F8E5M2, 1, 2);
	struct tp_tensor *n = new_tensor(TP_DTYPE_I4, 1, 3);
	const int64_t second[] = {0, 1}, third[] = {0, 2};
	struct tp_err err = TP_ERR_INIT;
	double got = 0;

	(void)state;
	*TP_TENSOR_AT_MUT(h, uint16_t, &err, 0, 1) = 0x3e00;
	assert_int_equal(tp_tensor_get(h, second, 2, &got, &err), TP_OK);
	assert_true(got == 1.5);
	assert_null(TP_TENSOR_AT(h, int16_t, &err, 0, 1));
	assert_non_null(TP_TENSOR_DATA(e, uint8_t, &err));
	assert_null(TP_TENSOR_DATA(e, uint16_t, &err));

	/* Narrow elements are read one by one, but have no address. */
	((uint8_t *)tp_tensor_data_mut(n))[1] = 0x0d;
	assert_int_equal(tp_tensor_get(n, third, 2, &got, &err), TP_OK);
	assert_true(got == -3);
	assert_null(tp_tensor_at(n, TP_DTYPE_I4, third, 2, &err));
	assert_string_equal(
	    err.msg, "elements of dtype i4 have no address of their own");
	tp_tensor_free(h);
	tp_tensor_free(e);
	tp_tensor_free(n);
}

static void
wrong_access_is_an_error(void **state)
{
	struct tp_tensor *t = new_tensor(TP_DTYPE_F32, 2, 3), *v = NULL,
			 *x = NULL, *sparse = NULL;
	const int64_t wide[] = {2, 3}, outside[] = {0, 3};
	struct tp_err err = TP_ERR_INIT;
	struct tp_storage *s = NULL;
	double got = 77;
	float bytes[2] = {1, 2};

	(void)state;
	assert_null(TP_TENSOR_DATA(t, double, &err));
	assert_int_equal(err.status, TP_EARG);
	assert_string_equal(
	    err.msg, "a tensor of dtype f32 is accessed as f64");
	assert_null(TP_TENSOR_AT(t, int32_t, &err, 0, 0));
	assert_string_equal(
	    err.msg, "a tensor of dtype f32 is accessed as i32");
	assert_null(TP_TENSOR_AT(t, float, &err, 0, 3));
	assert_string_equal(err.msg, "index 3 along axis 1 of shape [2, 3]");
	assert_null(TP_TENSOR_AT(t, float, &err, -1, 0));
	assert_string_equal(err.msg, "index -1 along axis 0 of shape [2, 3]");
	assert_null(TP_TENSOR_AT_MUT(t, float, &err, 0));
	assert_string_equal(err.msg, "1 indices for a tensor of shape [2, 3]");
	assert_int_equal(tp_tensor_get(t, outside, 2, &got, &err), TP_EARG);
	assert_true(got == 77);
	assert_int_equal(tp_tensor_version(t), 0);

	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	assert_null(TP_TENSOR_DATA(v, float, &err));
	assert_string_equal(err.msg,
	    "the elements are not in row-major order; tp_tensor_contiguous "
	    "first");
	tp_tensor_free(v);

	/* One element seen as three cannot be written. */
	assert_int_equal(tp_tensor_narrow(t, 0, 0, 1, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_expand(v, wide, 2, &x, NULL), TP_OK);
	assert_non_null(TP_TENSOR_AT(x, float, &err, 1, 2));
	assert_null(TP_TENSOR_AT_MUT(x, float, &err, 1, 2));
	assert_int_equal(
	    tp_tensor_fill(x, 1, TP_OVERFLOW_ERROR, &err), TP_EARG);
	tp_tensor_free(x);
	tp_tensor_free(v);

	assert_int_equal(tp_to_sparse(t, &sparse, NULL), TP_OK);
	assert_null(TP_TENSOR_AT(sparse, float, &err, 0, 0));
	assert_int_equal(err.status, TP_EUNSUPPORTED);
	tp_tensor_free(sparse);
	tp_tensor_free(t);

	/* Nor what lies in a file. */
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_MAPPED, bytes, 8,
			     true, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_F32, wide, NULL, 1, 0, &t, NULL), TP_OK);
	tp_storage_unref(s);
	assert_true(*TP_TENSOR_AT(t, float, &err, 1) == 2);
	assert_null(TP_TENSOR_AT_MUT(t, float, &err, 1));
	assert_string_equal(
	    err.msg, "write to a read-only tensor; a clone can be written");
	tp_tensor_free(t);
}

/* One example of many: it has a shape, but its elements are not there. */
static enum tp_status
look_inside(void *ctx, const struct tp_tensor *const *in, size_t n_in,
    struct tp_tensor **out, size_t n_out, struct tp_err *err)
{
	const int64_t first[] = {0};
	struct tp_tensor *c = NULL;
	char text[100] = "old";
	double x = 0;

	(void)ctx;
	(void)n_in;
	(void)n_out;
	assert_int_equal(tp_tensor_rank(in[0]), 1);
	assert_null(tp_tensor_data(in[0]));
	assert_null(TP_TENSOR_DATA(in[0], float, err));
	assert_string_equal(err->msg, "elements cannot be read inside tp_vmap");
	assert_null(TP_TENSOR_AT(in[0], float, err, 0));
	assert_int_equal(
	    tp_tensor_get(in[0], first, 1, &x, err), TP_EUNSUPPORTED);
	assert_int_equal(tp_tensor_clone(in[0], TP_LAYOUT_PRESERVE, &c, err),
	    TP_EUNSUPPORTED);
	assert_int_equal(tp_tensor_contiguous(in[0], &c, err), TP_EUNSUPPORTED);
	assert_null(c);
	assert_int_equal(tp_tensor_text(in[0], NULL, text, sizeof(text)), 0);
	return tp_neg(in[0], out, err);
}

static void
elements_are_not_read_inside_vmap(void **state)
{
	struct tp_tensor *t = new_tensor(TP_DTYPE_F32, 2, 3), *y = NULL;
	struct tp_err err = TP_ERR_INIT;
	const int axes[] = {0};

	(void)state;
	assert_int_equal(tp_tensor_fill(t, 3, TP_OVERFLOW_ERROR, &err), TP_OK);
	assert_int_equal(
	    tp_vmap(look_inside, NULL, axes,
		(const struct tp_tensor *const *)&t, 1, axes, &y, 1, &err),
	    TP_OK);
	assert_true(*TP_TENSOR_AT(y, float, &err, 1, 2) == -3);
	tp_tensor_free(y);
	tp_tensor_free(t);
}

static void
storages_grow_and_shrink(void **state)
{
	const int64_t two[] = {2}, four[] = {4};
	struct tp_err err = TP_ERR_INIT;
	struct tp_storage *s = NULL;
	struct tp_tensor *t = NULL, *late = NULL;

	(void)state;
	assert_int_equal(tp_storage_new(NULL, 8, &s, NULL), TP_OK);
	assert_false(tp_storage_is_resizable(s));
	assert_int_equal(tp_storage_resize(s, 16, &err), TP_EARG);
	assert_string_equal(err.msg, "the storage has a fixed size, 8 bytes");
	assert_int_equal(tp_storage_set_resizable(s, true, &err), TP_OK);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_I32, two, NULL, 1, 0, &t, NULL), TP_OK);
	*TP_TENSOR_AT_MUT(t, int32_t, &err, 1) = 5;
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_I32, four, NULL, 1, 0, &late, &err),
	    TP_EARG);

	assert_int_equal(tp_storage_resize(s, 100000, &err), TP_OK);
	assert_int_equal(tp_storage_nbytes(s), 100000);
	assert_int_equal((uintptr_t)tp_storage_data(s) % 64, 0);
	assert_int_equal(*TP_TENSOR_AT(t, int32_t, &err, 1), 5);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_I32, four, NULL, 1, 0, &late, &err),
	    TP_OK);
	assert_int_equal(*TP_TENSOR_AT(late, int32_t, &err, 3), 0);
	*TP_TENSOR_AT_MUT(late, int32_t, &err, 3) = 6;

	/* A tensor over what was cut off stays in memory that is there. */
	assert_int_equal(tp_storage_resize(s, 8, &err), TP_OK);
	assert_int_equal(*TP_TENSOR_AT(late, int32_t, &err, 3), 6);
	assert_int_equal(tp_storage_resize(s, 12, &err), TP_OK);
	assert_int_equal(*TP_TENSOR_AT(late, int32_t, &err, 3), 6);
	assert_int_equal(tp_storage_resize(s, 200000, &err), TP_OK);
	assert_int_equal(*TP_TENSOR_AT(late, int32_t, &err, 1), 5);
	tp_tensor_free(late);
	tp_tensor_free(t);
	tp_storage_unref(s);

	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_BORROWED, &err, 8,
			     true, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_int_equal(tp_storage_set_resizable(s, true, &err), TP_EARG);
	tp_storage_unref(s);
}

static void
a_storage_that_cannot_grow_is_as_it_was(void **state)
{
	(void)state;
	for (size_t n = 3;; n++) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_storage *s = NULL;
		struct fail_alloc a;
		enum tp_status rc;

		fail_alloc_init(&a, n); /* two calls make the storage */
		assert_int_equal(tp_storage_new(&a.alloc, 8, &s, NULL), TP_OK);
		assert_int_equal(
		    tp_storage_set_resizable(s, true, &err), TP_OK);
		memcpy(tp_storage_data_mut(s), "abcdefg", 8);
		rc = tp_storage_resize(s, 1000, &err);
		assert_string_equal(tp_storage_data(s), "abcdefg");
		assert_int_equal(tp_storage_nbytes(s), rc ? 8 : 1000);
		tp_storage_unref(s);
		assert_int_equal(a.n_live, 0);
		if (rc == TP_OK) {
			assert_true(n > 3);
			break;
		}
		assert_int_equal(rc, TP_ENOMEM);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(elements_are_found_by_their_index),
	    cmocka_unit_test(every_c_type_has_its_dtype),
	    cmocka_unit_test(floats_without_a_c_type_are_codes),
	    cmocka_unit_test(wrong_access_is_an_error),
	    cmocka_unit_test(elements_are_not_read_inside_vmap),
	    cmocka_unit_test(storages_grow_and_shrink),
	    cmocka_unit_test(a_storage_that_cannot_grow_is_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
