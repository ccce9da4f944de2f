/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.h - what the parts of a quantized reader share
 *
 *	quantize_walk.c	    the elements of an entry as f32, chunk by chunk
 *	quantize_fit.c	    scales of a chunk, or of a whole tensor
 *	quantize_rank.c	    the value below which a share of them lies
 *	quantize_encode.c   codes of a chunk, and what is lost
 *	quantize_pass.c	    those of a tensor: measured, or written, or both
 *	quantize_codes.c    codes as a stream
 *	quantize_stream.c   scales and zero points as streams
 *	quantize_record.c   what belongs together, as metadata
 *	quantize_graph.c    what belongs together, as nodes of a graph
 *	quantize_decide.c   what becomes of each entry
 *	quantize_entries.c  the entries that come of it
 *	quantize_reader.c   the reader they belong to
 *
 * Scales of a whole tensor and of channels are kept. Those of blocks, of which
 * there are many, are kept until the next tensor, or worked out anew by whoever
 * needs them, chunk by chunk; a chunk is then a number of whole blocks. Where a
 * channel is a run of elements, its scale is chosen chunk by chunk too.
 */
#ifndef TPI_QUANTIZE_H
#define TPI_QUANTIZE_H

#include "tp/quantized.h"

#include "plugin.h"

/*
 * What one tensor leaves to the next: streams of a reader are opened by one
 * thread.
 */
struct tpi_handed_on {
	struct tpi_narrow
	    *keeper;	       /* whose scales of blocks are kept, or NULL */
	struct tpi_pass *pass; /* room for a pass, or NULL */
};

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
	/*
	 * Not NULL: nothing is measured yet, but for scales that need a pass of
	 * their own. Whoever reads the codes first fills it in.
	 */
	struct tp_quantized_item *later;
	/* Scales of blocks, then their zero points, or NULL. */
	struct tp_storage *kept;
	struct tpi_handed_on *handed_on; /* NULL while tensors are measured */
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
	uint64_t n_chunks;
};

struct tpi_narrow_chunk {
	const struct tpi_narrow *n;
	size_t max;   /* elements there is room for */
	uint8_t *raw; /* as they lie, unless that is f32 */
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

/*
 * by_row: in whole channels, where tpi_narrow_by_row; blocks are whole always.
 */
enum tp_status tpi_walk_open(struct tpi_walk *w, const struct tpi_narrow *n,
    bool by_row, struct tp_err *err);
void tpi_walk_close(struct tpi_walk *w);

/* Room for a chunk. */
enum tp_status tpi_chunk_init(
    struct tpi_narrow_chunk *c, const struct tpi_walk *w, struct tp_err *err);
void tpi_chunk_release(struct tpi_narrow_chunk *c);

/*
 * Read the next chunk; it is f32 after tpi_chunk_load, for which the walk is
 * not needed. *more = false at the end.
 */
enum tp_status tpi_walk_read(struct tpi_walk *w, struct tpi_narrow_chunk *c,
    bool *more, struct tp_err *err);
enum tp_status tpi_chunk_load(struct tpi_narrow_chunk *c, struct tp_err *err);
/* Both. */
enum tp_status tpi_walk_next(struct tpi_walk *w, struct tpi_narrow_chunk *c,
    bool *more, struct tp_err *err);

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
/* Nothing was found yet, but for the room. */
void tpi_fit_clear(struct tpi_fit *f);

/* The scales of a chunk of whole groups. TP_ERANGE: see tpi_fit_whole. */
enum tp_status tpi_fit_chunk(
    struct tpi_fit *f, const struct tpi_narrow_chunk *c, struct tp_err *err);

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
    const struct tpi_narrow_chunk *c, float *largest, struct tp_err *err);

/*
 * ---- quantize_encode.c ----
 */

