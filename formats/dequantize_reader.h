/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_reader.h - a dequantized reader, between its parts
 *
 *	dequantize_decide.c  what becomes of each entry
 *	dequantize_reader.c  the rest of it
 */
#ifndef TPI_DEQUANTIZE_READER_H
#define TPI_DEQUANTIZE_READER_H

#include "dequantize.h"
#include "dequantize_graph.h"

struct tpi_dequantized {
	struct tp_reader *inner;
	struct tp_quantize_options options;
	size_t n; /* entries of the reader underneath */
	struct tp_quantized_item *items;
	struct tpi_widen *widens;
	size_t *place;	  /* of each entry in the new reader, or TP_NONE */
	size_t *widen_of; /* entry of each computed storage */
	size_t *storage;  /* computed, of each entry */
	size_t *first_of; /* for each storage: entry seen first, or TP_NONE */
	bool *recorded;	  /* the metadata speaks of it */
	size_t n_kept_storages, n_computed;
	struct tpi_dequantize_graph *graph; /* NULL: there is none */
};

/* The graph goes along, changed. */
static inline bool
tpi_dequantize_keeps_graph(const struct tpi_dequantized *d)
{
	return d->graph && d->options.keep_graph;
}

enum tp_status tpi_dequantize_no_memory(struct tp_err *err);

/* Find out what is quantized, ask what of it is wanted, drop what goes. */
enum tp_status tpi_dequantize_decide(
    struct tpi_dequantized *d, struct tp_err *err);

#endif
