/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.c, tensor.c, copy.c, view.c: who owns what, what lies inside, and
 * memory that runs out at each call
 */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/shape.h"
#include "tp/storage.h"
#include "tp/tensor.h"
#include "tp/view.h"

#include "support/fail_alloc.h"

struct released {
	unsigned n;
	void *data;
	size_t nbytes;
};

static void
note_release(void *ctx, void *data, size_t nbytes)
{
	struct released *r = ctx;

	r->n++;
	r->data = data;
	r->nbytes = nbytes;
}

static void
owned_storage_is_zeroed_and_aligned(void **state)
{
	static const uint8_t zeros[1000];
	struct fail_alloc a;

	(void)state;
	fail_alloc_init(&a, 0);
	for (size_t n = 0; n <= sizeof(zeros); n += 37) {
		struct tp_storage *s = NULL;

		assert_int_equal(tp_storage_new(&a.alloc, n, &s, NULL), TP_OK);
		assert_int_equal((uintptr_t)tp_storage_data(s) % 64, 0);
		assert_int_equal(tp_storage_nbytes(s), n);
		assert_int_equal(tp_storage_kind(s), TP_STORAGE_OWNED);
		assert_memory_equal(tp_storage_data(s), zeros, n);
		assert_ptr_equal(tp_storage_data_mut(s), tp_storage_data(s));
		tp_storage_unref(s);
	}
	assert_int_equal(a.n_live, 0);
	assert_null(tp_storage_ref(NULL));
	tp_storage_unref(NULL);
}

static void
wrapped_storage_is_released_once(void **state)
{
	struct released r = {0};
	struct tp_storage *s = NULL;
	char bytes[10];

	(void)state;
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_BORROWED, bytes, 10,
			     true, note_release, &r, &s, NULL),
	    TP_OK);
	assert_ptr_equal(tp_storage_data_mut(s), bytes);
	assert_ptr_equal(tp_storage_ref(s), s);
	tp_storage_unref(s);
	assert_int_equal(r.n, 0);
	tp_storage_unref(s);
	assert_int_equal(r.n, 1);
	assert_ptr_equal(r.data, bytes);
	assert_int_equal(r.nbytes, 10);

	/* A mapping is never writable, whatever is said. */
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_MAPPED, bytes, 10,
			     true, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_null(tp_storage_data_mut(s));
	assert_int_equal(tp_storage_kind(s), TP_STORAGE_MAPPED);
	tp_storage_unref(s);
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_BORROWED, bytes, 10,
			     false, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_null(tp_storage_data_mut(s));
	tp_storage_unref(s);
}

static void
storage_without_memory_is_an_error(void **state)
{
	struct released r = {0};
	struct tp_err err = TP_ERR_INIT;
	struct tp_storage *s;
	char bytes[10];
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		s = (struct tp_storage *)(void *)bytes;
		rc = tp_storage_new(&a.alloc, 100, &s, &err);
		assert_true((rc == TP_OK) == (s != NULL));
		tp_storage_unref(s);
	}
	assert_true(a.n_rounds > 1);
	fail_alloc_init(&a, 1);
	assert_int_equal(tp_storage_wrap(&a.alloc, TP_STORAGE_BORROWED, bytes,
			     10, true, note_release, &r, &s, &err),
	    TP_ENOMEM);
	assert_null(s);
	assert_int_equal(r.n, 0);
	assert_int_equal(
	    tp_storage_new(NULL, SIZE_MAX - 5, &s, &err), TP_ENOMEM);
	assert_null(s);
}

