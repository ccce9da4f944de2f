/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c, iter.c: one shape for several tensors, every element once */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/broadcast.h"
#include "tp/iter.h"
#include "tp/view.h"

#include "support/random.h"

static void
shapes_are_joined_by_numpys_rules(void **state)
{
	static const int64_t a[] = {8, 1, 6, 1}, b[] = {7, 1, 5}, zero[] = {0},
			     one[] = {1}, three[] = {3}, two[] = {2};
	int64_t sizes[TP_MAX_RANK] = {0};
	struct tp_err err = TP_ERR_INIT;
	unsigned rank = 0;

	(void)state;
	assert_int_equal(
	    tp_broadcast_shape((const struct tp_shape_ref[]){{a, 4}, {b, 3}}, 2,
		sizes, &rank, NULL),
	    TP_OK);
	assert_int_equal(rank, 4);
	assert_memory_equal(
	    sizes, ((const int64_t[]){8, 7, 6, 5}), 4 * sizeof(int64_t));
	assert_int_equal(
	    tp_broadcast_shape(
		(const struct tp_shape_ref[]){{zero, 1}, {one, 1}, {NULL, 0}},
		3, sizes, &rank, NULL),
	    TP_OK);
	assert_int_equal(rank, 1);
	assert_int_equal(sizes[0], 0);
	assert_int_equal(
	    tp_broadcast_shape((const struct tp_shape_ref[]){{NULL, 0}}, 1,
		sizes, &rank, NULL),
	    TP_OK);
	assert_int_equal(rank, 0);

	assert_int_equal(
	    tp_broadcast_shape(
		(const struct tp_shape_ref[]){{three, 1}, {two, 1}}, 2, sizes,
		&rank, &err),
	    TP_EARG);
	assert_string_equal(err.msg, "shapes do not fit along axis 0: 3 and 2");
	assert_int_equal(tp_broadcast_shape(
			     (const struct tp_shape_ref[]){{zero, 1}, {two, 1}},
			     2, sizes, &rank, &err),
	    TP_EARG);
}

/* What a loop is to do, element by element, counted as it goes. */
struct sum {
	size_t n_calls;
	uint64_t n_elems;
};

static void
add_loop(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	struct sum *s = ctx;

	s->n_calls++;
	s->n_elems += n;
	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)i;
		int32_t *y = (int32_t *)(void *)(data[0] + at * steps[0]);
		const int32_t *a =
		    (const int32_t *)(void *)(data[1] + at * steps[1]);
		const int32_t *b =
		    (const int32_t *)(void *)(data[2] + at * steps[2]);

		*y += *a + *b;
	}
}

static void
add_rows(void *ctx, char *const *data, const int64_t *steps, size_t n,
    const int64_t *row_steps, size_t n_rows)
{
	for (size_t r = 0; r < n_rows; r++) {
		char *row[3];

		for (unsigned k = 0; k < 3; k++)
			row[k] = data[k] + (int64_t)r * row_steps[k];
		add_loop(ctx, row, steps, n);
	}
}

/*
 * A tensor that broadcasts to `sizes`: some axes of size 1, some missing in
 * front, axes in a random order in memory, some backwards.
 */
static struct tp_tensor *
random_operand(
    uint64_t *rng, const int64_t *sizes, unsigned rank, bool is_output)
{
	unsigned lead =
	    is_output ? 0 : (unsigned)(random_next(rng) % (rank + 1));
	int64_t mine[8];
	int order[8];
	struct tp_tensor *t = NULL, *v = NULL;
	unsigned n = rank - lead;
	int32_t *data;

	for (unsigned d = 0; d < n; d++) {
		mine[d] = !is_output && random_next(rng) % 4 == 0
			      ? 1
			      : sizes[lead + d];
		order[d] = (int)d;
	}
	for (unsigned d = n; d > 1; d--) {
		unsigned e = (unsigned)(random_next(rng) % d);
		int o = order[d - 1];

		order[d - 1] = order[e];
		order[e] = o;
	}
	/* Made with axes in another order, then seen in the right one. */
	{
		int64_t shuffled[8];

		for (unsigned d = 0; d < n; d++)
			shuffled[order[d]] = mine[d];
		assert_int_equal(
		    tp_tensor_empty(NULL, TP_DTYPE_I32, shuffled, n, &t, NULL),
		    TP_OK);
	}
	data = tp_tensor_data_mut(t);
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		data[i] = is_output ? 0 : (int32_t)(random_next(rng) % 1000);
	assert_int_equal(tp_tensor_permute(t, order, n, &v, NULL), TP_OK);
	tp_tensor_free(t);
	for (unsigned d = 0; d < n; d++)
		if (random_next(rng) % 3 == 0) {
			t = v;
			assert_int_equal(
			    tp_tensor_flip(t, (int)d, &v, NULL), TP_OK);
			tp_tensor_free(t);
		}
	return v;
}

/* The element of t at an index of the common shape: written out plainly. */
static int32_t
element(const struct tp_tensor *t, const int64_t *index, unsigned rank)
{
	unsigned lead = rank - tp_tensor_rank(t);
	int64_t at = (int64_t)tp_tensor_first(t);

	for (unsigned d = 0; d < tp_tensor_rank(t); d++)
		if (tp_tensor_sizes(t)[d] != 1)
			at += index[lead + d] * tp_tensor_strides(t)[d];
	return ((const int32_t *)tp_storage_data(tp_tensor_storage(t)))[at];
}

