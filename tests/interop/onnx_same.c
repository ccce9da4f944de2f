/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_same.c - onnx_same A B: do two ONNX files have the same content? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_canon.h"

int
main(int argc, char **argv)
{
	size_t n_a = 0, n_b = 0, at = 0;
	uint8_t *a, *b;
	int same;

	if (argc != 3) {
		fprintf(stderr, "usage: %s A.onnx B.onnx\n", argv[0]);
		return 2;
	}
	a = onnx_canon(argv[1], &n_a);
	b = onnx_canon(argv[2], &n_b);
	while (at < n_a && at < n_b && a[at] == b[at])
		at++;
	same = at == n_a && at == n_b;
	if (!same)
		printf("%s and %s differ at byte %zu of their canonical form "
		       "(%zu and %zu bytes)\n",
		    argv[1], argv[2], at, n_a, n_b);
	free(a);
	free(b);
	return same ? 0 : 1;
}
