/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/format.h - reading and writing model files
 *
 * A file is a model: metadata (ordered text -> text), named tensors over
 * storages, attachments (opaque blobs, for example an ONNX graph without its
 * weights). Two entries may lie in one storage: tied weights, views.
 *
 * Reading:
 *  1. tp_open validates all structure and touches no tensor bytes.
 *  2. tp_reader_entry(r, i) describes tensor i; what it points to is borrowed
 *     until tp_close.
 *  3. tp_reader_tensor gives the tensor in memory (mapped where that can work);
 *     it outlives the reader. Or
 *  4. tp_stream_entry gives its row-major little-endian bytes in pieces, in
 *     memory that does not grow with the tensor.
 *  5. tp_close.
 *
 * Writing: fill a struct tp_model, tp_create, then for each storage that
 * tp_writer_order names in that order tp_writer_put, then tp_writer_commit;
 * tp_writer_free before the commit leaves no trace. tp/transfer.h does all of
 * this between two files.
 *
 * A reader may be used by several threads at a time once it is open; a writer
 * and a stream belong to one thread at a time.
 */
#ifndef TP_FORMAT_H
#define TP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/quant.h"
#include "tp/strings.h"
#include "tp/tensor.h"
#include "tp/value.h"

/* What reading may use. 0 in a field means its default. */
struct tp_limits {
	uint64_t header_bytes; /* safetensors header: 100,000,000 as upstream */
	uint64_t directory_bytes; /* native directory, ONNX structure: 1 GiB */
	uint64_t tensors;	  /* 4,000,000 */
	uint64_t name_bytes;	  /* 1 MiB */
	uint64_t metadata;	  /* pairs: 1,000,000 */
	uint64_t metadata_bytes;  /* of one value: 64 MiB */
	uint64_t depth;		  /* nested messages: 100 (JSON always: 127) */
	/*
	 * What reading every tensor makes of each byte of the files: sparse
	 * tensors (and their indices) and views count as dense, compressed
	 * storages once for each tensor in them. 16 MiB are always allowed. No
	 * limit.
	 */
	uint64_t expansion;
};

/* The defaults above, filled in. */
TP_API struct tp_limits tp_limits_default(void);

/*
 * ---- what a model consists of ----
 */

#define TP_NONE SIZE_MAX /* no index */
#define TP_WHY_SIZE 160

enum tp_encoding {
	TP_ENC_RAW,   /* the bytes as they lie */
	TP_ENC_ZLIB,  /* deflated in chunks */
	TP_ENC_OTHER, /* re-encoded, for example ONNX typed fields */
};

struct tp_storage_info {
	uint64_t nbytes; /* decoded, little-endian */
	enum tp_encoding encoding;
	size_t file;		/* tp_reader_file of it */
	uint64_t offset;	/* where it begins in that file */
	uint64_t stored_nbytes; /* what it takes there; nbytes if RAW */
	bool has_crc32c;
	uint32_t crc32c; /* of the decoded bytes */
};

enum tp_origin {
	TP_ORIGIN_PLAIN,       /* formats that know one kind of tensor */
	TP_ORIGIN_INITIALIZER, /* ONNX */
	TP_ORIGIN_CONSTANT,    /* ONNX: the value of a Constant node */
	TP_ORIGIN_SPARSE,      /* ONNX: a sparse initializer */
};

/* "initializer" and so on; "tensor" for TP_ORIGIN_PLAIN. */
TP_API const char *tp_origin_name(enum tp_origin origin);

/* A quantizer record; tp/quant.h says what the parts mean. */
struct tp_quant_info {
	enum tp_quant_per per;
	unsigned axis;	   /* of channel and block */
	uint64_t block;	   /* elements, for TP_PER_BLOCK */
	size_t scale;	   /* entry */
	size_t zero_point; /* entry, or TP_NONE: zero */
	/* Said by a graph's DequantizeLinear, or by metadata, not a record. */
	bool in_graph;
};

