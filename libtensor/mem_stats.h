/* SPDX-License-Identifier: Apache-2.0 */
/* mem_stats.h - how allocations come to be noted */
#ifndef TPI_MEM_STATS_H
#define TPI_MEM_STATS_H

#include "tp/data_ptr.h"
#include "tp/error.h"
#include "tp/mem_stats.h"

/*
 * Note a block that was just made: its handle will report when it is given
 * back. On failure the block has been given back.
 */
enum tp_status tpi_mem_note(size_t nbytes, struct tp_data_ptr *p,
    const char *file, int line, struct tp_err *err);

#endif
