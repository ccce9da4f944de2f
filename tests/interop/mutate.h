/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate.h - damage to models, the same for the same seed and number
 *
 * What a mutation makes lives until mutation_release; what it is given stays as
 * it is.
 */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "tp/graph.h"

struct mutation {
	uint64_t random;
	void *blocks[256];
	size_t n_blocks;
	struct tp_value values[64];
	size_t n_values;
};

void mutation_init(struct mutation *m, uint64_t seed, uint64_t number);
void mutation_release(struct mutation *m);

/* A number from 0 to n - 1; 0 if there is none. */
size_t mutation_below(struct mutation *m, size_t n);

/* The bytes of a file, some of them changed, *n of them. */
uint8_t *mutate_bytes(struct mutation *m, const char *path, size_t *n);

/* Change the model, in place, and inputs for it. */
void mutate_model(struct mutation *m, struct tp_graph_model *model,
    struct tp_value *in, size_t n_in);

#endif
