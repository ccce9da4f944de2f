/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/macros.h - the compiler attributes that public headers use
 *
 * The only place where they are spelled; a compiler without them sees nothing.
 */
#ifndef TP_MACROS_H
#define TP_MACROS_H

#if defined(__GNUC__)
#define TP_API __attribute__((visibility("default")))
#define TP_NODISCARD __attribute__((warn_unused_result))
#define TP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TP_API
#define TP_NODISCARD
#define TP_PRINTF(fmt, args)
#endif

#endif
