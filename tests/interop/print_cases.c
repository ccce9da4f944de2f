/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_cases.c - prints the tensors of a file
 *
 *	print_cases FILE
 *
 * Each case is a line "DTYPE NAME DTYPE_TEXT RANK SIZE…" ("-" for none), then
 * the elements little-endian. The output is the text, then a line "\f".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/print.h"
#include "tp/shape.h"

static int
put(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) != n;
}

static int
read_case(FILE *f)
{
	char dtype_name[16], name[16], text[16];
	int64_t sizes[TP_MAX_RANK] = {0};
	struct tp_print_options opts = {0};
	struct tp_tensor *t = NULL;
	enum tp_dtype dtype;
	uint64_t wide;
	size_t nbytes;
	unsigned rank;

	if (fscanf(f, "%15s %15s %15s %u", dtype_name, name, text, &rank) != 4)
		return -1;
	for (unsigned d = 0; d < rank && d < TP_MAX_RANK; d++) {
		long long size;

		if (fscanf(f, "%lld", &size) != 1)
			return 1;
		sizes[d] = size;
	}
	if (fgetc(f) != '\n')
		return 1;
	dtype = tp_dtype_find(dtype_name);
	if (tp_tensor_empty(NULL, dtype, sizes, rank, &t, NULL) ||
	    tp_dtype_nbytes(dtype, tp_tensor_numel(t), &wide, NULL) ||
	    tp_u64_to_size(wide, &nbytes))
		return 1;
	if (fread(tp_tensor_data_mut(t), 1, nbytes, f) != nbytes)
		return 1;
	if (!tp_host_is_little())
		tp_swap_bytes(tp_tensor_data_mut(t),
		    nbytes / tp_dtype_swap_size(dtype),
		    tp_dtype_swap_size(dtype));
	opts.name = strcmp(name, "-") ? name : NULL;
	opts.dtype = strcmp(text, "-") ? text : NULL;
	if (tp_tensor_print(t, &opts, put, stdout, NULL))
		return 1;
	puts("\n\f");
	tp_tensor_free(t);
	return 0;
}

int
main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	int rc = 0;

	if (!f) {
		fprintf(stderr, "usage: print_cases FILE\n");
		return 64;
	}
	while (rc == 0)
		rc = read_case(f);
	fclose(f);
	return rc < 0 ? 0 : 1;
}
