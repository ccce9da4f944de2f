/* SPDX-License-Identifier: Apache-2.0 */
/* vmap: every function equals a loop over examples, in numbers and gradients */
#include "support/functions.h"

#include "support/fail_alloc.h"

#include "tp/layout.h"
#include "tp/vmap.h"

#define BATCH 3

/* The function of a case, as tp_vmap calls it. */
static enum tp_status
call_case(void *ctx, args_t in, size_t n, struct tp_tensor **out, size_t n_out,
    struct tp_err *err)
{
	const struct function_case *c = ctx;

	(void)n_out;
	return c->fn(NULL, in, n, out, err);
}

/* In place on a result, then on a view of it. */
static enum tp_status
call_in_place(
    void *ctx, args_t in, size_t n, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *y = NULL, *v = NULL;
	enum tp_status rc = tp_neg(in[0], &y, err);

	(void)ctx;
	(void)n;
	if (!rc)
		rc = tp_add_(y, in[1], err);
	if (!rc)
		rc = tp_transpose(y, 0, 1, &v, err);
	if (!rc)
		rc = tp_sub_(v, in[2], err);
	tp_tensor_free(y);
	if (rc)
		tp_tensor_free(v);
	else
		*out = v;
	return rc;
}

static const struct function_case in_place = {
    "in place", call_in_place, -1, 1, {"26", "6", "62"}};

/* An input of f32: examples along an axis, or one for all. */
static struct tp_tensor *
make_input(const char *shape, int axis, double low, double high, uint64_t *seed)
{
	struct tp_tensor *t = NULL;
	int64_t sizes[8];
	unsigned rank = 0;

	for (; shape[rank]; rank++)
		sizes[rank] = shape[rank] - '0';
	if (axis != TP_VMAP_NONE) {
		unsigned at =
		    (unsigned)(axis < 0 ? axis + (int)rank + 1 : axis);

		memmove(
		    sizes + at + 1, sizes + at, (rank - at) * sizeof(*sizes));
		sizes[at] = BATCH;
		rank++;
	}
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, rank, &t, err));
	fill_random(t, low, high, seed);
	RUN(tp_tensor_set_requires_grad(t, true, err));
	return t;
}

/* The same by a loop over examples, with histories of the inputs. */
static void
run_loop(const struct function_case *c, args_t in, const int *axes, size_t n,
    struct tp_tensor **results)
{
	for (int64_t b = 0; b < BATCH; b++) {
		struct tp_tensor *one[3] = {NULL, NULL, NULL};
		const struct tp_tensor *seen[3];

		for (size_t k = 0; k < n; k++) {
			if (axes[k] != TP_VMAP_NONE)
				RUN(tp_select(in[k], axes[k], b, &one[k], err));
			seen[k] = one[k] ? one[k] : in[k];
		}
		RUN(c->fn(NULL, seen, n, &results[b], err));
		for (size_t k = 0; k < n; k++)
			tp_tensor_free(one[k]);
	}
}

static void
check_equal(const char *name, const struct tp_tensor *got,
    const struct tp_tensor *want, double tolerance)
{
	assert_int_equal(tp_tensor_rank(got), tp_tensor_rank(want));
	for (unsigned d = 0; d < tp_tensor_rank(got); d++)
		assert_int_equal(
		    tp_tensor_sizes(got)[d], tp_tensor_sizes(want)[d]);
	for (uint64_t i = 0; i < tp_tensor_numel(got); i++) {
		double x = number_at(got, i), y = number_at(want, i);

		if (fabs(x - y) <= tolerance * (1 + fabs(y)))
			continue;
		print_error("%s: element %u is %.9g, the loop has %.9g\n", name,
		    (unsigned)i, x, y);
		fail();
	}
}

/*
 * Outputs to the last bit; gradients of all inputs, where the two add up in
 * different orders, nearly.
 */
static void
check_case(const struct function_case *c, const int *axes, int out_axis)
{
	struct tp_tensor *in[3], *y = NULL, *results[BATCH], *part = NULL;
	struct tp_tensor *want[3];
	struct function_case called = *c; /* tp_vmap passes it on, writable */
	uint64_t seed = 7;
	size_t n = 0;

	for (; n < FUNCTION_INPUTS && c->shapes[n]; n++)
		in[n] =
		    make_input(c->shapes[n], axes[n], c->low, c->high, &seed);
	run_loop(c, (args_t)in, axes, n, results);
	RUN(tp_vmap(
	    call_case, &called, axes, (args_t)in, n, &out_axis, &y, 1, err));
	for (int64_t b = 0; b < BATCH; b++) {
		RUN(tp_select(y, out_axis, b, &part, err));
		check_equal(c->name, part, results[b], 0);
		RUN(tp_backward(results[b], results[b], err));
		tp_tensor_free(part);
	}
	for (size_t k = 0; k < n; k++) {
		RUN(tp_tensor_clone(tp_tensor_grad(in[k]), TP_LAYOUT_CONTIGUOUS,
		    &want[k], err));
		tp_tensor_clear_grad(in[k]);
	}
	RUN(tp_backward(y, y, err));
	for (size_t k = 0; k < n; k++) {
		check_equal(c->name, tp_tensor_grad(in[k]), want[k], 1e-5);
		tp_tensor_free(want[k]);
		tp_tensor_free(in[k]);
	}
	for (size_t b = 0; b < BATCH; b++)
		tp_tensor_free(results[b]);
	tp_tensor_free(y);
}

