/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_write.h - what the two halves of the writer share: native_write.c lays
 * out and writes the bytes, native_dir.c the directory
 */
#ifndef TPI_NATIVE_WRITE_H
#define TPI_NATIVE_WRITE_H

#include "native.h"
#include "native_chunks.h"

struct tpi_native_writer {
	uint64_t align;
	struct tpi_sink *sink;
	struct tpi_deflater *deflater; /* NULL: raw */
	struct tpi_native_place *storages, *attachments;
	uint32_t **chunks; /* of each storage, then of each attachment */
	uint32_t dir_crc32c;
	uint32_t n_quantized; /* tensors in the directory so far: they count */
};

/*
 * Can the directory hold it? Sizes of records have 32 bits, as have the numbers
 * of tensors and storages.
 */
enum tp_status tpi_native_check_model(
    const struct tp_model *m, struct tp_err *err);

/* Append the directory: all places are known. Leaves its checksum in n. */
enum tp_status tpi_native_put_directory(
    struct tpi_native_writer *n, const struct tp_model *m, struct tp_err *err);

#endif
