/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_seed.h - inputs from a seed, the same on every machine
 *
 *	state = seed + FNV-1a(name of the input), 64 bits
 *	draw: SplitMix64; one for each element in row-major order
 *
 *	floats	 (draw >> 11) / 2^52 - 1, rounded to the dtype: [-1, 1)
 *	integers low + draw mod (high - low + 1), as --int says; 0 or 1 else
 *	bools	 draw >> 63
 *
 * The name is in it so that models with inputs in another order get the same.
 */
#ifndef VERIFY_RUN_SEED_H
#define VERIFY_RUN_SEED_H

#include "tp/graph.h"

#include "cli.h"

struct run_seed_options {
	uint64_t seed;
	struct cli_list shapes; /* NAME=1,3,224,224 */
	struct cli_list ints;	/* [NAME=]LOW..HIGH, [NAME=]N */
};

/* NULL, or what is wrong with the options (good until the next call). */
const char *run_seed_check(const struct run_seed_options *o);

/*
 * A value for an input. TP_EUNSUPPORTED for what has no such numbers: strings,
 * sequences, optionals, and for inputs whose rank is not known.
 */
enum tp_status run_seed_value(const struct run_seed_options *o,
    const struct tp_binding *input, struct tp_value *out, struct tp_err *err);

/*
 * What follows "NAME=" in the last item of a list that begins so; NULL if none
 * does.
 */
const char *run_seed_find(const struct cli_list *list, struct tp_str name);

#endif
