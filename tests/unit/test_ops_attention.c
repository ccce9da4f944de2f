/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/attention.c, flex_attention.c, linear_attention.c, rotary.c: against
 * their definitions, one number after the other
 */
#include "support/op_calls.h"

#include "support/fail_alloc.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, QUERIES = 3, PAST = 2, FRESH = 4 };
enum { SIZE = 2, V_SIZE = 3, KEYS = PAST + FRESH };

static struct tp_tensor *
random_tensor(const int64_t *sizes, size_t rank, uint64_t seed)
{
	struct tp_tensor *t = NULL;

	RUN(tp_tensor_empty(
	    NULL, TP_DTYPE_F64, sizes, (unsigned)rank, &t, err));
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(t, i, (double)next_random(&seed) / 0x1p62 - 2);
	return t;
}

/* Element [a, b, c, d] of four axes. */
static double
at(const struct tp_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const int64_t *n = tp_tensor_sizes(t);

	return number_at(t, (uint64_t)(((a * n[1] + b) * n[2] + c) * n[3] + d));
}

struct how {
	bool causal, has_past;
	int left, right;
	double cap, scale;
	const int *lens;
	double mask[QUERIES][KEYS]; /* for all heads */
	bool has_mask;
};

/* Does a query see a key? They are counted from the first of the past. */
static bool
sees(const struct how *h, int b, int query, int key)
{
	int place = query + (h->lens	      ? h->lens[b] - QUERIES
				: h->has_past ? PAST
					      : 0);

	return !(h->lens && key >= h->lens[b]) && !(h->causal && key > place) &&
	       !(h->left >= 0 && key < place - h->left) &&
	       !(h->right >= 0 && key > place + h->right) &&
	       !(h->has_mask && h->mask[query][key] == -INFINITY);
}

/* steps[0 … 3] are the scores after each; y is the last. */
static void
attend(const struct how *h, struct tp_tensor *const *in, int b, int head,
    int query, double steps[4][KEYS], double *y)
{
	int kv = head / (HEADS / KV_HEADS), n_past = h->has_past ? PAST : 0;
	int n = n_past + FRESH;
	double sum = 0;

	for (int j = 0; j < n; j++) {
		double s = 0;

		for (int d = 0; d < SIZE; d++)
			s += at(in[0], b, head, query, d) *
			     (j < n_past ? at(in[4], b, kv, j, d)
					 : at(in[1], b, kv, j - n_past, d));
		steps[0][j] = s * h->scale;
		steps[1][j] = h->cap != 0 ? h->cap * tanh(steps[0][j] / h->cap)
					  : steps[0][j];
		steps[2][j] =
		    sees(h, b, query, j)
			? steps[1][j] + (h->has_mask ? h->mask[query][j] : 0)
			: -INFINITY;
		sum += exp(steps[2][j]);
	}
	for (int j = 0; j < n; j++)
		steps[3][j] = sum > 0 ? exp(steps[2][j]) / sum : 0;
	for (int e = 0; e < V_SIZE; e++) {
		y[e] = 0;
		for (int j = 0; j < n; j++)
			y[e] += steps[3][j] *
				(j < n_past ? at(in[5], b, kv, j, e)
					    : at(in[2], b, kv, j - n_past, e));
	}
}

static void
check_near(double got, double want)
{
	if (got == want || fabs(got - want) < 1e-13)
		return;
	print_error("%.17g, expected %.17g\n", got, want);
	fail();
}

static void
check_results(const struct how *h, struct tp_tensor *const *in,
    const struct tp_value *out, unsigned mode)
{
	int n = (h->has_past ? PAST : 0) + FRESH;

	for (int b = 0; b < BATCH; b++)
		for (int head = 0; head < HEADS; head++)
			for (int i = 0; i < QUERIES; i++) {
				double steps[4][KEYS], y[V_SIZE];

				attend(h, in, b, head, i, steps, y);
				for (int e = 0; e < V_SIZE; e++)
					check_near(
					    at(out[0].tensor, b, head, i, e),
					    y[e]);
				for (int j = 0; j < n; j++)
					check_near(
					    at(out[3].tensor, b, head, i, j),
					    steps[mode][j]);
			}
}

