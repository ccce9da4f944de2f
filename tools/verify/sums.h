/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - the text that `tp-verify manifest` prints, written and read
 *
 *	HASH  NAME		a line for each tensor, ordered by name
 *	\HASH  NAME		the same; NAME is escaped, because it holds what
 *				could not stand in a line
 *	HASH = N tensors	the last line: SHA-256 of all those above
 *
 * Lines are like those of sha256sum, which also begins those with escapes so.
 * Escapes are those of cli_put_name.
 */
#ifndef VERIFY_SUMS_H
#define VERIFY_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/error.h"
#include "tp/map.h"

#include "sha256.h"

struct sum {
	struct tp_str name;
	uint8_t hash[SHA256_SIZE];
};

/* A line into the hash, and out unless that is NULL; false without memory. */
bool sums_put(FILE *out, struct sha256 *whole, const struct sum *sum);
void sums_put_whole(FILE *out, const uint8_t whole[SHA256_SIZE], size_t n);

/* A manifest that was read. */
struct sums {
	char *text;	   /* the file, names unescaped in place */
	struct sum *items; /* in the order of the file */
	size_t n, cap;
	struct tp_map by_name;
	uint8_t whole[SHA256_SIZE];
};

/*
 * path "-" is standard input. TP_EFORMAT for anything but such lines, a name
 * twice, and a last line that does not fit the others. On failure *s is
 * released.
 */
TP_NODISCARD enum tp_status sums_read(
    struct sums *s, const char *path, struct tp_err *err);
void sums_release(struct sums *s);

#endif
