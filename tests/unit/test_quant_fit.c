/* SPDX-License-Identifier: Apache-2.0 */
/* quant_fit.c, quant_store.c, quant_misfit.c against their definitions */
#include "support/cmocka_all.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/quant_fit.h"

#define MAX_ELEMS 4096

static uint64_t seed = 1;

static uint32_t
next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(seed >> 32);
}

/* Roughly normal, with now and then a tail. */
static float
random_weight(void)
{
	float sum = 0;

	for (int i = 0; i < 4; i++)
		sum += (float)next_random() * 0x1p-32f - 0.5f;
	return next_random() % 100 ? sum : sum * 8;
}

struct tensor {
	struct tp_quant_groups g;
	float x[MAX_ELEMS], y[MAX_ELEMS];
	int8_t codes[MAX_ELEMS];
	float low[MAX_ELEMS], high[MAX_ELEMS], scale[MAX_ELEMS];
	int16_t zero[MAX_ELEMS];
	uint64_t n_saturated;
};

static void
fit_all(struct tensor *t, const struct tp_quant_grid *grid, const float *x)
{
	memset(t->low, 0, sizeof(t->low));
	memset(t->high, 0, sizeof(t->high));
	assert_int_equal(tp_quant_range_add(&t->g, 0, 0, x,
			     (size_t)t->g.n_elems, t->low, t->high),
	    t->g.n_elems);
	for (size_t i = 0; i < t->g.n_groups; i++)
		tp_quant_fit(
		    grid, t->low[i], t->high[i], &t->scale[i], &t->zero[i]);
	t->n_saturated = tp_quant_store(&t->g, grid, 0, 0, x,
	    (size_t)t->g.n_elems, t->scale, t->zero, t->codes);
	tp_quant_load(&t->g, grid->is_signed, 0, 0, t->codes,
	    (size_t)t->g.n_elems, t->scale, t->zero, t->y);
}

/* To nearest, ties to even, by comparing with the middle. */
static double
nearest_even(double v)
{
	double below = floor(v), rest = v - below;

	if (rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0))
		below += 1;
	return below;
}

static int
code_of(const struct tp_quant_grid *grid, int8_t code)
{
	return grid->is_signed ? code : (uint8_t)code;
}

static void
check_element(
    const struct tensor *t, const struct tp_quant_grid *grid, size_t i)
{
	size_t group = (size_t)tp_quant_group_of(&t->g, i);
	float s = t->scale[group];
	int zero = t->zero[group], code = code_of(grid, t->codes[i]);
	/*
	 * 53 bits are more than twice 24: the second rounding changes nothing.
	 */
	double want = nearest_even((double)(float)((double)t->x[i] / s)) + zero;

	want = want < grid->lowest ? grid->lowest : want;
	want = want > grid->highest ? grid->highest : want;
	assert_int_equal(code, (int)want);
	assert_true(t->y[i] == (float)((double)(code - zero) * (double)s));
	assert_true(isfinite(t->y[i]));
	if (t->x[i] == 0)
		assert_true(t->y[i] == 0);
	/* Half a step; the outermost code may miss by what rounding the scale
	 * (and of a signed scale, the missing code) takes; where scales are
	 * subnormal, and thus coarse, another step. */
	if (!grid->signed_scale && grid->scale == TP_DTYPE_F32)
		assert_true(
		    fabs((double)t->x[i] - (double)t->y[i]) <=
		    fabs((double)s) * (s < FLT_MIN ? 1.5 : 0.5 + 0x1p-6));
}

static void
check_range(const struct tensor *t, const struct tp_quant_grid *grid)
{
	for (size_t i = 0; i < t->g.n_groups; i++) {
		int zero = t->zero[i];

		assert_true(t->scale[i] != 0 && isfinite(t->scale[i]));
		assert_true(zero >= grid->lowest && zero <= grid->highest);
		if (grid->symmetric)
			assert_int_equal(zero, grid->zero);
		if (t->low[i] == 0 && t->high[i] == 0)
			assert_true(t->scale[i] == 1);
	}
}

/*
 * All that must hold for a tensor, and that quantizing again changes nothing.
 */
