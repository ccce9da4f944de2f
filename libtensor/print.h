/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - words: the text of one element, all of one width */
#ifndef TPI_PRINT_H
#define TPI_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"

#include "number.h"

#define TPI_WORD_SIZE 160

struct tpi_word {
	size_t n;
	char s[TPI_WORD_SIZE];
};

/*
 * How floats are written so that all fit: 1. show each to tpi_floats_see,
 * 2. tpi_floats_choose, 3. show each to tpi_floats_fit, 4. tpi_floats_finish,
 * 5. tpi_floats_put.
 */
struct tpi_floats {
	enum tp_dtype dtype; /* real */
	unsigned precision;
	bool plus; /* a sign before positive ones too */

	double max, min; /* of magnitudes that are finite and not 0 */
	uint64_t n_finite;
	bool has_special, has_negative_inf;

	bool exponential;
	size_t left, right; /* of the point: columns */
	size_t exp_digits;
	bool is_scalar;	 /* alone: no padding, "1.0" */
	bool trims_zero; /* and then "1" */
};

void tpi_floats_see(struct tpi_floats *f, struct tpi_number x);
void tpi_floats_choose(struct tpi_floats *f);
void tpi_floats_fit(struct tpi_floats *f, struct tpi_number x);
void tpi_floats_finish(struct tpi_floats *f);
void tpi_floats_put(
    const struct tpi_floats *f, struct tpi_number x, struct tpi_word *w);

void tpi_word_char(struct tpi_word *w, char c, size_t n);
void tpi_word_text(struct tpi_word *w, const char *s);

#endif
