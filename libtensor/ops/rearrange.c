/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rearrange.c - DepthToSpace, SpaceToDepth, ReverseSequence, Trilu,
 * TensorScatter: elements in another order, or only some of them
 */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

/*
 * b x b blocks of pixels: as many channels as c says have h x w blocks each, or
 * c times b * b channels that many pixels.
 */
struct blocks {
	int64_t b, n, c, h, w;
	int64_t sizes[4]; /* of the result */
};

static enum tp_status
find_blocks(const struct tpi_call *c, bool to_space, struct blocks *k,
    struct tp_err *err)
{
	const int64_t *x = tp_tensor_sizes(c->in[0]);
	int64_t b = tpi_attr_int(c, "blocksize", 0), area;
	bool fits = c->in[0]->rank == 4 && b > 0 && !tp_mul_i64(b, b, &area);

	if (fits)
		fits = to_space ? x[1] % area == 0
				: x[2] % b == 0 && x[3] % b == 0;
	if (fits) {
		*k = (struct blocks){b, x[0], to_space ? x[1] / area : x[1],
		    to_space ? x[2] : x[2] / b, to_space ? x[3] : x[3] / b,
		    {x[0], to_space ? x[1] / area : 0, x[2] / b, x[3] / b}};
		/* Beside an axis of 0 the others may be of any size. */
		fits = to_space ? !tp_mul_i64(x[2], b, &k->sizes[2]) &&
				      !tp_mul_i64(x[3], b, &k->sizes[3])
				: !tp_mul_i64(x[1], area, &k->sizes[1]);
	}
	if (!fits)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: blocksize %" PRId64 " of shape %s", c->op->onnx, b,
		    TP_SHAPE_TEXT(x, c->in[0]->rank));
	return TP_OK;
}

/* x with axes split, in another order, under the shape of the result. */
static enum tp_status
move_blocks(struct tpi_call *c, const struct blocks *k, const int64_t *split,
    const int *order, struct tp_err *err)
{
	struct tp_tensor *packed = NULL, *parts = NULL, *moved = NULL;
	enum tp_status rc = tp_tensor_contiguous(c->in[0], &packed, err);

	if (!rc)
		rc = tp_tensor_reshape(packed, split, 6, &parts, err);
	if (!rc)
		rc = tp_tensor_permute(parts, order, 6, &moved, err);
	if (!rc)
		rc = tpi_pack_as(c, moved, k->sizes, 4, &c->out[0], err);
	tp_tensor_free(moved);
	tp_tensor_free(parts);
	tp_tensor_free(packed);
	return rc;
}

/* Which of a pixel's channels is outer: its place in the block or its own. */
static enum tp_status
run_depth_to_space(struct tpi_call *c, struct tp_err *err)
{
	static const int place_first[] = {0, 3, 4, 1, 5, 2};
	static const int place_last[] = {0, 1, 4, 2, 5, 3};
	const struct tp_attr *mode = tpi_attr_find(c, "mode");
	bool crd = mode && tp_str_cmp(mode->s, TP_STR("CRD")) == 0;
	struct blocks k = {0};
	enum tp_status rc = find_blocks(c, true, &k, err);
	const int64_t dcr_split[] = {k.n, k.b, k.b, k.c, k.h, k.w};
	const int64_t crd_split[] = {k.n, k.c, k.b, k.b, k.h, k.w};

	if (!rc && mode && !crd && tp_str_cmp(mode->s, TP_STR("DCR")))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: mode '%s'",
		    c->op->onnx, TP_BRIEF(mode->s));
	if (rc)
		return rc;
	return crd ? move_blocks(c, &k, crd_split, place_last, err)
		   : move_blocks(c, &k, dcr_split, place_first, err);
}

static enum tp_status
run_space_to_depth(struct tpi_call *c, struct tp_err *err)
{
	static const int place_first[] = {0, 3, 5, 1, 2, 4};
	struct blocks k = {0};
	enum tp_status rc = find_blocks(c, false, &k, err);
	const int64_t split[] = {k.n, k.c, k.h, k.b, k.w, k.b};

	return rc ? rc : move_blocks(c, &k, split, place_first, err);
}

