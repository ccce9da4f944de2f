/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twister.h - the random numbers of operators: MT19937
 *
 * The generator of Matsumoto and Nishimura ("Mersenne Twister", ACM TOMACS 8,
 * 1998), begun with init_genrand(seed), as the test data of ONNX was made. A
 * number in [0, 1) is of 53 bits: (a >> 5, b >> 6) of two outputs in a row.
 *
 * Normal numbers come in pairs from two uniform ones u and v by Box and
 * Muller's sqrt(-2 log(1 - u)) times cos(2 pi v), then sin(2 pi v).
 */
#ifndef TPI_OPS_TWISTER_H
#define TPI_OPS_TWISTER_H

#include <stdbool.h>
#include <stdint.h>

#include "../op.h"

#define TPI_TWISTER_N 624

struct tpi_twister {
	uint32_t state[TPI_TWISTER_N];
	unsigned at;
	bool has_spare; /* the second of a pair of normal numbers */
	double spare;
};

void tpi_twister_init(struct tpi_twister *t, uint32_t seed);
uint32_t tpi_twister_next(struct tpi_twister *t);
double tpi_twister_uniform(struct tpi_twister *t);
double tpi_twister_normal(struct tpi_twister *t);

/*
 * Begun with the attribute seed, a whole number or a float without its
 * fraction, of which the low 32 bits count; without one with those of
 * opts->seed.
 */
void tpi_twister_begin(struct tpi_twister *t, const struct tpi_call *c);

#endif
