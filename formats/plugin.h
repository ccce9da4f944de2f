/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.h - what a format implements, and what the core gives it
 *
 * A format is one const struct tp_format and a line in formats.def. NULL in a
 * slot means "not supported" for a direction, or the default that is stated.
 */
#ifndef TPI_PLUGIN_H
#define TPI_PLUGIN_H

#include "tp/format.h"

#include "tp/map.h"

#include "arena.h"
#include "sink.h"
#include "source.h"
#include "stream.h"

enum tpi_cap {
	TPI_CAP_METADATA = 1,
	TPI_CAP_ALIAS = 2,   /* entries may share a storage, if loses agrees */
	TPI_CAP_STRIDES = 4, /* layouts other than row-major */
	TPI_CAP_QUANTIZATION = 8, /* quantizer records */
	TPI_CAP_SPARSE = 16,
	TPI_CAP_HARDENED = 32, /* fuzzed: takes part in probing */
	TPI_CAP_GRAPH =
	    64, /* a file is a graph, weights alone are the exception */
};

struct tp_format {
	const char *name;	     /* as in --from */
	const char *const *suffixes; /* NULL-terminated; for outputs only */
	unsigned caps;

	/* ---- reading ---- */

	/* How sure, 0…100, that a file beginning with n bytes is ours. Pure. */
	size_t probe_len;
	int (*probe)(const uint8_t *head, size_t n, uint64_t file_size);
	/*
	 * Parse and check all structure of r->sources[0]; entries enter through
	 * tpi_reader_add only. What it keeps hangs off r->priv. On failure the
	 * core calls close.
	 */
	enum tp_status (*open)(struct tp_reader *r, struct tp_err *err);
	/* Storage i, decoded. NULL or RAW encoding: bytes as they lie. */
	enum tp_status (*stream)(struct tp_reader *r, size_t i,
	    struct tp_stream **out, struct tp_err *err);
	/*
	 * The same for one that is not RAW, standing at byte `from` or before
	 * it, and without comparing a checksum. *out is NULL, or one that was
	 * made so before, to be moved. NULL: always from the beginning.
	 */
	enum tp_status (*stream_from)(struct tp_reader *r, size_t i,
	    uint64_t from, struct tp_stream **out, struct tp_err *err);
	/* Fill data and nbytes of r->attachments[i]; memory from the arena. */
	enum tp_status (*attach)(
	    struct tp_reader *r, size_t i, struct tp_err *err);
	/* Release r->priv, which may be half made. NULL: nothing private. */
	void (*close)(struct tp_reader *r);

	/* ---- writing ---- */

	/* True if the format stores that dtype with this count of elements. */
	bool (*holds_dtype)(enum tp_dtype dtype, uint64_t n_elems);
	/*
	 * Losses of entry i beyond those that caps and holds_dtype tell, or
	 * NULL. Bits of enum tp_loss_kind; why is filled when there are any.
	 * shared: an earlier entry lies in the same storage. whole is what
	 * survey said of the model, which is asked once; without one, false.
	 */
	bool (*survey)(
	    const struct tp_create_options *options, const struct tp_model *m);
	unsigned (*loses)(const struct tp_create_options *options,
	    const struct tp_model *m, bool whole, size_t i, bool shared,
	    char why[TP_WHY_SIZE]);
	bool (*keeps_attachment)(struct tp_str name); /* NULL: none */
	/*
	 * Lay out the file: every offset known. Opens sinks through
	 * tpi_writer_add_sink (the first is the file that refers to the
	 * others), fills w->order, may write the header.
	 */
	enum tp_status (*plan)(struct tp_writer *w, struct tp_err *err);
	/* Write one storage, in the planned order. */
	enum tp_status (*put)(struct tp_writer *w, size_t storage,
	    struct tp_stream *s, struct tp_err *err);
	/*
	 * All storages were put: complete what depends on them. NULL: nothing.
	 */
	enum tp_status (*finish)(struct tp_writer *w, struct tp_err *err);
	/* Release w->priv, which may be half made. */
	void (*discard)(struct tp_writer *w);
};

struct tp_reader {
	const struct tp_format *format;
	const struct tp_alloc *alloc;
	struct tp_limits limits;
	unsigned flags;
	uint64_t map_from; /* tensors of fewer bytes are read, not mapped */
	tp_warn_fn *warn;
	void *warn_ctx;

