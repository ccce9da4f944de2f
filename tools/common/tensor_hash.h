/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_hash.h - one number for what a tensor is, in whatever format it lies
 *
 * The SHA-256 of its dtype, a space, its shape in brackets without spaces, a
 * newline, and its bytes: dense, row-major, little-endian, the unused bits of
 * the last byte zero. `f32 [2,3]\n`, then 24 bytes. A string is its length in
 * 8 bytes and its text. The name does not count.
 */
#ifndef TENSOR_HASH_H
#define TENSOR_HASH_H

#include "tp/format.h"

#include "sha256.h"

/* Of entry i. What is read goes to cli_progress_add. */
TP_NODISCARD enum tp_status tensor_hash(struct tp_reader *r, size_t i,
    uint8_t hash[SHA256_SIZE], struct tp_err *err);

#endif
