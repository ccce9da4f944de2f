/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.h - what ISO C and POSIX do not offer
 *
 * platform.c is the only file of the libraries that names an operating system.
 */
#ifndef TPI_PLATFORM_H
#define TPI_PLATFORM_H

unsigned tpi_cpu_count(void);

#endif
