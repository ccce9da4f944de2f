/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letter_case.h - capitals and small letters of Unicode
 *
 * One letter becomes one: the sharp s has no capital here. Nothing depends on
 * a locale.
 */
#ifndef TPI_LETTER_CASE_H
#define TPI_LETTER_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/error.h"

/*
 * text in capitals or small letters to out, which has room for
 * TPI_CASE_ROOM(text.len) bytes; returns how many it takes. Bytes that are not
 * UTF-8 stay as they are.
 */
#define TPI_CASE_ROOM(len) (3 * (len))
size_t tpi_change_case(struct tp_str text, bool upper, char *out);

#endif
