/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c, reshape.c, copy.c: known views, refused ones, transposes of every
 * element size
 */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "support/random.h"
#include "support/tensors.h"

static void
assert_values(const struct tp_tensor *t, const int32_t *want, size_t n)
{
	struct tp_strided s = tp_tensor_strided(t);
	int32_t got[256] = {0};

	assert_int_equal(tp_tensor_numel(t), n);
	assert_true(n <= COUNT_OF(got));
	tp_gather(&s, 0, n, got);
	assert_memory_equal(got, want, n * sizeof(*got));
}

static void
slices_are_those_of_python(void **state)
{
	/* What list(range(5))[start:stop:step] gives. */
	static const struct {
		int64_t start, stop, step;
		size_t n;
		int32_t want[5];
	} rows[] = {
	    {TP_OMIT, TP_OMIT, 1, 5, {0, 1, 2, 3, 4}},
	    {1, 3, 1, 2, {1, 2}},
	    {-2, TP_OMIT, 1, 2, {3, 4}},
	    {TP_OMIT, -2, 1, 3, {0, 1, 2}},
	    {-100, 100, 2, 3, {0, 2, 4}},
	    {3, 1, 1, 0, {0}},
	    {5, TP_OMIT, 1, 0, {0}},
	    {TP_OMIT, TP_OMIT, -1, 5, {4, 3, 2, 1, 0}},
	    {100, TP_OMIT, -2, 3, {4, 2, 0}},
	    {3, 0, -1, 3, {3, 2, 1}},
	    {3, -100, -1, 4, {3, 2, 1, 0}},
	    {-100, TP_OMIT, -1, 0, {0}},
	    {0, TP_OMIT, -1, 1, {0}},
	    {TP_OMIT, 4, -1, 0, {0}},
	    {0, 5, INT64_MAX, 1, {0}},
	    {4, TP_OMIT, INT64_MIN, 1, {4}},
	    {INT64_MAX, INT64_MIN + 1, -1, 5, {4, 3, 2, 1, 0}},
	};
	const int64_t sizes[] = {5};
	struct tp_tensor *t = make_counting(TP_DTYPE_I32, sizes, 1);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_tensor *v = NULL;

		assert_int_equal(tp_tensor_slice(t, 0, rows[i].start,
				     rows[i].stop, rows[i].step, &v, NULL),
		    TP_OK);
		assert_values(v, rows[i].want, rows[i].n);
		tp_tensor_free(v);
	}
	tp_tensor_free(t);
}

static void
assert_dims(const struct tp_tensor *t, unsigned rank, const int64_t *sizes,
    const int64_t *strides)
{
	assert_int_equal(tp_tensor_rank(t), rank);
	for (unsigned d = 0; d < rank; d++) {
		assert_int_equal(tp_tensor_sizes(t)[d], sizes[d]);
		assert_int_equal(tp_tensor_strides(t)[d], strides[d]);
	}
}

/* [2,3,4,5] as NHWC is [2,4,5,3] with strides [60,5,1,20]. */
static void
permuting_moves_no_byte(void **state)
{
	const int64_t sizes[] = {2, 3, 4, 5}, nhwc[] = {2, 4, 5, 3};
	const int64_t strides[] = {60, 20, 5, 1};
	const int64_t nhwc_strides[] = {60, 5, 1, 20};
	const int axes[] = {0, 2, 3, 1}, twice[] = {0, 1, 1, -1};
	struct tp_tensor *t = make_counting(TP_DTYPE_I32, sizes, 4), *v = NULL,
			 *s = NULL, *r = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_dims(t, 4, sizes, strides);
	assert_int_equal(tp_tensor_permute(t, axes, 4, &v, NULL), TP_OK);
	assert_dims(v, 4, nhwc, nhwc_strides);
	assert_ptr_equal(tp_tensor_data(v), tp_tensor_data(t));
	assert_int_equal(tp_tensor_permute(t, twice, 4, &s, &err), TP_EARG);
	assert_null(s);
	assert_string_equal(err.msg, "axis 1 twice in a permutation");
	assert_int_equal(tp_tensor_permute(t, axes, 3, &s, &err), TP_EARG);
	tp_tensor_free(v);

	/* [1:3, :, 0:10:2] of [4,2,10] is [2,2,5] */
	{
		const int64_t from[] = {4, 2, 10}, to[] = {2, 2, 5};
		const int64_t to_strides[] = {20, 10, 2};
		struct tp_tensor *big = make_counting(TP_DTYPE_I32, from, 3);

		assert_int_equal(
		    tp_tensor_slice(big, 0, 1, 3, 1, &s, NULL), TP_OK);
		assert_int_equal(
		    tp_tensor_slice(s, -1, 0, 10, 2, &r, NULL), TP_OK);
		assert_dims(r, 3, to, to_strides);
		assert_int_equal(tp_tensor_first(r), 20);
		/* Views outlive what they came from. */
		tp_tensor_free(big);
		tp_tensor_free(s);
		{
			struct tp_strided layout = tp_tensor_strided(r);
			int32_t got[3];

			tp_gather(&layout, 4, 3, got);
			assert_int_equal(got[0], 28);
			assert_int_equal(got[1], 30);
			assert_int_equal(got[2], 32);
		}
		tp_tensor_free(r);
	}
	tp_tensor_free(t);
}