static void
check_tensor(struct tensor *t, const struct tp_quant_grid *grid)
{
	static struct tensor again;

	fit_all(t, grid, t->x);
	check_range(t, grid);
	for (size_t i = 0; i < t->g.n_elems; i++)
		check_element(t, grid, i);
	again.g = t->g;
	fit_all(&again, grid, t->y);
	assert_memory_equal(again.codes, t->codes, (size_t)t->g.n_elems);
	assert_memory_equal(
	    again.zero, t->zero, (size_t)t->g.n_groups * sizeof(*t->zero));
	assert_memory_equal(
	    again.scale, t->scale, (size_t)t->g.n_groups * sizeof(*t->scale));
}

static void
set_shape(struct tensor *t, const struct tp_scheme *scheme, unsigned how)
{
	static const int64_t shapes[][3] = {
	    {3, 5, 64}, {1, 1, 1}, {7, 1, 33}, {2, 32, 3}, {16, 16, 16}};
	const int64_t *shape = shapes[how / 6 % 5];
	enum tp_quant_per per[] = {TP_PER_TENSOR, TP_PER_CHANNEL, TP_PER_BLOCK};

	assert_int_equal(tp_quant_groups_init(&t->g, shape, 3,
			     scheme->block ? TP_PER_BLOCK : per[how % 3],
			     scheme->block ? 2 : how / 30 % 3,
			     scheme->block ? scheme->block
			     : how % 2	   ? 5
					   : 32,
			     NULL),
	    TP_OK);
	assert_true(t->g.n_elems <= MAX_ELEMS && t->g.n_groups <= MAX_ELEMS);
}

typedef void for_each_fn(struct tensor *t, const struct tp_quant_grid *grid);

/* Every scheme with a scale, both ways, over many ways of grouping. */
static void
for_each_use(for_each_fn *fill)
{
	static struct tensor t;
	const struct tp_scheme *s;

	for (size_t i = 0; (s = tp_scheme_at(i)); i++) {
		if (s->scale == TP_DTYPE_NONE)
			continue;
		for (unsigned how = 0; how < 180; how++) {
			bool symmetric = s->block || how >= 90;
			struct tp_quant_grid grid =
			    tp_quant_grid_of(s, symmetric);

			set_shape(&t, s, how);
			fill(&t, &grid);
			check_tensor(&t, &grid);
		}
	}
}

static void
fill_random(struct tensor *t, const struct tp_quant_grid *grid)
{
	(void)grid;
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] = random_weight();
}

static void
fill_halves(struct tensor *t, const struct tp_quant_grid *grid)
{
	float step = ldexpf(1, (int)(next_random() % 40) - 20);
	int n = grid->highest - grid->zero;

	/* Largest n steps, so the step is the scale and halves are exact. */
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] =
		    step * 0.5f *
		    (float)((int)(next_random() % (4u * (unsigned)n)) - 2 * n);
}

static void
fill_tiny(struct tensor *t, const struct tp_quant_grid *grid)
{
	(void)grid;
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] =
		    (float)((int)(next_random() % 1001) - 500) * 0x1p-149f;
}

static void
fill_equal(struct tensor *t, const struct tp_quant_grid *grid)
{
	float v = random_weight();

	(void)grid;
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] = v;
}

static void
fill_zero(struct tensor *t, const struct tp_quant_grid *grid)
{
	(void)grid;
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] = i % 2 ? 0.0f : -0.0f;
}

static void
random_weights(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		for_each_use(fill_random);
}

static void
exact_halves(void **state)
{
	(void)state;
	for_each_use(fill_halves);
}

static void
all_equal(void **state)
{
	(void)state;
	for_each_use(fill_equal);
}

static void
all_zero(void **state)
{
	(void)state;
	for_each_use(fill_zero);
}

