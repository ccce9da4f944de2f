/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_read.c - the header and the directory of a native file
 *
 *	header -> directory: section … section
 *	section: kind, flags, count, size | record … record
 *
 * Both are guarded by checksums, so what fails behind them was written so.
 */
#include "native_read.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "crc32c.h"
#include "native_chunks.h"

#include "banned.h"

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for the directory");
}

/* What the bytes are, and whether they are all there. */
static enum tp_status
read_header(
    struct tp_reader *r, struct tpi_native_header *h, struct tp_err *err)
{
	const struct tpi_source *src = r->sources[0];
	uint8_t head[TPI_NATIVE_HEADER_SIZE];
	enum tp_status rc;
	uint32_t crc;

	if (src->size < sizeof(head))
		return tp_fail(err, TP_EFORMAT, 0,
		    "%" PRIu64 " bytes are too few for a header of %zu",
		    src->size, sizeof(head));
	rc = tpi_source_read(src, 0, head, sizeof(head), err);
	if (rc)
		return rc;
	tpi_native_get_header(head, h);
	if (h->magic != TPI_NATIVE_MAGIC)
		return tp_fail(
		    err, TP_EFORMAT, 0, "no native file: its magic is wrong");
	crc = tpi_crc32c(0, head, TPI_NATIVE_HEADER_COVERED);
	if (h->crc32c != crc)
		return tp_fail(err, TP_EFORMAT, TPI_NATIVE_HEADER_COVERED,
		    "header checksum %08" PRIx32 ", expected %08" PRIx32, crc,
		    h->crc32c);
	if (h->byte_order != TPI_NATIVE_BYTE_ORDER)
		return tp_fail(err, TP_EFORMAT, 8,
		    "byte-order mark %08" PRIx32 ", expected %08" PRIx32,
		    h->byte_order, TPI_NATIVE_BYTE_ORDER);
	if (h->major != TPI_NATIVE_MAJOR)
		return tp_fail(err, TP_EUNSUPPORTED, 12,
		    "version %u.%u, only %u is known", h->major, h->minor,
		    TPI_NATIVE_MAJOR);
	return TP_OK;
}

static enum tp_status
check_header(const struct tp_reader *r, const struct tpi_native_header *h,
    struct tp_err *err)
{
	uint64_t size = r->sources[0]->size, end;

	if (h->file_nbytes != size)
		return tp_fail(err, TP_EFORMAT, 16,
		    "the file has %" PRIu64 " bytes, its header says %" PRIu64,
		    size, h->file_nbytes);
	if (h->align < TPI_NATIVE_ALIGN_MIN ||
	    h->align > TPI_NATIVE_ALIGN_MAX || (h->align & (h->align - 1)))
		return tp_fail(err, TP_EFORMAT, 44,
		    "alignment %" PRIu32
		    ", expected a power of two from %d to %d",
		    h->align, TPI_NATIVE_ALIGN_MIN, TPI_NATIVE_ALIGN_MAX);
	if (h->dir_offset < TPI_NATIVE_HEADER_SIZE ||
	    h->dir_offset % TPI_NATIVE_UNIT)
		return tp_fail(err, TP_EFORMAT, 24,
		    "directory at %" PRIu64
		    ", expected a multiple of %d behind the header",
		    h->dir_offset, TPI_NATIVE_UNIT);
	if (tp_add_u64(h->dir_offset, h->dir_nbytes, &end) || end != size)
		return tp_fail(err, TP_EFORMAT, 24,
		    "directory of %" PRIu64 " bytes at %" PRIu64
		    " does not end where the file does, at %" PRIu64,
		    h->dir_nbytes, h->dir_offset, size);
	if (h->dir_nbytes > r->limits.directory_bytes)
		return tp_fail(err, TP_ELIMIT, 32,
		    "directory of %" PRIu64 " bytes, the limit is %" PRIu64,
		    h->dir_nbytes, r->limits.directory_bytes);
	if (h->minor <= TPI_NATIVE_MINOR && (h->reserved || h->reserved2))
		return tp_fail(err, TP_EFORMAT, 48,
		    "reserved bytes of the header are not zero");
	return TP_OK;
}