	struct tpi_arena
	    arena; /* names, shapes, metadata: all that is borrowed */
	struct tpi_source **sources; /* [0] is the file that was opened */
	size_t n_sources, cap_sources;
	struct tp_map source_ids; /* of all sources, to their numbers */
	uint64_t source_bytes;	  /* of all sources */
	uint64_t expanded_bytes;  /* what reading all of it makes of them */
	struct tp_storage_info *storages;
	size_t n_storages, cap_storages;
	size_t *first_entry; /* of each storage, or TP_NONE; names it */
	size_t cap_first_entry;
	struct tp_entry *entries;
	size_t n_entries, cap_entries;
	struct tp_map names;
	struct tp_meta *meta;
	size_t n_meta, cap_meta;
	struct tp_map meta_keys;
	struct tp_attachment *attachments; /* data NULL until asked for */
	size_t n_attachments, cap_attachments;
	/* Made when it is open, of each storage; NULL without checksums. */
	struct tpi_sum *sums;
	struct tpi_parking *parking; /* stream_storage.c */
	void *priv;
};

/* An empty reader without format and files; NULL when there is no memory. */
struct tp_reader *tpi_reader_new(const struct tp_open_options *options);

/* Another file of the model, as it was opened; *index is its number. */
enum tp_status tpi_reader_add_source(
    struct tp_reader *r, const char *path, size_t *index, struct tp_err *err);

/* The same for one that is open; it is the reader's, also on failure. */
enum tp_status tpi_reader_adopt_source(struct tp_reader *r,
    struct tpi_source *source, size_t *index, struct tp_err *err);

/* True and the number of the source that is this file, if one is. */
bool tpi_reader_find_source(
    const struct tp_reader *r, const struct tpi_file_id *id, size_t *index);

/*
 * Expect n more entries, each with a storage: room for them is made at once,
 * which halves the memory that is touched. Only a hint, but n must be what the
 * size of the file justifies.
 */
enum tp_status tpi_reader_reserve(
    struct tp_reader *r, size_t n, struct tp_err *err);

/*
 * A place for bytes. Checks that offset and stored_nbytes lie inside the file
 * and that a RAW storage stores what it holds. what names it in the message:
 * a tensor, usually.
 */
enum tp_status tpi_reader_add_storage(struct tp_reader *r,
    const struct tp_storage_info *info, struct tp_str what, size_t *index,
    struct tp_err *err);

/*
 * One tensor. The only way an entry enters a reader, so these checks hold for
 * every format: the name is UTF-8, bearable and not taken; rank, element and
 * byte count are representable; everything it reaches lies in its storage (a
 * sparse one: values and indices have the sizes they need). n_elems and nbytes
 * are computed here (for strings nbytes is that of the storage). Names, shape
 * and strides are copied; row-major strides are dropped. offset is the byte of
 * the file that errors point at.
 */
enum tp_status tpi_reader_add(struct tp_reader *r, const struct tp_entry *entry,
    uint64_t offset, struct tp_err *err);

/* Metadata in order; a key that is there already is TP_EFORMAT. Copies both. */
enum tp_status tpi_reader_add_meta(struct tp_reader *r, struct tp_str key,
    struct tp_str value, uint64_t offset, struct tp_err *err);

/* A blob by name; the descriptor's attach fills it when it is asked for. */
enum tp_status tpi_reader_add_attachment(
    struct tp_reader *r, struct tp_str name, struct tp_err *err);

/* Set the quantizer of entry i (copied), checking the entries it names. */
enum tp_status tpi_reader_set_quant(struct tp_reader *r, size_t i,
    const struct tp_quant_info *quant, struct tp_err *err);

/* printf to the caller's warn function, if any, about source i. */
void tpi_reader_warn(struct tp_reader *r, size_t source, const char *fmt, ...)
    TP_PRINTF(3, 4);

struct tp_writer {
	const struct tp_format *format;
	const struct tp_alloc *alloc;
	struct tp_create_options options; /* defaults filled in */
	const struct tp_model *model;
	const char *path;
	struct tpi_arena arena;
	struct tpi_sink **sinks; /* [0] refers to the others */
	size_t n_sinks, cap_sinks;
	/* Storages, n_order of them; room for n_storages unless plan makes its
	 * own. */
	size_t *order;
	size_t n_order, n_put;
	bool committed;
	bool settled; /* nothing can be undone any more */
	void *priv;
};

/* Open a temporary file that commit will rename to path. */
enum tp_status tpi_writer_add_sink(struct tp_writer *w, const char *path,
    struct tpi_sink **out, struct tp_err *err);

#endif
