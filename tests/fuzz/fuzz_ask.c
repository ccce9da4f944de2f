/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ask.c - a reader is asked what nobody should ask, and in other words */
#include "fuzz.h"

#include <string.h>

#include "tp/endian.h"
#include "tp/shape.h"
#include "tp/value.h"

#define POOL_BYTES ((size_t)2 << 20)
/* Elements that are looked at one by one. */
#define MOST_ELEMS 4096

/* Indices past the end. */
static void
ask_beyond(struct tp_reader *r)
{
	size_t n = tp_reader_n_entries(r);
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	uint8_t byte;

	MUST(tp_stream_entry(r, n, &s, &err) == TP_EARG && !s);
	MUST(tp_stream_permuted(r, n, NULL, &s, &err) == TP_EARG && !s);
	for (size_t i = 0; i < tp_reader_n_storages(r); i++)
		MUST(tp_reader_read_raw(r, i, tp_reader_storage(r, i)->nbytes,
			 &byte, 1, &err) == TP_EARG);
}

/* bytes with the axes turned round, an element of `size` bytes each. */
static void
check_turned(const struct tp_entry *e, size_t size, const uint8_t *bytes,
    const uint8_t *turned)
{
	int64_t at[TP_MAX_RANK] = {0};

	for (uint64_t k = 0; k < e->n_elems; k++) {
		uint64_t to = 0;

		for (unsigned d = e->rank; d-- > 0;)
			to = to * (uint64_t)e->shape[d] + (uint64_t)at[d];
		MUST(!memcmp(bytes + k * size, turned + to * size, size));
		for (unsigned d = e->rank; d-- > 0;) {
			if (++at[d] < e->shape[d])
				break;
			at[d] = 0;
		}
	}
}

/* The axes turned round; and one that comes twice. */
static void
ask_turned(struct tp_reader *r, size_t i)
{
	const struct tp_entry *e = tp_reader_entry(r, i);
	unsigned axes[TP_MAX_RANK], bits = tp_dtype_bits(e->dtype);
	struct tp_stream *s = NULL, *plain = NULL;
	struct tp_err err = TP_ERR_INIT;
	uint8_t *bytes, *turned;
	enum tp_status rc;

	for (unsigned d = 0; d < e->rank; d++)
		axes[d] = e->rank - 1 - d;
	rc = tp_stream_permuted(r, i, axes, &s, &err);
	if (e->sparse || e->dtype == TP_DTYPE_STRING)
		MUST(rc == TP_EUNSUPPORTED);
	if (!rc && bits % 8 == 0 && e->n_elems <= MOST_ELEMS) {
		turned = fuzz_drain(s);
		s = NULL;
		MUST_OK(tp_stream_entry(r, i, &plain, &err), &err);
		bytes = fuzz_drain(plain);
		MUST(bytes && turned);
		check_turned(e, bits / 8, bytes, turned);
		free(bytes);
		free(turned);
	}
	tp_stream_close(s);
	if (rc || e->rank == 0)
		return;
	axes[0] = e->rank > 1 ? axes[1] : 1;
	MUST(tp_stream_permuted(r, i, axes, &s, &err) == TP_EARG && !s);
}

/*
 * Strings as values of a graph: a stream has the length of each before it, and
 * says the same.
 */
static void
ask_strings(struct tp_reader *r, size_t i, struct tp_strings *pool)
{
	struct tp_value v = tp_value_of(NULL);
	struct tp_stream *s = NULL;
	struct tp_err err = TP_ERR_INIT;
	const uint64_t *numbers;
	uint8_t *bytes, *p;
	enum tp_status rc;

	MUST(tp_reader_value(r, i, NULL, &v, &err) == TP_EUNSUPPORTED);
	rc = tp_reader_value(r, i, pool, &v, &err);
	MUST(!rc == (v.kind == TP_VALUE_STRINGS));
	if (rc) {
		MUST(v.kind == TP_VALUE_NONE && err.msg[0]);
		return;
	}
	MUST_OK(tp_stream_entry(r, i, &s, &err), &err);
	p = bytes = fuzz_drain(s);
	MUST(bytes);
	numbers = tp_tensor_data(v.tensor);
	for (uint64_t k = 0; k < tp_tensor_numel(v.tensor); k++) {
		struct tp_str text = tp_strings_at(pool, numbers[k]);

		MUST(tp_le64(p) == text.len);
		MUST(!memcmp(p + 8, text.s, text.len));
		p += 8 + text.len;
	}
	free(bytes);
	tp_value_release(&v);
}

void
fuzz_ask(struct tp_reader *r)
{
	struct tp_strings *pool = NULL;
	struct tp_err err = TP_ERR_INIT;

	ask_beyond(r);
	for (size_t i = 0; tp_reader_file(r, i, NULL); i++)
		MUST(!strcmp(tp_reader_file(r, i, NULL), "-") ||
		     tp_reader_reads_file(r, tp_reader_file(r, i, NULL)));
	MUST(!tp_reader_reads_file(r, "/"));
	MUST_OK(tp_reader_check_files(r, &err), &err);
	MUST_OK(tp_strings_new(NULL, POOL_BYTES, &pool, &err), &err);
	for (size_t i = 0; i < tp_reader_n_entries(r) && i < 16; i++) {
		const struct tp_entry *e = tp_reader_entry(r, i);

		MUST(tp_origin_name(e->origin)[0]);
		if (e->nbytes > FUZZ_TENSOR_BYTES ||
		    tp_reader_storage(r, e->storage)->nbytes >
			FUZZ_TENSOR_BYTES)
			continue;
		ask_turned(r, i);
		if (e->dtype == TP_DTYPE_STRING)
			ask_strings(r, i, pool);
	}
	tp_strings_free(pool);
}
