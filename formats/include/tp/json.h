/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/json.h - writing JSON, a piece at a time
 *
 *  1. tp_json_init with a function that takes the text.
 *  2. tp_json_object_begin, tp_json_key, a value, …, tp_json_object_end.
 *  3. tp_json_finish: the status of the first write that failed.
 *
 * Text is UTF-8; only what JSON demands is escaped. Bytes that are not UTF-8
 * (a path may hold such) become U+FFFD. Nothing is allocated, so documents of
 * any size can be written; containers nest at most TP_JSON_DEPTH deep. After a
 * failed write, or a call that cannot stand where it does (TP_JSON_MISUSE), the
 * other calls do nothing. A tp_json belongs to one thread.
 */
#ifndef TP_JSON_H
#define TP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"

#define TP_JSON_DEPTH 32

/*
 * What tp_json_finish returns for brackets that do not match or nest too deep.
 */
#define TP_JSON_MISUSE (-1)

/* Takes n bytes; anything but 0 is a failure that tp_json_finish returns. */
typedef int tp_json_write_fn(void *ctx, const char *s, size_t n);

enum tp_json_style {
	TP_JSON_COMPACT, /* no white space */
	TP_JSON_PRETTY,	 /* an item a line, two spaces for each level */
};

/* Plain storage; the fields are for json_write.c alone. */
struct tp_json {
	tp_json_write_fn *write;
	void *ctx;
	enum tp_json_style style;
	int failed;
	unsigned depth;
	unsigned flat; /* depth of the outermost container on one line, or 0 */
	bool after_key;
	bool any[TP_JSON_DEPTH + 1]; /* the container at this depth has items */
	size_t n_buffered;
	char buffer[512];
};

TP_API void tp_json_init(struct tp_json *j, tp_json_write_fn *write, void *ctx,
    enum tp_json_style style);

TP_API void tp_json_object_begin(struct tp_json *j);
TP_API void tp_json_object_end(struct tp_json *j);
TP_API void tp_json_array_begin(struct tp_json *j);
/* An array, or what is inside it, on one line in every style: a shape. */
TP_API void tp_json_row_begin(struct tp_json *j);
TP_API void tp_json_array_end(struct tp_json *j);

/* The key of the value that follows. */
TP_API void tp_json_key(struct tp_json *j, const char *key);
TP_API void tp_json_key_str(struct tp_json *j, struct tp_str key);

TP_API void tp_json_text(struct tp_json *j, const char *value);
TP_API void tp_json_str(struct tp_json *j, struct tp_str value);
TP_API void tp_json_u64(struct tp_json *j, uint64_t value);
TP_API void tp_json_i64(struct tp_json *j, int64_t value);
TP_API void tp_json_bool(struct tp_json *j, bool value);
TP_API void tp_json_null(struct tp_json *j);
/*
 * The shortest text that reads back as the same number; what JSON cannot say
 * is a string: "NaN", "Infinity", "-Infinity".
 */
TP_API void tp_json_double(struct tp_json *j, double value);
TP_API void tp_json_float(struct tp_json *j, float value);

/*
 * End of the document: a newline if it is pretty, and everything written out.
 * Returns 0, or what the failing write returned.
 */
TP_API TP_NODISCARD int tp_json_finish(struct tp_json *j);

#endif
