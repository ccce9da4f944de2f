/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/transfer.h - from open readers to one written file
 *
 *  1. tp_open every input.
 *  2. tp_transfer_plan decides, without writing anything, what the output will
 *     hold and what it cannot hold: items, losses, notes. Look at them.
 *  3. tp_transfer_run writes it; it refuses what tp_transfer_check refuses.
 *  4. tp_transfer_verify reads it back by itself and proves it equal.
 *  5. tp_transfer_free, then tp_close the inputs.
 *
 * Memory does not grow with the tensors, only with their number. The same
 * inputs and options give the same bytes, for any number of threads. A transfer
 * belongs to one thread at a time; it borrows the readers.
 */
#ifndef TP_TRANSFER_H
#define TP_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/convert.h"
#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/format.h"
#include "tp/macros.h"

struct tp_transfer;

/*
 * What becomes of one entry of an input. It arrives filled in with "kept as it
 * is"; name is copied when the function returns.
 */
struct tp_choice {
	bool drop;
	struct tp_str name;  /* in the output */
	enum tp_dtype dtype; /* in the output */
};

/* Called for each entry of each input in order. A failure ends the plan. */
typedef enum tp_status tp_choose_fn(void *ctx, const struct tp_reader *r,
    size_t entry, struct tp_choice *choice, struct tp_err *err);

/*
 * done of total bytes were written (or, by verify, compared). Called from the
 * calling thread, many times a second; false stops the work: TP_EOUTPUT
 * (verify: TP_EIO) with the message "interrupted", and no file is left.
 */
typedef bool tp_progress_fn(void *ctx, uint64_t done, uint64_t total);

struct tp_transfer_options {
	struct tp_create_options create;
	tp_choose_fn *choose; /* NULL: everything as it is */
	void *choose_ctx;
	enum tp_overflow overflow;
	unsigned allow_loss; /* bits of enum tp_loss_kind */

	/* Metadata of the inputs in order; then these are set or replaced. */
	bool drop_meta;
	const struct tp_meta *set_meta;
	size_t n_set_meta;

	/*
	 * The model whose ONNX graph the weights go into; its own weights give
	 * names, order and shapes and are replaced. Strings that no input has
	 * stay its own. NULL: the graph of the input, if there is one.
	 */
	struct tp_reader *graph;

	uint64_t max_memory; /* bytes for buffers; 0: 64 MiB */
	unsigned n_threads;  /* 0: one for each processor */
	tp_progress_fn *progress;
	void *progress_ctx;
};

/*
 * ---- planning ----
 */

/*
 * Plan the file `path`. TP_EARG when path is one of the files that the inputs
 * lie in or tells no format; TP_ENOTFOUND when names of options->graph are
 * missing or left over; TP_EUNSUPPORTED when two entries would get one name
 * (the message names both and their files), for casts that do not exist and for
 * graphs that cannot be kept whole as asked. Losses do not fail: see
 * tp_transfer_check.
 */
TP_API TP_NODISCARD enum tp_status tp_transfer_plan(
    struct tp_reader *const *readers, size_t n_readers, const char *path,
    const struct tp_transfer_options *options, struct tp_transfer **out,
    struct tp_err *err);

/* NULL is allowed. */
TP_API void tp_transfer_free(struct tp_transfer *t);

/* How the bytes of an item come about. */
enum tp_how {
	TP_HOW_COPIED,	 /* as they lie in the input */
	TP_HOW_DECODED,	 /* unpacked from another encoding */
	TP_HOW_PACKED,	 /* elements brought into row-major order */
	TP_HOW_CAST,	 /* converted to another dtype, perhaps packed before */
	TP_HOW_SHARED,	 /* none: the bytes of an earlier item are shared */
	TP_HOW_LEFT_OUT, /* not at all: the target has no such dtype */
};

/* "copied", "decoded", … */
TP_API const char *tp_how_name(enum tp_how how);

/* One tensor of the output, in its order, or one that is left out. */
struct tp_transfer_item {
	struct tp_str name;
	const struct tp_reader *reader; /* where it comes from */
	const struct tp_entry *source;
	const char *file; /* in which its bytes lie */
	enum tp_dtype dtype;
	uint64_t nbytes; /* dense, in the output's dtype */
	enum tp_how how;
	size_t shared;	 /* item whose bytes it shares, or TP_NONE */
	unsigned losses; /* bits */
	/* After tp_transfer_run, for TP_HOW_CAST; n is 0 otherwise. */
	struct tp_cast_stats stats;
};

TP_API size_t tp_transfer_n_items(const struct tp_transfer *t);
TP_API const struct tp_transfer_item *tp_transfer_item(
    const struct tp_transfer *t, size_t i);

/* Something that the target cannot hold. */
struct tp_loss {
	enum tp_loss_kind kind;
	size_t item;	    /* or TP_NONE: the model itself */
	struct tp_str name; /* of the tensor; "" for the model */
	const char *why;
	const char *remedy; /* what happens when it is allowed, or NULL:
			       nothing can be done */
	bool allowed;
};

TP_API size_t tp_transfer_n_losses(const struct tp_transfer *t);
TP_API const struct tp_loss *tp_transfer_loss(
    const struct tp_transfer *t, size_t i);

/* Remarks that are no losses, for example a graph that is left behind. */
TP_API size_t tp_transfer_n_notes(const struct tp_transfer *t);
TP_API const char *tp_transfer_note(const struct tp_transfer *t, size_t i);

/* The metadata that will be written. */
TP_API size_t tp_transfer_n_meta(const struct tp_transfer *t);
TP_API const struct tp_meta *tp_transfer_meta(
    const struct tp_transfer *t, size_t i);

TP_API const struct tp_format *tp_transfer_format(const struct tp_transfer *t);
TP_API bool tp_transfer_has_graph(const struct tp_transfer *t);
/* Tensor bytes that will be written, shared ones once. */
TP_API uint64_t tp_transfer_nbytes(const struct tp_transfer *t);

/* TP_EUNSUPPORTED when a loss is not allowed or cannot be remedied. */
TP_API TP_NODISCARD enum tp_status tp_transfer_check(
    const struct tp_transfer *t, struct tp_err *err);

/*
 * ---- writing ----
 */

/*
 * Write the file. TP_EARG when a further file of the output (a shard, external
 * data) is one that the inputs lie in. TP_ERANGE names the tensor, the index
 * and the value that did not fit. On failure nothing is left of the output and
 * what was there before is untouched.
 */
TP_API TP_NODISCARD enum tp_status tp_transfer_run(
    struct tp_transfer *t, struct tp_err *err);

/* After tp_transfer_run: files of the output and their sizes; NULL past the
 * last. */
TP_API const char *tp_transfer_file(
    const struct tp_transfer *t, size_t i, uint64_t *nbytes);

/*
 * After tp_transfer_run: open the output anew and compare names, order-free,
 * dtypes, shapes, sharing, every byte (casts are computed once more, on one
 * thread), metadata and graph with what was planned. TP_EMISMATCH names the
 * first tensor that differs. With create.hold the output stays only if this
 * succeeds; else tp_transfer_free brings back what was there before.
 */
TP_API TP_NODISCARD enum tp_status tp_transfer_verify(
    struct tp_transfer *t, struct tp_err *err);

#endif
