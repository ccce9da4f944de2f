/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - a figure of a test that ./dev reliability tells: see dev,
 * junit_facts */
#ifndef TEST_FACT_H
#define TEST_FACT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static inline void
print_fact(const char *key, uint64_t n)
{
	printf("FACT %s %" PRIu64 "\n", key, n);
}

#endif