/*
 * ---- sections ----
 */

static const struct {
	const char *label;
	size_t record_min;
} kinds[] = {
    [TPI_NATIVE_STORAGES] = {"storage", TPI_NATIVE_EXTENT_SIZE},
    [TPI_NATIVE_TENSORS] = {"tensor", TPI_NATIVE_TENSOR_SIZE},
    [TPI_NATIVE_QUANTIZERS] = {"quantizer", TPI_NATIVE_QUANTIZER_SIZE},
    [TPI_NATIVE_METADATA] = {"metadata", TPI_NATIVE_META_SIZE},
    [TPI_NATIVE_ATTACHMENTS] = {"attachment",
	TPI_NATIVE_EXTENT_SIZE + TPI_NATIVE_ATTACHMENT_SIZE},
};

/* The next section, which must be of that kind; dir moves behind it. */
static enum tp_status
begin_section(struct tpi_native_walk *w, struct tpi_cursor *dir,
    enum tpi_native_section_kind kind, struct tp_err *err)
{
	uint64_t at = tpi_cursor_at(dir);
	struct tpi_native_section s;
	const uint8_t *p;

	w->label = kinds[kind].label;
	if (!tpi_cursor_take(dir, TPI_NATIVE_SECTION_SIZE, &p))
		return tp_fail(err, TP_EFORMAT, at,
		    "the directory ends before its %s section", w->label);
	tpi_native_get_section(p, &s);
	if (s.kind != (uint32_t)kind)
		return tp_fail(err, TP_EFORMAT, at,
		    "section of kind %" PRIu32 ", expected %d (%s)", s.kind,
		    (int)kind, w->label);
	if (s.flags && !w->n->newer)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s section: flags %" PRIu32 ", expected 0", w->label,
		    s.flags);
	if (s.nbytes > tpi_cursor_left(dir) || s.nbytes % TPI_NATIVE_UNIT ||
	    s.n_records > s.nbytes / kinds[kind].record_min)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s section: %" PRIu64 " records in %" PRIu64
		    " bytes, but %zu are left",
		    w->label, s.n_records, s.nbytes, tpi_cursor_left(dir));
	w->c = tpi_cursor(p + TPI_NATIVE_SECTION_SIZE, (size_t)s.nbytes,
	    at + TPI_NATIVE_SECTION_SIZE);
	w->count = (size_t)s.n_records;
	w->i = 0;
	dir->pos += (size_t)s.nbytes;
	return TP_OK;
}

static enum tp_status
end_section(const struct tpi_native_walk *w, struct tp_err *err)
{
	if (tpi_cursor_left(&w->c) == 0)
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, tpi_cursor_at(&w->c),
	    "%s section: %zu bytes follow its %zu records", w->label,
	    tpi_cursor_left(&w->c), w->count);
}

/* Sections whose records need nothing from others. */
typedef enum tp_status read_fn(struct tpi_native_walk *w, struct tp_err *err);

static enum tp_status
read_section(struct tpi_native_walk *w, struct tpi_cursor *dir,
    enum tpi_native_section_kind kind, struct tpi_native_place **places,
    read_fn *fn, struct tp_err *err)
{
	enum tp_status rc = begin_section(w, dir, kind, err);

	if (!rc && places) {
		*places =
		    tpi_arena_array(&w->r->arena, w->count, sizeof(**places));
		if (!*places)
			return out_of_memory(err);
	}
	for (; !rc && w->i < w->count; w->i++)
		rc = fn(w, err);
	return rc ? rc : end_section(w, err);
}

/* Quantizers follow the tensors that name them, and are given to them then. */
static enum tp_status
read_tensors(
    struct tpi_native_walk *w, struct tpi_cursor *dir, struct tp_err *err)
{
	const struct tp_alloc *alloc = w->r->alloc;
	struct tp_quant_info *quant = NULL;
	uint32_t *wanted = NULL;
	size_t n_tensors = 0, n_quant = 0;
	enum tp_status rc;

