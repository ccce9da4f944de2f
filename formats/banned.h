/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - functions that the format layer does not call
 *
 * Memory goes through struct tp_alloc, text through bounded functions. Include
 * last.
 */
#ifndef TPI_FORMATS_BANNED_H
#define TPI_FORMATS_BANNED_H

#define TPI_BANNED(name) name##_is_banned_use_the_tp_equivalent

#undef malloc
#define malloc TPI_BANNED(malloc)
#undef calloc
#define calloc TPI_BANNED(calloc)
#undef realloc
#define realloc TPI_BANNED(realloc)
#undef strdup
#define strdup TPI_BANNED(strdup)
#undef strcpy
#define strcpy TPI_BANNED(strcpy)
#undef strcat
#define strcat TPI_BANNED(strcat)
#undef sprintf
#define sprintf TPI_BANNED(sprintf)
#undef vsprintf
#define vsprintf TPI_BANNED(vsprintf)
#undef atoi
#define atoi TPI_BANNED(atoi)

#endif
