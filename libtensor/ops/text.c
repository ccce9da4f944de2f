/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - StringConcat, StringSplit */
#include "text.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/utf8.h"

#include "../tensor.h"

#include "../banned.h"

enum tp_status
tpi_scratch_room(const struct tpi_call *c, struct tpi_scratch *b, size_t nbytes,
    struct tp_err *err)
{
	char *s;

	if (nbytes <= b->capacity)
		return TP_OK;
	s = tp_mem_array(c->alloc, nbytes, 1);
	if (!s)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for a string of %zu bytes", c->op->onnx,
		    nbytes);
	tp_mem_free(c->alloc, b->s, b->capacity, 1);
	b->s = s;
	b->capacity = nbytes;
	return TP_OK;
}

void
tpi_scratch_release(const struct tpi_call *c, struct tpi_scratch *b)
{
	tp_mem_free(c->alloc, b->s, b->capacity, 1);
}

enum tp_status
tpi_check_strings(const struct tpi_call *c, size_t k, struct tp_err *err)
{
	if (tpi_is_strings(c, k) && c->opts->strings)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu is not a tensor of strings", c->op->onnx, k);
}

static enum tp_status
infer_string_concat(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_check_strings(c, 0, err);

	return rc ? rc : tpi_infer_broadcast(c, infos, err);
}

struct joining {
	const struct tpi_call *c;
	struct tpi_scratch scratch;
	enum tp_status rc;
	struct tp_err *err;
};

static void
join(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	struct joining *j = ctx;
	struct tp_strings *pool = j->c->opts->strings;

	for (size_t i = 0; i < n && !j->rc; i++) {
		uint64_t numbers[3];
		struct tp_str a, b;
		size_t len;

		for (size_t k = 1; k < 3; k++)
			memcpy(&numbers[k], data[k] + (int64_t)i * steps[k],
			    sizeof(uint64_t));
		a = tp_strings_at(pool, numbers[1]);
		b = tp_strings_at(pool, numbers[2]);
		j->rc = tp_add_size(a.len, b.len, &len)
			    ? TP_ELIMIT
			    : tpi_scratch_room(j->c, &j->scratch, len, j->err);
		if (j->rc)
			return;
		if (a.len)
			memcpy(j->scratch.s, a.s, a.len);
		if (b.len)
			memcpy(j->scratch.s + a.len, b.s, b.len);
		j->rc = tp_strings_add(pool, (struct tp_str){j->scratch.s, len},
		    &numbers[0], j->err);
		memcpy(data[0] + (int64_t)i * steps[0], &numbers[0],
		    sizeof(uint64_t));
	}
}

static enum tp_status
run_string_concat(struct tpi_call *c, struct tp_err *err)
{
	struct joining j = {.c = c, .err = err};
	struct tp_iter it;
	enum tp_status rc = tp_iter_init(&it, c->out, 1, c->in, 2, 0, err);

	if (rc)
		return rc;
	tp_iter_run(&it, join, &j);
	tpi_scratch_release(c, &j.scratch);
	return j.rc;
}

/* The parts of a text, from the left. */
struct splitter {
	struct tp_str rest, delimiter; /* empty: at white space */
	int64_t n_left;		       /* splits; negative: any number */
	bool is_over;
};