/* The four steps that can be shown, of one way to attend. */
static void
check_attention(const struct how *h, int opset)
{
	struct tp_tensor *in[7] = {
	    random_tensor(DIMS(BATCH, HEADS, QUERIES, SIZE), 1),
	    random_tensor(DIMS(BATCH, KV_HEADS, FRESH, SIZE), 2),
	    random_tensor(DIMS(BATCH, KV_HEADS, FRESH, V_SIZE), 3)};
	int64_t n = (h->has_past ? PAST : 0) + FRESH;

	if (h->has_mask) {
		in[3] = random_tensor(DIMS(QUERIES, n), 4);
		for (uint64_t k = 0; k < (uint64_t)(QUERIES * n); k++)
			set_number(in[3], k,
			    h->mask[k / (uint64_t)n][k % (uint64_t)n]);
	}
	if (h->has_past) {
		in[4] = random_tensor(DIMS(BATCH, KV_HEADS, PAST, SIZE), 5);
		in[5] = random_tensor(DIMS(BATCH, KV_HEADS, PAST, V_SIZE), 6);
	}
	if (h->lens)
		in[6] = I64(DIMS(2), h->lens[0], h->lens[1]);
	for (unsigned mode = 0; mode < 4; mode++) {
		const struct tp_attr attrs[] = {
		    ATTR_INT("qk_matmul_output_mode", mode),
		    ATTR_INT("is_causal", h->causal),
		    ATTR_FLOAT("softcap", h->cap),
		    ATTR_FLOAT("scale", h->scale),
		    ATTR_INT("left_window_size", h->left),
		    ATTR_INT("right_window_size", h->right)};
		struct tp_value out[4];

		RUN(op_try("Attention", opset, attrs, opset < 25 ? 4 : 6, in, 7,
		    out, 4, NULL, err));
		check_results(h, in, out, mode);
		for (int b = 0; b < BATCH * KV_HEADS; b++)
			for (int j = 0; j < n; j++) {
				bool is_past = j < n - FRESH;

				assert_true(
				    at(out[1].tensor, b / 2, b % 2, j, 1) ==
				    at(in[is_past ? 4 : 1], b / 2, b % 2,
					is_past ? j : j - (int)n + FRESH, 1));
			}
		for (unsigned k = 0; k < 4; k++)
			tp_value_release(&out[k]);
	}
	for (unsigned k = 0; k < 7; k++)
		tp_tensor_free(in[k]);
}

static void
queries_see_what_they_may(void **state)
{
	static const int lens[] = {4, 2};
	struct how plain = {.left = -1, .right = -1, .scale = 0.7}, h = plain;

	(void)state;
	check_attention(&h, 23);
	h.has_past = true;
	check_attention(&h, 23);
	h.causal = true;
	check_attention(&h, 24);
	h.cap = 1.5;
	check_attention(&h, 23);
	h.has_mask = true;
	h.mask[0][1] = 2;
	h.mask[1][0] = -INFINITY;
	for (int j = 0; j < KEYS; j++)
		h.mask[2][j] = -INFINITY;
	check_attention(&h, 24);
	h.causal = false;
	h.left = 1;
	check_attention(&h, 25);
	h.right = 0;
	check_attention(&h, 25);
	/* Of the second sequence's three queries the first sees nothing. */
	h = plain;
	h.lens = lens;
	check_attention(&h, 24);
	h.causal = true;
	check_attention(&h, 24);
	h.left = 0;
	check_attention(&h, 25);
}

/* What is side by side is what is one behind the other, turned. */
static void
heads_may_lie_side_by_side(void **state)
{
	struct tp_value out[3];

	(void)state;
	op_results("Attention", 23,
	    ATTRS(ATTR_INT("q_num_heads", 2), ATTR_INT("kv_num_heads", 2)),
	    INPUTS(F32(DIMS(1, 2, 2), 0, 1, 2, 3), F32(DIMS(1, 1, 2), 5, 6),
		F32(DIMS(1, 1, 2), 7, 8)),
	    out, 3);
	/* One key: its value is the result, whatever the scores. */
	check_tensor(
	    out[0].tensor, TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(7, 8, 7, 8), 0);
	check_tensor(
	    out[1].tensor, TP_DTYPE_F32, DIMS(1, 2, 1, 1), NUMBERS(5, 6), 0);
	check_tensor(
	    out[2].tensor, TP_DTYPE_F32, DIMS(1, 2, 1, 1), NUMBERS(7, 8), 0);
}

