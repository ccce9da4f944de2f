/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngrams.c - TfIdfVectorizer: how often the n-grams of a pool are in a row
 *
 *	pool		 2 3 | 5 4  5 6  7 8	ngram_counts [0, 2]
 *	n-gram number	 0 1   2    3    4
 *
 * An n-gram with skip s has its items s + 1 apart. A single item has no skips
 * and counts once.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/map.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

enum weighting { TF, IDF, TFIDF };

struct vectorizer {
	enum weighting mode;
	int64_t min_gram, max_gram, max_skip;
	const struct tp_attr *levels;  /* where the 1-, 2-, … grams begin */
	const struct tp_attr *columns; /* of the output, an n-gram each */
	const struct tp_attr *weights; /* or NULL */
	struct tpi_indices pool;
	/* From the bytes of the items to the number of the n-gram. */
	struct tp_map ngrams;
	int64_t n_columns;
	double *counts; /* of n-grams */
	int64_t *items; /* of one of them */
};

static enum tp_status
need_attr(const struct tpi_call *c, const char *name, const struct tp_attr **a,
    struct tp_err *err)
{
	*a = tpi_attr_find(c, name);
	if (!*a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is missing",
		    c->op->onnx, name);
	return TP_OK;
}

static enum tp_status
find_mode(const struct tpi_call *c, enum weighting *mode, struct tp_err *err)
{
	static const char *const names[] = {"TF", "IDF", "TFIDF"};
	const struct tp_attr *a = NULL;
	enum tp_status rc = need_attr(c, "mode", &a, err);

	for (int k = 0; k < 3 && !rc; k++)
		if (tp_str_cmp(a->s, tp_str(names[k])) == 0) {
			*mode = (enum weighting)k;
			return TP_OK;
		}
	return rc ? rc
		  : tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: mode '%s'",
			c->op->onnx, TP_BRIEF(a->s));
}

static enum tp_status
find_sizes(const struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	v->min_gram = tpi_attr_int(c, "min_gram_length", 0);
	v->max_gram = tpi_attr_int(c, "max_gram_length", 0);
	v->max_skip = tpi_attr_int(c, "max_skip_count", 0);
	if (v->min_gram < 1 || v->max_gram < v->min_gram || v->max_skip < 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: n-grams of %" PRId64 " to %" PRId64 " items, %" PRId64
		    " skips",
		    c->op->onnx, v->min_gram, v->max_gram, v->max_skip);
	return TP_OK;
}

static enum tp_status
find_columns(const struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	enum tp_status rc = need_attr(c, "ngram_indexes", &v->columns, err);

	for (size_t i = 0; !rc && i < v->columns->n; i++) {
		int64_t column = v->columns->ints[i];

		if (column < 0 || column == INT64_MAX)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: index %" PRId64 " of n-gram %zu", c->op->onnx,
			    column, i);
		else if (column >= v->n_columns)
			v->n_columns = column + 1;
	}
	v->weights = tpi_attr_find(c, "weights");
	if (!rc && v->weights && v->weights->n != v->columns->n)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu weights for %zu n-grams", c->op->onnx,
		    v->weights->n, v->columns->n);
	return rc;
}

