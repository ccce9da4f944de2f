/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_extents.c - do tensors in any order lie side by side?
 *
 *	data_offset
 *	| b          | c    | a              |
 *	0            next   next             *end
 */
#include "safetensors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "banned.h"

struct extent {
	uint64_t begin, end;
	size_t entry;
};

static int
compare_extents(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Each tensor begins where the one before it ends. */
static enum tp_status
follow(const struct tp_reader *r, const struct extent *x, size_t n,
    uint64_t data_offset, uint64_t *end, struct tp_err *err)
{
	uint64_t next = data_offset;

	for (size_t i = 0; i < n; i++) {
		if (x[i].begin != next)
			return tp_fail(err, TP_EFORMAT, x[i].begin,
			    "tensor '%s' begins at %" PRIu64
			    ", expected %" PRIu64 ": %s",
			    TP_BRIEF(r->entries[x[i].entry].name),
			    x[i].begin - data_offset, next - data_offset,
			    x[i].begin < next ? "tensors overlap"
					      : "bytes of no tensor");
		next = x[i].end;
	}
	*end = next - data_offset;
	return TP_OK;
}

enum tp_status
tpi_safetensors_extents(const struct tp_reader *r, size_t first,
    uint64_t data_offset, uint64_t *end, struct tp_err *err)
{
	const size_t n = r->n_entries - first;
	struct extent *x = tp_mem_array(r->alloc, n, sizeof(*x));
	enum tp_status rc;

	if (!x)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to sort %zu tensors", n);
	for (size_t i = 0; i < n; i++) {
		const struct tp_storage_info *s =
		    &r->storages[r->entries[first + i].storage];

		x[i] = (struct extent){
		    s->offset, s->offset + s->nbytes, first + i};
	}
	qsort(x, n, sizeof(*x), compare_extents);
	rc = follow(r, x, n, data_offset, end, err);
	tp_mem_free(r->alloc, x, n, sizeof(*x));
	return rc;
}