/* Two equal keys with values 1 and 3; a short mask hides what is behind it. */
static void
masks_choose_and_may_be_short(void **state)
{
#define TWO_KEYS                                               \
	F32(DIMS(1, 1, 1, 1), 1), F32(DIMS(1, 1, 2, 1), 1, 1), \
	    F32(DIMS(1, 1, 2, 1), 1, 3)
	(void)state;
	check_tensor(op_result("Attention", 24, NO_ATTRS,
			 INPUTS(TWO_KEYS, BOOL(DIMS(1, 2), 0, 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(3), 0);
	check_tensor(op_result("Attention", 24, NO_ATTRS,
			 INPUTS(TWO_KEYS, BOOL(DIMS(1, 1), 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(1), 0);
	check_tensor(op_result("Attention", 23, NO_ATTRS,
			 INPUTS(TWO_KEYS, BOOL(DIMS(1, 1), 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(2), 0);
	check_tensor(op_result("Attention", 24, NO_ATTRS,
			 INPUTS(TWO_KEYS, BOOL(DIMS(2), 0, 0))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(0), 0);
	check_tensor(op_result("Attention", 25,
			 ATTRS(ATTR_INT("left_window_size", INT64_MAX),
			     ATTR_INT("right_window_size", INT64_MAX)),
			 INPUTS(TWO_KEYS)),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(2), 0);
	op_refuses(TP_EARG,
	    "Attention: attn_mask of shape [3] for scores of shape "
	    "[1, 1, 1, 2]",
	    "Attention", 24, NO_ATTRS,
	    INPUTS(TWO_KEYS, BOOL(DIMS(3), 0, 0, 0)));
	op_refuses(TP_EARG,
	    "Attention: past_key and past_value are given together",
	    "Attention", 24, NO_ATTRS,
	    INPUTS(TWO_KEYS, NULL, F32(DIMS(1, 1, 1, 1), 1)));
	op_refuses(TP_EARG, "Attention: sequence 0 has 3 keys of 2",
	    "Attention", 24, NO_ATTRS,
	    INPUTS(TWO_KEYS, NULL, NULL, NULL, I64(DIMS(1), 3)));
	op_refuses(TP_EARG,
	    "Attention: qk_matmul_output_mode is 4, expected 0, 1, 2 or 3",
	    "Attention", 24, ATTRS(ATTR_INT("qk_matmul_output_mode", 4)),
	    INPUTS(TWO_KEYS));
	op_refuses(TP_EARG,
	    "Attention: 3 heads of queries do not share 2 of keys", "Attention",
	    24, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 3, 1, 1), 1, 2, 3), F32(DIMS(1, 2, 1, 1), 1, 2),
		F32(DIMS(1, 2, 1, 1), 1, 2)));
	op_refuses(TP_EARG,
	    "Attention: input 0 of shape [1, 1, 3] does not have 2 heads side "
	    "by side",
	    "Attention", 24,
	    ATTRS(ATTR_INT("q_num_heads", 2), ATTR_INT("kv_num_heads", 1)),
	    INPUTS(F32(DIMS(1, 1, 3), 1, 2, 3), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 1)));
}

/* Adds the number of the call: 1 to scores, then 2 to probabilities. */
static enum tp_status
add_calls(void *ctx, const struct tp_graph *graph,
    const struct tp_value *inputs, size_t n_in, struct tp_value *outputs,
    size_t n_out, struct tp_err *err)
{
	int *n_calls = ctx;
	struct tp_tensor *t = NULL;

	(void)graph;
	(void)err;
	assert_int_equal(n_in, 1);
	assert_int_equal(n_out, 1);
	assert_int_equal(tp_tensor_dtype(inputs[0].tensor), TP_DTYPE_F32);
	++*n_calls;
	t = tensor_of(NULL, TP_DTYPE_F32, tp_tensor_sizes(inputs[0].tensor), 4,
	    (const double[]){0, 0});
	for (uint64_t i = 0; i < 2; i++)
		set_number(t, i,
		    *n_calls == 1 ? (double)i
				  : number_at(inputs[0].tensor, i) + 2);
	outputs[0] = tp_value_of(t);
	return TP_OK;
}

static void
graphs_change_scores_and_probabilities(void **state)
{
	const double e = exp(1), p = 1 / (1 + e), q = e / (1 + e);
	int n_calls = 0;
	const struct tp_op_opts opts = {
	    .run_graph = add_calls, .run_graph_ctx = &n_calls};
	const struct tp_graph *none = NULL;
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("score_mod"), .kind = TP_ATTR_GRAPH, .graph = none},
	    {.name = TP_STR("prob_mod"), .kind = TP_ATTR_GRAPH, .graph = none}};
	struct tp_tensor *in[] = {TWO_KEYS};
	const struct tp_op *op = NULL;
	struct tp_value values[3], out;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_op_find(TP_STR("ai.onnx.preview"),
			     TP_STR("FlexAttention"), 1, &op, NULL),
	    TP_OK);
	for (unsigned k = 0; k < 3; k++)
		values[k] = tp_value_of(in[k]);
	assert_int_equal(
	    tp_op_run(op, attrs, 2, values, 3, &out, 1, &opts, &err), TP_OK);
	assert_int_equal(n_calls, 2);
	/* Scores are 0 and 1 then, probabilities 2 + p and 2 + q. */
	check_tensor(out.tensor, TP_DTYPE_F32, DIMS(1, 1, 1, 1),
	    NUMBERS(2 + p + 3 * (2 + q)), 1e-6);
	assert_int_equal(
	    tp_op_run(op, NULL, 0, values, 3, &out, 1, NULL, &err), TP_OK);
	check_tensor(out.tensor, TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(2), 0);
	/* Outside of a program there is nobody who runs graphs. */
	assert_int_equal(
	    tp_op_run(op, attrs, 1, values, 3, &out, 1, NULL, &err),
	    TP_EUNSUPPORTED);
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
}

/* More scores than are worked on together: spans end inside of a head. */
static void
long_sequences_are_cut_into_spans(void **state)
{
	enum { N = 1500 };
	static const int64_t rows[] = {0, 1396, 1397, 1398, 1399, N - 1};
	struct tp_tensor *in[3];
	struct tp_value out[2];

	(void)state;
	for (unsigned k = 0; k < 3; k++)
		in[k] = random_tensor(DIMS(1, 2, N, 1), 20 + k);
	for (unsigned threads = 1; threads < 4; threads += 2) {
		const struct tp_op_opts opts = {.n_threads = threads};
		struct tp_value values[3];

		for (unsigned k = 0; k < 3; k++)
			values[k] = tp_value_of(in[k]);
		RUN(tp_op_run(op_named("Attention", 23), NULL, 0, values, 3,
		    &out[threads / 2], 1, &opts, err));
	}
	assert_memory_equal(tp_tensor_data(out[0].tensor),
	    tp_tensor_data(out[1].tensor), 2 * N * sizeof(double));
	for (int64_t head = 0; head < 2; head++)
		for (size_t k = 0; k < COUNT_OF(rows); k++) {
			double sum = 0, y = 0;

			for (int64_t j = 0; j < N; j++) {
				double p = exp(at(in[0], 0, head, rows[k], 0) *
					       at(in[1], 0, head, j, 0));

				sum += p;
				y += p * at(in[2], 0, head, j, 0);
			}
			check_near(
			    at(out[0].tensor, 0, head, rows[k], 0), y / sum);
		}
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
	for (unsigned k = 0; k < 2; k++)
		tp_value_release(&out[k]);
}

/* Two steps of a state of one number that two heads of queries read. */
static void
states_are_faded_and_corrected(void **state)
{
	static const char *const rules[] = {
	    "linear", "gated", "delta", "gated_delta"};
	const double k[] = {0.5, -2}, v[] = {3, 4}, decay[] = {-0.5, -0.25};
	const double beta[] = {0.75, 0.5};

	(void)state;
	for (unsigned rule = 0; rule < 4; rule++) {
		const struct tp_attr attrs[] = {ATTR_INT("q_num_heads", 2),
		    ATTR_INT("kv_num_heads", 1),
		    {.name = TP_STR("update_rule"),
			.kind = TP_ATTR_STRING,
			.s = tp_str(rules[rule])},
		    ATTR_FLOAT("scale", 0.5), ATTR_INT("chunk_size", 16)};
		double s = 10, y[4];
		struct tp_value out[2];

		for (unsigned t = 0; t < 2; t++) {
			s *= rule & 1 ? exp(decay[t]) : 1;
			s += k[t] *
			     (rule & 2 ? beta[t] * (v[t] - s * k[t]) : v[t]);
			y[2 * t] = 0.5 * s * (t + 1);
			y[2 * t + 1] = 0.5 * s * 10 * (t + 1);
		}
		op_results("LinearAttention", 27, attrs, 5,
		    INPUTS(F64(DIMS(1, 2, 2), 1, 10, 2, 20),
			F64(DIMS(1, 2, 1), k[0], k[1]),
			F64(DIMS(1, 2, 1), v[0], v[1]),
			F64(DIMS(1, 1, 1, 1), 10),
			F64(DIMS(1, 2, 1), decay[0], decay[1]),
			F64(DIMS(1, 2, 1), beta[0], beta[1])),
		    out, 2);
		check_tensor(out[0].tensor, TP_DTYPE_F64, DIMS(1, 2, 2),
		    NUMBERS(y[0], y[1], y[2], y[3]), 1e-14);
		check_tensor(out[1].tensor, TP_DTYPE_F64, DIMS(1, 1, 1, 1),
		    NUMBERS(s), 1e-14);
	}
	op_refuses(TP_EARG,
	    "LinearAttention: update_rule 'gated_delta' needs decay",
	    "LinearAttention", 27,
	    ATTRS(ATTR_INT("q_num_heads", 1), ATTR_INT("kv_num_heads", 1)),
	    INPUTS(F32(DIMS(1, 1, 1), 1), F32(DIMS(1, 1, 1), 1),
		F32(DIMS(1, 1, 1), 1)));
}

/* The state is an outer product; rows of it fade each by its own number. */
static void
states_are_matrices(void **state)
{
	const double half = log(0.5);
	struct tp_value out[2];

	(void)state;
	op_results("LinearAttention", 27,
	    ATTRS(ATTR_INT("q_num_heads", 1), ATTR_INT("kv_num_heads", 1),
		ATTR_STRING("update_rule", "gated"), ATTR_FLOAT("scale", 1)),
	    INPUTS(F64(DIMS(1, 1, 2), 1, 10), F64(DIMS(1, 1, 2), 1, 2),
		F64(DIMS(1, 1, 3), 3, 4, 5),
		F64(DIMS(1, 1, 2, 3), 2, 2, 2, 4, 4, 4),
		F64(DIMS(1, 1, 2), half, 0)),
	    out, 2);
	check_tensor(out[1].tensor, TP_DTYPE_F64, DIMS(1, 1, 2, 3),
	    NUMBERS(4, 5, 6, 10, 12, 14), 1e-15);
	check_tensor(out[0].tensor, TP_DTYPE_F64, DIMS(1, 1, 3),
	    NUMBERS(104, 125, 146), 1e-15);
}

static void
pairs_are_turned(void **state)
{
	(void)state;
	/* By a right angle at position 1; the last two numbers stay. */
	check_tensor(
	    op_result("RotaryEmbedding", 23,
		ATTRS(ATTR_INT("rotary_embedding_dim", 4)),
		INPUTS(
		    F32(DIMS(1, 1, 2, 6), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6),
		    F32(DIMS(2, 2), 1, 1, 0, 0), F32(DIMS(2, 2), 0, 0, 1, 1),
		    I64(DIMS(1, 2), 0, 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 2, 6),
	    NUMBERS(1, 2, 3, 4, 5, 6, -3, -4, 1, 2, 5, 6), 0);
	check_tensor(
	    op_result("RotaryEmbedding", 23,
		ATTRS(ATTR_INT("interleaved", 1), ATTR_INT("num_heads", 2)),
		INPUTS(F32(DIMS(1, 1, 4), 1, 2, 3, 4), F32(DIMS(1, 1, 1), 0.5),
		    F32(DIMS(1, 1, 1), 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(-3.5, 3, -6.5, 8), 0);
	op_refuses(TP_EARG, "RotaryEmbedding: position 2 of a table of 2",
	    "RotaryEmbedding", 23, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1, 2), 1, 2), F32(DIMS(2, 1), 1, 2),
		F32(DIMS(2, 1), 1, 2), I64(DIMS(1, 1), 2)));
	op_refuses(TP_EARG,
	    "RotaryEmbedding: 3 of 3 numbers of a head are to be turned",
	    "RotaryEmbedding", 23, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 1, 3), 1, 2, 3), F32(DIMS(2, 1), 1, 2),
		F32(DIMS(2, 1), 1, 2)));
	op_refuses(TP_EARG,
	    "RotaryEmbedding: input 0 of shape [1, 1, 3], expected rank 4, or "
	    "3 with num_heads, which is 0",
	    "RotaryEmbedding", 23, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 3), 1, 2, 3), F32(DIMS(2, 1), 1, 2),
		F32(DIMS(2, 1), 1, 2)));
}