/*
 * Coordinate form. The entry's storage holds n_values elements; the others are
 * zero. indices is an i64 storage: a row-major element number for each value,
 * or `rank` coordinates for each; strictly ascending in row-major order.
 */
struct tp_sparse_info {
	uint64_t n_values;
	size_t indices; /* storage */
	bool coordinates;
};

struct tp_entry {
	struct tp_str name;  /* unique in the model; may be empty or hold NUL */
	struct tp_str scope; /* ONNX: "" main graph, "0.then_branch", … */
	struct tp_str local; /* the name inside that scope */
	enum tp_origin origin;
	enum tp_dtype dtype;
	unsigned rank;
	const int64_t *shape;	/* rank sizes */
	const int64_t *strides; /* in elements; NULL: row-major */
	uint64_t n_elems;
	uint64_t nbytes; /* of the dense row-major form; what a stream yields */
	size_t storage;
	uint64_t first; /* element of the storage at (0, …, 0) */
	const struct tp_quant_info *quant;   /* NULL: plain numbers */
	const struct tp_sparse_info *sparse; /* NULL: dense */
};

struct tp_meta {
	struct tp_str key, value;
};

struct tp_attachment {
	struct tp_str name;
	const void *data;
	size_t nbytes;
};

/*
 * The structure of an ONNX model, its payloads removed; see schemas/native.md.
 */
#define TP_ATTACHMENT_ONNX "onnx.graph"

struct tp_model {
	const struct tp_entry *entries;
	size_t n_entries;
	const uint64_t *storage_nbytes;
	size_t n_storages;
	const struct tp_meta *meta;
	size_t n_meta;
	const struct tp_attachment *attachments;
	size_t n_attachments;
};

/*
 * ---- formats ----
 */

struct tp_format;

/* Formats in the order of formats.def; NULL past the last. */
TP_API const struct tp_format *tp_format_at(size_t i);
TP_API const struct tp_format *tp_format_find(const char *name);
/* By the suffix of an output's name; NULL when none fits. */
TP_API const struct tp_format *tp_format_for_path(const char *path);
TP_API const char *tp_format_name(const struct tp_format *f);

/*
 * ---- reading ----
 */

struct tp_reader;
struct tp_stream;

enum tp_open_flags {
	TP_OPEN_NO_MMAP = 1,	 /* tp_reader_tensor reads copies */
	TP_OPEN_NO_CHECKSUM = 2, /* do not check payloads against checksums */
	/* ONNX: Constant nodes are not weights but stay in the graph whole. */
	TP_OPEN_KEEP_CONSTANTS = 4,
};

/* A problem that does not stop reading. path names the file it is in. */
typedef void tp_warn_fn(void *ctx, const char *path, const char *message);

struct tp_open_options {
	const char *format; /* NULL: by content */
	struct tp_limits limits;
	unsigned flags;
	const struct tp_alloc *alloc;
	tp_warn_fn *warn;
	void *warn_ctx;
};

/*
 * Open a model. path is a file, "-" for standard input (kept in a temporary
 * file), or a folder that holds a shard set. options may be NULL. TP_EIO when
 * the system refuses, TP_EUNSUPPORTED for a content that no format knows.
 */
TP_API TP_NODISCARD enum tp_status tp_open(const char *path,
    const struct tp_open_options *options, struct tp_reader **out,
    struct tp_err *err);
TP_API void tp_close(struct tp_reader *r);

TP_API const struct tp_format *tp_reader_format(const struct tp_reader *r);
TP_API size_t tp_reader_n_entries(const struct tp_reader *r);
TP_API const struct tp_entry *tp_reader_entry(
    const struct tp_reader *r, size_t i);
/* The entry of that name, or TP_NONE. */
TP_API size_t tp_reader_find(const struct tp_reader *r, struct tp_str name);

TP_API size_t tp_reader_n_storages(const struct tp_reader *r);
TP_API const struct tp_storage_info *tp_reader_storage(
    const struct tp_reader *r, size_t i);

