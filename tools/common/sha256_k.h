/* SPDX-License-Identifier: Apache-2.0 */
/* sha256_k.h - the 64 constants of SHA-256, in sha256.c */
#ifndef SHA256_K_H
#define SHA256_K_H

#include <stdint.h>

extern const uint32_t sha256_k[64];

#endif