static void
elements_must_lie_inside(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		int64_t sizes[2], strides[2];
		uint64_t first;
		enum tp_status rc;
	} rows[] = {
	    /* The storage has 24 bytes: 6 f32, 48 u4, 32 f6. */
	    {TP_DTYPE_F32, {2, 3}, {3, 1}, 0, TP_OK},
	    {TP_DTYPE_F32, {2, 3}, {3, 1}, 1, TP_EARG},
	    {TP_DTYPE_F32, {2, 3}, {-3, 1}, 3, TP_OK},
	    {TP_DTYPE_F32, {2, 3}, {-3, 1}, 2, TP_EARG},
	    {TP_DTYPE_F32, {2, 3}, {-3, -1}, 5, TP_OK},
	    {TP_DTYPE_F32, {2, 3}, {-3, -1}, 6, TP_EARG},
	    {TP_DTYPE_F32, {1000, 1000}, {0, 0}, 5, TP_OK},
	    {TP_DTYPE_F32, {1000, 1000}, {0, 0}, 6, TP_EARG},
	    {TP_DTYPE_F32, {0, 5}, {99, 99}, 999, TP_OK},
	    {TP_DTYPE_F32, {1, 1}, {99, -99}, 5, TP_OK},
	    {TP_DTYPE_F32, {2, 1}, {INT64_MAX, 1}, 0, TP_ELIMIT},
	    {TP_DTYPE_F32, {2, 1}, {INT64_MIN, 1}, 0, TP_ELIMIT},
	    {TP_DTYPE_F32, {3, 1}, {INT64_MAX, 1}, 0, TP_ELIMIT},
	    {TP_DTYPE_F32, {1, 1}, {1, 1}, UINT64_MAX, TP_EARG},
	    {TP_DTYPE_F32, {1, 1}, {1, 1}, INT64_MAX, TP_ELIMIT},
	    {TP_DTYPE_U4, {48, 1}, {1, 1}, 0, TP_OK},
	    {TP_DTYPE_U4, {48, 1}, {1, 1}, 1, TP_EARG},
	    {TP_DTYPE_F6E2M3, {31, 1}, {1, 1}, 1, TP_OK},
	    {TP_DTYPE_F6E2M3, {32, 1}, {1, 1}, 1, TP_EARG},
	    {TP_DTYPE_F32, {-1, 1}, {1, 1}, 0, TP_EARG},
	    {TP_DTYPE_F32, {INT64_MAX, 2}, {0, 0}, 0, TP_ELIMIT},
	    {TP_DTYPE_STRING, {1, 1}, {1, 1}, 0, TP_EUNSUPPORTED},
	    {TP_DTYPE_NONE, {1, 1}, {1, 1}, 0, TP_EUNSUPPORTED},
	};
	struct tp_storage *s = NULL;

	(void)state;
	assert_int_equal(tp_storage_new(NULL, 24, &s, NULL), TP_OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_tensor *t = NULL;
		struct tp_err err = TP_ERR_INIT;

		assert_int_equal(
		    tp_tensor_new(s, rows[i].dtype, rows[i].sizes,
			rows[i].strides, 2, rows[i].first, &t, &err),
		    rows[i].rc);
		assert_int_equal(t != NULL, rows[i].rc == TP_OK);
		assert_int_equal(err.msg[0] != 0, rows[i].rc != TP_OK);
		tp_tensor_free(t);
	}
	tp_storage_unref(s);
}

/*
 * One element that is repeated, or none at all along a long axis, takes little
 * memory: a machine of 32 bits refuses what its size_t would count wrongly.
 */
static void
elements_can_be_counted(void **state)
{
	static const int64_t none[] = {0, INT64_C(1) << 32};
	static const int64_t many[] = {1 << 16, 1 << 16}, still[] = {0, 0};
	const bool is_wide = sizeof(size_t) == 8;
	struct tp_err err = TP_ERR_INIT;
	struct tp_storage *s = NULL;
	struct tp_tensor *t;

	(void)state;
	assert_int_equal(tp_storage_new(NULL, 8, &s, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_U8, many, still, 2, 0, &t, &err),
	    is_wide ? TP_OK : TP_ELIMIT);
	if (is_wide)
		assert_int_equal(tp_tensor_numel(t), UINT64_C(1) << 32);
	else
		assert_string_equal(err.msg,
		    "shape [65536, 65536]: 4294967296 elements, this machine "
		    "counts to 2147483647");
	tp_tensor_free(t);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_F32, none, NULL, 2, 0, &t, &err),
	    is_wide ? TP_OK : TP_ELIMIT);
	tp_tensor_free(t);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_F32, none, NULL, 1, 0, &t, &err), TP_OK);
	tp_tensor_free(t);
	tp_storage_unref(s);
}

