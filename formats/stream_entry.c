/* SPDX-License-Identifier: Apache-2.0 */
/* stream_entry.c - which stream an entry needs */
#include "stream_entry.h"

#include <inttypes.h>

#include "banned.h"

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

	/* Row-major from a whole byte on; narrow elements also to a whole one.
	 */
	if (!e->strides && (bits >= 8 || e->first * bits % 8 == 0) &&
	    (e->n_elems * bits % 8 == 0 ||
		e->nbytes == r->storages[e->storage].nbytes))
		return tpi_stream_range(r, e->storage,
		    bits >= 8 ? e->first * (bits / 8) : e->first * bits / 8,
		    e->nbytes, e->name, out, err);
	return tpi_stream_gather(r, e, out, err);
}
