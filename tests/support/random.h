/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - numbers that look random and are the same in every run */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

/* xorshift64; *state is any number but 0 to begin with. */
static inline uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
