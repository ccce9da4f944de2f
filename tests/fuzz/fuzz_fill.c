/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fill.c - weights into a graph they may not fit: an attachment came out
 * of a file and may say anything
 *
 * The graph is that of the input, or, as it stands, the input. The weights are
 * those of the input, but some became sparse or dense, have another dtype,
 * another shape, another name, or are not there. What is written reads back:
 * every tensor as it was given.
 */
#include "fuzz.h"

#include <string.h>

#include "tests/support/model_io.h"
#include "tp/shape.h"

#define MOST 24
#define MOST_BYTES 4096

/* What becomes of a weight: two bits of the choice, and its number. */
enum change { SAME, OTHER_FORM, OTHER_DTYPE, OTHER_PLACE };

struct weights {
	struct tp_entry entries[MOST];
	struct tp_sparse_info sparse[MOST];
	int64_t shapes[MOST][TP_MAX_RANK];
	char names[MOST][32];
	/* Two storages an entry: its values, its indices. */
	uint64_t nbytes[2 * MOST];
	uint8_t *data[2 * MOST];
	size_t n;
};

static uint8_t *
some_bytes(uint64_t n)
{
	uint8_t *p = malloc((size_t)n + 1);

	MUST(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + 1);
	return p;
}

/* Element 0 alone, or none of none. */
static void
make_sparse(struct weights *w, size_t i)
{
	struct tp_entry *e = &w->entries[i];

	w->sparse[i] = (struct tp_sparse_info){
	    .n_values = e->n_elems > 0,
	    .indices = 2 * i + 1,
	    .coordinates = e->n_elems % 2,
	};
	e->sparse = &w->sparse[i];
	w->nbytes[2 * i + 1] = w->sparse[i].n_values * 8 *
			       (w->sparse[i].coordinates ? e->rank : 1);
}

static enum tp_dtype
other_dtype(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_F32 ? TP_DTYPE_BF16 : TP_DTYPE_F32;
}

/* True if it is still there. */
static bool
change_entry(struct weights *w, size_t i, enum change change, size_t number)
{
	struct tp_entry *e = &w->entries[i];

	e->sparse = e->sparse ? &w->sparse[i] : NULL;
	switch (change) {
	case SAME:
		break;
	case OTHER_FORM:
		if (e->sparse)
			e->sparse = NULL;
		else if (e->rank > 0)
			make_sparse(w, i);
		return true;
	case OTHER_DTYPE:
		e->dtype = other_dtype(e->dtype);
		break;
	case OTHER_PLACE:
		if (number % 3 == 0)
			return false;
		if (number % 3 == 1) {
			snprintf(w->names[i], sizeof(w->names[i]), "other %zu",
			    number);
			e->name = tp_str(w->names[i]);
		} else if (e->rank < TP_MAX_RANK) {
			w->shapes[i][e->rank++] = 1;
		}
		break;
	}
	if (e->sparse)
		make_sparse(w, i);
	return true;
}

/* Bytes of what is in the storage of values. */
static bool
make_values(struct weights *w, size_t i)
{
	const struct tp_entry *e = &w->entries[i];
	uint64_t n = e->sparse ? e->sparse->n_values : e->n_elems;
	unsigned bits = tp_dtype_bits(e->dtype);

	if (e->dtype == TP_DTYPE_STRING) {
		/* Empty strings: only their lengths. */
		w->nbytes[2 * i] = n * 8;
		w->data[2 * i] = calloc((size_t)n * 8 + 1, 1);
		MUST(w->data[2 * i]);
		return true;
	}
	if (tp_dtype_nbytes(e->dtype, n, &w->nbytes[2 * i], NULL))
		return false;
	w->data[2 * i] = some_bytes(w->nbytes[2 * i]);
	/* Bits behind the last element are zeros to everyone. */
	if (n * bits % 8)
		w->data[2 * i][w->nbytes[2 * i] - 1] &=
		    (uint8_t)((1u << n * bits % 8) - 1);
	return true;
}