static void
tensors_tell_what_they_are(void **state)
{
	const int64_t sizes[] = {2, 3, 4};
	struct tp_tensor *t = NULL, *odd = NULL;
	const char *data;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_I16, sizes, 3, &t, NULL), TP_OK);
	assert_int_equal(tp_tensor_dtype(t), TP_DTYPE_I16);
	assert_int_equal(tp_tensor_rank(t), 3);
	assert_memory_equal(tp_tensor_sizes(t), sizes, sizeof(sizes));
	assert_int_equal(tp_tensor_numel(t), 24);
	assert_int_equal(tp_storage_nbytes(tp_tensor_storage(t)), 48);
	assert_true(tp_tensor_is_row_major(t));
	assert_int_equal(tp_tensor_first(t), 0);
	data = tp_tensor_data(t);

	assert_int_equal(tp_tensor_new(tp_tensor_storage(t), TP_DTYPE_I16,
			     sizes, NULL, 2, 10, &odd, NULL),
	    TP_OK);
	assert_ptr_equal(tp_tensor_data(odd), data + 20);
	tp_tensor_free(odd);
	/* The first element inside a byte: no address. */
	assert_int_equal(tp_tensor_new(tp_tensor_storage(t), TP_DTYPE_U4, sizes,
			     NULL, 2, 5, &odd, NULL),
	    TP_OK);
	assert_null(tp_tensor_data(odd));
	assert_null(tp_tensor_data_mut(odd));
	tp_tensor_free(t);
	/* odd holds the storage still. */
	assert_int_equal(
	    *(const char *)tp_storage_data(tp_tensor_storage(odd)), 0);
	tp_tensor_free(odd);
	tp_tensor_free(NULL);

	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F64, NULL, 0, &t, NULL), TP_OK);
	assert_int_equal(tp_tensor_numel(t), 1);
	tp_tensor_free(t);
}

static void
read_only_tensors_cannot_be_written(void **state)
{
	static const float x[] = {1, 2, 3, 4};
	const int64_t sizes[] = {2, 2};
	struct tp_storage *s = NULL;
	struct tp_tensor *t = NULL, *v = NULL, *c = NULL;
	float copy[4];

	(void)state;
	memcpy(copy, x, sizeof(x));
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_MAPPED, copy,
			     sizeof(copy), true, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_F32, sizes, NULL, 2, 0, &t, NULL), 0);
	tp_storage_unref(s);
	assert_null(tp_tensor_data_mut(t));
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	assert_null(tp_tensor_data_mut(v));
	/* A packed copy of it can. */
	assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
	assert_non_null(tp_tensor_data_mut(c));
	assert_memory_equal(
	    tp_tensor_data(c), ((float[]){1, 3, 2, 4}), sizeof(copy));
	tp_tensor_free(c);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

/* Up to rank 5 a handle is one allocation, above it is two. */
static void
shapes_up_to_rank_five_are_inline(void **state)
{
	int64_t sizes[TP_MAX_RANK + 1];
	struct tp_storage *s = NULL;
	struct tp_tensor *t = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct fail_alloc a;

	(void)state;
	fail_alloc_init(&a, 0);
	assert_int_equal(tp_storage_new(&a.alloc, 8, &s, NULL), TP_OK);
	for (unsigned rank = 0; rank <= TP_MAX_RANK; rank++) {
		size_t before = a.n_calls;

		sizes[rank] = 1;
		assert_int_equal(tp_tensor_new(s, TP_DTYPE_F64, sizes, NULL,
				     rank, 0, &t, NULL),
		    TP_OK);
		assert_int_equal(a.n_calls - before, rank <= 5 ? 1 : 2);
		tp_tensor_free(t);
	}
	sizes[TP_MAX_RANK] = 1;
	assert_int_equal(tp_tensor_new(s, TP_DTYPE_F64, sizes, NULL,
			     TP_MAX_RANK + 1, 0, &t, &err),
	    TP_ELIMIT);
	assert_null(t);
	tp_storage_unref(s);
	assert_int_equal(a.n_live, 0);
}

