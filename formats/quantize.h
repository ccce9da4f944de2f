/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.h - what the parts of a quantized reader share
 *
 *	quantize_walk.c	    the elements of an entry as f32, chunk by chunk
 *	quantize_fit.c	    scales of a chunk, or of a whole tensor
 *	quantize_rank.c	    the value below which a share of them lies
 *	quantize_measure.c  what is lost
 *	quantize_stream.c   codes, scales and zero points as streams
 *	quantize_record.c   what belongs together, as metadata
 *	quantize_graph.c    what belongs together, as nodes of a graph
 *	quantize_decide.c   what becomes of each entry
 *	quantize_entries.c  the entries that come of it
 *	quantize_reader.c   the reader they belong to
 *
 * Scales of a whole tensor and of channels are kept. Those of blocks, of which
 * there are many, are worked out anew by whoever needs them, chunk by chunk; a
 * chunk is then a number of whole blocks. Where a channel is a run of elements,
 * scales and errors are found in one pass over such chunks too.
 */
#ifndef TPI_QUANTIZE_H
#define TPI_QUANTIZE_H

#include "tp/quantized.h"

#include "plugin.h"

/* An entry that is narrowed. */
struct tpi_narrow {
	const struct tp_alloc *alloc;
	struct tp_reader *r;
	size_t entry;
	const struct tp_entry *e;
	struct tp_recipe recipe;
	struct tp_quant_grid grid;
	struct tp_quant_groups groups;
	enum tp_dtype scale_dtype;
	float *scale; /* of all groups, unless by_chunk */
	int16_t *zero;
	bool (*proceed)(void *ctx);
	void *ctx;
	uint64_t max_memory;
};

static inline bool
tpi_narrow_casts(const struct tpi_narrow *n)
{
	return n->recipe.scheme->scale == TP_DTYPE_NONE;
}

static inline bool
tpi_narrow_by_chunk(const struct tpi_narrow *n)
{
	return !tpi_narrow_casts(n) && n->recipe.per == TP_PER_BLOCK;
}

/*
 * ---- quantize_walk.c ----
 */

struct tpi_walk {
	const struct tpi_narrow *n;
	struct tp_stream *s;
	bool whole_groups; /* a chunk is a number of them */
	uint64_t next;	   /* element, or block if whole_groups */
	size_t max;	   /* elements of a chunk */
	uint64_t blocks;   /* of a chunk */
	uint8_t *raw;	   /* as they lie, unless that is f32 */
	size_t raw_nbytes;
	/* The chunk. */
	float *x;
	size_t n_elems;
	uint64_t first;
	uint64_t first_group,
	    n_groups; /* if whole_groups: those of the chunk */
};

/* Can scales be chosen for channels one after the other, as they are read? */
bool tpi_narrow_by_row(const struct tpi_narrow *n);

/* Groups in a chunk, at most. */
size_t tpi_walk_max_groups(const struct tpi_walk *w);

/* by_row: in whole channels, where tpi_narrow_by_row; blocks are whole always.
 */
enum tp_status tpi_walk_open(struct tpi_walk *w, const struct tpi_narrow *n,
    bool by_row, struct tp_err *err);
/* *more = false at the end. */
enum tp_status tpi_walk_next(
    struct tpi_walk *w, bool *more, struct tp_err *err);
void tpi_walk_close(struct tpi_walk *w);

/*
 * ---- quantize_fit.c ----
 */

/* Room to choose the scales of that many groups. */
struct tpi_fit {
	const struct tp_alloc *alloc;
	size_t n_groups;
	unsigned n_tries; /* 0: the whole range is taken */
	float *low, *high, *scale, *try_scale;
	int16_t *zero, *try_zero;
	double *misfit;
	uint64_t n_zero_groups;
	float least, most;
	bool nonfinite;
};

enum tp_status tpi_fit_open(struct tpi_fit *f, const struct tpi_narrow *n,
    size_t n_groups, struct tp_err *err);
void tpi_fit_close(struct tpi_fit *f);

/* The scales of a chunk of whole groups. TP_ERANGE: see tpi_fit_whole. */
enum tp_status tpi_fit_chunk(
    struct tpi_fit *f, const struct tpi_walk *w, struct tp_err *err);

/*
 * Fill n->scale and n->zero; f is open for all groups. TP_ERANGE sets
 * f->nonfinite when a value is, and names it.
 */
enum tp_status tpi_fit_whole(
    struct tpi_fit *f, struct tpi_narrow *n, struct tp_err *err);

/*
 * Ranges, which are those of all values, become those of a share of them
 * (quantize_rank.c).
 */
enum tp_status tpi_fit_percentile(
    struct tpi_fit *f, const struct tpi_narrow *n, struct tp_err *err);

/* The largest magnitude in the chunk. Fails as above when one is not finite. */
enum tp_status tpi_check_finite(
    const struct tpi_walk *w, float *largest, struct tp_err *err);

/*
 * ---- quantize_measure.c ----
 */

/*
 * Choose the scales that are kept, and fill the figures of the item.
 * *nonfinite tells what a TP_ERANGE is about.
 */
enum tp_status tpi_measure(struct tpi_narrow *n, struct tp_quantized_item *item,
    bool *nonfinite, struct tp_err *err);

/*
 * ---- quantize_stream.c ----
 */

enum tpi_narrow_part { TPI_CODES, TPI_SCALES, TPI_ZEROS, TPI_N_PARTS };

/* The dtype of a part; TP_DTYPE_NONE if there is no such part. */
enum tp_dtype tpi_narrow_dtype(
    const struct tpi_narrow *n, enum tpi_narrow_part part);
uint64_t tpi_narrow_count(
    const struct tpi_narrow *n, enum tpi_narrow_part part);
enum tp_status tpi_narrow_stream(const struct tpi_narrow *n,
    enum tpi_narrow_part part, unsigned n_threads, struct tp_stream **out,
    struct tp_err *err);

/*
 * ---- quantize_record.c ----
 */

/* Add the metadata TP_QUANTIZED_KEY: entry i is the one at place[i] of r. */
enum tp_status tpi_quantize_record(struct tp_reader *r,
    const struct tpi_narrow *narrows, const size_t *place, size_t n,
    struct tp_err *err);

#endif
