/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - bytes out
 *
 * A sink writes `.NAME.tp-part` beside NAME and renames it at the commit, so
 * NAME is at every moment the old file or the whole new one. The part file is
 * locked while it is written: one that is found unlocked was left by a run that
 * died and is replaced; a locked one means that another run is at work. "-" is
 * standard output: the data waits in a temporary file until the commit.
 */
#ifndef TPI_SINK_H
#define TPI_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/format.h"

#include "source.h"

struct tpi_sink;
struct tpi_room;

/* TP_EOUTPUT when path exists and force is false, or on any refusal. */
enum tp_status tpi_sink_open(const struct tp_alloc *alloc, const char *path,
    bool force, enum tp_sync sync, struct tpi_sink **out, struct tp_err *err);

/* Without a commit before, removes the part file. NULL is allowed. */
void tpi_sink_close(struct tpi_sink *s);

/* Append. */
enum tp_status tpi_sink_write(
    struct tpi_sink *s, const void *buf, size_t n, struct tp_err *err);
enum tp_status tpi_sink_zeros(
    struct tpi_sink *s, uint64_t n, struct tp_err *err);

/* Append zeros until the size is a multiple of align (not 0). */
enum tp_status tpi_sink_align(
    struct tpi_sink *s, uint64_t align, struct tp_err *err);

/* Append all that is left in the stream, inside the kernel where that works. */
enum tp_status tpi_sink_stream(
    struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err);

/* Before the commit: all that is left in the stream into the room it has. */
enum tp_status tpi_sink_fill(
    const struct tpi_room *room, struct tp_stream *stream, struct tp_err *err);

/*
 * Write out what is buffered and give buffers and threads back until the next
 * write: for
 * outputs of many files, of which one is written at a time.
 */
enum tp_status tpi_sink_idle(struct tpi_sink *s, struct tp_err *err);

/* Overwrite bytes that were written before. */
enum tp_status tpi_sink_patch(struct tpi_sink *s, uint64_t offset,
    const void *buf, size_t n, struct tp_err *err);

/* Bytes so far, and the final path. */
uint64_t tpi_sink_size(const struct tpi_sink *s);
const char *tpi_sink_path(const struct tpi_sink *s);

/*
 * Flush as the policy says; then the rename (and, by the policy, the flush of
 * the folder). Apart, so that several files are all flushed before the first
 * gets its name.
 */
enum tp_status tpi_sink_flush(struct tpi_sink *s, struct tp_err *err);
enum tp_status tpi_sink_rename(struct tpi_sink *s, struct tp_err *err);

/* part_file.h: keep what will be replaced, bring it back, or let it go. */
enum tp_status tpi_sink_set_aside(
    struct tpi_sink *s, bool leave, struct tp_err *err);
void tpi_sink_undo(struct tpi_sink *s);
void tpi_sink_settle(struct tpi_sink *s);

#endif
