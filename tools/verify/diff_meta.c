/* SPDX-License-Identifier: Apache-2.0 */
/* diff_meta.c - metadata: text by key, in any order */
#include "diff.h"

#include "tp/map.h"

static void
remark(struct diff *d, const char *text)
{
	verdict_remark(
	    &d->v, "metadata", d->o->metadata ? CLI_DIFFERS : CLI_OK, text);
}

/* Keys of side s that the other has not (s 1: only those) or has otherwise. */
static void
compare_side(struct diff *d, int s, const struct tp_map *other)
{
	char text[400];

	for (size_t i = 0; i < tp_reader_n_meta(d->r[s]); i++) {
		const struct tp_meta *m = tp_reader_meta(d->r[s], i), *o;
		size_t at;

		if (!tp_map_find(other, m->key, &at)) {
			snprintf(text, sizeof(text), "'%s' only in the %s file",
			    TP_BRIEF(m->key), s ? "second" : "first");
			remark(d, text);
			continue;
		}
		o = tp_reader_meta(d->r[1 - s], at);
		if (s || !tp_str_cmp(m->value, o->value))
			continue;
		snprintf(text, sizeof(text), "'%s' is '%s', and '%s'",
		    TP_BRIEF(m->key), TP_BRIEF(m->value), TP_BRIEF(o->value));
		remark(d, text);
	}
}

void
diff_metadata(struct diff *d)
{
	struct tp_map maps[2];
	struct tp_err err = TP_ERR_INIT;

	for (int s = 0; s < 2; s++) {
		tp_map_init(&maps[s], NULL);
		for (size_t i = 0; i < tp_reader_n_meta(d->r[s]); i++) {
			size_t taken;
			enum tp_status rc = tp_map_add(&maps[s],
			    tp_reader_meta(d->r[s], i)->key, i, &taken, &err);

			d->v.no_memory |= rc == TP_ENOMEM;
		}
	}
	compare_side(d, 0, &maps[1]);
	compare_side(d, 1, &maps[0]);
	tp_map_release(&maps[0]);
	tp_map_release(&maps[1]);
}
