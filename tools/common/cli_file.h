/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_file.h - texts that options name, and what is written beside the main
 * output
 */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "tp/error.h"

/*
 * All of a text, and a NUL that is not counted, to be freed with free; "-" is
 * standard input, and a pipe will do. TP_ELIMIT if there are more than max
 * bytes, which is less than half of what a size_t can hold. On failure *text is
 * NULL.
 */
TP_NODISCARD enum tp_status cli_read_file(
    const char *path, size_t max, char **text, size_t *n, struct tp_err *err);

/* Writes the content; returns 0 or an errno, but not of the stream. */
typedef int cli_put_fn(FILE *out, void *ctx);

/*
 * A regular file gets its name when it is whole, so what had the name before is
 * there or the new one; into anything else (a pipe, /dev/stdout) it goes at
 * once. Returns 0 or an errno.
 */
int cli_write_file(const char *path, cli_put_fn *put, void *ctx);

#endif
