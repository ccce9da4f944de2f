/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - how far a long job is, on stderr
 *
 * A bar with rate and time left, on a terminal only (or with --progress
 * always), and only once a job has lasted a second. There is one at a time.
 * cli_progress_add may be called from several threads.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* what is borrowed until the end and must not need escaping. */
void cli_progress_begin(const char *what, uint64_t nbytes);
void cli_progress_add(uint64_t nbytes);
/* Wipes the bar; with `always` and no terminal, prints the last state. */
void cli_progress_end(void);

/* Make room for a message; the bar returns with the next step. */
void cli_progress_hide(void);

/* One line of progress as it is drawn, without colour; for tests too. */
#define CLI_PROGRESS_SIZE 128
void cli_progress_text(char buf[CLI_PROGRESS_SIZE], const char *what,
    uint64_t done, uint64_t total, double seconds);

#endif