/* Bytes of the white space that s begins with, 0 if it does not. */
static size_t
space_at(struct tp_str s)
{
	uint32_t code = 0;
	size_t n = s.len ? tp_utf8_decode(s.s, s.len, &code) : 0;

	if ((code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20) ||
	    code == 0x85 || code == 0xa0 || code == 0x1680 ||
	    (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
	    code == 0x2029 || code == 0x202f || code == 0x205f ||
	    code == 0x3000)
		return n;
	return 0;
}

static void
drop(struct tp_str *s, size_t n)
{
	s->s += n;
	s->len -= n;
}

static bool
next_word(struct splitter *s, struct tp_str *part)
{
	size_t n;

	while ((n = space_at(s->rest)))
		drop(&s->rest, n);
	*part = s->rest;
	if (s->rest.len == 0)
		return false;
	if (s->n_left == 0) {
		drop(&s->rest, s->rest.len);
		return true;
	}
	while (s->rest.len && !space_at(s->rest))
		drop(&s->rest, 1);
	part->len -= s->rest.len;
	s->n_left--;
	return true;
}

static bool
next_field(struct splitter *s, struct tp_str *part)
{
	size_t n = s->delimiter.len;

	if (s->is_over)
		return false;
	*part = s->rest;
	while (s->n_left && s->rest.len >= n) {
		if (memcmp(s->rest.s, s->delimiter.s, n) == 0) {
			part->len -= s->rest.len;
			drop(&s->rest, n);
			s->n_left--;
			return true;
		}
		drop(&s->rest, 1);
	}
	s->is_over = true;
	return true;
}

static bool
next_part(struct splitter *s, struct tp_str *part)
{
	return s->delimiter.len ? next_field(s, part) : next_word(s, part);
}

static struct splitter
split_of(const struct tpi_call *c, uint64_t number)
{
	const struct tp_attr *a = tpi_attr_find(c, "delimiter");

	return (struct splitter){tp_strings_at(c->opts->strings, number),
	    a ? a->s : TP_STR(""), tpi_attr_int(c, "maxsplit", -1), false};
}

/* How many parts each has, and the most. */
static size_t
count_parts(const struct tpi_call *c, const uint64_t *numbers, size_t n,
    int64_t *counts)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		struct splitter s = split_of(c, numbers[i]);
		struct tp_str part;
		size_t count = 0;

		while (next_part(&s, &part))
			count++;
		counts[i] = (int64_t)count;
		if (count > most)
			most = count;
	}
	return most;
}

static enum tp_status
write_parts(const struct tpi_call *c, const uint64_t *numbers, size_t n,
    size_t most, uint64_t *out, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		struct splitter s = split_of(c, numbers[i]);
		struct tp_str part;

		/* The rest of the row are empty strings already. */
		for (size_t k = i * most; !rc && next_part(&s, &part); k++)
			rc = tp_strings_add(
			    c->opts->strings, part, &out[k], err);
	}
	return rc;
}

static enum tp_status
run_string_split(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_info info = tpi_info_of(x);
	struct tp_tensor *packed = NULL, *counts = NULL;
	const uint64_t *numbers;
	size_t n = (size_t)x->n_elems, most = 0;
	enum tp_status rc = tpi_check_strings(c, 0, err);

	if (!rc && info.rank == TP_MAX_RANK)
		rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: input of rank %u", c->op->onnx, info.rank);
	if (!rc)
		rc = tp_tensor_contiguous(x, &packed, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_I64, info.sizes, info.rank, &counts, err);
	if (rc)
		goto out;
	numbers = tp_tensor_data(packed);
	most = count_parts(c, numbers, n, tp_tensor_data_mut(counts));
	info.sizes[info.rank++] = (int64_t)most;
	rc = tp_tensor_empty(
	    c->alloc, TP_DTYPE_U64, info.sizes, info.rank, &c->out[0], err);
	if (!rc)
		rc = write_parts(
		    c, numbers, n, most, tp_tensor_data_mut(c->out[0]), err);
	if (c->n_out > 1) {
		c->out[1] = counts;
		counts = NULL;
	}
out:
	tp_tensor_free(counts);
	tp_tensor_free(packed);
	return rc;
}

static const struct tpi_attr_spec split_attrs[] = {
    {"delimiter", TP_ATTR_STRING}, {"maxsplit", TP_ATTR_INT}, {NULL, 0}};
#define ROW(op, onnx_name, from, n_in, outputs, how, infers, spec)             \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .min_in = n_in, \
		.max_in = n_in, .min_out = 1, .max_out = outputs,              \
		.flags = how, .strings_in = TPI_ALL,                           \
		.strings_out = TPI_BIT(0), .dtypes = TPI_BIT(TP_DTYPE_STRING), \
		.attrs = spec, .infer = infers, .run = run_##op                \
	}

const struct tp_op tpi_text_ops[] = {
    ROW(string_concat, "StringConcat", 20, 2, 1, 0, infer_string_concat, NULL),
    ROW(string_split, "StringSplit", 20, 1, 2, TPI_OP_MAKES, NULL, split_attrs),
    {.name = NULL},
};
