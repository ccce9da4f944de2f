/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random chains of views against a plain model that keeps a list of values.
 * TP_TEST_SEED and TP_TEST_CHAINS choose others and more.
 */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "support/random.h"
#include "support/tensors.h"

/*
 * The model: the sizes, and all values in row-major order. Each operation is
 * written on indices, knowing nothing of strides.
 */
#define MODEL_RANK 8
#define MODEL_ELEMS 4096

struct model {
	unsigned rank;
	int64_t sizes[MODEL_RANK];
	size_t n;
	int32_t values[MODEL_ELEMS];
};

static uint64_t rng_state;

static uint64_t
rng(uint64_t n)
{
	return random_next(&rng_state) % n;
}

/* The value of m at an index. */
static int32_t
model_get(const struct model *m, const int64_t *index)
{
	size_t at = 0;

	for (unsigned d = 0; d < m->rank; d++)
		at = at * (size_t)m->sizes[d] + (size_t)index[d];
	return m->values[at];
}

/* Fill `to`, whose sizes are set, by asking `source` for each index. */
typedef void source_index(const int64_t *index, int64_t *from, void *ctx);

static void
model_fill(
    struct model *to, const struct model *m, source_index *source, void *ctx)
{
	int64_t index[MODEL_RANK] = {0};

	to->n = 1;
	for (unsigned d = 0; d < to->rank; d++)
		to->n *= (size_t)to->sizes[d];
	for (size_t i = 0; i < to->n; i++) {
		int64_t from[MODEL_RANK] = {0};

		source(index, from, ctx);
		to->values[i] = model_get(m, from);
		for (unsigned d = to->rank; d-- > 0;) {
			if (++index[d] < to->sizes[d])
				break;
			index[d] = 0;
		}
	}
}

struct step {
	enum step_kind {
		SLICE,
		SELECT,
		TRANSPOSE,
		PERMUTE,
		FLIP,
		EXPAND,
		SQUEEZE,
		UNSQUEEZE,
		RESHAPE,
		UNFOLD,
		N_STEPS
	} kind;
	unsigned rank; /* before */
	unsigned axis, axis2;
	int64_t start, step;
	int axes[MODEL_RANK];
	bool repeated[MODEL_RANK];
};

static void
step_source(const int64_t *index, int64_t *from, void *ctx)
{
	const struct step *s = ctx;

	for (unsigned d = 0; d < s->rank; d++)
		from[d] = index[d];
	switch (s->kind) {
	case SLICE:
	case FLIP:
		from[s->axis] = s->start + index[s->axis] * s->step;
		break;
	case SELECT:
	case SQUEEZE:
		for (unsigned d = s->rank; d-- > s->axis + 1;)
			from[d] = index[d - 1];
		from[s->axis] = s->start;
		break;
	case TRANSPOSE:
		from[s->axis] = index[s->axis2];
		from[s->axis2] = index[s->axis];
		break;
	case PERMUTE:
		for (unsigned d = 0; d < s->rank; d++)
			from[s->axes[d]] = index[d];
		break;
	case EXPAND:
		for (unsigned d = 0; d < s->rank; d++)
			if (s->repeated[d])
				from[d] = 0;
		break;
	case UNSQUEEZE:
		for (unsigned d = s->axis; d < s->rank; d++)
			from[d] = index[d + 1];
		break;
	case UNFOLD:
		from[s->axis] = index[s->axis] * s->step + index[s->rank];
		break;
	case RESHAPE:
	case N_STEPS:
		break;
	}
}

/* A random bound of a slice, often omitted or far outside. */
static int64_t
random_bound(int64_t size)
{
	if (rng(4) == 0)
		return TP_OMIT;
	return (int64_t)rng((uint64_t)(4 * size + 5)) - 2 * size - 2;
}

/* The indices that Python's range(*slice(…).indices(size)) has. */
static int64_t
model_slice(
    int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *first)
{
	int64_t n = 0;

	if (start == TP_OMIT)
		start = step > 0 ? 0 : size - 1;
	else if (start < 0)
		start += size;
	if (stop == TP_OMIT)
		stop = step > 0 ? size : -1;
	else if (stop < 0)
		stop = stop + size < 0 ? (step > 0 ? 0 : -1) : stop + size;
	/* Walk in from outside, as clamping does. */
	if (step > 0 && start < 0)
		start = 0;
	if (step < 0 && start >= size)
		start = size - 1;
	*first = start;
	for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
		if (i < 0 || i >= size)
			break;
		n++;
	}
	return n;
}

/*
 * One random view of t and of the model; false when this kind does not suit.
 * The new model is in *to.
 */
