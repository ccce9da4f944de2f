/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/error.h - how every fallible function reports
 *
 *  1. Declare `struct tp_err err = TP_ERR_INIT;` (or pass NULL).
 *  2. Call; a status other than TP_OK means failure.
 *  3. On failure output pointers are NULL, other outputs are untouched and the
 *     objects given in are still valid.
 *  4. Branch on the status, show err.msg: it names the tensor, the value found
 *     and the value expected. Program and file name are the caller's to add.
 *
 * A tp_err holds no memory and needs no release. Nothing here is global, so
 * everything is thread-safe.
 */
#ifndef TP_ERROR_H
#define TP_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "tp/macros.h"

enum tp_status {
	TP_OK = 0,
	TP_EARG = -1,	      /* the caller broke the rules of the API */
	TP_ENOMEM = -2,	      /* no memory */
	TP_EIO = -3,	      /* the system refused to open or read an input */
	TP_EFORMAT = -4,      /* the file is malformed */
	TP_EUNSUPPORTED = -5, /* the file is fine; this cannot be done */
	TP_ELIMIT = -6,	      /* a limit in struct tp_limits was reached */
	TP_ENOTFOUND = -7,    /* no tensor, key or format of that name */
	TP_EMISMATCH = -8,    /* a checksum or a comparison failed */
	TP_EOUTPUT = -9,      /* an output could not be written */
	TP_ERANGE = -10,      /* a value does not fit the dtype asked for */
};

#define TP_NO_OFFSET UINT64_MAX
#define TP_ERR_MSG_SIZE 480

struct tp_err {
	enum tp_status status;
	uint64_t offset;	   /* byte in the file, or TP_NO_OFFSET */
	char msg[TP_ERR_MSG_SIZE]; /* one line, without a newline */
};

#define TP_ERR_INIT                  \
	{                            \
		TP_OK, TP_NO_OFFSET, \
		{                    \
			0            \
		}                    \
	}

/* A few words for a status, for example "malformed file". Never NULL. */
TP_API const char *tp_status_text(enum tp_status status);

/*
 * Fill *err (which may be NULL) and return status, so that a check is one
 * `return tp_fail(…)`. A message that does not fit ends in "...".
 */
TP_API enum tp_status tp_fail(struct tp_err *err, enum tp_status status,
    uint64_t offset, const char *fmt, ...) TP_PRINTF(4, 5);

/* tp_fail, followed by ": " and the system's text for the errno given. */
TP_API enum tp_status tp_fail_errno(struct tp_err *err, enum tp_status status,
    int errnum, const char *fmt, ...) TP_PRINTF(4, 5);

/*
 * Both return the status they are given. That is said here, where a compiler or
 * an analyzer that sees only the caller knows that what fails is not TP_OK. The
 * status may be evaluated twice.
 */
static inline enum tp_status
tp_status_given(enum tp_status returned, enum tp_status given)
{
	(void)returned;
	return given;
}
#define tp_fail(err, status, ...) \
	tp_status_given(tp_fail(err, status, __VA_ARGS__), status)
#define tp_fail_errno(err, status, ...) \
	tp_status_given(tp_fail_errno(err, status, __VA_ARGS__), status)

/*
 * Bytes with a length. Names and metadata may hold NUL, so they travel so;
 * a string that this library hands out is also followed by a NUL.
 */
struct tp_str {
	const char *s;
	size_t len;
};

/* A tp_str over a C string, and one over a string literal. */
TP_API struct tp_str tp_str(const char *s);
#define TP_STR(literal) ((struct tp_str){literal, sizeof(literal) - 1})

/* Order of bytes, the shorter first where one begins the other. */
TP_API int tp_str_cmp(struct tp_str a, struct tp_str b);

/*
 * A name as an error message shows it: whole while it is short, its middle
 * replaced by "..." when long, control characters and bytes that are not UTF-8
 * as \xNN. Returns buf.
 */
#define TP_BRIEF_SIZE 96
TP_API const char *tp_str_brief(struct tp_str name, char buf[TP_BRIEF_SIZE]);
#define TP_BRIEF(name) tp_str_brief((name), (char[TP_BRIEF_SIZE]){0})

#endif
