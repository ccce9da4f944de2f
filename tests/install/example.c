/* SPDX-License-Identifier: Apache-2.0 */
/* example.c - list the tensors of a file with an installed libtpformats */
#include <stdio.h>

#include <tp/format.h>
#include <tp/shape.h>

int
main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "x.safetensors";
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (tp_open(path, NULL, &r, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		return 1;
	}
	printf("%s:", tp_format_name(tp_reader_format(r)));
	for (size_t i = 0; i < tp_reader_n_entries(r); i++) {
		const struct tp_entry *e = tp_reader_entry(r, i);

		printf(" %s %s %s", e->name.s, tp_dtype_name(e->dtype),
		    TP_SHAPE_TEXT(e->shape, e->rank));
	}
	puts("");
	tp_close(r);
	return 0;
}
