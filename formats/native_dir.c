/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_dir.c - write the directory of a native file
 *
 * Sizes come first, since a section begins with its own; each is the sum of the
 * parts that the function which writes the record puts down.
 */
#include "native_write.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"

#include "crc32c.h"

#include "banned.h"

static bool
fits_in_name(struct tp_str name, struct tp_str part, bool at_end)
{
	size_t skip = at_end ? name.len - part.len : 0;

	return part.len && part.len <= name.len &&
	       !memcmp(name.s + skip, part.s, part.len);
}

/* Where nobody said otherwise a tensor is called the same inside its scope. */
static struct tp_str
local_name(const struct tp_entry *e)
{
	return e->local.s ? e->local : e->name;
}

static uint32_t
tensor_flags(const struct tp_entry *e)
{
	uint32_t flags = 0;

	if (e->strides)
		flags |= TPI_NATIVE_STRIDES;
	if (e->sparse)
		flags |= TPI_NATIVE_SPARSE;
	if (e->sparse && e->sparse->coordinates)
		flags |= TPI_NATIVE_COORDINATES;
	if (fits_in_name(e->name, e->scope, false))
		flags |= TPI_NATIVE_SCOPE_IN_NAME;
	if (fits_in_name(e->name, local_name(e), true))
		flags |= TPI_NATIVE_LOCAL_IN_NAME;
	return flags;
}

/* The sum of a record's parts, rounded up; UINT64_MAX when it overflows. */
static uint64_t
record_nbytes(const uint64_t *parts, size_t n_parts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n_parts; i++)
		if (tp_add_u64(sum, parts[i], &sum))
			return UINT64_MAX;
	return tp_round_up_u64(sum, TPI_NATIVE_UNIT, &sum) ? UINT64_MAX : sum;
}
#define RECORD_NBYTES(...)                             \
	record_nbytes((const uint64_t[]){__VA_ARGS__}, \
	    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/*
 * Bytes of record i, or 0 if there is none. Only those of storages and
 * attachments depend on the writer.
 */
typedef uint64_t nbytes_fn(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i);

static uint64_t
storage_nbytes(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i)
{
	(void)m;
	return RECORD_NBYTES(
	    TPI_NATIVE_EXTENT_SIZE, (uint64_t)n->storages[i].n_chunks * 4);
}

static uint64_t
tensor_nbytes(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i)
{
	const struct tp_entry *e = &m->entries[i];
	uint32_t flags = tensor_flags(e);

	(void)n;
	return RECORD_NBYTES(TPI_NATIVE_TENSOR_SIZE, (uint64_t)e->rank * 8,
	    e->strides ? (uint64_t)e->rank * 8 : 0,
	    e->sparse ? TPI_NATIVE_SPARSE_SIZE : 0, e->name.len,
	    flags & TPI_NATIVE_SCOPE_IN_NAME ? 0 : e->scope.len,
	    flags & TPI_NATIVE_LOCAL_IN_NAME ? 0 : local_name(e).len);
}

static uint64_t
quantizer_nbytes(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i)
{
	(void)n;
	return m->entries[i].quant ? TPI_NATIVE_QUANTIZER_SIZE : 0;
}

static uint64_t
meta_nbytes(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i)
{
	(void)n;
	return RECORD_NBYTES(
	    TPI_NATIVE_META_SIZE, m->meta[i].key.len, m->meta[i].value.len);
}

static uint64_t
attachment_nbytes(
    const struct tpi_native_writer *n, const struct tp_model *m, size_t i)
{
	return RECORD_NBYTES(TPI_NATIVE_EXTENT_SIZE, TPI_NATIVE_ATTACHMENT_SIZE,
	    (uint64_t)n->attachments[i].n_chunks * 4,
	    m->attachments[i].name.len);
}

enum tp_status
tpi_native_check_model(const struct tp_model *m, struct tp_err *err)
{
	if (m->n_storages >= TPI_NATIVE_NO_INDEX ||
	    m->n_entries >= TPI_NATIVE_NO_INDEX)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%zu storages and %zu tensors, a native file holds fewer "
		    "than 2^32 - 1",
		    m->n_storages, m->n_entries);
	for (size_t i = 0; i < m->n_entries; i++)
		if (tensor_nbytes(NULL, m, i) > UINT32_MAX)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "tensor '%s': a name of %zu bytes, a native file "
			    "holds less than 4 GiB",
			    TP_BRIEF(m->entries[i].name),
			    m->entries[i].name.len);
	for (size_t i = 0; i < m->n_meta; i++)
		if (meta_nbytes(NULL, m, i) > UINT32_MAX)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "metadata '%s': %zu bytes, a native file holds "
			    "less than 4 GiB",
			    TP_BRIEF(m->meta[i].key), m->meta[i].value.len);
	return TP_OK;
}