static void
take_entry(struct weights *w, const struct tp_entry *from, enum change change,
    size_t number)
{
	size_t i = w->n;
	struct tp_entry *e = &w->entries[i];

	if (i == MOST || from->n_elems > MOST_BYTES)
		return;
	*e = (struct tp_entry){.name = from->name,
	    .dtype = from->dtype,
	    .rank = from->rank,
	    .shape = w->shapes[i],
	    .n_elems = from->n_elems,
	    .storage = 2 * i,
	    .sparse = from->sparse};
	memcpy(w->shapes[i], from->shape, from->rank * sizeof(int64_t));
	w->nbytes[2 * i + 1] = 0;
	if (!change_entry(w, i, change, number))
		return;
	if (e->dtype != TP_DTYPE_STRING &&
	    tp_dtype_nbytes(e->dtype, e->n_elems, &e->nbytes, NULL))
		return;
	if (!make_values(w, i))
		return;
	if (e->dtype == TP_DTYPE_STRING)
		e->nbytes = w->nbytes[2 * i];
	w->data[2 * i + 1] = calloc((size_t)w->nbytes[2 * i + 1] + 1, 1);
	MUST(w->data[2 * i + 1]);
	w->n++;
}

static void
take_weights(struct weights *w, struct tp_reader *r, unsigned choice)
{
	w->n = 0;
	for (size_t i = 0; i < tp_reader_n_entries(r); i++)
		take_entry(w, tp_reader_entry(r, i),
		    (enum change)(choice >> i % 3 * 2 & 3), i);
}

static void
check_entry(struct tp_reader *back, const struct weights *w, size_t i)
{
	const struct tp_entry *e = &w->entries[i], *f;
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	size_t at = tp_reader_find(back, e->name), n;
	uint8_t *bytes;

	MUST(at != TP_NONE);
	f = tp_reader_entry(back, at);
	MUST(f->dtype == e->dtype && f->rank == e->rank);
	MUST(!memcmp(f->shape, e->shape, e->rank * sizeof(int64_t)));
	if (e->sparse) {
		MUST(f->sparse && f->sparse->n_values == e->sparse->n_values);
		return;
	}
	MUST(!f->sparse && f->nbytes == e->nbytes);
	n = (size_t)e->nbytes;
	bytes = malloc(n + 1);
	MUST(bytes);
	MUST_OK(tp_stream_entry(back, at, &s, &err), &err);
	MUST_OK(tp_stream_read(s, bytes, n, &err), &err);
	MUST(!memcmp(bytes, w->data[2 * i], n));
	tp_stream_close(s);
	free(bytes);
}

static void
fill(const struct weights *w, const struct tp_attachment *graph, bool is_valid,
    unsigned flags)
{
	const void *const *data = (const void *const *)w->data;
	const struct tp_model m = {.entries = w->entries,
	    .n_entries = w->n,
	    .storage_nbytes = w->nbytes,
	    .n_storages = 2 * w->n,
	    .attachments = graph,
	    .n_attachments = 1};
	struct tp_create_options o = {.force = true, .sync = TP_SYNC_NEVER};
	const char *path = fuzz_path("out.onnx");
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *back;
	struct fuzz_cost cost = {0, 0};
	enum tp_status rc;

	o.alloc = fuzz_failing();
	rc = create_model(path, &m, NULL, data, &o, &err);
	MUST(!rc || err.msg[0]);
	fuzz_failed();
	o.alloc = NULL;
	fuzz_begin();
	rc = create_model(path, &m, NULL, data, &o, &err);
	fuzz_end(&cost, "filling a graph");
	if (rc) {
		MUST(err.msg[0]);
		return;
	}
	back = fuzz_open(path, "onnx", flags, &err);
	/* A graph that nobody could read stays one. */
	MUST_OK(back || !is_valid ? TP_OK : err.status, &err);
	for (size_t i = 0; back && i < w->n; i++)
		check_entry(back, w, i);
	tp_close(back);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	static struct weights w;
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	struct tp_attachment graph = {
	    .name = TP_STR(TP_ATTACHMENT_ONNX), .data = data, .nbytes = n};
	unsigned flags = choice & 64 ? TP_OPEN_KEEP_CONSTANTS : 0;
	struct tp_reader *r =
	    fuzz_open(fuzz_file("m.onnx", data, n), "onnx", flags, &err);

	w.n = 0;
	if (r)
		take_weights(&w, r, choice);
	if (r && !(choice & 128) && tp_reader_n_attachments(r) &&
	    tp_reader_attachment(r, 0, &graph, &err)) {
		MUST(err.msg[0]);
		w.n = 0;
	}
	fill(&w, &graph, r, flags);
	for (size_t i = 0; i < 2 * w.n; i++)
		free(w.data[i]);
	tp_close(r);
}
