/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - functions that the format layer does not call
 *
 * Both libraries have one list. It is the only private header of the layer
 * below that is seen from here, and has nothing but macros. Include last.
 */
#ifndef TPI_FORMATS_BANNED_H
#define TPI_FORMATS_BANNED_H

#include "../libtensor/banned.h"

#endif