static enum tp_status
emit(struct tpi_native_writer *n, const void *bytes, size_t nbytes,
    struct tp_err *err)
{
	if (nbytes == 0)
		return TP_OK;
	n->dir_crc32c = tpi_crc32c(n->dir_crc32c, bytes, nbytes);
	return tpi_sink_write(n->sink, bytes, nbytes, err);
}

/* Zeros up to the next record; records begin at multiples of 8 in the file. */
static enum tp_status
emit_padding(struct tpi_native_writer *n, struct tp_err *err)
{
	static const uint8_t zeros[TPI_NATIVE_UNIT];
	size_t over = (size_t)(tpi_sink_size(n->sink) % TPI_NATIVE_UNIT);

	return emit(n, zeros, over ? TPI_NATIVE_UNIT - over : 0, err);
}

static enum tp_status
emit_dims(struct tpi_native_writer *n, const int64_t *v, unsigned count,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint8_t bytes[8];

	for (unsigned i = 0; i < count && !rc; i++) {
		tp_put_le64(bytes, (uint64_t)v[i]);
		rc = emit(n, bytes, sizeof(bytes), err);
	}
	return rc;
}

static enum tp_status
emit_chunks(struct tpi_native_writer *n, const struct tpi_native_place *p,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint8_t bytes[4];

	for (size_t i = 0; i < p->n_chunks && !rc; i++) {
		tp_put_le32(bytes, p->chunks[i]);
		rc = emit(n, bytes, sizeof(bytes), err);
	}
	return rc;
}

/* Put record i, of that size, but for the zeros at its end. */
typedef enum tp_status emit_fn(struct tpi_native_writer *n,
    const struct tp_model *m, size_t i, uint32_t nbytes, struct tp_err *err);

static enum tp_status
emit_storage(struct tpi_native_writer *n, const struct tp_model *m, size_t i,
    uint32_t nbytes, struct tp_err *err)
{
	struct tpi_native_place *p = &n->storages[i];
	uint8_t bytes[TPI_NATIVE_EXTENT_SIZE];
	enum tp_status rc;

	(void)m;
	p->x.record_nbytes = nbytes;
	tpi_native_put_extent(bytes, &p->x);
	rc = emit(n, bytes, sizeof(bytes), err);
	return rc ? rc : emit_chunks(n, p, err);
}

/* What of a tensor varies: shape, strides, sparse part, names. */
static enum tp_status
emit_tensor_rest(struct tpi_native_writer *n, const struct tp_entry *e,
    uint32_t flags, struct tp_err *err)
{
	enum tp_status rc = emit_dims(n, e->shape, e->rank, err);

	if (!rc && e->strides)
		rc = emit_dims(n, e->strides, e->rank, err);
	if (!rc && e->sparse) {
		struct tpi_native_sparse s = {
		    .n_values = e->sparse->n_values,
		    .indices = (uint32_t)e->sparse->indices,
		};
		uint8_t bytes[TPI_NATIVE_SPARSE_SIZE];

		tpi_native_put_sparse(bytes, &s);
		rc = emit(n, bytes, sizeof(bytes), err);
	}
	if (!rc)
		rc = emit(n, e->name.s, e->name.len, err);
	if (!rc && !(flags & TPI_NATIVE_SCOPE_IN_NAME))
		rc = emit(n, e->scope.s, e->scope.len, err);
	if (!rc && !(flags & TPI_NATIVE_LOCAL_IN_NAME))
		rc = emit(n, local_name(e).s, local_name(e).len, err);
	return rc;
}

static enum tp_status
emit_tensor(struct tpi_native_writer *n, const struct tp_model *m, size_t i,
    uint32_t nbytes, struct tp_err *err)
{
	const struct tp_entry *e = &m->entries[i];
	struct tpi_native_tensor t = {
	    .record_nbytes = nbytes,
	    .dtype = tpi_native_dtype_code(e->dtype),
	    .rank = (uint8_t)e->rank,
	    .origin = (uint8_t)e->origin,
	    .flags = tensor_flags(e),
	    .storage = (uint32_t)e->storage,
	    .first = e->first,
	    .quantizer = e->quant ? n->n_quantized++ : TPI_NATIVE_NO_INDEX,
	    .name_nbytes = (uint32_t)e->name.len,
	    .scope_nbytes = (uint32_t)e->scope.len,
	    .local_nbytes = (uint32_t)local_name(e).len,
	};
	uint8_t bytes[TPI_NATIVE_TENSOR_SIZE];
	enum tp_status rc;

	tpi_native_put_tensor(bytes, &t);
	rc = emit(n, bytes, sizeof(bytes), err);
	return rc ? rc : emit_tensor_rest(n, e, t.flags, err);
}

