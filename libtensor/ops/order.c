/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - keys of elements, and a stable sort */
#include "order.h"

#include <math.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"

#include "../bits.h"
#include "../number.h"
#include "../tensor.h"

#include "../banned.h"

#define SIGN (UINT64_C(1) << 63)

static uint64_t
key_of_double(double x)
{
	uint64_t bits;

	if (isnan(x))
		return UINT64_MAX;
	bits = tpi_f64_bits(x == 0 ? 0 : x);
	return bits & SIGN ? ~bits : bits | SIGN;
}

/* All elements of a packed tensor; narrow ones are widened, so have a place. */
static enum tp_status
number_keys(
    const struct tp_tensor *t, struct tpi_keys *keys, struct tp_err *err)
{
	enum tp_dtype dtype = tpi_part_dtype(t->dtype);
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);
	const void *data = tp_tensor_data(t);
	enum tp_status rc;

	if (kind == TP_KIND_FLOAT) {
		for (size_t i = 0; i < keys->n; i++)
			keys->at[i] =
			    key_of_double(tp_load_f64(dtype, data, i));
		return TP_OK;
	}
	if (kind != TP_KIND_INT)
		return tp_convert(TP_DTYPE_U64, keys->at, dtype, data, keys->n,
		    TP_OVERFLOW_ERROR, 0, NULL, err);
	rc = tp_convert(TP_DTYPE_I64, keys->at, dtype, data, keys->n,
	    TP_OVERFLOW_ERROR, 0, NULL, err);
	for (size_t i = 0; i < keys->n; i++)
		keys->at[i] ^= SIGN;
	return rc;
}

/* Narrow floats arrive as codes, a sign and a magnitude. */
static void
code_keys(
    const struct tpi_call *c, const struct tp_tensor *t, struct tpi_keys *keys)
{
	const uint8_t *codes = tp_tensor_data(t);
	unsigned sign = 1u << (tp_dtype_bits(c->moves) - 1);

	for (size_t i = 0; i < keys->n; i++) {
		uint64_t magnitude = codes[i] & (sign - 1);

		keys->at[i] =
		    codes[i] & sign ? SIGN - magnitude : SIGN + magnitude;
	}
}

static int
order_texts(const void *ctx, uint64_t a, uint64_t b)
{
	const struct tpi_call *c = ctx;

	return tp_str_cmp(tp_strings_at(c->opts->strings, a),
	    tp_strings_at(c->opts->strings, b));
}

/*
 * The key of a string is the place of its number among all that are there,
 * sorted by text.
 */
static enum tp_status
string_keys(const struct tpi_call *c, const struct tp_tensor *t,
    struct tpi_keys *keys, struct tp_err *err)
{
	uint64_t *sorted = tp_mem_array(c->alloc, keys->n, sizeof(*sorted));
	uint64_t *room = tp_mem_array(c->alloc, keys->n, sizeof(*room));
	const uint64_t *numbers = tp_tensor_data(t);
	size_t n = 0;
	enum tp_status rc = TP_OK;

	if (!sorted || !room) {
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu strings", c->op->onnx, keys->n);
		goto out;
	}
	memcpy(sorted, numbers, keys->n * sizeof(*sorted));
	tpi_sort(sorted, room, keys->n, order_texts, c);
	for (size_t i = 0; i < keys->n; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			sorted[n++] = sorted[i];
	for (size_t i = 0; i < keys->n; i++) {
		size_t low = 0, high = n;

		while (high - low > 1) {
			size_t mid = low + (high - low) / 2;

			if (order_texts(c, sorted[mid], numbers[i]) <= 0)
				low = mid;
			else
				high = mid;
		}
		keys->at[i] = low;
	}
out:
	tp_mem_free(c->alloc, sorted, keys->n, sizeof(*sorted));
	tp_mem_free(c->alloc, room, keys->n, sizeof(*room));
	return rc;
}

enum tp_status
tpi_keys_take(const struct tpi_call *c, size_t k, struct tpi_keys *keys,
    struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	bool is_code = tpi_op_widens(c) && c->op->strings_in & TPI_BIT(k) &&
		       tp_dtype_kind(c->moves) == TP_KIND_FLOAT;
	struct tp_tensor *packed = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);

	*keys = (struct tpi_keys){NULL, (size_t)t->n_elems, c->alloc};
	if (rc)
		return rc;
	if (tp_dtype_kind(t->dtype) == TP_KIND_COMPLEX)
		keys->n *= 2;
	keys->at = tp_mem_array(c->alloc, keys->n, sizeof(*keys->at));
	if (!keys->at)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu keys", c->op->onnx, keys->n);
	else if (tpi_is_strings(c, k))
		rc = string_keys(c, packed, keys, err);
	else if (is_code)
		code_keys(c, packed, keys);
	else
		rc = number_keys(packed, keys, err);
	tp_tensor_free(packed);
	return rc;
}

void
tpi_keys_release(struct tpi_keys *keys)
{
	tp_mem_free(keys->alloc, keys->at, keys->n, sizeof(*keys->at));
	keys->at = NULL;
}

static void
merge(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b,
    uint64_t *out, tpi_order_fn *order, const void *ctx)
{
	while (n_a && n_b) {
		if (order(ctx, *a, *b) <= 0) {
			*out++ = *a++;
			n_a--;
		} else {
			*out++ = *b++;
			n_b--;
		}
	}
	memcpy(out, a, n_a * sizeof(*out));
	memcpy(out + n_a, b, n_b * sizeof(*out));
}

/* Merges runs of 1, 2, 4, … */
void
tpi_sort(uint64_t *list, uint64_t *room, size_t n, tpi_order_fn *order,
    const void *ctx)
{
	uint64_t *from = list, *to = room;

	for (size_t run = 1; run < n; run *= 2) {
		uint64_t *next = from;

		for (size_t at = 0; at < n;) {
			size_t n_a = run < n - at ? run : n - at, n_b;

			n_b = run < n - at - n_a ? run : n - at - n_a;
			merge(from + at, n_a, from + at + n_a, n_b, to + at,
			    order, ctx);
			at += n_a + n_b;
		}
		from = to;
		to = next;
	}
	if (from != list)
		memcpy(list, from, n * sizeof(*list));
}

/* By one byte of the keys; false if they all have the same there. */
static bool
sort_by_byte(const uint64_t *from, uint64_t *to, size_t n, const uint64_t *keys,
    unsigned shift)
{
	size_t places[256] = {0}, at = 0;

	for (size_t i = 0; i < n; i++)
		places[keys[i] >> shift & 0xff]++;
	if (places[keys[0] >> shift & 0xff] == n)
		return false;
	for (size_t b = 0; b < 256; b++) {
		size_t count = places[b];

		places[b] = at;
		at += count;
	}
	for (size_t i = 0; i < n; i++)
		to[places[keys[from[i]] >> shift & 0xff]++] = from[i];
	return true;
}

/* From the lowest byte to the highest, each time keeping the order so far. */
void
tpi_sort_by_key(uint64_t *list, uint64_t *room, size_t n, const uint64_t *keys)
{
	uint64_t *from = list, *to = room;

	for (unsigned shift = 0; shift < 64 && n > 1; shift += 8)
		if (sort_by_byte(from, to, n, keys, shift)) {
			uint64_t *next = from;

			from = to;
			to = next;
		}
	if (from != list)
		memcpy(list, from, n * sizeof(*list));
}
