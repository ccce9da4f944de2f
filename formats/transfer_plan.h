/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_plan.h - what the parts of a transfer share
 *
 *	transfer_choose.c   which entries, under which names      -> items
 *	transfer_meta.c     metadata, the graph, notes
 *	transfer_layout.c   items -> storages and a struct tp_model
 *	transfer_loss.c     losses, and their remedies
 *	transfer.c          the steps in order
 *	transfer_run.c      writing
 *	transfer_verify.c   reading back
 */
#ifndef TPI_TRANSFER_PLAN_H
#define TPI_TRANSFER_PLAN_H

#include "tp/map.h"
#include "tp/transfer.h"

#include "arena.h"
#include "plugin.h"
#include "stream_cast.h"

/* An item of the plan: the public part and what was decided about it. */
struct tpi_item {
	struct tp_transfer_item item;
	struct tp_reader *reader;
	size_t entry;		     /* of the reader */
	const struct tp_entry *slot; /* of the graph it goes into, or NULL */
	/* Remedies that apply. */
	bool untie, pack, densify, drop_quant;
	/* Results of the layout. */
	size_t model_entry; /* its place in the model */
};

/* Where the bytes of one storage of the output come from. */
struct tpi_feed {
	struct tp_reader *reader;
	bool whole; /* storage `from` of the reader; else entry `from` */
	size_t from;
	enum tp_dtype cast_from, cast_to; /* NONE: bytes as they are */
	uint64_t n_elems;		  /* of a cast */
	struct tpi_item *first;		  /* the item that is named in errors */
};

struct tp_transfer {
	const struct tp_alloc *alloc;
	struct tpi_arena arena; /* everything that lives as long as the plan */
	struct tp_transfer_options options;
	const struct tp_format *format;
	const char *path;
	struct tp_reader **readers;
	size_t n_readers;
	bool all_kept; /* no entry was dropped or renamed */

	struct tpi_item *items;
	size_t n_items;
	struct tp_loss *losses;
	size_t n_losses, cap_losses;
	const char **notes;
	size_t n_notes, cap_notes;

	struct tp_meta *meta;
	size_t n_meta;
	struct tp_attachment *attachments;
	size_t n_attachments;
	bool has_graph;

	/* The model and its storages; made anew by each layout. */
	struct tp_entry *entries;
	struct tp_quant_info *quants;
	struct tp_sparse_info *sparses;
	struct tpi_feed *feeds;
	uint64_t *storage_nbytes;
	size_t *item_at; /* for each entry of the model */
	struct tp_model model;

	struct tp_writer *writer;
	struct tpi_cast_pool cast_pool;
	/* Storages for which room was left until another one is written. */
	struct tpi_waiting {
		struct tpi_waits_for {
			const struct tp_reader *reader;
			size_t storage; /* of the reader */
		} source;
		size_t storage; /* TP_NONE: no longer */
		size_t next;	/* that waits for the same, or TP_NONE */
		struct tpi_room room;
	} * waiting;
	size_t n_waiting;
	struct tp_map waits;  /* the bytes of a source -> who waits first */
	uint64_t done, total; /* bytes, for the progress */
	bool written;
};

/* Fill items from the readers, or from the slots of options.graph. */
enum tp_status tpi_transfer_choose(struct tp_transfer *t, struct tp_err *err);

/* Merge the metadata; decide what becomes of graphs and other attachments. */
enum tp_status tpi_transfer_collect(struct tp_transfer *t, struct tp_err *err);

/* Make model, feeds and what belongs to them from the items. */
enum tp_status tpi_transfer_lay(struct tp_transfer *t, struct tp_err *err);

/* Lay out and remedy until the target loses nothing more. */
enum tp_status tpi_transfer_layout(struct tp_transfer *t, struct tp_err *err);

/*
 * Open the stream of storage i. stats (may be NULL) receives those of a cast.
 */
enum tp_status tpi_feed_open(struct tp_transfer *t, size_t i,
    struct tp_cast_stats *stats, struct tp_stream **out, struct tp_err *err);

/* Record a loss; item NULL: of the model. why is copied, remedy is kept. */
enum tp_status tpi_transfer_lose(struct tp_transfer *t, struct tpi_item *item,
    enum tp_loss_kind kind, const char *why, const char *remedy,
    struct tp_err *err);

enum tp_status tpi_transfer_note(struct tp_transfer *t, struct tp_err *err,
    const char *fmt, ...) TP_PRINTF(3, 4);

/* The path of a reader, for messages. */
const char *tpi_reader_path(const struct tp_reader *r);

/* TP_EARG if the output would replace an input. */
enum tp_status tpi_transfer_check_not_input(
    const struct tp_transfer *t, const char *path, struct tp_err *err);

/* TP_EIO if an input was written to since it was opened. */
enum tp_status tpi_transfer_check_inputs(
    const struct tp_transfer *t, struct tp_err *err);

#endif
