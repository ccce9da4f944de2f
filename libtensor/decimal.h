/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.h - the shortest decimal that reads back as the same float
 *
 * Exact, by whole numbers as long as it takes, and free of any locale.
 */
#ifndef TPI_DECIMAL_H
#define TPI_DECIMAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define TPI_DECIMAL_DIGITS 20

/* 0.d1d2d3… * 10^point; zero is one digit 0 with point 1. */
struct tpi_decimal {
	int n;
	int point;
	uint8_t digits[TPI_DECIMAL_DIGITS];
};

/*
 * A float is mag * 2^exp. Its neighbours are 1 away in units of 2^exp, but the
 * lower one half that if is_edge: mag is the smallest with its exponent.
 */
struct tpi_float {
	uint64_t mag;
	int exp;
	bool is_edge;
};

/*
 * How many digits. Where fewer than the least would do, those of the float
 * itself go on; where the most cut, it is rounded to nearest even.
 */
struct tpi_digit_limits {
	int least, most;		   /* digits in all */
	int least_fraction, most_fraction; /* behind the point */
};

#define TPI_NO_LEAST (INT_MIN / 2)
#define TPI_NO_MOST (INT_MAX / 2)

/* Zeros at the end are left out. */
void tpi_decimal_shortest(struct tpi_float x, struct tpi_digit_limits limits,
    struct tpi_decimal *out);

#endif