	rc = begin_section(w, dir, TPI_NATIVE_TENSORS, err);
	if (rc)
		return rc;
	n_tensors = w->count;
	wanted = tp_mem_array(alloc, n_tensors, sizeof(*wanted));
	rc = wanted ? TP_OK : out_of_memory(err);
	for (; !rc && w->i < n_tensors; w->i++)
		rc = tpi_native_read_tensor(w, &wanted[w->i], err);
	if (!rc)
		rc = end_section(w, err);
	if (!rc)
		rc = begin_section(w, dir, TPI_NATIVE_QUANTIZERS, err);
	if (rc)
		goto out;

	n_quant = w->count;
	quant = tp_mem_array(alloc, n_quant, sizeof(*quant));
	rc = quant ? TP_OK : out_of_memory(err);
	for (; !rc && w->i < n_quant; w->i++)
		rc = tpi_native_read_quantizer(w, &quant[w->i], err);
	if (!rc)
		rc = end_section(w, err);
	for (size_t i = 0; i < n_tensors && !rc; i++) {
		if (wanted[i] == TPI_NATIVE_NO_INDEX)
			continue;
		if (wanted[i] >= n_quant)
			rc = tp_fail(err, TP_EFORMAT, w->c.offset,
			    "tensor %zu: quantizer %" PRIu32 " of %zu", i,
			    wanted[i], n_quant);
		else
			rc = tpi_reader_set_quant(
			    w->r, i, &quant[wanted[i]], err);
	}
out:
	if (quant)
		tp_mem_free(alloc, quant, n_quant, sizeof(*quant));
	tp_mem_free(alloc, wanted, n_tensors, sizeof(*wanted));
	return rc;
}

/* Sections of a later minor version follow ours; some forbid to be skipped. */
static enum tp_status
skip_sections(
    struct tpi_native_walk *w, struct tpi_cursor *dir, struct tp_err *err)
{
	struct tpi_native_section s;
	const uint8_t *p;

	while (tpi_cursor_left(dir)) {
		uint64_t at = tpi_cursor_at(dir);

		if (!w->n->newer ||
		    !tpi_cursor_take(dir, TPI_NATIVE_SECTION_SIZE, &p))
			return tp_fail(err, TP_EFORMAT, at,
			    "%zu bytes follow the last section",
			    tpi_cursor_left(dir));
		tpi_native_get_section(p, &s);
		if (s.flags & TPI_NATIVE_SECTION_CRITICAL)
			return tp_fail(err, TP_EUNSUPPORTED, at,
			    "section of kind %" PRIu32
			    " is not known and must not be skipped",
			    s.kind);
		if (s.nbytes > tpi_cursor_left(dir))
			return tp_fail(err, TP_EFORMAT, at,
			    "section of kind %" PRIu32 ": %" PRIu64
			    " bytes, but %zu are left",
			    s.kind, s.nbytes, tpi_cursor_left(dir));
		dir->pos += (size_t)s.nbytes;
	}
	return TP_OK;
}

static enum tp_status
read_directory(struct tp_reader *r, struct tpi_native_reader *n,
    const struct tpi_native_header *h, const uint8_t *bytes, struct tp_err *err)
{
	struct tpi_cursor dir =
	    tpi_cursor(bytes, (size_t)h->dir_nbytes, h->dir_offset);
	struct tpi_native_walk w = {.r = r, .n = n};
	uint32_t crc = tpi_crc32c(0, bytes, dir.size);
	enum tp_status rc;

	if (crc != h->dir_crc32c)
		return tp_fail(err, TP_EFORMAT, h->dir_offset,
		    "directory checksum %08" PRIx32 ", expected %08" PRIx32,
		    crc, h->dir_crc32c);
	rc = read_section(&w, &dir, TPI_NATIVE_STORAGES, &n->storages,
	    tpi_native_read_storage, err);
	if (!rc)
		rc = read_tensors(&w, &dir, err);
	if (!rc)
		rc = read_section(&w, &dir, TPI_NATIVE_METADATA, NULL,
		    tpi_native_read_meta, err);
	if (!rc)
		rc = read_section(&w, &dir, TPI_NATIVE_ATTACHMENTS,
		    &n->attachments, tpi_native_read_attachment, err);
	if (!rc)
		rc = skip_sections(&w, &dir, err);
	if (rc)
		return rc;
	if (h->dir_offset - n->end >= TPI_NATIVE_UNIT)
		return tp_fail(err, TP_EFORMAT, n->end,
		    "%" PRIu64 " unused bytes before the directory, expected "
		    "less than %d",
		    h->dir_offset - n->end, TPI_NATIVE_UNIT);
	return tpi_native_check_padding(r, n, err);
}

