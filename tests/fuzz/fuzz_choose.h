/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_choose.h - what tp/quantize_plan.h promises, held against two schemes */
#ifndef FUZZ_CHOOSE_H
#define FUZZ_CHOOSE_H

#include "tp/format.h"

/* a and b are what tp_quantize_reader made of r. */
void fuzz_choose(
    struct tp_reader *r, const struct tp_reader *a, const struct tp_reader *b);

#endif
