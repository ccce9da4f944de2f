/* SPDX-License-Identifier: Apache-2.0 */
/* reader_check.h - the checks of what a format adds to a reader */
#ifndef TPI_READER_CHECK_H
#define TPI_READER_CHECK_H

#include "plugin.h"

/*
 * Is the entry possible with the storages that r has? Sets n_elems and nbytes.
 * offset is where the file tells of it.
 */
enum tp_status tpi_entry_check(const struct tp_reader *r, struct tp_entry *e,
    uint64_t offset, struct tp_err *err);

/* Expansion that no limit is needed for, in bytes. */
#define TPI_EXPANSION_FREE ((uint64_t)16 << 20)

/*
 * So many bytes are to be made of those of the files, on behalf of what has
 * that name: within limits.expansion, together with all before?
 */
enum tp_status tpi_expand(struct tp_reader *r, uint64_t nbytes,
    struct tp_str name, uint64_t offset, struct tp_err *err);

/*
 * The same for reading an entry that was checked: dense, and in a storage that
 * is not raw by decoding it from its beginning.
 */
enum tp_status tpi_entry_expand(struct tp_reader *r, const struct tp_entry *e,
    uint64_t offset, struct tp_err *err);

/* Text called `what`: at most limit bytes, UTF-8. */
enum tp_status tpi_text_check(struct tp_str text, const char *what,
    uint64_t limit, uint64_t offset, struct tp_err *err);

#endif
