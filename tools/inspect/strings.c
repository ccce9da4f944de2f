/* SPDX-License-Identifier: Apache-2.0 */
/* strings.c - strings in memory, and slices of them */
#include "strings.h"

#include <inttypes.h>

#include "tp/alloc.h"
#include "tp/endian.h"

#include "cli.h"
#include "text.h"

/* As NumPy: above so many elements only so many at each end. */
#define THRESHOLD 1000
#define EDGE 3

struct string_array {
	uint8_t *bytes;
	size_t nbytes;
	struct tp_str *items;
	size_t n;
};

static enum tp_status
find_items(struct string_array *a, struct tp_str name, struct tp_err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < a->n; i++) {
		uint64_t len;

		if (a->nbytes - at < 8 ||
		    (len = tp_le64(a->bytes + at)) > a->nbytes - at - 8)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': string %zu ends past its bytes",
			    TP_BRIEF(name), i);
		a->items[i] = (struct tp_str){
		    (const char *)a->bytes + at + 8, (size_t)len};
		at += 8 + (size_t)len;
	}
	if (at != a->nbytes)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': %zu bytes behind its last string",
		    TP_BRIEF(name), a->nbytes - at);
	return TP_OK;
}

static enum tp_status
read_array(struct tp_reader *r, size_t entry, struct string_array *a,
    struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(r, entry);
	struct tp_stream *s = NULL;
	enum tp_status rc;

	/* Each string takes 8 bytes at least, so both are bounded by these. */
	if (e->nbytes > cli_common.max_memory || e->n_elems > e->nbytes / 8)
		return tp_fail(err,
		    e->nbytes > cli_common.max_memory ? TP_ELIMIT : TP_EFORMAT,
		    TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " strings in %" PRIu64
		    " bytes, --max-memory is %" PRIu64,
		    TP_BRIEF(e->name), e->n_elems, e->nbytes,
		    cli_common.max_memory);
	a->nbytes = (size_t)e->nbytes;
	a->n = (size_t)e->n_elems;
	a->bytes = tp_mem_array(NULL, a->nbytes, 1);
	a->items = tp_mem_array(NULL, a->n, sizeof(a->items[0]));
	if (!a->bytes || !a->items)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for %zu strings", a->n);
	rc = tp_stream_entry(r, entry, &s, err);
	if (!rc && a->nbytes)
		rc = tp_stream_read(s, a->bytes, a->nbytes, err);
	tp_stream_close(s);
	return rc ? rc : find_items(a, e->name, err);
}

enum tp_status
string_array_new(struct tp_reader *r, size_t entry, struct string_array **out,
    struct tp_err *err)
{
	struct string_array *a = tp_mem_array(NULL, 1, sizeof(*a));
	enum tp_status rc;

	*out = NULL;
	if (!a)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "out of memory");
	rc = read_array(r, entry, a, err);
	if (rc) {
		string_array_free(a);
		return rc;
	}
	*out = a;
	return TP_OK;
}

void
string_array_free(struct string_array *a)
{
	if (!a)
		return;
	if (a->bytes)
		tp_mem_free(NULL, a->bytes, a->nbytes, 1);
	if (a->items)
		tp_mem_free(NULL, a->items, a->n, sizeof(a->items[0]));
	tp_mem_free(NULL, a, 1, sizeof(*a));
}

static uint64_t
count(const struct slice *s)
{
	uint64_t n = 1;

	/*
	 * The sizes of a slice of what is in memory: no product is too large.
	 */
	for (unsigned i = 0; i < s->rank; i++)
		if (s->sizes[i] == 0)
			return 0;
	for (unsigned i = 0; i < s->rank; i++)
		n *= (uint64_t)s->sizes[i];
	return n;
}

struct printer {
	const struct string_array *a;
	const struct slice *s;
	bool brief; /* only the ends of each axis */
	FILE *out;
};

/*
 * Below `axis`, whose first element is number `at`; as deep as there are axes.
 */
static void
print_axis(const struct printer *p, unsigned axis, int64_t at)
{
	const struct slice *s = p->s;
	bool last = axis + 1 == s->rank;

	if (axis == s->rank) {
		putc('\'', p->out);
		cli_put_name(p->out, p->a->items[at], CLI_NAME_COLUMNS);
		putc('\'', p->out);
		return;
	}
	putc('[', p->out);
	for (int64_t i = 0; i < s->sizes[axis]; i++) {
		if (i && last)
			putc(' ', p->out);
		else if (i) {
			putc('\n', p->out);
			cli_put_spaces(p->out, axis + 1);
		}
		if (p->brief && i == EDGE && s->sizes[axis] > 2 * EDGE) {
			fputs("...", p->out);
			i = s->sizes[axis] - EDGE - 1;
			continue;
		}
		print_axis(p, axis + 1, at + i * s->strides[axis]);
	}
	putc(']', p->out);
}

void
string_array_print(
    const struct string_array *a, const struct slice *s, FILE *out)
{
	struct printer p = {a, s, count(s) > THRESHOLD, out};

	if (count(s))
		print_axis(&p, 0, s->first);
	else
		fputs("[]", out);
}

static void
json_axis(const struct string_array *a, const struct slice *s, unsigned axis,
    int64_t at, struct tp_json *j)
{
	if (axis == s->rank) {
		tp_json_str(j, a->items[at]);
		return;
	}
	for (int64_t i = 0; i < s->sizes[axis]; i++)
		json_axis(a, s, axis + 1, at + i * s->strides[axis], j);
}

void
string_array_json(
    const struct string_array *a, const struct slice *s, struct tp_json *j)
{
	if (count(s))
		json_axis(a, s, 0, s->first, j);
}