TP_API size_t tp_reader_n_meta(const struct tp_reader *r);
TP_API const struct tp_meta *tp_reader_meta(
    const struct tp_reader *r, size_t i);

/*
 * Attachments. The data is made or read on the first call and borrowed until
 * tp_close; tp_reader_attachment must not run in two threads at once.
 */
TP_API size_t tp_reader_n_attachments(const struct tp_reader *r);
TP_API struct tp_str tp_reader_attachment_name(
    const struct tp_reader *r, size_t i);
TP_API TP_NODISCARD enum tp_status tp_reader_attachment(struct tp_reader *r,
    size_t i, struct tp_attachment *out, struct tp_err *err);

/* The files a model lies in: path and size; NULL past the last. */
TP_API const char *tp_reader_file(
    const struct tp_reader *r, size_t i, uint64_t *nbytes);
/*
 * TP_EIO if one of them was written to or cut since it was opened: what was
 * read may be of two versions. Whoever judges or writes by what was read asks
 * this at the end; tp_transfer_run and tp_transfer_verify do so themselves.
 */
TP_API TP_NODISCARD enum tp_status tp_reader_check_files(
    const struct tp_reader *r, struct tp_err *err);
/* True if path is, perhaps through links, one of them. */
TP_API bool tp_reader_reads_file(const struct tp_reader *r, const char *path);

/*
 * Entry i in memory, in the machine's byte order: a read-only mapping when the
 * bytes allow it, else a private copy. Checksums are verified. A sparse entry
 * becomes dense. TP_EUNSUPPORTED for strings.
 */
TP_API TP_NODISCARD enum tp_status tp_reader_tensor(
    struct tp_reader *r, size_t i, struct tp_tensor **out, struct tp_err *err);

/*
 * The same as a value of a graph; of strings their numbers in the pool, which
 * may be NULL where there are none. *out is NONE on failure.
 */
TP_API TP_NODISCARD enum tp_status tp_reader_value(struct tp_reader *r,
    size_t i, struct tp_strings *strings, struct tp_value *out,
    struct tp_err *err);

/*
 * n bytes at offset of a storage whose encoding is TP_ENC_RAW, which lie inside
 * it; no checksum is compared. For those who divide the work themselves.
 */
TP_API TP_NODISCARD enum tp_status tp_reader_read_raw(const struct tp_reader *r,
    size_t storage, uint64_t offset, void *buf, size_t n, struct tp_err *err);

/*
 * ---- streams: bytes in order, little-endian ----
 */

/* The nbytes of entry i, dense and row-major. */
TP_API TP_NODISCARD enum tp_status tp_stream_entry(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err);
/*
 * The same with the axes in another order: axis d of what comes is axis axes[d]
 * of the entry. TP_EUNSUPPORTED for strings and sparse entries.
 */
TP_API TP_NODISCARD enum tp_status tp_stream_permuted(struct tp_reader *r,
    size_t i, const unsigned *axes, struct tp_stream **out, struct tp_err *err);
/* All bytes of storage i, decoded. */
TP_API TP_NODISCARD enum tp_status tp_stream_storage(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err);

/* Bytes in memory, borrowed: they must outlive the stream. */
TP_API TP_NODISCARD enum tp_status tp_stream_memory(
    const struct tp_alloc *alloc, const void *data, size_t nbytes,
    struct tp_stream **out, struct tp_err *err);

TP_API uint64_t tp_stream_nbytes(const struct tp_stream *s);
TP_API uint64_t tp_stream_left(const struct tp_stream *s);
/*
 * Exactly n bytes, n <= tp_stream_left. A checksum is compared when the last
 * byte is read: TP_EMISMATCH.
 */
TP_API TP_NODISCARD enum tp_status tp_stream_read(
    struct tp_stream *s, void *buf, size_t n, struct tp_err *err);
TP_API void tp_stream_close(struct tp_stream *s);

/*
 * ---- writing ----
 */