/* The first len[b] steps of sequence b backwards, the rest as it is. */
static enum tp_status
run_reverse_sequence(struct tpi_call *c, struct tp_err *err)
{
	int64_t time = tpi_attr_int(c, "time_axis", 0);
	int64_t batch = tpi_attr_int(c, "batch_axis", 1);
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	struct tpi_indices lens = {0}, offsets = {0};
	struct tp_tensor *packed = NULL;
	size_t unit = tpi_element_size(c->in[0]);
	enum tp_status rc;

	if (c->in[0]->rank < 2 || time < 0 || time > 1 || batch != 1 - time)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: time_axis %" PRId64 ", batch_axis %" PRId64
		    " of a tensor of rank %u; expected 0 and 1 or 1 and 0",
		    c->op->onnx, time, batch, c->in[0]->rank);
	rc = tpi_indices_take(c, NULL, 1, &lens, NULL, err);
	if (!rc && lens.n != (size_t)sizes[batch])
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu lengths of %" PRId64 " sequences", c->op->onnx,
		    lens.n, sizes[batch]);
	for (size_t b = 0; b < lens.n && !rc; b++)
		if (lens.at[b] < 0 || lens.at[b] > sizes[time])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: length %" PRId64 " of sequence %zu, which has "
			    "%" PRId64 " steps",
			    c->op->onnx, lens.at[b], b, sizes[time]);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &packed, err);
	for (unsigned d = 2; d < c->in[0]->rank; d++)
		unit *= (size_t)sizes[d];
	if (!rc && c->in[0]->n_elems)
		rc = tpi_indices_make(
		    c, &offsets, (size_t)(sizes[0] * sizes[1]), err);
	for (size_t i = 0; i < offsets.n && !rc; i++) {
		int64_t index[2] = {
		    (int64_t)i / sizes[1], (int64_t)i % sizes[1]};
		int64_t len = lens.at[index[batch]];

		if (index[time] < len)
			index[time] = len - 1 - index[time];
		offsets.at[i] =
		    (index[0] * sizes[1] + index[1]) * (int64_t)unit;
	}
	if (!rc)
		tpi_take(tpi_tensor_address(c->out[0]),
		    tpi_tensor_address(packed), offsets.at, unit, offsets.n,
		    NULL);
	tpi_indices_release(&offsets);
	tpi_indices_release(&lens);
	tp_tensor_free(packed);
	return rc;
}

struct triangle {
	const char *src;
	char *dst;
	int64_t n_rows, n_columns, k;
	uint64_t n_all; /* rows of all matrices */
	size_t size, n_parts;
	bool upper;
};

/* Row i keeps columns from i + k on, or up to i + k. */
static void
copy_triangle(void *ctx, size_t part)
{
	const struct triangle *t = ctx;
	size_t row = (size_t)t->n_columns * t->size;
	struct tpi_share mine = tpi_share(t->n_all, t->n_parts, part);

	for (uint64_t r = mine.from; r < mine.end; r++) {
		int64_t at = (int64_t)(r % (uint64_t)t->n_rows) + t->k;
		char *dst = t->dst + r * row;
		size_t cut = 0, keep, end;

		at += !t->upper;
		if (at > 0)
			cut = (size_t)(at < t->n_columns ? at : t->n_columns) *
			      t->size;
		/* What is kept, and zeros on its other side. */
		keep = t->upper ? cut : 0;
		end = t->upper ? row : cut;
		memcpy(dst + keep, t->src + r * row + keep, end - keep);
		memset(t->upper ? dst : dst + cut, 0, row - (end - keep));
	}
}

static enum tp_status
run_trilu(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct triangle t = {.upper = tpi_attr_int(c, "upper", 1) != 0};
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if (x->rank < 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input of rank %u, expected 2 or more", c->op->onnx,
		    x->rank);
	rc = tpi_int_input(c, 1, 0, &t.k, err);
	if (!rc)
		rc = tp_tensor_contiguous(x, &packed, err);
	if (rc || x->n_elems == 0) {
		tp_tensor_free(packed);
		return rc;
	}
	t.n_rows = tp_tensor_sizes(x)[x->rank - 2];
	t.n_columns = tp_tensor_sizes(x)[x->rank - 1];
	/* Beyond the corners all are alike. */
	if (t.k < -t.n_rows)
		t.k = -t.n_rows;
	if (t.k > t.n_columns)
		t.k = t.n_columns;
	t.n_all = x->n_elems / (uint64_t)t.n_columns;
	t.src = tpi_tensor_address(packed);
	t.dst = tpi_tensor_address(c->out[0]);
	t.size = tpi_element_size(x);
	t.n_parts = tpi_op_parts(c, x->n_elems, t.n_all);
	tp_parallel(c->n_threads, t.n_parts, copy_triangle, &t);
	tp_tensor_free(packed);
	return TP_OK;
}

/* A cache [B, …, L, …] with an update in it, L being the axis. */
static enum tp_status
find_cache_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *u = c->in[1];
	const struct tp_attr *mode = tpi_attr_find(c, "mode");
	enum tp_status rc;
	bool fits;

	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", -2), x->rank, axis, err);
	if (rc)
		return rc;
	fits = *axis > 0 && u->rank == x->rank;
	for (unsigned d = 0; d < x->rank && fits; d++)
		fits = d == *axis
			   ? tp_tensor_sizes(u)[d] <= tp_tensor_sizes(x)[d]
			   : tp_tensor_sizes(u)[d] == tp_tensor_sizes(x)[d];
	if (!fits)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: update of shape %s for a cache of shape %s, axis %u",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(u), u->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank), *axis);
	if (mode && tp_str_cmp(mode->s, TP_STR("linear")) &&
	    tp_str_cmp(mode->s, TP_STR("circular")))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: mode '%s'",
		    c->op->onnx, TP_BRIEF(mode->s));
	return TP_OK;
}