/* A chunk on its way to codes, with all that one thread needs for it. */
struct tpi_encoder {
	const struct tpi_narrow *n;
	bool measures;
	bool fits; /* scales are chosen, chunk by chunk; else n has them */
	bool nonfinite;
	struct tpi_narrow_chunk c;
	struct tpi_fit fit;   /* if fits */
	uint64_t n_saturated; /* in all chunks so far */
	size_t size;	      /* of a code: 1, or more of casts */
	float largest;	      /* magnitude in a chunk, of casts */
	float limit;	      /* … that the dtype of a cast has */
	uint8_t *codes;	      /* little-endian, or int8 */
	/* For quantize_pass.c: what is to be written. */
	uint8_t *pairs; /* room for codes of 4 bits, packed; else NULL */
	const uint8_t *bytes;
	size_t n_bytes;
	/*
	 * If measures: what the codes stand for, compared in the pieces that
	 * tp/compare.h wants. Those that lie in the chunk as a whole are done;
	 * what belongs to others is at the ends,
	 *
	 *	| n_head elements | n_wholes pieces | n_tail elements |
	 */
	size_t n_head, n_wholes, n_tail;
	struct tp_compare *wholes;
	float *head, *tail;
};

enum tp_status tpi_encoder_init(struct tpi_encoder *e, const struct tpi_walk *w,
    bool measures, struct tp_err *err);
void tpi_encoder_release(struct tpi_encoder *e);

/* About the bytes of memory that it has. */
uint64_t tpi_encoder_nbytes(const struct tpi_walk *w);

/* Make codes of the chunk that was read. */
enum tp_status tpi_encode(struct tpi_encoder *e, struct tp_err *err);

/* Codes of 4 bits, with one that waits for its neighbour. */
struct tpi_pairing {
	bool has_left;
	int8_t left;
};
/* n codes to *n_out bytes; the last of all fills its byte alone. */
void tpi_pair_codes(struct tpi_pairing *p, const int8_t *codes, size_t n,
    bool is_last, uint8_t *out, size_t *n_out);

/*
 * ---- quantize_pass.c ----
 */

/*
 * Choose the scales that are kept, and fill the figures of the item.
 * *nonfinite tells what a TP_ERANGE is about.
 */
enum tp_status tpi_measure(struct tpi_narrow *n, struct tp_quantized_item *item,
    bool *nonfinite, struct tp_err *err);

/* Only choose scales that need a pass of their own; the rest is for later. */
enum tp_status tpi_measure_later(struct tpi_narrow *n,
    struct tp_quantized_item *item, bool *nonfinite, struct tp_err *err);

/* If that has been put off. */
enum tp_status tpi_measure_now(
    struct tpi_narrow *n, unsigned n_threads, struct tp_err *err);

/* Are the scales of blocks still there when their codes were written? */
bool tpi_narrow_keeps(const struct tpi_narrow *n);

/* NULL is allowed. */
void tpi_pass_free(struct tpi_pass *p);

/* The pour of a stream of codes; measures what was put off. */
enum tp_status tpi_pour_codes(struct tpi_narrow *n, unsigned n_threads,
    struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err);

/*
 * ---- quantize_stream.c ----
 */

enum tpi_narrow_part { TPI_CODES, TPI_SCALES, TPI_ZEROS, TPI_N_PARTS };

/* The dtype of a part; TP_DTYPE_NONE if there is no such part. */
enum tp_dtype tpi_narrow_dtype(
    const struct tpi_narrow *n, enum tpi_narrow_part part);
uint64_t tpi_narrow_count(
    const struct tpi_narrow *n, enum tpi_narrow_part part);
/* Anything but codes, in order on this thread; of blocks, codes too. */
enum tp_status tpi_narrow_stream(struct tpi_narrow *n,
    enum tpi_narrow_part part, unsigned n_threads, struct tp_stream **out,
    struct tp_err *err);

/*
 * ---- quantize_codes.c ----
 */

enum tp_status tpi_codes_stream(struct tpi_narrow *n, unsigned n_threads,
    struct tp_stream **out, struct tp_err *err);

/*
 * ---- quantize_record.c ----
 */

/* Add the metadata TP_QUANTIZED_KEY: entry i is the one at place[i] of r. */
enum tp_status tpi_quantize_record(struct tp_reader *r,
    const struct tpi_narrow *narrows, const size_t *place, size_t n,
    struct tp_err *err);

#endif
