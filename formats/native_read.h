/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_read.h - what the parts of the reader share
 *
 * native_read.c reads the header and walks the sections, native_record.c reads
 * one record, native_place.c knows where bytes may lie.
 */
#ifndef TPI_NATIVE_READ_H
#define TPI_NATIVE_READ_H

#include "cursor.h"
#include "native.h"

struct tpi_native_reader {
	bool newer; /* written by a later minor version */
	uint32_t align;
	uint64_t dir_offset;
	uint64_t end; /* of the place before */
	struct tpi_native_place *storages, *attachments;
};

/* The section at hand, and what its messages say. */
struct tpi_native_walk {
	struct tp_reader *r;
	struct tpi_native_reader *n;
	struct tpi_cursor c; /* the records */
	const char *label;
	size_t count, i; /* records; the one at hand */
};

/* Read record w->i. Those of storages and so on enter the reader. */
enum tp_status tpi_native_read_storage(
    struct tpi_native_walk *w, struct tp_err *err);
enum tp_status tpi_native_read_tensor(
    struct tpi_native_walk *w, uint32_t *quantizer, struct tp_err *err);
enum tp_status tpi_native_read_quantizer(
    struct tpi_native_walk *w, struct tp_quant_info *out, struct tp_err *err);
enum tp_status tpi_native_read_meta(
    struct tpi_native_walk *w, struct tp_err *err);
enum tp_status tpi_native_read_attachment(
    struct tpi_native_walk *w, struct tp_err *err);

/*
 * Complete *place from its fixed fields and the sizes of pieces at c (which
 * moves behind them), and check that it begins where the one before ends.
 * label and i say which it is.
 */
enum tp_status tpi_native_check_place(struct tp_reader *r,
    struct tpi_native_reader *n, struct tpi_cursor *c,
    struct tpi_native_place *place, const char *label, size_t i,
    struct tp_err *err);

/*
 * Zero bytes between the header, the places and the directory; all sections
 * were read.
 */
enum tp_status tpi_native_check_padding(
    struct tp_reader *r, const struct tpi_native_reader *n, struct tp_err *err);

/* The decoded bytes of a place. */
enum tp_status tpi_native_place_stream(struct tp_reader *r,
    const struct tpi_native_place *place, struct tp_str what,
    struct tp_stream **out, struct tp_err *err);

#endif
