/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_file.h - a file that gets its name when it is whole
 *
 *  1. tpi_part_open: fd is a locked `.NAME.tp-part` beside NAME. Where there is
 *     nothing to rename (standard output, a device, a pipe) it is a spool.
 *  2. Write to fd.
 *  3. tpi_part_sync, tpi_part_commit.
 *  4. tpi_part_close, which removes what was not committed.
 *
 * An output of several files, or one that is still to be proven, can take its
 * names back: tpi_part_set_aside keeps what has the name as `.NAME.tp-old`, and
 * either tpi_part_undo gives it the name again or tpi_part_settle removes it.
 */
#ifndef TPI_PART_FILE_H
#define TPI_PART_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/format.h"

struct tpi_part {
	const struct tp_alloc *alloc;
	char *path; /* the final name; "-" for standard output */
	size_t path_size;
	char *name; /* of the part file; NULL: the data waits in a spool */
	size_t name_size;
	char *old; /* the name of what is kept aside; NULL with a spool */
	size_t old_size;
	bool is_aside; /* something is, of this run */
	enum tp_sync sync;
	bool force;
	bool replaces; /* a file was there */
	bool renamed;
	int fd;
};

/* TP_EOUTPUT when path exists and force is false. On failure *p is closed. */
enum tp_status tpi_part_open(struct tpi_part *p, const struct tp_alloc *alloc,
    const char *path, bool force, enum tp_sync sync, struct tp_err *err);
void tpi_part_close(struct tpi_part *p);

/* Flush to the disk if the policy says so. */
enum tp_status tpi_part_sync(const struct tpi_part *p, struct tp_err *err);

/* The final name for a file of size bytes; from a spool they are copied. */
enum tp_status tpi_part_commit(
    struct tpi_part *p, uint64_t size, struct tp_err *err);

/*
 * Before the commit: keep the file that is there. With leave it has its name
 * until the commit replaces it; else nothing has the name meanwhile.
 */
enum tp_status tpi_part_set_aside(
    struct tpi_part *p, bool leave, struct tp_err *err);
/* As it was before tpi_part_set_aside, as far as the file system lets us. */
void tpi_part_undo(struct tpi_part *p);
/* Remove what is kept aside, by this run or by one that died. */
void tpi_part_settle(struct tpi_part *p);

#endif
