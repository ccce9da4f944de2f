/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn.h - what a recurrent layer is, for rnn_layer.c, which reads it, rnn.c,
 * which walks sequences, and rnn_cells.c
 *
 * Everything is computed in f64; what the operators are given is made so first,
 * weights turned over, so that a product runs along all gates at once.
 */
#ifndef TPI_OPS_RNN_H
#define TPI_OPS_RNN_H

#include "../op.h"

#define TPI_RNN_GATES 4
#define TPI_RNN_ACTIVATIONS 3

struct tpi_activation {
	double (*f)(double x, double alpha, double beta);
	double alpha, beta;
};

/* One direction of a layer; n is the hidden size. */
struct tpi_rnn {
	size_t n, n_in;
	const double *w, *r;   /* [n_in][gates * n], [n][gates * n] */
	const double *wb, *rb; /* gates * n each, or NULL */
	const double *p;       /* 3 * n peepholes, or NULL */
	struct tpi_activation activations[TPI_RNN_ACTIVATIONS];
	double clip; /* infinite: none */
	bool couples_input_forget, is_linear_before_reset;
};

/* Where a sequence is, and room for a step: gates and twice n. */
struct tpi_rnn_state {
	double *h, *c; /* n each */
	double *gates; /* gates * n */
	double *spare; /* 2 * n */
};

/* From one step to the next with input x. */
typedef void tpi_rnn_step_fn(
    const struct tpi_rnn *l, struct tpi_rnn_state *s, const double *x);

struct tpi_rnn_cell {
	const char *onnx;
	size_t n_gates, n_activations;
	const char *activations[TPI_RNN_ACTIVATIONS]; /* by default */
	tpi_rnn_step_fn *step;
};

extern const struct tpi_rnn_cell tpi_rnn_cells[]; /* up to one without name */

/* The function of that name with its usual alpha and beta, or false. */
bool tpi_activation_find(
    struct tp_str name, struct tpi_activation *a, unsigned *n_parameters);

/* The inputs by number; RNN and GRU have none after INITIAL_H. */
enum tpi_rnn_input {
	TPI_RNN_X,
	TPI_RNN_W,
	TPI_RNN_R,
	TPI_RNN_B,
	TPI_RNN_LENS,
	TPI_RNN_INITIAL_H,
	TPI_RNN_INITIAL_C,
	TPI_RNN_P,
	TPI_RNN_INPUTS,
};

/* A node: its cell, sizes and directions, and what is made on the way. */
struct tpi_rnn_layer {
	const struct tpi_rnn_cell *cell;
	int64_t n_steps, n_batch, n_in, n, n_directions;
	bool is_batch_first, is_backward; /* of the first direction */
	struct tpi_rnn directions[2];

	/* f64, batch second; those that are absent are NULL. */
	struct tp_tensor *doubles[TPI_RNN_INPUTS];
	struct tp_tensor *lens; /* i64 */
	struct tp_tensor *y, *y_h, *y_c;
	double *scratch; /* n_scratch, shared by all sequences */
	size_t n_scratch;
};

/*
 * Everything but the numbers: attributes and shapes, checked. What is made on
 * the way is NULL.
 */
enum tp_status tpi_rnn_read(
    const struct tpi_call *c, struct tpi_rnn_layer *l, struct tp_err *err);

#endif
