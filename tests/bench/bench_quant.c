/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_quant.c - how fast numbers are narrowed on one thread
 *
 *	bench_quant [WORD]	beside memcpy of the bytes that are read
 *	bench_quant seconds	a line each: the job, and how long it takes
 *
 * The matrix is 4096 x 4096 of f32. Jobs do all that a file needs: scales in a
 * first pass over rows that are in the cache, codes in a second, packed. For
 * comparisons with other programs `seconds` takes the least of ten runs.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/quant_fit.h"

#define ROWS 4096
#define COLUMNS 4096
#define N ((size_t)ROWS * COLUMNS)
#define RUNS 10

/* Elements that are looked at twice while they are in the cache. */
#define PIECE ((size_t)16 * COLUMNS)

struct job {
	const char *name;
	const char *scheme;
	enum tp_quant_per per;
	double wanted; /* of memcpy's rate */
	/* Made by begin_job. */
	struct tp_quant_grid grid;
	struct tp_quant_groups groups;
	const float *x;
	uint8_t *out;
	int8_t *codes;
	float *low, *high, *scale;
	int16_t *zero;
};

static struct job jobs[] = {
    {.name = "f16", .scheme = "f16", .wanted = 0.6},
    {.name = "bf16", .scheme = "bf16", .wanted = 0.6},
    {.name = "int8 per channel",
	.scheme = "int8",
	.per = TP_PER_CHANNEL,
	.wanted = 0.45},
    {.name = "q8_0", .scheme = "q8_0", .per = TP_PER_BLOCK, .wanted = 0.35},
    {.name = "int4 per block of 32",
	.scheme = "int4",
	.per = TP_PER_BLOCK,
	.wanted = 0.35},
};
#define N_JOBS (sizeof(jobs) / sizeof(jobs[0]))

/* Memory that is really there: each page written. */
static void *
pages(size_t nbytes)
{
	void *p = aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);

	if (!p)
		abort();
	memset(p, 1, nbytes);
	return p;
}

static void
begin_job(struct job *j, const float *x, uint8_t *out)
{
	static const int64_t shape[] = {ROWS, COLUMNS};
	const struct tp_scheme *s = tp_scheme_find(j->scheme);
	size_t most = PIECE / 32;

	if (!s || tp_quant_groups_init(&j->groups, shape, 2, j->per,
		      j->per == TP_PER_BLOCK ? 1 : 0, 32, NULL))
		abort();
	j->grid = tp_quant_grid_of(s, true);
	j->x = x;
	j->out = out;
	j->codes = pages(PIECE);
	j->low = pages(most * sizeof(*j->low));
	j->high = pages(most * sizeof(*j->high));
	j->scale = pages(most * sizeof(*j->scale));
	j->zero = pages(most * sizeof(*j->zero));
}

static void
end_job(struct job *j)
{
	free(j->codes);
	free(j->low);
	free(j->high);
	free(j->scale);
	free(j->zero);
}

/* Scales of the groups of a piece. */
static void
fit_piece(struct job *j, size_t first, size_t n_groups, uint64_t first_group)
{
	memset(j->low, 0, n_groups * sizeof(*j->low));
	memset(j->high, 0, n_groups * sizeof(*j->high));
	if (tp_quant_range_add(&j->groups, first_group, first, j->x + first,
		PIECE, j->low, j->high) != PIECE)
		abort();
	for (size_t i = 0; i < n_groups; i++)
		tp_quant_fit(
		    &j->grid, j->low[i], j->high[i], &j->scale[i], &j->zero[i]);
}

/* A bench_fn. */
static void
run_job(void *ctx)
{
	struct job *j = ctx;
	const struct tp_scheme *s = tp_scheme_find(j->scheme);
	size_t n_groups = (size_t)(j->groups.n_groups / (N / PIECE));
	bool packed = tp_dtype_bits(s->dtype) < 8;

	if (s->scale == TP_DTYPE_NONE) {
		if (tp_convert(s->dtype, j->out, TP_DTYPE_F32, j->x, N,
			TP_OVERFLOW_SATURATE, 0, NULL, NULL))
			abort();
		return;
	}
	for (size_t first = 0; first < N; first += PIECE) {
		uint64_t group = first / PIECE * n_groups;
		int8_t *codes = packed ? j->codes : (int8_t *)j->out + first;

		fit_piece(j, first, n_groups, group);
		tp_quant_store(&j->groups, &j->grid, group, first, j->x + first,
		    PIECE, j->scale, j->zero, codes);
		if (packed)
			tp_quant_pack(codes, PIECE, j->out + first / 2);
	}
}

/* A bench_fn: the bytes that a job reads. */
static void
run_memcpy(void *ctx)
{
	const struct job *j = ctx;

	memcpy(j->out, j->x, N * sizeof(float));
}

static void
print_seconds(struct job *j)
{
	double least = 1e9;

	for (unsigned i = 0; i < RUNS; i++) {
		double start = bench_now();

		run_job(j);
		if (bench_now() - start < least)
			least = bench_now() - start;
	}
	printf("%s\t%.6f\n", j->name, least);
}

int
main(int argc, char **argv)
{
	_Bool seconds = argc > 1 && !strcmp(argv[1], "seconds"), good = 1;
	float *x = pages(N * sizeof(*x));
	uint8_t *out = pages(N * sizeof(*x));
	uint32_t state = 1;

	for (size_t i = 0; i < N; i++) {
		state = state * 1664525 + 1013904223;
		x[i] = (float)(int32_t)state * 0x1p-35f;
	}
	if (!seconds)
		bench_begin(argc > 1 ? argv[1] : "");
	for (size_t i = 0; i < N_JOBS; i++) {
		struct bench b = {jobs[i].name, "memcpy of the f32", run_job,
		    run_memcpy, &jobs[i], &jobs[i], 1, jobs[i].wanted};

		begin_job(&jobs[i], x, out);
		if (seconds)
			print_seconds(&jobs[i]);
		else
			good &= bench_run(&b);
		end_job(&jobs[i]);
	}
	free(x);
	free(out);
	return good ? 0 : 1;
}