/* Why a target cannot hold something; bits of tp_create_options.allow_loss. */
enum tp_loss_kind {
	TP_LOSS_METADATA = 1,
	TP_LOSS_DTYPE = 2,
	TP_LOSS_ALIAS = 4,
	TP_LOSS_NAME = 8,
	TP_LOSS_STRIDES = 16,
	TP_LOSS_QUANTIZATION = 32,
	TP_LOSS_SPARSE = 64,
	TP_LOSS_ALL = 127, /* not a kind: the bits of all */
};

/* "metadata", "dtype", …; and back, 0 if none. */
TP_API const char *tp_loss_name(enum tp_loss_kind kind);
TP_API unsigned tp_loss_find(const char *name);

enum tp_sync { TP_SYNC_AUTO, TP_SYNC_ALWAYS, TP_SYNC_NEVER };
enum tp_external { TP_EXTERNAL_AUTO, TP_EXTERNAL_ALWAYS, TP_EXTERNAL_NEVER };

struct tp_create_options {
	const char *format; /* NULL: by the suffix of path */
	bool force;	    /* replace an existing file */
	bool hold;	    /* tp_writer_commit can be undone */
	enum tp_sync sync;
	uint64_t align;		     /* 0: the format's own */
	int compress;		     /* native: 0 no, 1…9 zlib level */
	uint64_t max_shard_size;     /* safetensors: 0 one file */
	enum tp_external external;   /* ONNX */
	uint64_t external_threshold; /* ONNX: bytes; 0: 1024 */
	const struct tp_alloc *alloc;
};

struct tp_writer;

/*
 * What a file made with these options could not hold of the model: fn is called
 * for each loss with the entry (TP_NONE: the model itself) and a few words, and
 * the kinds are returned as bits. An alias is reported at the second and later
 * entries of a storage. tp_create refuses a model for which this is not 0.
 */
typedef void tp_loss_fn(
    void *ctx, size_t entry, enum tp_loss_kind kind, const char *why);
TP_API unsigned tp_format_loses(const struct tp_format *f,
    const struct tp_create_options *options, const struct tp_model *m,
    tp_loss_fn *fn, void *ctx);
/* True if the format keeps that attachment. */
TP_API bool tp_format_keeps_attachment(
    const struct tp_format *f, struct tp_str name);

/*
 * Begin a file. Everything is checked first, nothing is written before:
 * TP_EUNSUPPORTED when the format cannot hold the model, TP_EOUTPUT when path
 * exists without force or cannot be made. Entries that share a storage are
 * stored once where tp_format_loses reports no alias. The model is borrowed
 * until tp_writer_free.
 */
TP_API TP_NODISCARD enum tp_status tp_create(const char *path,
    const struct tp_model *model, const struct tp_create_options *options,
    struct tp_writer **out, struct tp_err *err);

/*
 * Storages in the order in which they must be put; *n of them. A file that
 * holds the bytes of one in two places may name it twice.
 */
TP_API const size_t *tp_writer_order(const struct tp_writer *w, size_t *n);

/* The bytes of one storage: all that is left in the stream. */
TP_API TP_NODISCARD enum tp_status tp_writer_put(struct tp_writer *w,
    size_t storage, struct tp_stream *s, struct tp_err *err);

/*
 * Complete the files and give them their names, the referring one last. All of
 * them or, on failure, none: what was there has its name again.
 */
TP_API TP_NODISCARD enum tp_status tp_writer_commit(
    struct tp_writer *w, struct tp_err *err);
/*
 * With options->hold: the output is right, and what it replaced can go. Without
 * this call tp_writer_free brings that back.
 */
TP_API void tp_writer_settle(struct tp_writer *w);

/* Drops the writer and whatever was not committed. NULL is allowed. */
TP_API void tp_writer_free(struct tp_writer *w);

/* Files of the output: final path and size so far; NULL past the last. */
TP_API const char *tp_writer_file(
    const struct tp_writer *w, size_t i, uint64_t *nbytes);

#endif
