/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - bytes in
 *
 * A source is a regular file (or a spooled copy of standard input) of a size
 * fixed when it was opened. Structure and payloads are read by pread, so a file
 * that someone truncates meanwhile is an error and not a signal; only
 * tp_reader_tensor maps, and a mapping outlives its source.
 */
#ifndef TPI_SOURCE_H
#define TPI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"

/* Who a file is, whatever its path. */
struct tpi_file_id {
	uint64_t device, inode;
};

struct tpi_source {
	const struct tp_alloc *alloc;
	char *path;
	size_t path_size;
	int fd;
	uint64_t size;
	struct tpi_file_id id;
	int64_t written_s, written_ns; /* when it was written to last */
};

/* "-" is standard input. TP_EIO for what is no readable regular file. */
enum tp_status tpi_source_open(const struct tp_alloc *alloc, const char *path,
    struct tpi_source **out, struct tp_err *err);

/* Adopt an open descriptor (closed also on failure); path is for messages. */
enum tp_status tpi_source_from_fd(const struct tp_alloc *alloc, int fd,
    const char *path, struct tpi_source **out, struct tp_err *err);

/* The same file once more, with a descriptor of its own. */
enum tp_status tpi_source_again(
    const struct tpi_source *s, struct tpi_source **out, struct tp_err *err);

/* NULL is allowed. */
void tpi_source_close(struct tpi_source *s);

/* Exactly n bytes at offset, or TP_EIO: also when the file has become short. */
enum tp_status tpi_source_read(const struct tpi_source *s, uint64_t offset,
    void *buf, size_t n, struct tp_err *err);

/*
 * TP_EIO if the file was written to or cut since it was opened. That another
 * file has its name by now does not matter.
 */
enum tp_status tpi_source_check(const struct tpi_source *s, struct tp_err *err);

#endif