/* The pool as numbers, those of the pool of strings where it has strings. */
static enum tp_status
take_pool(const struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	const struct tp_attr *texts = tpi_attr_find(c, "pool_strings");
	const struct tp_attr *ints = tpi_attr_find(c, "pool_int64s");
	enum tp_status rc = TP_OK;

	if (!texts == !ints || !texts == tpi_is_strings(c, 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: a pool of %s for an input of %s", c->op->onnx,
		    texts ? (ints ? "both kinds" : "strings")
			  : (ints ? "integers" : "no kind"),
		    tpi_is_strings(c, 0) ? "strings" : "integers");
	if (ints)
		return tpi_indices_take(
		    c, "pool_int64s", TPI_OP_FEW, &v->pool, NULL, err);
	rc = tpi_indices_make(c, &v->pool, texts->n, err);
	for (size_t i = 0; i < texts->n && !rc; i++) {
		uint64_t number = 0;

		rc = tp_strings_add(
		    c->opts->strings, texts->strings[i], &number, err);
		v->pool.at[i] = (int64_t)number;
	}
	return rc;
}

static struct tp_str
key_of(const int64_t *items, size_t n)
{
	return (struct tp_str){
	    (const char *)(const void *)items, n * sizeof(*items)};
}

/* The n-grams of n items: from..to of the pool. */
static enum tp_status
add_level(const struct tpi_call *c, struct vectorizer *v, size_t n,
    int64_t from, int64_t to, size_t *number, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (from < 0 || to < from || to > (int64_t)v->pool.n ||
	    (to - from) % (int64_t)n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu-grams from %" PRId64 " to %" PRId64
		    " of a pool of %zu",
		    c->op->onnx, n, from, to, v->pool.n);
	for (; from < to && !rc; from += (int64_t)n) {
		struct tp_str key = key_of(v->pool.at + from, n);
		size_t taken;

		if (*number >= v->columns->n)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: the pool has more than %zu n-grams, which "
			    "have an index",
			    c->op->onnx, v->columns->n);
		if (!tp_map_find(&v->ngrams, key, &taken))
			rc = tp_map_add(&v->ngrams, key, *number, NULL, err);
		++*number;
	}
	return rc;
}

static enum tp_status
take_ngrams(const struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	enum tp_status rc = need_attr(c, "ngram_counts", &v->levels, err);
	size_t number = 0;

	if (!rc)
		rc = take_pool(c, v, err);
	for (size_t k = 0; !rc && k < v->levels->n; k++)
		rc = add_level(c, v, k + 1, v->levels->ints[k],
		    k + 1 < v->levels->n ? v->levels->ints[k + 1]
					 : (int64_t)v->pool.n,
		    &number, err);
	if (rc)
		return rc;
	if (v->max_gram > (int64_t)v->levels->n)
		v->max_gram = (int64_t)v->levels->n;
	v->counts = tp_mem_array(c->alloc, v->columns->n, sizeof(*v->counts));
	v->items = tp_mem_array(c->alloc, v->levels->n, sizeof(*v->items));
	if (!v->counts || !v->items)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for counts", c->op->onnx);
	return rc;
}

/* Release *v whatever the outcome. */
static enum tp_status
prepare(const struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	enum tp_status rc;

	memset(v, 0, sizeof(*v));
	tp_map_init(&v->ngrams, c->alloc);
	rc = find_mode(c, &v->mode, err);
	if (!rc)
		rc = find_sizes(c, v, err);
	if (!rc)
		rc = find_columns(c, v, err);
	if (!rc)
		rc = take_ngrams(c, v, err);
	return rc;
}

static void
release(const struct tpi_call *c, struct vectorizer *v)
{
	tpi_indices_release(&v->pool);
	tp_map_release(&v->ngrams);
	if (v->columns)
		tp_mem_free(
		    c->alloc, v->counts, v->columns->n, sizeof(*v->counts));
	if (v->levels)
		tp_mem_free(
		    c->alloc, v->items, v->levels->n, sizeof(*v->items));
}

/* n items of a row, `apart` from each other. */
static void
count_ngrams(struct vectorizer *v, const int64_t *row, int64_t size, int64_t n,
    int64_t apart)
{
	for (int64_t at = 0; at + (n - 1) * apart < size; at++) {
		size_t number;

		for (int64_t k = 0; k < n; k++)
			v->items[k] = row[at + k * apart];
		if (tp_map_find(
			&v->ngrams, key_of(v->items, (size_t)n), &number))
			v->counts[number]++;
	}
}