static void
check_sums(struct tp_tensor *const *t, const int64_t *sizes, unsigned rank,
    int32_t times)
{
	int64_t index[8] = {0};
	uint64_t n = tp_tensor_numel(t[0]);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t rest = i;

		for (unsigned d = rank; d-- > 0;) {
			index[d] = (int64_t)(rest % (uint64_t)sizes[d]);
			rest /= (uint64_t)sizes[d];
		}
		assert_int_equal(element(t[0], index, rank),
		    times * (element(t[1], index, rank) +
				element(t[2], index, rank)));
	}
}

static void
every_element_is_visited_once(void **state)
{
	uint64_t rng = 20261130;

	(void)state;
	printf("seed %llu\n", (unsigned long long)rng);
	for (unsigned round = 0; round < 3000; round++) {
		unsigned rank = (unsigned)(random_next(&rng) % 6);
		int64_t sizes[8];
		struct tp_tensor *t[3];
		struct tp_iter it, part;
		struct sum sum = {0, 0};

		for (unsigned d = 0; d < rank; d++)
			sizes[d] = (int64_t)(random_next(&rng) % 5) +
				   (round % 10 != 0);
		for (unsigned k = 0; k < 3; k++)
			t[k] = random_operand(&rng, sizes, rank, k == 0);
		assert_int_equal(tp_iter_init(&it, t, 1,
				     (const struct tp_tensor *const *)(t + 1),
				     2, round % 2 ? TP_ITER_IN_ORDER : 0, NULL),
		    TP_OK);
		tp_iter_run(&it, add_loop, &sum);
		assert_int_equal(sum.n_elems, tp_tensor_numel(t[0]));
		check_sums(t, sizes, rank, 1);
		tp_iter_run2(&it, add_rows, &sum);
		check_sums(t, sizes, rank, 2);
		for (size_t k = 0; k < 3; k++) {
			tp_iter_part(&it, k, 3, &part);
			tp_iter_run(&part, add_loop, &sum);
		}
		check_sums(t, sizes, rank, 3);
		for (unsigned k = 0; k < 3; k++)
			tp_tensor_free(t[k]);
	}
}

static void
contiguous_operands_come_as_one_run(void **state)
{
	static const int64_t sizes[] = {3, 4, 5};
	struct tp_tensor *t[3], *turned[3];
	struct sum sum = {0, 0};
	struct tp_iter it;

	(void)state;
	for (unsigned k = 0; k < 3; k++)
		assert_int_equal(
		    tp_tensor_empty(NULL, TP_DTYPE_I32, sizes, 3, &t[k], NULL),
		    TP_OK);
	assert_int_equal(
	    tp_iter_init(&it, t, 1, (const struct tp_tensor *const *)(t + 1), 2,
		0, NULL),
	    TP_OK);
	tp_iter_run(&it, add_loop, &sum);
	assert_int_equal(sum.n_calls, 1);

	/* So do transposes of all three: the order of axes is free. */
	for (unsigned k = 0; k < 3; k++)
		assert_int_equal(
		    tp_tensor_transpose(t[k], 0, 2, &turned[k], NULL), TP_OK);
	assert_int_equal(
	    tp_iter_init(&it, turned, 1,
		(const struct tp_tensor *const *)(turned + 1), 2, 0, NULL),
	    TP_OK);
	tp_iter_run(&it, add_loop, &sum);
	assert_int_equal(sum.n_calls, 2);
	for (unsigned k = 0; k < 3; k++) {
		tp_tensor_free(t[k]);
		tp_tensor_free(turned[k]);
	}
}

static void
wrong_operands_are_refused(void **state)
{
	static const int64_t two[] = {2}, grid[] = {3, 2}, many[] = {4, 2};
	struct tp_tensor *small, *large, *wide, *nibbles;
	struct tp_err err = TP_ERR_INIT;
	struct tp_iter it;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_I32, two, 1, &small, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_I32, grid, 2, &large, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_U4, two, 1, &nibbles, NULL), TP_OK);

	/* A result has no place for what broadcasting adds. */
	assert_int_equal(
	    tp_iter_init(&it, &small, 1,
		(const struct tp_tensor *const *)&large, 1, 0, &err),
	    TP_EARG);
	assert_string_equal(err.msg,
	    "operand 0 is written and has shape [2]; the operands together "
	    "have [3, 2]");
	assert_int_equal(
	    tp_iter_init(&it, &nibbles, 1, NULL, 0, 0, &err), TP_EUNSUPPORTED);

	/* Rows that are one row cannot be written one by one. */
	assert_int_equal(tp_tensor_expand(small, many, 2, &wide, NULL), TP_OK);
	assert_int_equal(
	    tp_iter_init(&it, &wide, 1, NULL, 0, 0, &err), TP_EARG);
	assert_non_null(strstr(err.msg, "several elements are one"));
	tp_tensor_free(small);
	tp_tensor_free(large);
	tp_tensor_free(wide);
	tp_tensor_free(nibbles);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shapes_are_joined_by_numpys_rules),
	    cmocka_unit_test(every_element_is_visited_once),
	    cmocka_unit_test(contiguous_operands_come_as_one_run),
	    cmocka_unit_test(wrong_operands_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
