/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_behind.h - writing while the next bytes are read and checked
 *
 * A thread of its own writes the buffers that it is handed, so a conversion
 * that reads, checks or casts takes the time of the slower half and not of
 * both. A failure is reported by the next call.
 */
#ifndef TPI_WRITE_BEHIND_H
#define TPI_WRITE_BEHIND_H

#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"

struct tpi_behind;

/* All of buf to the file at offset, on this thread. */
enum tp_status tpi_write_at(
    int fd, uint64_t offset, const void *buf, size_t n, struct tp_err *err);

/*
 * A thread that writes to fd, with buffers of buf_nbytes. NULL when there is no
 * memory, no thread or no second processor to gain from.
 */
struct tpi_behind *tpi_behind_new(
    const struct tp_alloc *alloc, int fd, size_t buf_nbytes);
/* Waits until all is written. NULL is allowed. */
void tpi_behind_free(struct tpi_behind *b);

/*
 * Hand over n bytes of *buf, which go to that offset, and get another buffer in
 * its place. On failure *buf is still the caller's.
 */
enum tp_status tpi_behind_give(struct tpi_behind *b, uint8_t **buf, size_t n,
    uint64_t offset, struct tp_err *err);

/* Until all that was given is written. NULL is allowed. */
enum tp_status tpi_behind_wait(struct tpi_behind *b, struct tp_err *err);

#endif
