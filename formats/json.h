/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - reading JSON strictly, a value at a time
 *
 * cJSON keeps duplicate keys, cuts strings at \u0000, rounds integers from
 * 2^53 up and accepts `01`, trailing text and bad UTF-8. So nothing reaches it
 * that was not checked here against RFC 8259, byte by byte, and what it would
 * lose is written differently in the copy that it gets: numbers as strings
 * behind a byte that UTF-8 never holds, U+0000 as the bytes C0 80.
 *
 *  1. tpi_json_init over the whole text, tpi_json_object if it is an object.
 *  2. tpi_json_member until it says that there is no more; after each exactly
 *     one of tpi_json_object (then its members), _string, _take, _skip.
 *  3. tpi_json_end.
 *
 * Only single values become trees, so 100,000 tensors never make a large one.
 * Duplicate keys are for the caller to refuse, who knows which matter.
 */
#ifndef TPI_JSON_H
#define TPI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>

#include "tp/alloc.h"
#include "tp/error.h"

/* serde_json, which most writers of such files use, stops here too. */
#define TPI_JSON_DEPTH 127

/* Objects that can be entered in each other. */
#define TPI_JSON_LEVELS 4

struct tpi_json {
	const struct tp_alloc *alloc;
	const char *text;
	size_t size, pos;
	uint64_t offset; /* of the text in the file, for messages */
	unsigned n_levels;
	struct {
		cJSON *key; /* of a key that had escapes */
		bool any;
	} level[TPI_JSON_LEVELS];
	cJSON *value; /* what tpi_json_take or _string handed out last */
	char open[TPI_JSON_DEPTH]; /* brackets, while a value is scanned */
};

/* The text stays the caller's. TP_EFORMAT if it is not UTF-8. */
enum tp_status tpi_json_init(struct tpi_json *j, const struct tp_alloc *alloc,
    const char *text, size_t size, uint64_t offset, struct tp_err *err);
void tpi_json_release(struct tpi_json *j);

/* Where the next token begins in the file. */
uint64_t tpi_json_at(struct tpi_json *j);

/*
 * What the next value is: "an object", "a number", …, as messages say it. The
 * byte that tpi_json_peek returns tells the same to programs.
 */
const char *tpi_json_kind(struct tpi_json *j);

/* Enter the object that comes next; TP_EFORMAT if something else comes. */
enum tp_status tpi_json_object(struct tpi_json *j, struct tp_err *err);

/*
 * The key of the next member of the object entered last, borrowed until the
 * next call for the same object; or *more = false, and the object is left.
 */
enum tp_status tpi_json_member(
    struct tpi_json *j, bool *more, struct tp_str *key, struct tp_err *err);

/* Check the next value and go past it. */
enum tp_status tpi_json_skip(struct tpi_json *j, struct tp_err *err);

/*
 * A string, borrowed until the next _string or _take; TP_EFORMAT if the value
 * is something else.
 */
enum tp_status tpi_json_string(
    struct tpi_json *j, struct tp_str *out, struct tp_err *err);

/*
 * The next value as a tree, borrowed likewise; TP_ELIMIT if it consists of more
 * than max_values. Its numbers are for tpi_json_u64.
 */
enum tp_status tpi_json_take(struct tpi_json *j, size_t max_values,
    const cJSON **out, struct tp_err *err);

/*
 * An array of at most max plain whole numbers, *n of them, without a tree.
 * False if anything else comes: nothing is consumed then, and tpi_json_take
 * tells what it is.
 */
bool tpi_json_u64s(struct tpi_json *j, uint64_t *values, size_t max, size_t *n);

/* Only white space may be left. */
enum tp_status tpi_json_end(struct tpi_json *j, struct tp_err *err);

/*
 * True and *text if item is a string, NULs and all. Once for each item: it is
 * decoded in its place.
 */
bool tpi_json_text(const cJSON *item, struct tp_str *text);

/*
 * True and *value if item is an integer of plain digits that fits: not -0, not
 * 2.0, not 2e0.
 */
bool tpi_json_u64(const cJSON *item, uint64_t *value);

/* The same, but a fraction of zeros is allowed: 12.0. */
bool tpi_json_whole(const cJSON *item, uint64_t *value);

/* A value as a message shows it. Returns buf. */
#define TPI_JSON_SHOW_SIZE 48
const char *tpi_json_show(const cJSON *item, char buf[TPI_JSON_SHOW_SIZE]);
#define TPI_JSON_SHOW(item) tpi_json_show((item), (char[TPI_JSON_SHOW_SIZE]){0})

/*
 * ---- json_scan.c: the grammar ----
 */

struct tpi_json_extent {
	size_t begin, end; /* in the text, without space around it */
	size_t n_values;   /* itself and all inside it */
	size_t n_numbers;
	bool has_escapes; /* some string has a backslash */
};

/* Go past space; the next byte, or -1 at the end. */
int tpi_json_peek(struct tpi_json *j);
/* Fail at the next byte, which is not what was expected. */
enum tp_status tpi_json_unexpected(
    struct tpi_json *j, const char *expected, struct tp_err *err);
/* Check one value and go past it. */
enum tp_status tpi_json_scan(
    struct tpi_json *j, struct tpi_json_extent *x, struct tp_err *err);
/* Check a string and the colon after it; x is the string's. */
enum tp_status tpi_json_scan_key(
    struct tpi_json *j, struct tpi_json_extent *x, struct tp_err *err);

#endif