/* Each group by itself, with scales that are powers of two or subnormal. */
static void
odd_numbers(void **state)
{
	static const float odd[] = {FLT_MAX, -FLT_MAX, 0x1p-149f, -0x1p-149f,
	    FLT_MIN, 1e30f, -1e30f, 1, -1, 0.1f};
	enum { N_ODD = sizeof(odd) / sizeof(odd[0]) };
	static struct tensor t;
	const struct tp_scheme *s;
	const int64_t shape[] = {3};

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 1, TP_PER_TENSOR, 0, 0, NULL),
	    TP_OK);
	for (size_t i = 0; (s = tp_scheme_at(i)); i++)
		for (unsigned k = 0; k < 2 * N_ODD * N_ODD; k++) {
			struct tp_quant_grid grid =
			    tp_quant_grid_of(s, s->block || k % 2);

			if (s->scale != TP_DTYPE_F32)
				continue;
			t.x[0] = odd[k / 2 % N_ODD];
			t.x[1] = odd[k / 2 / N_ODD];
			t.x[2] = 1e-3f;
			fit_all(&t, &grid, t.x);
			check_range(&t, &grid);
			for (size_t e = 0; e < 3; e++)
				assert_true(isfinite(t.y[e]));
		}
}

/* Near the end of what floats can say no number becomes infinite. */
static void
huge_numbers(void **state)
{
	static struct tensor t;
	const struct tp_scheme *s;
	const int64_t shape[] = {3};

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 1, TP_PER_TENSOR, 0, 0, NULL),
	    TP_OK);
	/* The scale for these is a long way below range / 255. */
	memcpy(t.x, (const float[]){-0x1.ff933cp127f, 0x1.b47cdep127f, 0},
	    3 * sizeof(float));
	for (size_t i = 0; (s = tp_scheme_at(i)); i++)
		for (unsigned k = 0; k < 40000; k++) {
			struct tp_quant_grid grid =
			    tp_quant_grid_of(s, s->block || k % 2);

			if (s->scale != TP_DTYPE_F32)
				continue;
			fit_all(&t, &grid, t.x);
			check_range(&t, &grid);
			for (size_t e = 0; e < 3; e++) {
				float off = t.x[e] / 2 - t.y[e] / 2;

				assert_true(isfinite(t.y[e]));
				assert_true(fabsf(off) <= t.scale[0] * 0.75f);
				t.x[e] =
				    ldexpf((float)(int32_t)next_random(), 97);
			}
		}
}

/* With some bits of a subnormal scale, and of a half. */
static void
fill_small(struct tensor *t, const struct tp_quant_grid *grid)
{
	for (size_t i = 0; i < t->g.n_elems; i++)
		t->x[i] = ldexpf(random_weight(),
		    (grid->scale == TP_DTYPE_F16 ? -30 : -150) +
			(int)(i % 97 / 4));
}

static void
subnormals(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		for_each_use(fill_tiny);
		for_each_use(fill_small);
	}
}

static void
one_outlier_in_a_channel(void **state)
{
	static struct tensor t;
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("int8"), true);
	const int64_t shape[] = {3, 64};

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 2, TP_PER_CHANNEL, 0, 0, NULL),
	    TP_OK);
	fill_random(&t, &grid);
	t.x[70] = 1e30f;
	check_tensor(&t, &grid);
	/* The others know nothing of it; in its own all is lost but itself. */
	assert_true(t.scale[0] < 1 && t.scale[2] < 1);
	assert_true(t.scale[1] == 1e30f / 127);
	for (size_t i = 64; i < 128; i++)
		assert_int_equal(t.codes[i], i == 70 ? 127 : 0);
}

/* Rows of zeros, of a plain scale, and of one below what a half can say. */
static void
rows_of_the_cases(void **state)
{
	static struct tensor t;
	const float x[] = {0, 0, 0, 1.0f, -1.27f, 0.5f, 1e-6f, -1e-6f, 0};
	const int8_t want[] = {0, 0, 0, 100, -127, 50, 127, -127, 0};
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("int8"), true);
	const int64_t shape[] = {3, 3};

	(void)state;
	memcpy(t.x, x, sizeof(x));
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 2, TP_PER_CHANNEL, 0, 0, NULL),
	    TP_OK);
	check_tensor(&t, &grid);
	assert_memory_equal(t.codes, want, sizeof(want));
	assert_true(t.scale[0] == 1);
	assert_true(t.scale[1] == 1.27f / 127);
	assert_true(t.scale[2] == 1e-6f / 127);
	assert_int_equal(t.n_saturated, 0);
}