/* Examples first in some inputs, last in others, and one input for all. */
static void
check_all_ways(const struct function_case *c)
{
	for (unsigned mask = 1; mask < 1u << FUNCTION_INPUTS; mask++) {
		int axes[FUNCTION_INPUTS];
		size_t n = 0;

		for (; n < FUNCTION_INPUTS && c->shapes[n]; n++)
			axes[n] = !(mask >> n & 1) ? TP_VMAP_NONE
				  : (mask + n) % 2 ? 0
						   : -1;
		/* What is written to must have the examples. */
		if (mask >> n || (c == &in_place && !(mask & 1)))
			continue;
		check_case(c, axes, mask % 2 ? 0 : -1);
	}
}

static void
every_function_equals_a_loop(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(function_cases); i++)
		check_all_ways(&function_cases[i]);
	check_all_ways(&in_place);
}

/* An outer product by two calls in each other: y[i, j] = a[i] * b[j]. */
static enum tp_status
inner(void *ctx, args_t in, size_t n, struct tp_tensor **out, size_t n_out,
    struct tp_err *err)
{
	(void)n;
	(void)n_out;
	if (tp_tensor_rank(in[0]) || tp_tensor_rank(ctx))
		return TP_EARG;
	return tp_mul(ctx, in[0], out, err);
}

static enum tp_status
outer(void *ctx, args_t in, size_t n, struct tp_tensor **out, size_t n_out,
    struct tp_err *err)
{
	static const int first[] = {0};

	(void)ctx;
	(void)n;
	(void)n_out;
	/* A function takes its context as it likes; this one does not write. */
	return tp_vmap(inner, (void *)(uintptr_t)in[0], first, in + 1, 1, first,
	    out, 1, err);
}

static void
calls_nest(void **state)
{
	static const int64_t two[] = {2}, three[] = {3};
	static const double x[] = {1, 2, 3};
	static const int axes[] = {0, TP_VMAP_NONE}, out_axes[] = {1};
	struct tp_tensor *in[] = {tensor_of(NULL, TP_DTYPE_F32, two, 1, x),
	    tensor_of(NULL, TP_DTYPE_F32, three, 1, x)};
	struct tp_tensor *y = NULL;

	(void)state;
	RUN(tp_vmap(outer, NULL, axes, (args_t)in, 2, out_axes, &y, 1, err));
	assert_int_equal(tp_tensor_rank(y), 2);
	assert_int_equal(tp_tensor_sizes(y)[0], 3);
	assert_int_equal(tp_tensor_sizes(y)[1], 2);
	for (uint64_t i = 0; i < 6; i++)
		assert_true(number_at(y, i) == x[i / 2] * x[i % 2]);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
	tp_tensor_free(y);
}

/* Two outputs: the input itself, and something that no example changes. */
static enum tp_status
two_outputs(void *ctx, args_t in, size_t n, struct tp_tensor **out,
    size_t n_out, struct tp_err *err)
{
	enum tp_status rc;

	(void)ctx;
	(void)n;
	(void)n_out;
	assert_true(tp_tensor_is_batch(in[0]));
	assert_false(tp_tensor_is_batch(in[1]));
	rc = tp_tensor_alias(in[0], &out[0], err);
	return rc ? rc : tp_exp(in[1], &out[1], err);
}

/* Fails after its first output. */
static enum tp_status
only_one(void *ctx, args_t in, size_t n, struct tp_tensor **out, size_t n_out,
    struct tp_err *err)
{
	enum tp_status rc = two_outputs(ctx, in, n, out, n_out, err);

	tp_tensor_free(rc ? NULL : out[1]);
	out[1] = NULL;
	return rc ? rc : tp_fail(err, TP_ELIMIT, TP_NO_OFFSET, "one is enough");
}

