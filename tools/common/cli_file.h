/* SPDX-License-Identifier: Apache-2.0 */
/* cli_file.h - small files that a tool writes beside its main output */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <stdio.h>

/* Writes the content; returns 0 or an errno, but not of the stream. */
typedef int cli_put_fn(FILE *out, void *ctx);

/*
 * A regular file gets its name when it is whole, so what had the name before is
 * there or the new one; into anything else (a pipe, /dev/stdout) it goes at
 * once. Returns 0 or an errno.
 */
int cli_write_file(const char *path, cli_put_fn *put, void *ctx);

#endif
