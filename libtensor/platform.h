/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.h - what ISO C and POSIX do not offer
 *
 * platform.c is the only file of the library that names an operating system.
 */
#ifndef TPI_PLATFORM_H
#define TPI_PLATFORM_H

#include <stddef.h>

unsigned tpi_cpu_count(void);

/*
 * Return addresses of the calls that led here, and their text a line each.
 * None without TP_BACKTRACE.
 */
size_t tpi_callers(void **out, size_t max);
void tpi_name_callers(void *const *callers, size_t n,
    void (*fn)(void *ctx, const char *text), void *ctx);

#endif