/* Views that know nothing of batches would see the first example alone. */
static enum tp_status
raw_view(void *ctx, args_t in, size_t n, struct tp_tensor **out, size_t n_out,
    struct tp_err *err)
{
	(void)ctx;
	(void)n;
	(void)n_out;
	return tp_tensor_transpose(in[0], 0, 0, &out[0], err);
}

/* The place is one, the results are many. */
static enum tp_status
write_shared(void *ctx, args_t in, size_t n, struct tp_tensor **out,
    size_t n_out, struct tp_err *err)
{
	(void)n;
	(void)n_out;
	(void)out;
	return tp_add_(ctx, in[0], err);
}

static void
outputs_and_errors(void **state)
{
	struct function_case called = {.fn = call_exp};
	static const int64_t two[] = {2}, three[] = {3}, none[] = {0, 2};
	static const double x[] = {1, 2, 3};
	static const int axes[] = {0, TP_VMAP_NONE}, both[] = {0, 0};
	static const int far[] = {1, 0}, out_axes[] = {0, -1};
	struct tp_tensor *in[] = {tensor_of(NULL, TP_DTYPE_F32, two, 1, x),
	    tensor_of(NULL, TP_DTYPE_F32, three, 1, x)};
	struct tp_tensor *y[2], *empty = NULL;
	struct tp_err found = TP_ERR_INIT;

	(void)state;
	RUN(tp_vmap(
	    two_outputs, NULL, axes, (args_t)in, 2, out_axes, y, 2, err));
	assert_true(number_at(y[0], 1) == 2);
	assert_int_equal(tp_tensor_sizes(y[1])[0], 3);
	assert_int_equal(tp_tensor_sizes(y[1])[1], 2);
	assert_true(number_at(y[1], 4) == number_at(y[1], 5));
	tp_tensor_free(y[0]);
	tp_tensor_free(y[1]);

	assert_int_equal(tp_vmap(only_one, NULL, axes, (args_t)in, 2, out_axes,
			     y, 2, &found),
	    TP_ELIMIT);
	assert_null(y[0]);
	assert_int_equal(tp_vmap(two_outputs, NULL, both, (args_t)in, 2,
			     out_axes, y, 2, &found),
	    TP_EARG);
	assert_string_equal(found.msg, "input 1 has 3 examples, input 0 has 2");
	assert_int_equal(tp_vmap(two_outputs, NULL, far, (args_t)in, 2,
			     out_axes, y, 2, &found),
	    TP_EARG);
	assert_string_equal(found.msg, "axis 1 of input 0, which has rank 1");
	assert_int_equal(tp_vmap(two_outputs, NULL, axes + 1, (args_t)in, 1,
			     out_axes, y, 1, &found),
	    TP_EARG);
	assert_string_equal(found.msg, "no input has an axis of examples");
	assert_int_equal(tp_vmap(write_shared, in[1], axes, (args_t)in, 1,
			     out_axes, y, 1, &found),
	    TP_EARG);
	assert_non_null(strstr(found.msg, "its place does not"));
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, none, 2, &empty, err));
	assert_int_equal(tp_vmap(raw_view, NULL, axes, (args_t)&empty, 1,
			     out_axes, y, 1, &found),
	    TP_EUNSUPPORTED);
	/* No example at all has a result of the right shape. */
	RUN(tp_vmap(
	    call_case, &called, axes, (args_t)&empty, 1, out_axes, y, 1, err));
	assert_int_equal(tp_tensor_rank(y[0]), 2);
	assert_int_equal(tp_tensor_sizes(y[0])[1], 2);
	tp_tensor_free(y[0]);
	tp_tensor_free(empty);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

static enum tp_status
map_with(const struct tp_alloc *alloc)
{
	struct function_case called = {.fn = call_norm_1};
	static const int64_t sizes[] = {2, 2, 3};
	static const int axes[] = {0, 1, TP_VMAP_NONE}, out_axes[] = {0};
	struct tp_tensor *in[3] = {NULL, NULL, NULL}, *y = NULL;
	enum tp_status rc = TP_OK;

	for (unsigned k = 0; k < 3 && !rc; k++)
		rc = tp_tensor_empty(alloc, TP_DTYPE_F32, sizes + (k == 2),
		    k == 2 ? 2 : 3, &in[k], NULL);
	if (!rc)
		rc = tp_tensor_set_requires_grad(in[0], true, NULL);
	if (!rc)
		rc = tp_vmap(call_case, &called, axes, (args_t)in, 3, out_axes,
		    &y, 1, NULL);
	if (rc)
		assert_null(y);
	tp_tensor_free(y);
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = map_with(&a.alloc);
	assert_true(a.n_rounds > 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_function_equals_a_loop),
	    cmocka_unit_test(calls_nest),
	    cmocka_unit_test(outputs_and_errors),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
