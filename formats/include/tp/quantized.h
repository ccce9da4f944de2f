/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/quantized.h - a reader whose tensors are narrowed, or widened again
 *
 *  1. tp_open a model.
 *  2. tp_quantize_reader asks for each entry what is to become of it, chooses
 *     scales, measures what is lost, and gives another reader: of the same
 *     model with codes, scales and zero points in place of the chosen floats.
 *  3. tp_quantized_item tells what was done to each entry.
 *  4. Use the reader as any other: tp/transfer.h writes it to a file. Codes are
 *     computed while they are read, in memory that does not grow with tensors.
 *  5. tp_close it, then the one underneath.
 *
 * The same input and options give the same bytes and figures for any number of
 * threads.
 */
#ifndef TP_QUANTIZED_H
#define TP_QUANTIZED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/compare.h"
#include "tp/error.h"
#include "tp/format.h"
#include "tp/macros.h"
#include "tp/quant_fit.h"

enum tp_calibrate {
	TP_CALIBRATE_MINMAX,	 /* all values fit */
	TP_CALIBRATE_PERCENTILE, /* a share of them; not for blocks */
	TP_CALIBRATE_MSE,	 /* the range whose squared error is least */
};

/*
 * The axis that those who use a weight in a graph that is kept make the best
 * of: of a Conv the first, of a MatMul's second operand the last, …; for blocks
 * the one that is summed over. Without a graph the first, for blocks the last.
 */
#define TP_AXIS_AUTO UINT_MAX

/* What is to become of an entry. */
struct tp_recipe {
	const struct tp_scheme *scheme; /* NULL: it is kept as it is */
	const char *why;		/* it is kept; a string that stays */
	bool symmetric;
	enum tp_quant_per per;
	unsigned axis; /* TP_AXIS_AUTO: see below */
	uint64_t block;
	enum tp_calibrate calibrate;
	double percentile;   /* 0 < it <= 100; asymmetric: on each side */
	bool keep_nonfinite; /* keep it when a value is NaN or infinite */
};

/* What became of it. The figures are there unless it is kept and of no use. */
struct tp_quantized_item {
	struct tp_str name;
	size_t source; /* entry of the reader underneath */
	struct tp_recipe recipe;
	bool widened;  /* it was quantized and is f32 now */
	bool measured; /* else the figures that follow are not there yet */
	/* b: the numbers before; what tp_compare_add_finite fills. */
	struct tp_compare errors;
	uint64_t n_saturated;
	uint64_t n_groups, n_zero_groups; /* scales; of them for zeros only */
	float least_scale, most_scale;	  /* by magnitude */
	uint64_t nbytes_before, nbytes_after; /* scales and zero points too */
};

/*
 * Fill in the recipe, which arrives as zeros, but for `why` where a graph that
 * is kept allows no scheme: then there must be none. A failure ends it all.
 */
typedef enum tp_status tp_recipe_fn(void *ctx, const struct tp_reader *r,
    size_t entry, struct tp_recipe *recipe, struct tp_err *err);
/* NULL, or why an entry that was measured is to be kept after all. */
typedef const char *tp_accept_fn(
    void *ctx, const struct tp_quantized_item *item);

struct tp_quantize_options {
	tp_recipe_fn *recipe;
	tp_accept_fn *accept; /* NULL: everything */
	void *ctx;
	/*
	 * Say what belongs together in quantizer records, which native files
	 * hold; else in metadata: TP_QUANTIZED_KEY, a JSON object.
	 */
	bool records;
	/*
	 * Change the model's ONNX graph, if it has one, so that it computes
	 * with what is narrowed (or widened): nodes come in front of those that
	 * use the weights (or go). The graph says what belongs together then,
	 * and scales are f32. Else the graph is left out when anything changes.
	 */
	bool keep_graph;
	/*
	 * With keep_graph: let the graph compute with f16 instead of casting
	 * weights back. recipe and accept are not asked: every f32 weight is
	 * narrowed, but for those that only operators use which keep computing
	 * with f32. TP_EUNSUPPORTED when there is no graph, or when it holds
	 * what cannot be done right.
	 */
	bool half_graph;
	/*
	 * Measure a tensor when its codes are read for the first time, which is
	 * the way to read it only once: the figures of its item are there when
	 * the codes were written, and a value that is not finite is found by
	 * then. Streams of one tensor are for one thread at a time. What
	 * accept, keep_nonfinite and half_graph decide is measured at once.
	 */
	bool measure_later;
	uint64_t max_memory; /* 0: 64 MiB */
	unsigned n_threads;  /* 0: one for each processor */
	const struct tp_alloc *alloc;
	/* Called from any thread after some elements; false stops the work. */
	bool (*proceed)(void *ctx);
};

#define TP_QUANTIZED_KEY "tp.quantization"

/*
 * TP_ERANGE names the tensor and index of a value that is not finite;
 * TP_EUNSUPPORTED: a scale's name is taken, blocks across a tensor do not fit
 * into memory, or the opset of the graph that is kept has no such scheme and
 * cannot be raised.
 */
TP_API TP_NODISCARD enum tp_status tp_quantize_reader(struct tp_reader *r,
    const struct tp_quantize_options *options, struct tp_reader **out,
    struct tp_err *err);

/*
 * The reverse: what has scales, and what metadata says was cast, becomes f32.
 * Of a recipe only `why` is looked at: it is kept. TP_EUNSUPPORTED for codes,
 * scales and zero points of other widths than tp_quantize_reader makes;
 * TP_EFORMAT for metadata that does not fit the model.
 */
TP_API TP_NODISCARD enum tp_status tp_dequantize_reader(struct tp_reader *r,
    const struct tp_quantize_options *options, struct tp_reader **out,
    struct tp_err *err);

/*
 * Give entries of which only the metadata TP_QUANTIZED_KEY says what their
 * codes stand for a quantizer, with in_graph set. TP_EFORMAT for metadata that
 * does not fit the model; some entries have theirs then.
 */
TP_API TP_NODISCARD enum tp_status tp_reader_adopt_quantizers(
    struct tp_reader *r, struct tp_err *err);

/* Of each entry of the reader underneath in order; NULL past the last. */
TP_API const struct tp_quantized_item *tp_quantized_item(
    const struct tp_reader *r, size_t i);

#endif
