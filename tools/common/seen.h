/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.h - shard sets that were read already
 *
 * A shell pattern names every shard of a set, and each of them stands for the
 * whole. Tools read the set once and pass over its other files.
 */
#ifndef CLI_SEEN_H
#define CLI_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tp/format.h"

struct cli_seen {
	struct cli_seen_file {
		dev_t device;
		ino_t inode;
	} * files;
	size_t n;
};

/* Note the files of r if it is a set. Without memory nothing is noted. */
void cli_seen_add(struct cli_seen *seen, const struct tp_reader *r);

/* True if path is a file of a set that was noted. */
bool cli_seen_has(const struct cli_seen *seen, const char *path);

void cli_seen_release(struct cli_seen *seen);

#endif
