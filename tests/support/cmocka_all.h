/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka_all.h - cmocka.h with the headers that it wants to see first */
#ifndef TEST_CMOCKA_ALL_H
#define TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
