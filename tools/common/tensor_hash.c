/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_hash.c - one number for what a tensor is */
#include "tensor_hash.h"

#include <inttypes.h>
#include <stdio.h>

#include "tp/alloc.h"

#include "progress.h"

#define BUFFER ((size_t)128 << 10)

static void
hash_head(struct sha256 *h, const struct tp_entry *e)
{
	char text[32];

	sha256_add(
	    h, tp_dtype_name(e->dtype), tp_str(tp_dtype_name(e->dtype)).len);
	sha256_add(h, " [", 2);
	for (unsigned i = 0; i < e->rank; i++) {
		int n = snprintf(text, sizeof(text),
		    i ? ",%" PRId64 : "%" PRId64, e->shape[i]);

		sha256_add(h, text, (size_t)n);
	}
	sha256_add(h, "]\n", 2);
}

enum tp_status
tensor_hash(struct tp_reader *r, size_t i, uint8_t hash[SHA256_SIZE],
    struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(r, i);
	unsigned used =
	    (unsigned)(e->n_elems % 8 * tp_dtype_bits(e->dtype)) % 8;
	struct tp_stream *s = NULL;
	struct sha256 h;
	enum tp_status rc;
	uint8_t *buf;

	buf = tp_mem_array(NULL, BUFFER, 1);
	if (!buf)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a buffer of %zu bytes", BUFFER);
	sha256_init(&h);
	hash_head(&h, e);
	rc = tp_stream_entry(r, i, &s, err);
	while (!rc && tp_stream_left(s)) {
		uint64_t left = tp_stream_left(s);
		size_t n = left < BUFFER ? (size_t)left : BUFFER;

		rc = tp_stream_read(s, buf, n, err);
		if (rc)
			break;
		if (n == left && used && e->dtype != TP_DTYPE_STRING)
			buf[n - 1] &= (uint8_t)((1u << used) - 1);
		sha256_add(&h, buf, n);
		cli_progress_add(n);
	}
	if (!rc)
		sha256_end(&h, hash);
	tp_stream_close(s);
	tp_mem_free(NULL, buf, BUFFER, 1);
	return rc;
}