static bool
random_step(const struct tp_tensor *t, const struct model *m, struct model *to,
    struct tp_tensor **out)
{
	struct step s = {.rank = m->rank};
	int64_t sizes[MODEL_RANK + 1];
	enum tp_status rc = TP_OK;
	int sign = rng(2) ? (int)m->rank : 0; /* negative axes at times */

	s.kind = (enum step_kind)rng(N_STEPS);
	if (m->rank == 0 && s.kind != UNSQUEEZE && s.kind != EXPAND)
		return false;
	if (m->rank) {
		s.axis = (unsigned)rng(m->rank);
		s.axis2 = (unsigned)rng(m->rank);
	}
	to->rank = m->rank;
	memcpy(to->sizes, m->sizes, sizeof(m->sizes));
	s.step = 1;
	switch (s.kind) {
	case SLICE: {
		int64_t start = random_bound(m->sizes[s.axis]);
		int64_t stop = random_bound(m->sizes[s.axis]);

		s.step = (int64_t)rng(4) + 1;
		s.step = rng(2) ? s.step : -s.step;
		to->sizes[s.axis] = model_slice(
		    m->sizes[s.axis], start, stop, s.step, &s.start);
		rc = tp_tensor_slice(
		    t, (int)s.axis - sign, start, stop, s.step, out, NULL);
		break;
	}
	case FLIP:
		s.step = -1;
		s.start = m->sizes[s.axis] - 1;
		rc = tp_tensor_flip(t, (int)s.axis - sign, out, NULL);
		break;
	case SELECT: {
		int64_t size = m->sizes[s.axis];

		if (size == 0)
			return false;
		s.start = (int64_t)rng((uint64_t)size);
		for (unsigned d = s.axis + 1; d < m->rank; d++)
			to->sizes[d - 1] = m->sizes[d];
		to->rank--;
		rc = tp_tensor_select(t, (int)s.axis - sign,
		    rng(2) ? s.start : s.start - size, out, NULL);
		break;
	}
	case SQUEEZE:
		if (m->sizes[s.axis] != 1)
			return false;
		for (unsigned d = s.axis + 1; d < m->rank; d++)
			to->sizes[d - 1] = m->sizes[d];
		to->rank--;
		rc = tp_tensor_squeeze(t, (int)s.axis - sign, out, NULL);
		break;
	case TRANSPOSE:
		to->sizes[s.axis] = m->sizes[s.axis2];
		to->sizes[s.axis2] = m->sizes[s.axis];
		rc = tp_tensor_transpose(
		    t, (int)s.axis - sign, (int)s.axis2, out, NULL);
		break;
	case PERMUTE:
		for (unsigned d = 0; d < m->rank; d++)
			s.axes[d] = (int)d;
		for (unsigned d = m->rank; d-- > 1;) {
			unsigned other = (unsigned)rng(d + 1);
			int a = s.axes[d];

			s.axes[d] = s.axes[other];
			s.axes[other] = a;
		}
		for (unsigned d = 0; d < m->rank; d++)
			to->sizes[d] = m->sizes[s.axes[d]];
		rc = tp_tensor_permute(t, s.axes, m->rank, out, NULL);
		break;
	case EXPAND: {
		size_t n = m->n;

		for (unsigned d = 0; d < m->rank; d++) {
			sizes[d] = rng(2) ? -1 : m->sizes[d];
			if (m->sizes[d] != 1 || rng(2) || n > 1000)
				continue;
			sizes[d] = to->sizes[d] = (int64_t)rng(4);
			s.repeated[d] = true;
			n *= (size_t)to->sizes[d];
		}
		rc = tp_tensor_expand(t, sizes, m->rank, out, NULL);
		break;
	}
	case UNSQUEEZE:
		if (m->rank == MODEL_RANK)
			return false;
		s.axis = (unsigned)rng(m->rank + 1);
		for (unsigned d = m->rank; d > s.axis; d--)
			to->sizes[d] = m->sizes[d - 1];
		to->sizes[s.axis] = 1;
		to->rank++;
		rc = tp_tensor_unsqueeze(t,
		    sign ? (int)s.axis - (int)m->rank - 1 : (int)s.axis, out,
		    NULL);
		break;
	case UNFOLD: {
		int64_t size = m->sizes[s.axis], window;

		if (m->rank == MODEL_RANK || m->n > 1000 || size == 0)
			return false;
		window = (int64_t)rng((uint64_t)size + 1);
		window = window > 3 ? 3 : window;
		s.step = (int64_t)rng(3) + 1;
		to->sizes[s.axis] = (size - window) / s.step + 1;
		to->sizes[to->rank++] = window;
		rc = tp_tensor_unfold(
		    t, (int)s.axis - sign, window, s.step, out, NULL);
		break;
	}
	case RESHAPE: {
		int64_t joined;

		/* Join two neighbours, or cut an even axis in two. */
		if (s.axis + 1 < m->rank && rng(2)) {
			joined = m->sizes[s.axis] * m->sizes[s.axis + 1];
			to->sizes[s.axis] = joined;
			for (unsigned d = s.axis + 2; d < m->rank; d++)
				to->sizes[d - 1] = m->sizes[d];
			to->rank--;
		} else if (m->rank < MODEL_RANK && m->sizes[s.axis] % 2 == 0) {
			for (unsigned d = m->rank; d > s.axis + 1; d--)
				to->sizes[d] = m->sizes[d - 1];
			to->sizes[s.axis] = m->sizes[s.axis] / 2;
			to->sizes[s.axis + 1] = 2;
			to->rank++;
		} else {
			return false;
		}
		rc = tp_tensor_reshape(t, to->sizes, to->rank, out, NULL);
		if (rc == TP_EUNSUPPORTED)
			return false;
		to->n = m->n;
		memcpy(to->values, m->values, m->n * sizeof(*m->values));
		assert_int_equal(rc, TP_OK);
		return true;
	}
	case N_STEPS:
		return false;
	}
	assert_int_equal(rc, TP_OK);
	model_fill(to, m, step_source, &s);
	return true;
}

