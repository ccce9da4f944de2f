/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body.h - what operators share that run a graph again and again
 *
 *	tpi_body_begin(&b, c, "body", err);
 *	for (…) {
 *		fill b.in;
 *		tpi_body_run(&b, err);
 *		take from b.out; tpi_body_clear(&b);
 *	}
 *	tpi_body_end(&b);
 */
#ifndef TPI_BODY_H
#define TPI_BODY_H

#include "tp/graph.h"

#include "../op.h"

struct tpi_body {
	struct tpi_call *c;
	const struct tp_graph *graph;
	struct tp_value *in, *out; /* as many as the graph has */
};

/* TP_EARG if there is no such graph. end is allowed after a failure. */
enum tp_status tpi_body_begin(struct tpi_body *b, struct tpi_call *c,
    const char *attr, struct tp_err *err);
enum tp_status tpi_body_run(struct tpi_body *b, struct tp_err *err);
/* Release inputs and outputs. */
void tpi_body_clear(struct tpi_body *b);
void tpi_body_end(struct tpi_body *b);

/* A graph's first n_out outputs; TP_EUNSUPPORTED outside a program. */
enum tp_status tpi_run_graph(const struct tpi_call *c,
    const struct tp_graph *graph, const struct tp_value *in, size_t n_in,
    struct tp_value *out, size_t n_out, struct tp_err *err);

/* How often a graph may run: what the options say, or a million. */
uint64_t tpi_most_iterations(const struct tpi_call *c);

/* The one bool of a value, which what names. */
enum tp_status tpi_truth(const struct tpi_call *c, const struct tp_value *v,
    const char *what, bool *truth, struct tp_err *err);

#endif