/* uint8 of -1 … 2: the zero point is -low / scale = 85, exactly. */
static void
zero_has_a_code(void **state)
{
	static struct tensor t;
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("uint8"), false);
	const int64_t shape[] = {4};

	(void)state;
	memcpy(t.x, (const float[]){-1, 0, 0.5f, 2}, 4 * sizeof(float));
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 1, TP_PER_TENSOR, 0, 0, NULL),
	    TP_OK);
	check_tensor(&t, &grid);
	assert_int_equal(t.zero[0], 85);
	assert_true(t.scale[0] == (float)(3.0 / 255));
	/* 0.5 / scale is 42.5 or a little off: 42 or 43. */
	assert_int_equal(t.codes[0], 0);
	assert_int_equal(t.codes[1], 85);
	assert_int_equal((uint8_t)t.codes[3], 255);
	/* All of one sign: the range still begins at zero. */
	memcpy(t.x, (const float[]){1, 2, 3, 5.1f}, 4 * sizeof(float));
	check_tensor(&t, &grid);
	assert_int_equal(t.zero[0], 0);
	assert_true(t.scale[0] == (float)((double)5.1f / 255));
}

static void
saturation_is_counted(void **state)
{
	static struct tensor t;
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("int8"), true);
	const float x[] = {127.5f, -127.5f, 127.49f, 1e38f, -1e38f, 126.5f};
	const int64_t shape[] = {6};
	const float scale = 1, tiny = 0x1p-149f;
	const int16_t zero = 0;

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 1, TP_PER_TENSOR, 0, 0, NULL),
	    TP_OK);
	assert_int_equal(
	    tp_quant_store(&t.g, &grid, 0, 0, x, 6, &scale, &zero, t.codes), 4);
	assert_memory_equal(
	    t.codes, ((const int8_t[]){127, -127, 127, 127, -127, 126}), 6);
	assert_int_equal(
	    tp_quant_store(&t.g, &grid, 0, 0, x, 6, &tiny, &zero, t.codes), 6);
}

static void
what_is_not_finite_is_found(void **state)
{
	static struct tensor t;
	static const float bad[] = {NAN, INFINITY, -INFINITY};
	const int64_t shape[] = {2, 50, 3};

	(void)state;
	for (unsigned how = 0; how < 9; how++)
		for (size_t at = 0; at < 300; at++) {
			assert_int_equal(
			    tp_quant_groups_init(&t.g, shape, 3,
				(enum tp_quant_per)(how / 3), how % 3, 7, NULL),
			    TP_OK);
			memset(t.x, 0, sizeof(t.x));
			t.x[at] = bad[at % 3];
			t.x[299] = NAN;
			assert_int_equal(tp_quant_range_add(&t.g, 0, 0, t.x,
					     300, t.low, t.high),
			    at);
		}
}

/* Any division into pieces gives the same. */
static void
pieces_do_not_matter(void **state)
{
	static struct tensor t, p;
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("uint4"), false);
	static double whole[MAX_ELEMS], parts[MAX_ELEMS];
	const struct tp_scheme *s = tp_scheme_find("uint4");

	(void)state;
	for (unsigned how = 0; how < 90; how++) {
		size_t n, step = 1 + next_random() % 100;
		uint64_t n_saturated = 0;

		set_shape(&t, s, how);
		fill_random(&t, &grid);
		fit_all(&t, &grid, t.x);
		n = (size_t)t.g.n_elems;
		memset(whole, 0, sizeof(whole));
		memset(parts, 0, sizeof(parts));
		tp_quant_misfit_add(
		    &t.g, &grid, 0, 0, t.x, n, t.scale, t.zero, whole);
		memset(p.low, 0, sizeof(p.low));
		memset(p.high, 0, sizeof(p.high));
		for (size_t i = 0; i < n; i += step) {
			size_t k = n - i < step ? n - i : step;

			tp_quant_range_add(
			    &t.g, 0, i, t.x + i, k, p.low, p.high);
			n_saturated += tp_quant_store(&t.g, &grid, 0, i,
			    t.x + i, k, t.scale, t.zero, p.codes + i);
			tp_quant_load(&t.g, grid.is_signed, 0, i, p.codes + i,
			    k, t.scale, t.zero, p.y + i);
			tp_quant_misfit_add(&t.g, &grid, 0, i, t.x + i, k,
			    t.scale, t.zero, parts);
		}
		n = (size_t)t.g.n_groups;
		assert_memory_equal(p.low, t.low, n * sizeof(float));
		assert_memory_equal(p.high, t.high, n * sizeof(float));
		assert_memory_equal(parts, whole, n * sizeof(double));
		n = (size_t)t.g.n_elems;
		assert_memory_equal(p.codes, t.codes, n);
		assert_memory_equal(p.y, t.y, n * sizeof(float));
		assert_int_equal(n_saturated, t.n_saturated);
	}
}

