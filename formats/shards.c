/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - shard sets */
#include "shards.h"

#include "banned.h"

enum tp_status
tpi_shards_locate(const struct tp_alloc *alloc, const char *folder, char **path,
    size_t *path_size, struct tp_err *err)
{
	(void)alloc;
	(void)folder;
	*path = NULL;
	*path_size = 0;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "is a folder; shard sets cannot be read");
}