/* So are those of views: one allocation a view, two above rank 5. */
static void
views_up_to_rank_five_allocate_a_handle(void **state)
{
	const int64_t sizes[] = {2, 2, 2, 2, 2, 2}, more[] = {2, 1, 2, 2, 2, 2};
	struct tp_tensor *t = NULL, *v = NULL;
	struct fail_alloc a;

	(void)state;
	fail_alloc_init(&a, 0);
	for (unsigned rank = 1; rank <= 6; rank++) {
		const size_t per_view = rank <= 5 ? 1 : 2;
		size_t before;

		assert_int_equal(tp_tensor_empty(&a.alloc, TP_DTYPE_F32, sizes,
				     rank, &t, NULL),
		    TP_OK);
		before = a.n_calls;
		assert_int_equal(tp_tensor_flip(t, 0, &v, NULL), TP_OK);
		tp_tensor_free(v);
		assert_int_equal(
		    tp_tensor_slice(t, -1, 1, TP_OMIT, 1, &v, NULL), TP_OK);
		tp_tensor_free(v);
		assert_int_equal(
		    tp_tensor_transpose(t, 0, -1, &v, NULL), TP_OK);
		tp_tensor_free(v);
		assert_int_equal(tp_tensor_alias(t, &v, NULL), TP_OK);
		tp_tensor_free(v);
		assert_int_equal(
		    tp_tensor_reshape(t, sizes, rank, &v, NULL), TP_OK);
		tp_tensor_free(v);
		assert_int_equal(
		    tp_tensor_as_strided(t, sizes, tp_tensor_strides(t), rank,
			TP_SAME_FIRST, &v, NULL),
		    TP_OK);
		tp_tensor_free(v);
		assert_int_equal(a.n_calls - before, 6 * per_view);
		tp_tensor_free(t);
	}

	/* From five axes to six is where it changes. */
	assert_int_equal(
	    tp_tensor_empty(&a.alloc, TP_DTYPE_F32, sizes, 5, &t, NULL), TP_OK);
	{
		size_t before = a.n_calls;

		assert_int_equal(tp_tensor_unsqueeze(t, 1, &v, NULL), TP_OK);
		assert_memory_equal(tp_tensor_sizes(v), more, sizeof(more));
		assert_int_equal(a.n_calls - before, 2);
	}
	tp_tensor_free(v);
	tp_tensor_free(t);
	assert_int_equal(a.n_live, 0);
}

/* A tensor of rank 6, a view of it, and a packed copy. */
static enum tp_status
make_three(const struct tp_alloc *alloc, struct tp_err *err)
{
	const int64_t sizes[] = {2, 1, 3, 1, 2, 2};
	struct tp_tensor *t = NULL, *v = NULL, *c = NULL;
	enum tp_status rc;

	rc = tp_tensor_empty(alloc, TP_DTYPE_F16, sizes, 6, &t, err);
	if (!rc)
		rc = tp_tensor_transpose(t, 0, 2, &v, err);
	if (!rc)
		rc = tp_tensor_contiguous(v, &c, err);
	assert_int_equal(rc == TP_OK, c != NULL);
	tp_tensor_free(t);
	tp_tensor_free(v);
	tp_tensor_free(c);
	return rc;
}

static void
memory_may_run_out_anywhere(void **state)
{
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		struct tp_err err = TP_ERR_INIT;

		rc = make_three(&a.alloc, &err);
		assert_int_equal(err.status, rc);
	}
	assert_true(a.n_rounds > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(owned_storage_is_zeroed_and_aligned),
	    cmocka_unit_test(wrapped_storage_is_released_once),
	    cmocka_unit_test(storage_without_memory_is_an_error),
	    cmocka_unit_test(elements_must_lie_inside),
	    cmocka_unit_test(elements_can_be_counted),
	    cmocka_unit_test(tensors_tell_what_they_are),
	    cmocka_unit_test(read_only_tensors_cannot_be_written),
	    cmocka_unit_test(shapes_up_to_rank_five_are_inline),
	    cmocka_unit_test(views_up_to_rank_five_allocate_a_handle),
	    cmocka_unit_test(memory_may_run_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