/* The codes of tp_quantize, which knows nothing of all this. */
static void
agrees_with_tp_quantize(void **state)
{
	static struct tensor t;
	struct tp_tensor *x = NULL, *scale = NULL, *zero = NULL, *q = NULL;
	const struct tp_quant_grid grid =
	    tp_quant_grid_of(tp_scheme_find("uint8"), false);
	const int64_t shape[] = {9, 70, 2}, scales[] = {9, 3, 2};
	struct tp_quant_params params = {
	    .scheme = TP_QUANT_ASYMMETRIC,
	    .per = TP_PER_BLOCK,
	    .axis = 1,
	    .block = 32,
	};

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&t.g, shape, 3, TP_PER_BLOCK, 1, 32, NULL),
	    TP_OK);
	fill_random(&t, &grid);
	check_tensor(&t, &grid);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, shape, 3, &x, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, scales, 3, &scale, NULL),
	    TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_I16, scales, 3, &zero, NULL), TP_OK);
	memcpy(tp_tensor_data_mut(x), t.x, sizeof(float) * 9 * 70 * 2);
	memcpy(tp_tensor_data_mut(scale), t.scale, sizeof(float) * 54);
	memcpy(tp_tensor_data_mut(zero), t.zero, sizeof(int16_t) * 54);
	params.scale = scale;
	params.zero_point = zero;
	assert_int_equal(
	    tp_quantize(x, &params, TP_DTYPE_U8, &q, NULL, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(q), t.codes, 9 * 70 * 2);
	tp_tensor_free(q);
	tp_tensor_free(zero);
	tp_tensor_free(scale);
	tp_tensor_free(x);
}

static void
impossible_groups_are_refused(void **state)
{
	struct tp_quant_groups g = {.outer = 77};
	const int64_t shape[] = {2, 3}, huge[] = {INT64_MAX, INT64_MAX};

	(void)state;
	assert_int_equal(
	    tp_quant_groups_init(&g, shape, 2, TP_PER_CHANNEL, 2, 0, NULL),
	    TP_EARG);
	assert_int_equal(
	    tp_quant_groups_init(&g, shape, 2, TP_PER_BLOCK, 1, 0, NULL),
	    TP_EARG);
	assert_int_equal(
	    tp_quant_groups_init(&g, huge, 2, TP_PER_TENSOR, 0, 0, NULL),
	    TP_ELIMIT);
	assert_int_equal(g.outer, 77);
	assert_null(tp_scheme_find("int3"));
	assert_null(tp_scheme_find(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_weights),
	    cmocka_unit_test(exact_halves),
	    cmocka_unit_test(all_equal),
	    cmocka_unit_test(all_zero),
	    cmocka_unit_test(odd_numbers),
	    cmocka_unit_test(huge_numbers),
	    cmocka_unit_test(subnormals),
	    cmocka_unit_test(one_outlier_in_a_channel),
	    cmocka_unit_test(rows_of_the_cases),
	    cmocka_unit_test(zero_has_a_code),
	    cmocka_unit_test(saturation_is_counted),
	    cmocka_unit_test(what_is_not_finite_is_found),
	    cmocka_unit_test(pieces_do_not_matter),
	    cmocka_unit_test(agrees_with_tp_quantize),
	    cmocka_unit_test(impossible_groups_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
