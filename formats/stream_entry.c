/* SPDX-License-Identifier: Apache-2.0 */
/* stream_entry.c - which stream an entry needs */
#include "stream_entry.h"

#include <inttypes.h>

#include "tp/shape.h"

#include "banned.h"

bool
tpi_entry_fills_bytes(const struct tp_entry *e)
{
	unsigned bits = tp_dtype_bits(e->dtype);

	return bits % 8 == 0 || e->n_elems % 8 * bits % 8 == 0;
}

enum tp_status
tp_stream_entry(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err)
{
	const struct tp_entry *e;
	unsigned bits;

	*out = NULL;
	if (i >= r->n_entries)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "entry %zu of %zu",
		    i, r->n_entries);
	e = &r->entries[i];
	bits = tp_dtype_bits(e->dtype);
	if (e->sparse)
		return tpi_stream_sparse(r, e, out, err);
	if (e->dtype == TP_DTYPE_STRING)
		return tpi_stream_storage_of(r, e->storage, e->name, out, err);
	if (e->nbytes == 0)
		return tp_stream_memory(r->alloc, "", 0, out, err);

	/* Row-major from a whole byte to a whole byte. */
	if (!e->strides && (bits >= 8 || e->first * bits % 8 == 0) &&
	    tpi_entry_fills_bytes(e))
		return tpi_stream_range(r, e->storage,
		    bits >= 8 ? e->first * (bits / 8) : e->first * bits / 8,
		    e->nbytes, e->name, out, err);
	return tpi_stream_gather(r, e, out, err);
}

enum tp_status
tp_stream_permuted(struct tp_reader *r, size_t i, const unsigned *axes,
    struct tp_stream **out, struct tp_err *err)
{
	int64_t sizes[TP_MAX_RANK], from[TP_MAX_RANK], strides[TP_MAX_RANK];
	struct tp_entry permuted;
	const struct tp_entry *e;
	uint64_t seen = 0;

	*out = NULL;
	if (i >= r->n_entries)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "entry %zu of %zu",
		    i, r->n_entries);
	e = &r->entries[i];
	if (e->sparse || e->dtype == TP_DTYPE_STRING)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': the axes of %s keep their order",
		    TP_BRIEF(e->name), e->sparse ? "sparse data" : "strings");
	if (!e->strides)
		tp_shape_strides(e->shape, e->rank, from);
	for (unsigned d = 0; d < e->rank; d++) {
		if (axes[d] >= e->rank || seen >> axes[d] & 1)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u twice or beyond rank %u", axes[d],
			    e->rank);
		seen |= UINT64_C(1) << axes[d];
		sizes[d] = e->shape[axes[d]];
		strides[d] = e->strides ? e->strides[axes[d]] : from[axes[d]];
	}
	if (e->nbytes == 0)
		return tp_stream_memory(r->alloc, "", 0, out, err);
	permuted = *e;
	permuted.shape = sizes;
	permuted.strides = strides;
	return tpi_stream_gather(r, &permuted, out, err);
}
