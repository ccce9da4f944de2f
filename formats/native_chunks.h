/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_chunks.h - storages deflated in independent pieces
 *
 * Every piece but the last holds chunk_nbytes decoded bytes. One that deflates
 * to fewer bytes is a zlib stream of its own, any other lies there as it is, so
 * its stored size alone tells which. Pieces are deflated side by side; what
 * comes out does not depend on how many threads there are.
 */
#ifndef TPI_NATIVE_CHUNKS_H
#define TPI_NATIVE_CHUNKS_H

#include "native.h"

struct tpi_deflater;

/* Level 1…9. Memory: about 2.3 MiB for each of the threads it will use. */
enum tp_status tpi_deflater_new(const struct tp_alloc *alloc, int level,
    struct tpi_deflater **out, struct tp_err *err);
/* NULL is allowed. */
void tpi_deflater_free(struct tpi_deflater *d);

/*
 * Append all that is left in the stream to the sink, deflated. chunks has room
 * for the stored sizes of tpi_native_n_chunks(…, TPI_NATIVE_CHUNK). *crc32c is
 * that of the decoded bytes.
 */
enum tp_status tpi_deflater_put(struct tpi_deflater *d, struct tpi_sink *sink,
    struct tp_stream *s, uint32_t *chunks, uint32_t *crc32c,
    struct tp_err *err);

/*
 * The decoded bytes of a deflated place of src, which was checked before. place
 * and what (for messages) are borrowed.
 */
enum tp_status tpi_inflate_stream(const struct tp_alloc *alloc,
    const struct tpi_source *src, const struct tpi_native_place *place,
    bool check_crc, struct tp_str what, struct tp_stream **out,
    struct tp_err *err);

/*
 * Move such a stream, which compares no checksum, so that byte `from` of the
 * place is ahead of it, in the piece where it stands: it stays if it is so
 * already, and else goes to the beginning of the piece.
 */
void tpi_inflate_from(struct tp_stream *s, uint64_t from);

#endif
