/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nms.c - NonMaxSuppression: the best boxes that do not lie on each other
 *
 * For each image and class, boxes are taken by falling score, the lower number
 * first among equals; one that covers a taken box too much is left out.
 */
#include "../op.h"

#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"

#include "../tensor.h"
#include "indices.h"
#include "order.h"

#include "../banned.h"

/* A box by its corners, low ones first. */
struct box {
	double y1, x1, y2, x2;
};

struct suppression {
	int64_t n_images, n_classes, n_boxes;
	struct box *boxes;	  /* of all images */
	struct tp_tensor *scores; /* f64 [images, classes, boxes] */
	float most_overlap;
	bool has_least;
	double least_score;
	int64_t most; /* boxes of a class */
	uint64_t *order, *room;
	/* image, class, box of what is selected */
	int64_t *selected;
	size_t n, capacity;
};

static enum tp_status
as_f64(const struct tpi_call *c, size_t k, struct tp_tensor **out,
    struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if (!tp_op_takes(c->op, t->dtype) || t->rank != 3)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s and rank %u, expected floats "
		    "and 3",
		    c->op->onnx, k, tp_dtype_name(t->dtype), t->rank);
	rc = tp_tensor_contiguous(t, &packed, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(t), t->rank, out, err);
	if (!rc)
		rc = tp_convert(TP_DTYPE_F64, tp_tensor_data_mut(*out),
		    t->dtype, tp_tensor_data(packed), (size_t)t->n_elems,
		    TP_OVERFLOW_INF, 0, NULL, err);
	tp_tensor_free(packed);
	return rc;
}

/* A threshold: one float, which *given tells. */
static enum tp_status
find_threshold(const struct tpi_call *c, size_t k, double *out, bool *given,
    struct tp_err *err)
{
	const struct tp_tensor *t = k < c->n_in ? c->in[k] : NULL;

	*given = t != NULL;
	*out = 0;
	if (!t)
		return TP_OK;
	if (!tp_op_takes(c->op, t->dtype) || t->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s and shape %s, expected one "
		    "float",
		    c->op->onnx, k, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	*out = tp_load_f64(t->dtype, tpi_tensor_address(t), 0);
	return TP_OK;
}

/* y1, x1, y2, x2 with any two opposite corners; or x, y of the center, width
 * and height. */
static struct box
box_of(const double *b, bool by_center)
{
	if (by_center)
		return (struct box){b[1] - b[3] / 2, b[0] - b[2] / 2,
		    b[1] + b[3] / 2, b[0] + b[2] / 2};
	return (struct box){b[0] < b[2] ? b[0] : b[2],
	    b[1] < b[3] ? b[1] : b[3], b[0] < b[2] ? b[2] : b[0],
	    b[1] < b[3] ? b[3] : b[1]};
}

/* What they share, of what they cover together. */
static float
overlap(struct box a, struct box b)
{
	double y1 = a.y1 > b.y1 ? a.y1 : b.y1, y2 = a.y2 < b.y2 ? a.y2 : b.y2;
	double x1 = a.x1 > b.x1 ? a.x1 : b.x1, x2 = a.x2 < b.x2 ? a.x2 : b.x2;
	double shared = y2 > y1 && x2 > x1 ? (y2 - y1) * (x2 - x1) : 0;
	double all = (a.y2 - a.y1) * (a.x2 - a.x1) +
		     (b.y2 - b.y1) * (b.x2 - b.x1) - shared;

	return shared > 0 && all > 0 ? (float)(shared / all) : 0;
}

static int
order_scores(const void *ctx, uint64_t a, uint64_t b)
{
	const double *scores = ctx;

	return scores[a] > scores[b] ? -1 : scores[a] < scores[b];
}

static enum tp_status
add_selected(const struct tpi_call *c, struct suppression *s,
    const int64_t *triple, struct tp_err *err)
{
	size_t capacity = s->capacity ? 2 * s->capacity : 64;
	int64_t *grown;

	if (s->n == s->capacity) {
		grown = tp_mem_grow(c->alloc, s->selected, 3 * s->capacity,
		    3 * capacity, sizeof(*grown));
		if (!grown)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "%s: no memory for %zu boxes", c->op->onnx,
			    capacity);
		s->selected = grown;
		s->capacity = capacity;
	}
	memcpy(s->selected + 3 * s->n++, triple, 3 * sizeof(*triple));
	return TP_OK;
}

static bool
is_covered(const struct suppression *s, const struct box *boxes,
    const int64_t *taken, size_t n_taken, struct box b)
{
	for (size_t i = 0; i < n_taken; i++)
		if (overlap(boxes[taken[3 * i + 2]], b) > s->most_overlap)
			return true;
	return false;
}

