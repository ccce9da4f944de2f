/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_value.c - an entry as a value of a graph: strings too
 */
#include <inttypes.h>

#include "tp/checked.h"
#include "tp/endian.h"

#include "plugin.h"

#include "banned.h"

/* The next string of a stream: its length, then its bytes. */
static enum tp_status
read_string(struct tp_reader *r, struct tp_stream *s,
    struct tp_strings *strings, uint64_t *number, struct tp_err *err)
{
	uint8_t length[8];
	char *text;
	size_t n;
	enum tp_status rc;

	if (tp_stream_left(s) < sizeof(length))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "strings end after %" PRIu64 " bytes", tp_stream_nbytes(s));
	rc = tp_stream_read(s, length, sizeof(length), err);
	if (rc)
		return rc;
	if (tp_u64_to_size(tp_le64(length), &n) || n > tp_stream_left(s))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "a string of %" PRIu64 " bytes where %" PRIu64 " are left",
		    tp_le64(length), tp_stream_left(s));
	text = tp_mem_array(r->alloc, n, 1);
	if (!text)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a string of %zu bytes", n);
	if (n)
		rc = tp_stream_read(s, text, n, err);
	if (!rc)
		rc = tp_strings_add(
		    strings, (struct tp_str){text, n}, number, err);
	tp_mem_free(r->alloc, text, n, 1);
	return rc;
}

static enum tp_status
read_strings(struct tp_reader *r, size_t i, struct tp_strings *strings,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_entry *e = &r->entries[i];
	struct tp_stream *s = NULL;
	uint64_t *numbers;
	enum tp_status rc;

	if (!strings)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' holds strings, and there is no pool for them",
		    TP_BRIEF(e->name));
	/* Each takes 8 bytes at least, which reader_check.c has asked for. */
	rc = tp_stream_entry(r, i, &s, err);
	if (!rc)
		rc = tp_tensor_empty(
		    r->alloc, TP_DTYPE_U64, e->shape, e->rank, out, err);
	numbers = rc ? NULL : tp_tensor_data_mut(*out);
	for (uint64_t k = 0; !rc && k < e->n_elems; k++)
		rc = read_string(r, s, strings, &numbers[k], err);
	tp_stream_close(s);
	if (rc) {
		tp_tensor_free(*out);
		*out = NULL;
	}
	return rc;
}

enum tp_status
tp_reader_value(struct tp_reader *r, size_t i, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err)
{
	bool is_strings =
	    i < r->n_entries && r->entries[i].dtype == TP_DTYPE_STRING;
	struct tp_tensor *t = NULL;
	enum tp_status rc;

	rc = is_strings ? read_strings(r, i, strings, &t, err)
			: tp_reader_tensor(r, i, &t, err);
	*out = tp_value_of(t);
	if (t && is_strings)
		out->kind = TP_VALUE_STRINGS;
	return rc;
}
