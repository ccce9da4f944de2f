/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - text from files, made fit for a terminal
 *
 * Nothing that came from a file is printed as it is. What tp_utf8_is_hidden
 * names, backslashes, and bytes that are not UTF-8 become \n, \t, \\, \xNN,
 * \uNNNN; so does a character of what a CI system would obey ("::" where a line
 * begins, "##["), and a combining mark without a letter or with too many. What
 * is printed is one line and can be turned back into the bytes.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/error.h"

/* Longer names are cut in text for people; JSON has them whole. */
#define CLI_NAME_COLUMNS 240

/*
 * The whole name, escaped; returns the columns it takes on a terminal. A name
 * that needs more than max columns has its middle replaced by "..." (max 0:
 * whole).
 */
size_t cli_put_name(FILE *out, struct tp_str name, size_t max);

/* The columns that cli_put_name would fill. */
size_t cli_name_width(struct tp_str name, size_t max);

/* True if cli_put_name prints the whole name as it is. */
bool cli_name_is_plain(struct tp_str name);

/* Prose, for example a message: as names, but backslashes stay single. */
void cli_put_text(FILE *out, struct tp_str text);

/*
 * What cli_put_name (is_name) or cli_put_text would print, *n bytes and a NUL,
 * to be freed with free. NULL without memory.
 */
char *cli_plain_new(struct tp_str text, bool is_name, size_t max, size_t *n);

/* n spaces. */
void cli_put_spaces(FILE *out, size_t n);

/* The number in decimal, right-aligned to width columns. */
void cli_put_u64(FILE *out, uint64_t v, size_t width);
size_t cli_u64_width(uint64_t v);

/* "817 B", "1.5 KiB", "12.0 GiB": units of 1024, one digit after the point. */
#define CLI_HUMAN_SIZE 48
const char *cli_human_bytes(uint64_t nbytes, char buf[CLI_HUMAN_SIZE]);
#define CLI_HUMAN(nbytes) cli_human_bytes((nbytes), (char[CLI_HUMAN_SIZE]){0})

/*
 * Colours, for stdout: empty strings unless it is a terminal, NO_COLOR is not
 * set and TERM is not "dumb".
 */
enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_COLOUR_COUNT };
const char *cli_colour(enum cli_colour colour);

#endif
