/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/utf8.h - is it UTF-8, and where does the next character end
 *
 * Strict: no surrogates, no overlong forms, nothing above U+10FFFF (RFC 3629).
 */
#ifndef TP_UTF8_H
#define TP_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/macros.h"

/* The first byte that does not belong to a whole character, or n if none. */
TP_API size_t tp_utf8_check(const char *s, size_t n);

/*
 * Decode one character from the n > 0 bytes at s. Returns its length 1…4 and
 * sets *code, or returns 0 when the bytes are not UTF-8.
 */
TP_API size_t tp_utf8_decode(const char *s, size_t n, uint32_t *code);

/*
 * True for a character that could deceive a reader or a terminal: controls,
 * marks that turn or isolate the direction of text, separators of lines, what
 * shows nothing (blanks, too, but for U+0020), and what is no character at all.
 */
TP_API bool tp_utf8_is_hidden(uint32_t code);

#endif