static enum tp_status
emit_quantizer(struct tpi_native_writer *n, const struct tp_model *m, size_t i,
    uint32_t nbytes, struct tp_err *err)
{
	const struct tp_quant_info *q = m->entries[i].quant;
	struct tpi_native_quantizer d = {
	    .record_nbytes = nbytes,
	    .per = (uint8_t)q->per,
	    .flags = q->in_graph ? TPI_NATIVE_IN_GRAPH : 0,
	    .axis = q->per == TP_PER_TENSOR ? 0 : q->axis,
	    .block = q->per == TP_PER_BLOCK ? q->block : 0,
	    .scale = (uint32_t)q->scale,
	    .zero_point = q->zero_point == TP_NONE ? TPI_NATIVE_NO_INDEX
						   : (uint32_t)q->zero_point,
	};
	uint8_t bytes[TPI_NATIVE_QUANTIZER_SIZE];

	tpi_native_put_quantizer(bytes, &d);
	return emit(n, bytes, sizeof(bytes), err);
}

static enum tp_status
emit_meta(struct tpi_native_writer *n, const struct tp_model *m, size_t i,
    uint32_t nbytes, struct tp_err *err)
{
	const struct tp_meta *pair = &m->meta[i];
	struct tpi_native_meta d = {
	    .record_nbytes = nbytes,
	    .key_nbytes = (uint32_t)pair->key.len,
	    .value_nbytes = (uint32_t)pair->value.len,
	};
	uint8_t bytes[TPI_NATIVE_META_SIZE];
	enum tp_status rc;

	tpi_native_put_meta(bytes, &d);
	rc = emit(n, bytes, sizeof(bytes), err);
	if (!rc)
		rc = emit(n, pair->key.s, pair->key.len, err);
	return rc ? rc : emit(n, pair->value.s, pair->value.len, err);
}

static enum tp_status
emit_attachment(struct tpi_native_writer *n, const struct tp_model *m, size_t i,
    uint32_t nbytes, struct tp_err *err)
{
	struct tpi_native_place *p = &n->attachments[i];
	struct tp_str name = m->attachments[i].name;
	struct tpi_native_attachment a = {.name_nbytes = (uint32_t)name.len};
	uint8_t bytes[TPI_NATIVE_EXTENT_SIZE + TPI_NATIVE_ATTACHMENT_SIZE];
	enum tp_status rc;

	p->x.record_nbytes = nbytes;
	tpi_native_put_extent(bytes, &p->x);
	tpi_native_put_attachment(bytes + TPI_NATIVE_EXTENT_SIZE, &a);
	rc = emit(n, bytes, sizeof(bytes), err);
	if (!rc)
		rc = emit_chunks(n, p, err);
	return rc ? rc : emit(n, name.s, name.len, err);
}

struct section {
	enum tpi_native_section_kind kind;
	size_t n; /* records at most */
	nbytes_fn *nbytes;
	emit_fn *emit;
};

static enum tp_status
emit_section(struct tpi_native_writer *n, const struct tp_model *m,
    const struct section *s, struct tp_err *err)
{
	struct tpi_native_section head = {.kind = (uint32_t)s->kind};
	uint8_t bytes[TPI_NATIVE_SECTION_SIZE];
	enum tp_status rc;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t nbytes = s->nbytes(n, m, i);

		head.n_records += nbytes > 0;
		head.nbytes += nbytes;
	}
	tpi_native_put_section(bytes, &head);
	rc = emit(n, bytes, sizeof(bytes), err);
	for (size_t i = 0; i < s->n && !rc; i++) {
		uint64_t nbytes = s->nbytes(n, m, i);

		if (nbytes)
			rc = s->emit(n, m, i, (uint32_t)nbytes, err);
		if (!rc)
			rc = emit_padding(n, err);
	}
	return rc;
}

enum tp_status
tpi_native_put_directory(
    struct tpi_native_writer *n, const struct tp_model *m, struct tp_err *err)
{
	const struct section sections[] = {
	    {TPI_NATIVE_STORAGES, m->n_storages, storage_nbytes, emit_storage},
	    {TPI_NATIVE_TENSORS, m->n_entries, tensor_nbytes, emit_tensor},
	    {TPI_NATIVE_QUANTIZERS, m->n_entries, quantizer_nbytes,
		emit_quantizer},
	    {TPI_NATIVE_METADATA, m->n_meta, meta_nbytes, emit_meta},
	    {TPI_NATIVE_ATTACHMENTS, m->n_attachments, attachment_nbytes,
		emit_attachment},
	};
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !rc; i++)
		rc = emit_section(n, m, &sections[i], err);
	return rc;
}
