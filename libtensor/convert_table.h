/* SPDX-License-Identifier: Apache-2.0 */
/* convert_table.h - the results of all codes of a narrow dtype */
#ifndef TPI_CONVERT_TABLE_H
#define TPI_CONVERT_TABLE_H

#include <stdbool.h>

#include "number.h"

/* Elements at once, a multiple of 8, and how many it takes to pay a table. */
#define TPI_TABLE_BLOCK 4096
#define TPI_TABLE_LEAST 1024

struct tpi_table {
	unsigned src_bits, n_codes;
	bool has_no_code; /* a code that no policy can convert */
	size_t dst_size;
	uint8_t results[256 * 8];
	uint8_t outcomes[256], classes[256];
};

bool tpi_table_suits(enum tp_dtype dst, enum tp_dtype src);
void tpi_table_make(struct tpi_table *t, enum tp_dtype dst, enum tp_dtype src,
    enum tp_overflow overflow);

/*
 * Convert at most a block. is_checked: outcomes matter, be it for stats or for
 * an error; then false, with dst undefined, when a code has one that depends on
 * where it stands.
 */
bool tpi_table_convert(const struct tpi_table *t, uint8_t *dst,
    const uint8_t *src, size_t n, bool is_checked, struct tp_cast_stats *stats);

#endif
