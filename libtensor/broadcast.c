/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c - the common shape, and how each operand walks it */
#include "tp/broadcast.h"

#include <inttypes.h>

#include "banned.h"

enum tp_status
tp_broadcast_shape(const struct tp_shape_ref *shapes, unsigned n,
    int64_t *sizes, unsigned *rank, struct tp_err *err)
{
	int64_t common[TP_MAX_RANK] = {0};
	unsigned most = 0;
	uint64_t n_elems;
	enum tp_status rc;

	for (unsigned k = 0; k < n; k++)
		if (shapes[k].rank > most)
			most = shapes[k].rank;
	for (unsigned d = 0; d < most; d++)
		common[d] = 1;
	for (unsigned k = 0; k < n; k++)
		for (unsigned d = 0; d < shapes[k].rank; d++) {
			unsigned to = most - shapes[k].rank + d;
			int64_t size = shapes[k].sizes[d];

			if (size == 1 || size == common[to])
				continue;
			if (common[to] != 1)
				return tp_fail(err, TP_EARG, TP_NO_OFFSET,
				    "shapes do not fit along axis %u: %" PRId64
				    " and %" PRId64,
				    to, common[to], size);
			common[to] = size;
		}
	rc = tp_shape_numel(common, most, &n_elems, err);
	if (rc)
		return rc;
	for (unsigned d = 0; d < most; d++)
		sizes[d] = common[d];
	*rank = most;
	return TP_OK;
}

void
tp_broadcast_strides(struct tp_shape_ref from, const int64_t *strides,
    struct tp_shape_ref to, int64_t *out)
{
	unsigned lead = to.rank - from.rank;

	for (unsigned d = 0; d < to.rank; d++) {
		bool repeated =
		    d < lead || (from.sizes[d - lead] == 1 && to.sizes[d] != 1);

		out[d] = repeated ? 0 : strides[d - lead];
	}
}