static void
reshape_finds_strides_or_refuses(void **state)
{
	const int64_t sizes[] = {2, 3, 4};
	const int64_t flat[] = {-1}, four[] = {2, 1, 3, 2, 2, 1};
	const int64_t six[] = {6, 4}, two_free[] = {-1, -1}, odd[] = {5, -1};
	const int64_t wrong[] = {5, 5}, six_strides[] = {4, 1};
	struct tp_tensor *t = make_counting(TP_DTYPE_I32, sizes, 3), *v = NULL,
			 *w = NULL, *c = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_tensor_reshape(t, flat, 1, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_sizes(v)[0], 24);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_reshape(t, six, 2, &v, NULL), TP_OK);
	assert_dims(v, 2, six, six_strides);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_reshape(t, four, 6, &v, NULL), TP_OK);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_reshape(t, two_free, 2, &v, &err), TP_EARG);
	assert_int_equal(tp_tensor_reshape(t, odd, 2, &v, &err), TP_EARG);
	assert_int_equal(tp_tensor_reshape(t, wrong, 2, &v, &err), TP_EARG);
	assert_string_equal(
	    err.msg, "shape [2, 3, 4] has 24 elements, [5, 5] has 25");

	assert_int_equal(tp_tensor_transpose(t, 0, 2, &v, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_reshape(v, flat, 1, &w, &err), TP_EUNSUPPORTED);
	assert_null(w);
	assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
	assert_int_equal(tp_tensor_reshape(c, flat, 1, &w, NULL), TP_OK);
	tp_tensor_free(w);
	tp_tensor_free(c);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

static void
wrong_views_are_refused(void **state)
{
	const int64_t sizes[] = {2, 3}, ones[] = {1, 3}, outside[] = {4, 1};
	const int64_t inside[] = {3, 1}, before[] = {-1, 1};
	const int64_t shrink[] = {1, 3}, grow[] = {4, 2, 3}, deep[] = {3};
	struct tp_tensor *t = make_counting(TP_DTYPE_I32, sizes, 2),
			 *o = make_counting(TP_DTYPE_I32, ones, 2), *v = t;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
#define REFUSED(call)                                \
	do {                                         \
		v = t;                               \
		assert_int_equal(call, TP_EARG);     \
		assert_null(v);                      \
		assert_int_not_equal(err.msg[0], 0); \
	} while (0)
	REFUSED(tp_tensor_slice(t, 2, 0, 1, 1, &v, &err));
	REFUSED(tp_tensor_slice(t, -3, 0, 1, 1, &v, &err));
	REFUSED(tp_tensor_slice(t, 0, 0, 1, 0, &v, &err));
	REFUSED(tp_tensor_select(t, 0, 2, &v, &err));
	assert_string_equal(err.msg, "index 2 of axis 0 with size 2");
	REFUSED(tp_tensor_select(t, 0, -3, &v, &err));
	REFUSED(tp_tensor_narrow(t, 1, 2, 2, &v, &err));
	REFUSED(tp_tensor_narrow(t, 1, -1, 1, &v, &err));
	REFUSED(tp_tensor_narrow(t, 1, 1, INT64_MAX, &v, &err));
	REFUSED(tp_tensor_transpose(t, 0, 2, &v, &err));
	REFUSED(tp_tensor_flip(t, 5, &v, &err));
	REFUSED(tp_tensor_squeeze(t, 0, &v, &err));
	REFUSED(tp_tensor_unsqueeze(t, 3, &v, &err));
	REFUSED(tp_tensor_unfold(t, 1, 4, 1, &v, &err));
	REFUSED(tp_tensor_unfold(t, 1, 2, 0, &v, &err));
	REFUSED(tp_tensor_expand(t, shrink, 2, &v, &err));
	REFUSED(tp_tensor_expand(t, deep, 1, &v, &err));
	REFUSED(tp_tensor_as_strided(
	    t, sizes, outside, 2, TP_SAME_FIRST, &v, &err));
	REFUSED(tp_tensor_as_strided(t, sizes, inside, 2, 1, &v, &err));
	REFUSED(tp_tensor_as_strided(t, sizes, before, 2, 0, &v, &err));
#undef REFUSED
	v = NULL;
	assert_int_equal(tp_tensor_expand(o, grow, 3, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_strides(v)[0], 0);
	assert_int_equal(tp_tensor_strides(v)[1], 0);
	assert_int_equal(tp_tensor_strides(v)[2], 1);
	tp_tensor_free(v);
	assert_int_equal(
	    tp_tensor_as_strided(t, sizes, before, 2, 1, &v, NULL), TP_OK);
	assert_values(v, (const int32_t[]){1, 2, 3, 0, 1, 2}, 6);
	tp_tensor_free(v);
	tp_tensor_free(o);
	tp_tensor_free(t);
}

static uint64_t rng_state;

static uint64_t
rng(uint64_t n)
{
	return random_next(&rng_state) % n;
}

/* Every element size, tiles and their edges, against index arithmetic. */
static void
transposes_are_exact_for_every_size(void **state)
{
	static const enum tp_dtype dtypes[] = {TP_DTYPE_U2, TP_DTYPE_I4,
	    TP_DTYPE_F6E3M2, TP_DTYPE_I8, TP_DTYPE_F16, TP_DTYPE_F32,
	    TP_DTYPE_I64, TP_DTYPE_C128};
	static const int64_t shapes[][3] = {{1, 70, 33}, {1, 32, 32},
	    {3, 35, 7}, {2, 64, 65}, {5, 2, 2}, {1, 2100, 34}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(dtypes) * COUNT_OF(shapes); k++) {
		enum tp_dtype dtype = dtypes[k / COUNT_OF(shapes)];
		const int64_t *n = shapes[k % COUNT_OF(shapes)];
		const int axes[] = {2, 0, 1};
		unsigned bits = tp_dtype_bits(dtype);
		struct tp_tensor *t = NULL, *v = NULL, *c = NULL;
		const uint8_t *from, *to;
		uint8_t *fill;
		uint64_t nbytes;

		assert_int_equal(
		    tp_tensor_empty(NULL, dtype, n, 3, &t, NULL), TP_OK);
		fill = tp_tensor_data_mut(t);
		assert_int_equal(
		    tp_dtype_nbytes(dtype, tp_tensor_numel(t), &nbytes, NULL),
		    TP_OK);
		rng_state = k + 1;
		for (uint64_t i = 0; i < nbytes; i++)
			fill[i] = (uint8_t)rng(256);
		assert_int_equal(
		    tp_tensor_permute(t, axes, 3, &v, NULL), TP_OK);
		assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
		from = tp_tensor_data(t);
		to = tp_tensor_data(c);
		for (int64_t i = 0; i < n[2] * n[0] * n[1] * bits; i++) {
			int64_t bit = i % bits, e = i / bits;
			int64_t c1 = e % n[1], c0 = e / n[1] % n[0];
			int64_t c2 = e / n[1] / n[0];
			int64_t old =
			    ((c0 * n[1] + c1) * n[2] + c2) * bits + bit;

			assert_int_equal(to[i / 8] >> (i % 8) & 1,
			    from[old / 8] >> (old % 8) & 1);
		}
		tp_tensor_free(c);
		tp_tensor_free(v);
		tp_tensor_free(t);
	}
}

/* What is narrower than a byte: views that begin inside one. */
static void
packed_views_begin_inside_bytes(void **state)
{
	const int64_t sizes[] = {21};
	struct tp_tensor *t = NULL, *v = NULL, *c = NULL;
	uint8_t *x;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_U4, sizes, 1, &t, NULL), TP_OK);
	x = tp_tensor_data_mut(t);
	for (unsigned i = 0; i < 11; i++)
		x[i] = (uint8_t)(2 * i % 16 | ((2 * i + 1) % 16) << 4);
	assert_int_equal(tp_tensor_slice(t, 0, 3, 20, 1, &v, NULL), TP_OK);
	assert_null(tp_tensor_data(v));
	assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
	assert_memory_equal(
	    tp_tensor_data(c), "\x43\x65\x87\xa9\xcb\xed\x0f\x21\x03", 9);
	tp_tensor_free(c);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_flip(t, 0, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(c),
	    "\x34\x12\xf0\xde\xbc\x9a\x78\x56\x34\x12\x00", 11);
	tp_tensor_free(c);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

/* Strides mean nothing where there is no element, however large. */
static void
empty_tensors_have_views(void **state)
{
	const int64_t sizes[] = {0, 5}, strides[] = {7, INT64_MAX};
	struct tp_tensor *t = make_counting(TP_DTYPE_I32, sizes, 2), *e = NULL,
			 *v = NULL;

	(void)state;
	assert_int_equal(
	    tp_tensor_as_strided(t, sizes, strides, 2, 0, &e, NULL), TP_OK);
	assert_int_equal(tp_tensor_slice(e, 1, 3, 0, -2, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_sizes(v)[1], 2);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_select(e, 1, 4, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_numel(v), 0);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_contiguous(e, &v, NULL), TP_OK);
	tp_tensor_free(v);
	tp_tensor_free(e);
	tp_tensor_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slices_are_those_of_python),
	    cmocka_unit_test(permuting_moves_no_byte),
	    cmocka_unit_test(reshape_finds_strides_or_refuses),
	    cmocka_unit_test(wrong_views_are_refused),
	    cmocka_unit_test(transposes_are_exact_for_every_size),
	    cmocka_unit_test(packed_views_begin_inside_bytes),
	    cmocka_unit_test(empty_tensors_have_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
