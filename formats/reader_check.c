/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_check.c - is an entry possible? For every format the same questions
 *
 *	who	its name: bearable, UTF-8
 *	what	dtype and shape: their counts of elements and bytes
 *	where	the storage: all that the layout reaches lies inside
 */
#include "reader_check.h"

#include <inttypes.h>

#include "tp/checked.h"
#include "tp/shape.h"
#include "tp/utf8.h"

#include "banned.h"

/* Who: bearable, UTF-8. That it is not taken is found when it is entered. */
static enum tp_status
check_name(const struct tp_reader *r, struct tp_str name, uint64_t offset,
    struct tp_err *err)
{
	size_t bad;

	if (name.len > r->limits.name_bytes)
		return tp_fail(err, TP_ELIMIT, offset,
		    "tensor name of %zu bytes, the limit is %" PRIu64, name.len,
		    r->limits.name_bytes);
	bad = tp_utf8_check(name.s, name.len);
	if (bad < name.len)
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor name '%s' is not UTF-8 at byte %zu", TP_BRIEF(name),
		    bad);
	return TP_OK;
}

/* What: the counts that dtype and shape make. */
static enum tp_status
count(const struct tp_reader *r, struct tp_entry *e, uint64_t offset,
    struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc;

	if (e->dtype <= TP_DTYPE_NONE || e->dtype >= TP_DTYPE_COUNT)
		return tp_fail(err, TP_EARG, offset, "tensor '%s': no dtype",
		    TP_BRIEF(e->name));
	if (e->rank > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, offset,
		    "tensor '%s': rank %u, the limit is %u", TP_BRIEF(e->name),
		    e->rank, TP_MAX_RANK);
	rc = tp_shape_numel(e->shape, e->rank, &e->n_elems, &why);
	if (!rc && e->dtype == TP_DTYPE_STRING)
		e->nbytes = r->storages[e->storage].nbytes;
	else if (!rc)
		rc = tp_dtype_nbytes(e->dtype, e->n_elems, &e->nbytes, &why);
	if (rc)
		return tp_fail(err, TP_EFORMAT, offset, "tensor '%s': %s",
		    TP_BRIEF(e->name), why.msg);
	return TP_OK;
}

/* Elements that the layout walks over: the last one reached, plus one. */
static enum tp_status
reach(
    const struct tp_entry *e, uint64_t offset, uint64_t *n, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	int64_t low = 0, high = (int64_t)e->n_elems - 1;

	*n = 0;
	if (e->n_elems == 0)
		return TP_OK;
	if (e->strides &&
	    tp_shape_extent(e->shape, e->strides, e->rank, &low, &high, &why))
		return tp_fail(err, TP_EFORMAT, offset, "tensor '%s': %s",
		    TP_BRIEF(e->name), why.msg);
	if (e->first > INT64_MAX || (int64_t)e->first < -low)
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': its strides reach before its storage",
		    TP_BRIEF(e->name));
	if (tp_add_u64(e->first, (uint64_t)high, n) || tp_add_u64(*n, 1, n))
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': element offset %" PRIu64 " overflows",
		    TP_BRIEF(e->name), e->first);
	return TP_OK;
}

static enum tp_status
need_bytes(const struct tp_reader *r, const struct tp_entry *e, size_t storage,
    enum tp_dtype dtype, uint64_t n, const char *of, uint64_t offset,
    struct tp_err *err)
{
	uint64_t have = r->storages[storage].nbytes, need;

	if (tp_dtype_nbytes(dtype, n, &need, NULL) || need > have)
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': %" PRIu64
		    "%s of %s need more than the %" PRIu64
		    " bytes that are there",
		    TP_BRIEF(e->name), n, of, tp_dtype_name(dtype), have);
	return TP_OK;
}

/* Where, for the coordinate form: values and indices have the room. */
static enum tp_status
check_sparse(const struct tp_reader *r, const struct tp_entry *e,
    uint64_t offset, struct tp_err *err)
{
	const struct tp_sparse_info *s = e->sparse;
	uint64_t n_indices = s->n_values;
	enum tp_status rc;

	if (s->indices >= r->n_storages || e->strides || e->first ||
	    e->dtype == TP_DTYPE_STRING)
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': not a possible sparse tensor",
		    TP_BRIEF(e->name));
	if (s->n_values > e->n_elems ||
	    (s->coordinates && tp_mul_u64(n_indices, e->rank, &n_indices)))
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': %" PRIu64 " sparse values for %" PRIu64
		    " elements",
		    TP_BRIEF(e->name), s->n_values, e->n_elems);
	rc = need_bytes(r, e, e->storage, e->dtype, s->n_values,
	    " sparse values", offset, err);
	if (!rc)
		rc = need_bytes(r, e, s->indices, TP_DTYPE_I64, n_indices,
		    " sparse indices", offset, err);
	return rc;
}

