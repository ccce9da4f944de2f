/* SPDX-License-Identifier: Apache-2.0 */
/* cli_start.h - the first act of a tool; see cli_report.c */
#ifndef CLI_START_H
#define CLI_START_H

/* Open descriptors 0 to 2 if they are not, ignore SIGPIPE, buffer stdout. */
void cli_start(void);

/*
 * From now on a mapped page that is gone from its file ends the program with
 * CLI_INPUT and a message that names the file, instead of a signal.
 */
void cli_watch_maps(void);

/*
 * TP_PROFILE and TP_MEM_STATS in the environment: begin, and print at the end.
 */
void cli_watch_begin(void);
void cli_watch_end(void);

#endif
