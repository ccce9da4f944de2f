/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - the pairs of text that a model carries, and its attachments */
#include "inspect.h"

#include "text.h"

/* Longer values are cut in text; --json has them whole. */
#define VALUE_MAX_COLUMNS 1000

void
inspect_metadata(struct inspect_file *f)
{
	for (size_t i = 0; i < tp_reader_n_meta(f->r); i++) {
		const struct tp_meta *m = tp_reader_meta(f->r, i);

		cli_put_name(stdout, m->key, VALUE_MAX_COLUMNS);
		fputs(" = ", stdout);
		cli_put_name(stdout, m->value, VALUE_MAX_COLUMNS);
		putc('\n', stdout);
	}
}