static void
count_row(struct vectorizer *v, const int64_t *row, int64_t size)
{
	memset(v->counts, 0, v->columns->n * sizeof(*v->counts));
	for (int64_t n = v->min_gram; n <= v->max_gram && n <= size; n++)
		for (int64_t skip = 0; skip <= v->max_skip; skip++) {
			/* The last item would be behind the row. */
			if (n > 1 && skip + 1 > (size - 1) / (n - 1))
				break;
			count_ngrams(v, row, size, n, skip + 1);
			if (n == 1)
				break;
		}
}

static void
write_row(const struct vectorizer *v, float *out, double *sums)
{
	memset(sums, 0, (size_t)v->n_columns * sizeof(*sums));
	for (size_t i = 0; i < v->columns->n; i++) {
		double count = v->counts[i];

		if (v->mode == IDF && count > 1)
			count = 1;
		if (v->mode != TF && v->weights)
			count *= v->weights->floats[i];
		sums[v->columns->ints[i]] += count;
	}
	for (int64_t i = 0; i < v->n_columns; i++)
		out[i] = (float)sums[i];
}

static enum tp_status
vectorize(struct tpi_call *c, struct vectorizer *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t size = tp_tensor_sizes(x)[x->rank - 1];
	const int64_t sizes[] = {
	    x->rank == 2 ? tp_tensor_sizes(x)[0] : 1, v->n_columns};
	struct tp_tensor *packed = NULL, *rows = NULL, *sums = NULL;
	enum tp_status rc = tp_tensor_contiguous(x, &packed, err);

	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_I64, tp_tensor_sizes(x), x->rank, &rows, err);
	/* Strings are held as u64, which no pool fills up to the sign. */
	if (!rc)
		rc = tp_convert(TP_DTYPE_I64, tp_tensor_data_mut(rows),
		    x->dtype, tp_tensor_data(packed), (size_t)x->n_elems,
		    TP_OVERFLOW_ERROR, 0, NULL, err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F32, sizes + (x->rank == 1),
		    x->rank, &c->out[0], err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, &sizes[1], 1, &sums, err);
	for (int64_t r = 0; r < sizes[0] && !rc && v->n_columns; r++) {
		const int64_t *all = tp_tensor_data(rows);
		float *out = tp_tensor_data_mut(c->out[0]);

		count_row(v, all + r * size, size);
		write_row(v, out + r * v->n_columns, tp_tensor_data_mut(sums));
	}
	tp_tensor_free(sums);
	tp_tensor_free(rows);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
run_tfidf(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct vectorizer v;
	enum tp_status rc;

	if (x->rank < 1 || x->rank > 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input of rank %u, expected 1 or 2", c->op->onnx,
		    x->rank);
	rc = prepare(c, &v, err);
	if (!rc)
		rc = vectorize(c, &v, err);
	release(c, &v);
	return rc;
}

static const struct tpi_attr_spec tfidf_attrs[] = {
    {"max_gram_length", TP_ATTR_INT}, {"max_skip_count", TP_ATTR_INT},
    {"min_gram_length", TP_ATTR_INT}, {"mode", TP_ATTR_STRING},
    {"ngram_counts", TP_ATTR_INTS}, {"ngram_indexes", TP_ATTR_INTS},
    {"pool_int64s", TP_ATTR_INTS}, {"pool_strings", TP_ATTR_STRINGS},
    {"weights", TP_ATTR_FLOATS}, {NULL, 0}};

const struct tp_op tpi_ngrams_ops[] = {
    {.name = "tfidf_vectorizer",
	.onnx = "TfIdfVectorizer",
	.since = 9,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MAKES,
	.strings_in = TPI_BIT(0),
	.dtypes = TPI_BIT(TP_DTYPE_I32) | TPI_BIT(TP_DTYPE_I64) |
		  TPI_BIT(TP_DTYPE_STRING),
	.attrs = tfidf_attrs,
	.run = run_tfidf},
    {.name = NULL},
};
