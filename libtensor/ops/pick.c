/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pick.c - a tensor whose axes are lists of indices of another one's
 *
 * Gather, Pad, Tile and Compress are this. Axes at the end that are taken whole
 * make a unit, which moves as one; where units that follow each other in the
 * result do so in the source too, they move in one run.
 */
#include "moves.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/* An axis, outermost first; the last has lists of offsets and of runs. */
struct axis {
	int64_t size, step; /* bytes from one index of x to the next */
	const int64_t *from;
};

struct pick {
	unsigned rank; /* at least 1 */
	struct axis axes[TP_MAX_RANK];
	const char *src;
	char *dst;
	size_t unit, element; /* bytes */
	const void *filler;
	int64_t *offsets; /* of the last axis, or TPI_NOWHERE */
	int64_t *runs;	  /* units that go on from here */
	bool has_runs;	  /* long enough to be worth it */
	bool has_gaps;
	uint64_t n_units;
	size_t n_parts;
};

static const char zeros[16];

/* Split the axes of x into those that are walked and the unit. */
static void
take_axes(
    struct pick *p, const struct tp_tensor *x, const struct tpi_pick_axis *axes)
{
	const int64_t *strides = tp_tensor_strides(x);
	unsigned rank = x->rank;

	p->element = p->unit = tpi_element_size(x);
	p->n_units = 1;
	while (rank > 0 && !axes[rank - 1].from &&
	       strides[rank - 1] * (int64_t)p->element == (int64_t)p->unit)
		p->unit *= (size_t)tp_tensor_sizes(x)[--rank];
	for (unsigned d = 0; d < rank; d++) {
		struct axis *last = p->rank ? &p->axes[p->rank - 1] : NULL;
		struct axis a = {axes[d].size, strides[d] * (int64_t)p->element,
		    axes[d].from};

		p->n_units *= (uint64_t)a.size;
		/* Two that are taken whole and walked like one are one. */
		if (last && !last->from && !a.from &&
		    last->step == a.step * a.size) {
			last->size *= a.size;
			last->step = a.step;
			continue;
		}
		p->axes[p->rank++] = a;
	}
	if (p->rank == 0)
		p->axes[p->rank++] = (struct axis){1, 0, NULL};
}

static int64_t
offset_of(const struct axis *a, int64_t i)
{
	int64_t at = a->from ? a->from[i] : i;

	return at < 0 ? TPI_NOWHERE : at * a->step;
}

static void
find_runs(struct pick *p)
{
	const struct axis *last = &p->axes[p->rank - 1];
	int64_t unit = (int64_t)p->unit, n_runs = 0;

	for (int64_t i = last->size; i-- > 0;) {
		int64_t at = offset_of(last, i), next;

		p->offsets[i] = at;
		p->has_gaps = p->has_gaps || at == TPI_NOWHERE;
		next = i + 1 < last->size ? p->offsets[i + 1] : -1;
		if (i + 1 < last->size &&
		    (at == TPI_NOWHERE
			    ? next == at
			    : next != TPI_NOWHERE && next - at == unit))
			p->runs[i] = p->runs[i + 1] + 1;
		else
			p->runs[i] = 1;
		n_runs += p->runs[i] == 1;
	}
	/* The mean run, against what a call of memcpy costs. */
	p->has_runs = p->unit > 16 || (p->unit & (p->unit - 1)) ||
		      (n_runs && last->size / n_runs * unit >= 32);
}

static void
fill_units(const struct pick *p, char *dst, int64_t n)
{
	tpi_fill(
	    dst, p->filler, p->element, (size_t)n * (p->unit / p->element));
}

static void
copy_runs(
    const struct pick *p, char *dst, const char *src, int64_t from, int64_t to)
{
	for (int64_t i = from, n; i < to; i += n) {
		n = p->runs[i] < to - i ? p->runs[i] : to - i;
		if (p->offsets[i] == TPI_NOWHERE)
			fill_units(p, dst, n);
		else
			memcpy(dst, src + p->offsets[i], (size_t)n * p->unit);
		dst += (size_t)n * p->unit;
	}
}

/* Row `row` of the last axis, from one index of it to another. */
static void
copy_row(const struct pick *p, uint64_t row, int64_t from, int64_t to)
{
	int64_t last = p->axes[p->rank - 1].size;
	char *dst = p->dst + (row * (uint64_t)last + (uint64_t)from) * p->unit;
	const char *src = p->src;

	for (unsigned d = p->rank - 1; d-- > 0;) {
		const struct axis *a = &p->axes[d];
		int64_t at = offset_of(a, (int64_t)(row % (uint64_t)a->size));

		if (at == TPI_NOWHERE) {
			fill_units(p, dst, to - from);
			return;
		}
		src += at;
		row /= (uint64_t)a->size;
	}
	if (p->has_runs || (p->has_gaps && p->unit != p->element))
		copy_runs(p, dst, src, from, to);
	else
		tpi_take(dst, src, p->offsets + from, p->unit,
		    (size_t)(to - from), p->has_gaps ? p->filler : NULL);
}

static void
copy_part(void *ctx, size_t k)
{
	const struct pick *p = ctx;
	uint64_t last = (uint64_t)p->axes[p->rank - 1].size;
	struct tpi_share mine = tpi_share(p->n_units, p->n_parts, k);
	uint64_t at = mine.from;

	while (at < mine.end) {
		uint64_t from = at % last, n = last - from;

		if (n > mine.end - at)
			n = mine.end - at;
		copy_row(p, at / last, (int64_t)from, (int64_t)(from + n));
		at += n;
	}
}

/* x itself, or packed where most of it is needed and lies in columns. */
static enum tp_status
settle_source(const struct tp_tensor *x, const struct tp_tensor *y,
    struct tp_tensor **out, struct tp_err *err)
{
	if (x->rank && tp_tensor_strides(x)[x->rank - 1] != 1 &&
	    y->n_elems >= x->n_elems / 2)
		return tp_tensor_contiguous(x, out, err);
	return tp_tensor_alias(x, out, err);
}

enum tp_status
tpi_pick(const struct tpi_call *c, const struct tp_tensor *x,
    const struct tpi_pick_axis *axes, const void *filler, struct tp_tensor *y,
    struct tp_err *err)
{
	struct pick p = {.filler = filler ? filler : zeros};
	struct tp_tensor *source = NULL;
	size_t n = 0;
	enum tp_status rc;

	if (y->n_elems == 0)
		return TP_OK;
	rc = settle_source(x, y, &source, err);
	if (rc)
		return rc;
	take_axes(&p, source, axes);
	p.src = tpi_tensor_address(source);
	p.dst = tpi_tensor_address(y);
	n = (size_t)p.axes[p.rank - 1].size;
	p.offsets = tp_mem_array(c->alloc, n, sizeof(*p.offsets));
	p.runs = tp_mem_array(c->alloc, n, sizeof(*p.runs));
	if (!p.offsets || !p.runs) {
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu offsets", c->op->onnx, n);
	} else {
		find_runs(&p);
		p.n_parts = tpi_op_parts(c, y->n_elems, p.n_units);
		tp_parallel(c->n_threads, p.n_parts, copy_part, &p);
	}
	tp_mem_free(c->alloc, p.offsets, n, sizeof(*p.offsets));
	tp_mem_free(c->alloc, p.runs, n, sizeof(*p.runs));
	tp_tensor_free(source);
	return rc;
}
