/* SPDX-License-Identifier: Apache-2.0 */
/* tp/version.h - the version of the library and of the tools */
#ifndef TP_VERSION_H
#define TP_VERSION_H

#define TP_VERSION_MAJOR 0
#define TP_VERSION_MINOR 1
#define TP_VERSION_PATCH 0
#define TP_VERSION_STRING "0.1.0"

#endif