static enum tp_status
infer_tensor_scatter(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0;
	enum tp_status rc = find_cache_axis(c, &axis, err);

	return rc ? rc : tpi_infer_same(c, infos, err);
}

/* The first place of each batch: input 2, or all zero. */
static enum tp_status
find_starts(const struct tpi_call *c, unsigned axis, struct tpi_indices *starts,
    struct tp_err *err)
{
	const struct tp_attr *mode = tpi_attr_find(c, "mode");
	bool circular = mode && tp_str_cmp(mode->s, TP_STR("circular")) == 0;
	int64_t size = tp_tensor_sizes(c->in[0])[axis];
	int64_t room = size - tp_tensor_sizes(c->in[1])[axis];
	size_t n = (size_t)tp_tensor_sizes(c->in[0])[0];
	bool given = false;
	enum tp_status rc = tpi_indices_take(c, NULL, 2, starts, &given, err);

	if (!rc && !given)
		return tpi_indices_make(c, starts, n, err);
	if (!rc && starts->n != n)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu write_indices for a batch of %zu", c->op->onnx,
		    starts->n, n);
	for (size_t b = 0; b < n && !rc; b++)
		if (starts->at[b] < 0 ||
		    (circular ? starts->at[b] >= size : starts->at[b] > room))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: write index %" PRId64
			    " of an axis of size %" PRId64,
			    c->op->onnx, starts->at[b], size);
	return rc;
}

static enum tp_status
run_tensor_scatter(struct tpi_call *c, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	struct tp_tensor *update = NULL;
	struct tpi_indices starts = {0};
	unsigned axis = 0;
	size_t n, size, unit = tpi_element_size(c->in[0]), mid = 1;
	enum tp_status rc = find_cache_axis(c, &axis, err);

	if (!rc)
		rc = tpi_move(c, c->out[0], c->in[0], err);
	if (!rc)
		rc = find_starts(c, axis, &starts, err);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[1], &update, err);
	size = (size_t)sizes[axis];
	n = rc || !c->in[1]->n_elems ? 0
				     : (size_t)tp_tensor_sizes(c->in[1])[axis];
	for (unsigned d = 1; d < c->in[0]->rank && n; d++)
		*(d < axis ? &mid : &unit) *= d == axis ? 1 : (size_t)sizes[d];
	for (size_t r = 0; n && r < starts.n * mid; r++) {
		char *to = tpi_tensor_address(c->out[0]) + r * size * unit;
		const char *from = tpi_tensor_address(update) + r * n * unit;
		size_t at = (size_t)starts.at[r / mid];
		size_t first = n < size - at ? n : size - at;

		/* Behind the end it goes on at the start. */
		memcpy(to + at * unit, from, first * unit);
		memcpy(to, from + first * unit, (n - first) * unit);
	}
	tpi_indices_release(&starts);
	tp_tensor_free(update);
	return rc;
}

static const struct tpi_attr_spec block_attrs[] = {
    {"blocksize", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec depth_attrs[] = {
    {"blocksize", TP_ATTR_INT}, {"mode", TP_ATTR_STRING}, {NULL, 0}};
static const struct tpi_attr_spec reverse_attrs[] = {
    {"batch_axis", TP_ATTR_INT}, {"time_axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec trilu_attrs[] = {
    {"upper", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec scatter_attrs[] = {
    {"axis", TP_ATTR_INT}, {"mode", TP_ATTR_STRING}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, how, moved, infers, spec)   \
	{                                                                     \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,   \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1,  \
		.flags = how, .strings_in = moved, .strings_out = TPI_BIT(0), \
		.attrs = spec, .infer = infers, .run = run_##op               \
	}

const struct tp_op tpi_rearrange_ops[] = {
    ROW(depth_to_space, "DepthToSpace", 11, 0, 1, 1, TPI_OP_MAKES, TPI_BIT(0),
	NULL, depth_attrs),
    ROW(depth_to_space, "DepthToSpace", 1, 10, 1, 1, TPI_OP_MAKES, TPI_BIT(0),
	NULL, block_attrs),
    ROW(space_to_depth, "SpaceToDepth", 1, 0, 1, 1, TPI_OP_MAKES, TPI_BIT(0),
	NULL, block_attrs),
    ROW(reverse_sequence, "ReverseSequence", 10, 0, 2, 2, TPI_OP_MOVES,
	TPI_BIT(0), tpi_infer_same, reverse_attrs),
    ROW(trilu, "Trilu", 14, 0, 1, 2, TPI_OP_MOVES, TPI_BIT(0), tpi_infer_same,
	trilu_attrs),
    ROW(tensor_scatter, "TensorScatter", 24, 0, 2, 3, TPI_OP_MOVES,
	TPI_BIT(0) | TPI_BIT(1), infer_tensor_scatter, scatter_attrs),
    {.name = NULL},
};
