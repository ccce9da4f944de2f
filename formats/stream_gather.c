/* SPDX-License-Identifier: Apache-2.0 */
/* stream_gather.c - elements in another order than they lie */
#include "stream_entry.h"

#include "banned.h"

enum tp_status
tpi_stream_gather(struct tp_reader *r, const struct tp_entry *e,
    struct tp_stream **out, struct tp_err *err)
{
	(void)r;
	(void)out;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s': strided layouts cannot be read yet",
	    TP_BRIEF(e->name));
}
