/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.h - what the format layer wants of a system beyond POSIX
 *
 * platform.c is the only file of this layer that names an operating system;
 * elsewhere each function has an answer that is slower and still right.
 */
#ifndef TPI_FORMATS_PLATFORM_H
#define TPI_FORMATS_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy up to n bytes between files inside the kernel. Returns how many, 0 at
 * the end of the input, -1 with errno set. *unable tells that these two files
 * cannot be joined so and that reading and writing will do.
 */
int64_t tpi_copy_range(int in, uint64_t in_offset, int out, uint64_t out_offset,
    uint64_t n, bool *unable);

/* Lock an open file for this open description; false if another holds it. */
bool tpi_lock_file(int fd);

/*
 * A new file in the folder that has no name and cannot get one, to be read and
 * written; -1 where there is no such thing. A sandbox can allow it and forbid
 * all other files.
 */
int tpi_open_nameless(const char *folder);

/* The file will be read once from here on: read ahead. A hint. */
void tpi_advise_sequential(int fd);

#endif