enum tp_status
tpi_native_open(struct tp_reader *r, struct tp_err *err)
{
	struct tpi_native_header h = {0};
	struct tpi_native_reader *n;
	uint8_t *bytes;
	enum tp_status rc;
	size_t nbytes;

	rc = read_header(r, &h, err);
	if (!rc)
		rc = check_header(r, &h, err);
	if (rc)
		return rc;
	n = tpi_arena_array(&r->arena, 1, sizeof(*n));
	if (!n || tp_u64_to_size(h.dir_nbytes, &nbytes))
		return out_of_memory(err);
	n->newer = h.minor > TPI_NATIVE_MINOR;
	n->align = h.align;
	n->dir_offset = h.dir_offset;
	n->end = TPI_NATIVE_HEADER_SIZE;
	r->priv = n;
	if (n->newer)
		tpi_reader_warn(r, 0,
		    "minor version %u is newer than %d: what it added is "
		    "ignored",
		    h.minor, TPI_NATIVE_MINOR);

	bytes = tp_mem_array(r->alloc, nbytes, 1);
	if (!bytes)
		return out_of_memory(err);
	rc = tpi_source_read(r->sources[0], h.dir_offset, bytes, nbytes, err);
	if (!rc)
		rc = read_directory(r, n, &h, bytes, err);
	tp_mem_free(r->alloc, bytes, nbytes, 1);
	return rc;
}

static struct tp_str
name_of(const struct tp_reader *r, size_t storage)
{
	size_t entry = r->first_entry[storage];

	return entry == TP_NONE ? TP_STR("(unnamed)") : r->entries[entry].name;
}

enum tp_status
tpi_native_stream(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err)
{
	const struct tpi_native_reader *n = r->priv;

	return tpi_native_place_stream(
	    r, &n->storages[i], name_of(r, i), out, err);
}

enum tp_status
tpi_native_stream_from(struct tp_reader *r, size_t i, uint64_t from,
    struct tp_stream **out, struct tp_err *err)
{
	const struct tpi_native_reader *n = r->priv;
	enum tp_status rc = TP_OK;

	if (!*out)
		rc = tpi_inflate_stream(r->alloc, r->sources[0],
		    &n->storages[i], false, name_of(r, i), out, err);
	if (!rc)
		tpi_inflate_from(*out, from);
	return rc;
}

enum tp_status
tpi_native_attach(struct tp_reader *r, size_t i, struct tp_err *err)
{
	const struct tpi_native_reader *n = r->priv;
	const struct tpi_native_place *place = &n->attachments[i];
	struct tp_attachment *a = &r->attachments[i];
	struct tp_stream *s = NULL;
	enum tp_status rc;
	size_t nbytes;
	void *data;

	if (place->x.nbytes > r->limits.directory_bytes ||
	    tp_u64_to_size(place->x.nbytes, &nbytes))
		return tp_fail(err, TP_ELIMIT, place->x.offset,
		    "attachment '%s' of %" PRIu64
		    " bytes, the limit is %" PRIu64,
		    TP_BRIEF(a->name), place->x.nbytes,
		    r->limits.directory_bytes);
	rc = tpi_native_place_stream(r, place, a->name, &s, err);
	if (rc)
		return rc;
	data = tpi_arena_array(&r->arena, nbytes, 1);
	rc = data ? tp_stream_read(s, data, nbytes, err) : out_of_memory(err);
	tp_stream_close(s);
	if (rc)
		return rc;
	a->data = data;
	a->nbytes = nbytes;
	return TP_OK;
}