static enum tp_status
suppress(const struct tpi_call *c, struct suppression *s, int64_t image,
    int64_t class, struct tp_err *err)
{
	const double *scores = (const double *)tp_tensor_data(s->scores) +
			       (image * s->n_classes + class) * s->n_boxes;
	const struct box *boxes = s->boxes + image * s->n_boxes;
	size_t first = s->n, n = 0;
	enum tp_status rc = TP_OK;

	for (int64_t i = 0; i < s->n_boxes; i++)
		if (scores[i] == scores[i] &&
		    (!s->has_least || scores[i] > s->least_score))
			s->order[n++] = (uint64_t)i;
	tpi_sort(s->order, s->room, n, order_scores, scores);
	for (size_t k = 0; k < n && !rc; k++) {
		const int64_t triple[] = {image, class, (int64_t)s->order[k]};

		if ((int64_t)(s->n - first) >= s->most)
			break;
		if (!is_covered(s, boxes,
			s->selected ? s->selected + 3 * first : NULL,
			s->n - first, boxes[s->order[k]]))
			rc = add_selected(c, s, triple, err);
	}
	return rc;
}

static enum tp_status
take_boxes(const struct tpi_call *c, struct suppression *s, struct tp_err *err)
{
	const int64_t *b = tp_tensor_sizes(c->in[0]);
	const int64_t *k = tp_tensor_sizes(c->in[1]);
	bool by_center = tpi_attr_int(c, "center_point_box", 0) != 0;
	struct tp_tensor *corners = NULL;
	enum tp_status rc = as_f64(c, 0, &corners, err);

	if (!rc)
		rc = as_f64(c, 1, &s->scores, err);
	if (!rc && (b[2] != 4 || b[0] != k[0] || b[1] != k[2]))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: boxes of shape %s and scores of shape %s", c->op->onnx,
		    TP_SHAPE_TEXT(b, 3), TP_SHAPE_TEXT(k, 3));
	if (!rc) {
		s->n_images = k[0];
		s->n_classes = k[1];
		s->n_boxes = k[2];
		s->boxes = tp_mem_array(
		    c->alloc, (size_t)corners->n_elems / 4, sizeof(*s->boxes));
		s->order = tp_mem_array(
		    c->alloc, (size_t)s->n_boxes, sizeof(*s->order));
		s->room = tp_mem_array(
		    c->alloc, (size_t)s->n_boxes, sizeof(*s->room));
		if (!s->boxes || !s->order || !s->room)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "%s: no memory for boxes", c->op->onnx);
	}
	for (size_t i = 0; !rc && i < corners->n_elems / 4; i++)
		s->boxes[i] = box_of(
		    (const double *)tp_tensor_data(corners) + 4 * i, by_center);
	tp_tensor_free(corners);
	return rc;
}

static void
release(const struct tpi_call *c, struct suppression *s)
{
	size_t n = (size_t)s->n_boxes;

	tp_mem_free(
	    c->alloc, s->boxes, (size_t)s->n_images * n, sizeof(*s->boxes));
	tp_mem_free(c->alloc, s->order, n, sizeof(*s->order));
	tp_mem_free(c->alloc, s->room, n, sizeof(*s->room));
	tp_mem_free(
	    c->alloc, s->selected, 3 * s->capacity, sizeof(*s->selected));
	tp_tensor_free(s->scores);
}

static enum tp_status
run_nms(struct tpi_call *c, struct tp_err *err)
{
	struct suppression s = {.n = 0};
	double most_overlap = 0;
	bool given;
	enum tp_status rc = tpi_int_input(c, 2, 0, &s.most, err);

	if (!rc)
		rc = find_threshold(c, 3, &most_overlap, &given, err);
	if (!rc)
		rc = find_threshold(c, 4, &s.least_score, &s.has_least, err);
	s.most_overlap = (float)most_overlap;
	if (!rc)
		rc = take_boxes(c, &s, err);
	/* Nothing is all there is to select without boxes. */
	for (int64_t i = 0; i < s.n_images && s.n_boxes && !rc; i++)
		for (int64_t k = 0; k < s.n_classes && !rc; k++)
			rc = suppress(c, &s, i, k, err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_I64,
		    (const int64_t[]){(int64_t)s.n, 3}, 2, &c->out[0], err);
	if (!rc && s.n)
		memcpy(tp_tensor_data_mut(c->out[0]), s.selected,
		    3 * s.n * sizeof(*s.selected));
	release(c, &s);
	return rc;
}

static const struct tpi_attr_spec nms_attrs[] = {
    {"center_point_box", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_nms_ops[] = {
    {.name = "non_max_suppression",
	.onnx = "NonMaxSuppression",
	.since = 10,
	.min_in = 2,
	.max_in = 5,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MAKES,
	.dtypes = TPI_BIT(TP_DTYPE_F16) | TPI_BIT(TP_DTYPE_BF16) |
		  TPI_BIT(TP_DTYPE_F32) | TPI_BIT(TP_DTYPE_F64),
	.attrs = nms_attrs,
	.run = run_nms},
    {.name = NULL},
};
