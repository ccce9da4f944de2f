/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a nameless temporary file
 *
 * Holds what must be read twice or at random and came as a stream: standard
 * input, standard output until the commit, a compressed storage that a view
 * walks across. It lies in TMPDIR (/tmp) and vanishes with its descriptor.
 */
#ifndef TPI_SPOOL_H
#define TPI_SPOOL_H

#include <stddef.h>

#include "tp/error.h"

/* A descriptor, or -1 with err filled (TP_EIO). */
int tpi_spool_open(struct tp_err *err);

/* Append n bytes at the descriptor's position. TP_EIO. */
enum tp_status tpi_spool_write(
    int fd, const void *buf, size_t n, struct tp_err *err);

#endif