static enum tp_status
check_inside(const struct tp_reader *r, const struct tp_entry *e,
    uint64_t offset, struct tp_err *err)
{
	uint64_t n_reached, have = r->storages[e->storage].nbytes;
	enum tp_status rc;

	if (e->sparse)
		return check_sparse(r, e, offset, err);
	if (e->dtype == TP_DTYPE_STRING) {
		/* Each string has a length of 8 bytes at least. */
		if (e->strides || e->first || e->n_elems > have / 8)
			return tp_fail(err, TP_EFORMAT, offset,
			    "tensor '%s': %" PRIu64 " strings in %" PRIu64
			    " bytes",
			    TP_BRIEF(e->name), e->n_elems, have);
		return TP_OK;
	}
	rc = reach(e, offset, &n_reached, err);
	if (!rc)
		rc = need_bytes(r, e, e->storage, e->dtype, n_reached,
		    " elements", offset, err);
	return rc;
}

enum tp_status
tpi_entry_check(const struct tp_reader *r, struct tp_entry *e, uint64_t offset,
    struct tp_err *err)
{
	enum tp_status rc = check_name(r, e->name, offset, err);

	if (!rc && e->storage >= r->n_storages)
		rc = tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': storage %zu of %zu", TP_BRIEF(e->name),
		    e->storage, r->n_storages);
	if (!rc)
		rc = count(r, e, offset, err);
	return rc ? rc : check_inside(r, e, offset, err);
}

enum tp_status
tpi_expand(struct tp_reader *r, uint64_t nbytes, struct tp_str name,
    uint64_t offset, struct tp_err *err)
{
	uint64_t limit;

	if (tp_mul_u64(r->source_bytes, r->limits.expansion, &limit))
		limit = UINT64_MAX;
	if (limit < TPI_EXPANSION_FREE)
		limit = TPI_EXPANSION_FREE;
	if (tp_add_u64(r->expanded_bytes, nbytes, &nbytes))
		nbytes = UINT64_MAX;
	if (nbytes > limit)
		return tp_fail(err, TP_ELIMIT, offset,
		    "'%s': the expansion of %" PRIu64
		    " bytes goes beyond %" PRIu64 " bytes",
		    TP_BRIEF(name), r->source_bytes, limit);
	r->expanded_bytes = nbytes;
	return TP_OK;
}

/* What must be decoded of a storage to read any of it. */
static uint64_t
decoded_nbytes(const struct tp_reader *r, size_t storage)
{
	const struct tp_storage_info *s = &r->storages[storage];

	return s->encoding == TP_ENC_RAW ? 0 : s->nbytes;
}

enum tp_status
tpi_entry_expand(struct tp_reader *r, const struct tp_entry *e, uint64_t offset,
    struct tp_err *err)
{
	uint64_t nbytes = e->nbytes, whole = decoded_nbytes(r, e->storage);

	if (whole > nbytes)
		nbytes = whole;
	/* check_sparse saw that they fit: at most 8 * 64 bytes a value. */
	if (e->sparse &&
	    (tp_mul_u64(e->sparse->n_values,
		 e->sparse->coordinates ? 8 * (uint64_t)e->rank : 8, &whole) ||
		tp_add_u64(nbytes, whole, &nbytes)))
		nbytes = UINT64_MAX;
	return tpi_expand(r, nbytes, e->name, offset, err);
}

enum tp_status
tpi_text_check(struct tp_str text, const char *what, uint64_t limit,
    uint64_t offset, struct tp_err *err)
{
	size_t bad;

	if (text.len > limit)
		return tp_fail(err, TP_ELIMIT, offset,
		    "%s of %zu bytes, the limit is %" PRIu64, what, text.len,
		    limit);
	bad = tp_utf8_check(text.s, text.len);
	if (bad < text.len)
		return tp_fail(err, TP_EFORMAT, offset,
		    "%s '%s' is not UTF-8 at byte %zu", what, TP_BRIEF(text),
		    bad);
	return TP_OK;
}
