/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - statuses, messages, and names as messages show them */
#include "tp/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tp/utf8.h"

#include "banned.h"

#undef tp_fail
#undef tp_fail_errno

const char *
tp_status_text(enum tp_status status)
{
	switch (status) {
	case TP_OK:
		return "ok";
	case TP_EARG:
		return "wrong use";
	case TP_ENOMEM:
		return "out of memory";
	case TP_EIO:
		return "cannot read";
	case TP_EFORMAT:
		return "malformed file";
	case TP_EUNSUPPORTED:
		return "unsupported";
	case TP_ELIMIT:
		return "limit exceeded";
	case TP_ENOTFOUND:
		return "not found";
	case TP_EMISMATCH:
		return "mismatch";
	case TP_EOUTPUT:
		return "cannot write";
	case TP_ERANGE:
		return "out of range";
	}
	return "unknown status";
}

/* Write the message, marking one that was cut. */
static void set_message(struct tp_err *err, enum tp_status status,
    uint64_t offset, const char *fmt, va_list ap) TP_PRINTF(4, 0);

static void
set_message(struct tp_err *err, enum tp_status status, uint64_t offset,
    const char *fmt, va_list ap)
{
	int n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);

	err->status = status;
	err->offset = offset;
	if (n < 0)
		err->msg[0] = '\0';
	else if ((size_t)n >= sizeof(err->msg))
		memcpy(err->msg + sizeof(err->msg) - 4, "...", 4);
}

enum tp_status
tp_fail(struct tp_err *err, enum tp_status status, uint64_t offset,
    const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return status;
	va_start(ap, fmt);
	set_message(err, status, offset, fmt, ap);
	va_end(ap);
	return status;
}

enum tp_status
tp_fail_errno(
    struct tp_err *err, enum tp_status status, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	if (!err)
		return status;
	va_start(ap, fmt);
	set_message(err, status, TP_NO_OFFSET, fmt, ap);
	va_end(ap);
	used = strlen(err->msg);
	snprintf(
	    err->msg + used, sizeof(err->msg) - used, ": %s", strerror(errnum));
	return status;
}

struct tp_str
tp_str(const char *s)
{
	return (struct tp_str){s, s ? strlen(s) : 0};
}

int
tp_str_cmp(struct tp_str a, struct tp_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.s, b.s, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/*
 * Append the character at name.s[*pos] to buf as a message shows it, if it
 * fits below `room`. Returns false when it does not.
 */
static bool
brief_append(
    struct tp_str name, size_t *pos, char *buf, size_t *len, size_t room)
{
	static const char hex[] = "0123456789abcdef";
	const char *s = name.s + *pos;
	uint32_t code;
	size_t n = tp_utf8_decode(s, name.len - *pos, &code);

	/* C0, DEL and C1 controls could speak to a terminal. */
	if (n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		size_t bytes = n ? n : 1;

		if (*len + 4 * bytes > room)
			return false;
		for (size_t i = 0; i < bytes; i++) {
			unsigned char c = (unsigned char)s[i];
			char esc[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};

			memcpy(buf + *len, esc, 4);
			*len += 4;
		}
		*pos += bytes;
		return true;
	}
	if (*len + n > room)
		return false;
	memcpy(buf + *len, s, n);
	*len += n;
	*pos += n;
	return true;
}

const char *
tp_str_brief(struct tp_str name, char buf[TP_BRIEF_SIZE])
{
	const size_t tail = 24;
	size_t len = 0, pos = 0, start;

	while (pos < name.len &&
	       brief_append(name, &pos, buf, &len, TP_BRIEF_SIZE - 1))
		;
	if (pos == name.len) {
		buf[len] = '\0';
		return buf;
	}

	/* Too long: the beginning, "...", and the last bytes of the name. */
	len = pos = 0;
	while (
	    brief_append(name, &pos, buf, &len, TP_BRIEF_SIZE - 4 - 2 * tail))
		;
	memcpy(buf + len, "...", 3);
	len += 3;
	start = name.len > tail ? name.len - tail : 0;
	if (start < pos)
		start = pos;
	while (
	    start < name.len && ((unsigned char)name.s[start] & 0xc0) == 0x80)
		start++;
	while (start < name.len &&
	       brief_append(name, &start, buf, &len, TP_BRIEF_SIZE - 1))
		;
	buf[len] = '\0';
	return buf;
}
