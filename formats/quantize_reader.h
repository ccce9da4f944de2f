/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_reader.h - a quantized reader, between its parts
 *
 *	quantize_decide.c   what becomes of each entry
 *	quantize_entries.c  the entries of the new reader
 *	quantize_reader.c   the rest of it
 */
#ifndef TPI_QUANTIZE_READER_H
#define TPI_QUANTIZE_READER_H

#include "quantize.h"
#include "quantize_graph.h"

/* What a computed storage holds. */
struct tpi_computed {
	size_t narrow;
	enum tpi_narrow_part part;
};

struct tpi_quantized {
	struct tp_reader *inner;
	struct tp_quantize_options options;
	size_t n; /* entries of the reader underneath */
	struct tp_quantized_item *items;
	struct tpi_narrow *narrows;
	struct tpi_handed_on handed_on;
	size_t *place;	  /* of each entry in the new reader */
	size_t *storages; /* of each entry and part, or TP_NONE */
	size_t *first_of; /* for each storage: entry seen first, or TP_NONE */
	struct tpi_computed *computed;
	size_t n_kept_storages, n_computed;
	struct tpi_quantize_graph *graph; /* NULL: there is none to keep */
};

enum tp_status tpi_quantize_no_memory(struct tp_err *err);

/* Ask for recipes, measure, keep what is to be kept. */
enum tp_status tpi_quantize_decide(struct tpi_quantized *q, struct tp_err *err);

/* Everything that was decided, as storages and entries. */
enum tp_status tpi_quantize_add_entries(
    struct tp_reader *r, struct tpi_quantized *q, struct tp_err *err);

#endif