static void
nothing_stays_nothing(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Attention", 25, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 1, 0, 2)),
		    F32(DIMS(1, 1, 1, 2), 1, 2), F32(DIMS(1, 1, 1, 1), 1))),
	    TP_DTYPE_F32, DIMS(1, 1, 0, 1), NO_NUMBERS, 0);
	/* Without a key there is nothing to see. */
	check_tensor(op_result("Attention", 25, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 1, 1, 2), 1, 2),
			     EMPTY(TP_DTYPE_F32, DIMS(1, 1, 0, 2)),
			     EMPTY(TP_DTYPE_F32, DIMS(1, 1, 0, 1)))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), NUMBERS(0), 0);
	check_tensor(op_result("RotaryEmbedding", 23, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, 1, 2)),
			     F32(DIMS(1, 1), 1), F32(DIMS(1, 1), 1),
			     EMPTY(TP_DTYPE_I64, DIMS(0, 1)))),
	    TP_DTYPE_F32, DIMS(0, 1, 1, 2), NO_NUMBERS, 0);
	check_tensor(
	    op_result("LinearAttention", 27,
		ATTRS(ATTR_INT("q_num_heads", 1), ATTR_INT("kv_num_heads", 1),
		    ATTR_STRING("update_rule", "linear")),
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 0, 2)),
		    EMPTY(TP_DTYPE_F32, DIMS(1, 0, 2)),
		    EMPTY(TP_DTYPE_F32, DIMS(1, 0, 1)))),
	    TP_DTYPE_F32, DIMS(1, 0, 1), NO_NUMBERS, 0);
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const struct {
		const char *onnx;
		size_t n_in, n_out;
	} ops[] = {{"Attention", 6, 4}, {"RotaryEmbedding", 3, 1},
	    {"LinearAttention", 6, 2}};
	const struct tp_attr heads[] = {
	    ATTR_INT("q_num_heads", 1), ATTR_INT("kv_num_heads", 1)};
	struct tp_tensor *x = F32(DIMS(1, 2, 2), 1, 2, 3, 4);
	struct tp_tensor *wide = F32(DIMS(1, 1, 2, 2), 1, 2, 3, 4);
	struct tp_tensor *one = F32(DIMS(1, 2, 1), 1, 2);
	struct tp_tensor *const inputs[][6] = {{x, x, x, NULL, wide, wide},
	    {wide, one, one}, {x, x, x, wide, x, one}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ops); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out[4];

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(ops[k].onnx, 27, heads, k == 1 ? 0 : 2,
			    inputs[k], ops[k].n_in, out, ops[k].n_out, &a.alloc,
			    NULL);
			for (size_t i = 0; i < ops[k].n_out; i++)
				tp_value_release(&out[i]);
		}
		assert_true(a.n_rounds > 5);
	}
	tp_tensor_free(x);
	tp_tensor_free(wide);
	tp_tensor_free(one);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(queries_see_what_they_may),
	    cmocka_unit_test(heads_may_lie_side_by_side),
	    cmocka_unit_test(masks_choose_and_may_be_short),
	    cmocka_unit_test(graphs_change_scores_and_probabilities),
	    cmocka_unit_test(long_sequences_are_cut_into_spans),
	    cmocka_unit_test(states_are_faded_and_corrected),
	    cmocka_unit_test(states_are_matrices),
	    cmocka_unit_test(pairs_are_turned),
	    cmocka_unit_test(nothing_stays_nothing),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