/* Sizes and values agree, whole, packed, and in a random range. */
static void
compare(const struct tp_tensor *t, const struct model *m)
{
	static int32_t got[MODEL_ELEMS + 1];
	struct tp_strided s = tp_tensor_strided(t);
	struct tp_tensor *c = NULL;
	size_t from = m->n ? (size_t)rng(m->n) : 0;
	size_t n = m->n ? (size_t)rng(m->n - from + 1) : 0;

	assert_int_equal(tp_tensor_rank(t), m->rank);
	for (unsigned d = 0; d < m->rank; d++)
		assert_int_equal(tp_tensor_sizes(t)[d], m->sizes[d]);
	assert_int_equal(tp_tensor_numel(t), m->n);
	got[n] = -77;
	tp_gather(&s, from, n, got);
	assert_memory_equal(got, m->values + from, n * sizeof(*got));
	assert_int_equal(got[n], -77);
	/* A clone has the order of t in memory or is row-major, and is new. */
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &c, NULL), TP_OK);
	assert_false(tp_tensor_is_view(c));
	assert_ptr_not_equal(tp_tensor_storage(c), tp_tensor_storage(t));
	s = tp_tensor_strided(c);
	tp_gather(&s, 0, m->n, got);
	assert_memory_equal(got, m->values, m->n * sizeof(*got));
	tp_tensor_free(c);
	assert_int_equal(tp_tensor_contiguous(t, &c, NULL), TP_OK);
	assert_true(tp_tensor_is_row_major(c));
	if (m->n)
		assert_memory_equal(
		    tp_tensor_data(c), m->values, m->n * sizeof(*got));
	tp_tensor_free(c);
}

static void
random_chains_agree_with_the_model(void **state)
{
	static struct model models[2];
	const char *text = getenv("TP_TEST_SEED");
	const char *count = getenv("TP_TEST_CHAINS");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 20261130;
	unsigned long n_chains = count ? strtoul(count, NULL, 10) : 100000;

	(void)state;
	print_message("TP_TEST_SEED=%llu TP_TEST_CHAINS=%lu\n",
	    (unsigned long long)seed, n_chains);
	rng_state = seed ? seed : 1;
	for (unsigned long k = 0; k < n_chains; k++) {
		struct model *m = &models[0], *next = &models[1];
		struct tp_tensor *t, *v;
		unsigned length = (unsigned)rng(8) + 1;

		m->rank = (unsigned)rng(MODEL_RANK + 1);
		m->n = 1;
		for (unsigned d = 0; d < m->rank; d++) {
			m->sizes[d] = (int64_t)rng(6);
			if (m->sizes[d] == 0 && rng(4))
				m->sizes[d] = 1;
			if (m->n * (size_t)m->sizes[d] > 1000)
				m->sizes[d] = 1;
			m->n *= (size_t)m->sizes[d];
		}
		for (size_t i = 0; i < m->n; i++)
			m->values[i] = (int32_t)i;
		t = make_counting(TP_DTYPE_I32, m->sizes, m->rank);
		while (length--) {
			struct model *swap = m;

			v = NULL;
			if (!random_step(t, m, next, &v))
				continue;
			m = next;
			next = swap;
			tp_tensor_free(t);
			t = v;
			compare(t, m);
			if (m->n > 1000)
				break;
		}
		tp_tensor_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_chains_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
