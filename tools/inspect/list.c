/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - one line a tensor
 *
 *	conv1.weight  f32  [32, 1, 3, 3]  1152
 *
 * Columns are as wide as their widest text, up to a bound; a longer name pushes
 * the rest of its line to the right. Bytes are those of the dense tensor.
 */
#include "inspect.h"

#include <inttypes.h>

#include "text.h"

/* Alignment of the name column, and where names are cut. */
#define NAME_COLUMN 60
#define SHAPE_COLUMN 32

struct columns {
	size_t name, dtype, shape, nbytes, offset;
	bool checksums; /* some have one */
	bool files;	/* more than one: name them */
};

void
inspect_put_sizes(FILE *out, const int64_t *sizes, unsigned rank)
{
	putc('[', out);
	for (unsigned i = 0; i < rank; i++) {
		if (i)
			fputs(", ", out);
		if (sizes[i] < 0)
			putc('-', out);
		cli_put_u64(out,
		    sizes[i] < 0 ? ~(uint64_t)sizes[i] + 1 : (uint64_t)sizes[i],
		    0);
	}
	putc(']', out);
}

size_t
inspect_sizes_width(const int64_t *sizes, unsigned rank)
{
	size_t width = 2 + (rank ? 2 * (rank - 1) : 0);

	for (unsigned i = 0; i < rank; i++)
		width += sizes[i] < 0
			     ? 1 + cli_u64_width(~(uint64_t)sizes[i] + 1)
			     : cli_u64_width((uint64_t)sizes[i]);
	return width;
}

static void
widen(size_t *column, size_t width, size_t bound)
{
	if (width > bound)
		width = bound;
	if (width > *column)
		*column = width;
}

static struct columns
measure_columns(const struct inspect_file *f)
{
	struct columns c = {.files = tp_reader_file(f->r, 1, NULL) != NULL};
	uint64_t offset;

	for (size_t i = 0; i < f->n; i++) {
		const struct tp_entry *e = inspect_entry(f, i);

		widen(&c.name, cli_name_width(e->name, CLI_NAME_COLUMNS),
		    NAME_COLUMN);
		widen(&c.dtype, tp_str(tp_dtype_name(e->dtype)).len, 16);
		widen(&c.shape, inspect_sizes_width(e->shape, e->rank),
		    SHAPE_COLUMN);
		widen(&c.nbytes, cli_u64_width(e->nbytes), 20);
		if (tp_reader_storage(f->r, e->storage)->has_crc32c)
			c.checksums = true;
		if (inspect_options.all_columns &&
		    inspect_offset(f, e, &offset))
			widen(&c.offset, cli_u64_width(offset), 20);
	}
	if (inspect_options.all_columns) {
		widen(&c.name, 4, 4);
		widen(&c.dtype, 5, 5);
		widen(&c.shape, 5, 5);
		widen(&c.nbytes, 5, 5);
		widen(&c.offset, 6, 6);
	}
	return c;
}

/* What the plain columns cannot say, after them and only where it applies. */
static void
put_remarks(const struct inspect_file *f, const struct tp_entry *e)
{
	static const char *const per[] = {"tensor", "channel", "block"};

	if (e->sparse)
		printf("  sparse: %" PRIu64 " values", e->sparse->n_values);
	if (e->quant) {
		printf("  quantized per %s", per[e->quant->per]);
		if (e->quant->per != TP_PER_TENSOR)
			printf(", axis %u", e->quant->axis);
		if (e->quant->per == TP_PER_BLOCK)
			printf(", block %" PRIu64, e->quant->block);
	}
	if (!inspect_options.all_columns)
		return;
	if (e->quant) {
		fputs(", scale ", stdout);
		cli_put_name(stdout,
		    tp_reader_entry(f->r, e->quant->scale)->name,
		    CLI_NAME_COLUMNS);
	}
	if (e->quant && e->quant->zero_point != TP_NONE) {
		fputs(", zero point ", stdout);
		cli_put_name(stdout,
		    tp_reader_entry(f->r, e->quant->zero_point)->name,
		    CLI_NAME_COLUMNS);
	}
	if (e->strides) {
		fputs("  strides ", stdout);
		inspect_put_sizes(stdout, e->strides, e->rank);
	}
	if (f->sharers[e->storage] > 1)
		printf("  shares storage %zu (%" PRIu32 " tensors)", e->storage,
		    f->sharers[e->storage]);
	if (e->origin != TP_ORIGIN_PLAIN)
		printf("  %s", tp_origin_name(e->origin));
}

static void
put_place(const struct inspect_file *f, const struct tp_entry *e,
    const struct columns *c)
{
	static const char *const encodings[] = {"raw", "zlib", "fields"};
	const struct tp_storage_info *s = tp_reader_storage(f->r, e->storage);
	uint64_t offset;

	if (inspect_offset(f, e, &offset)) {
		fputs("  ", stdout);
		cli_put_u64(stdout, offset, c->offset);
		fputs("  ", stdout);
		cli_put_u64(stdout, inspect_alignment(offset), 5);
	} else {
		fputs("  ", stdout);
		cli_put_spaces(stdout, c->offset - 1);
		fputs("-      -", stdout);
	}
	printf(c->checksums || c->files ? "  %-8s" : "  %s",
	    encodings[s->encoding]);
	if (s->has_crc32c)
		printf("  %08" PRIx32, s->crc32c);
	else if (c->checksums)
		fputs(c->files ? "  -       " : "  -", stdout);
	if (c->files) {
		fputs("  ", stdout);
		cli_put_name(
		    stdout, tp_str(tp_reader_file(f->r, s->file, NULL)), 0);
	}
}

static void
put_line(const struct inspect_file *f, const struct tp_entry *e,
    const struct columns *c)
{
	const char *dtype = tp_dtype_name(e->dtype);
	size_t width = cli_put_name(stdout, e->name, CLI_NAME_COLUMNS);

	cli_put_spaces(stdout, (width < c->name ? c->name - width : 0) + 2);
	fputs(dtype, stdout);
	cli_put_spaces(stdout, c->dtype - tp_str(dtype).len + 2);
	width = inspect_sizes_width(e->shape, e->rank);
	inspect_put_sizes(stdout, e->shape, e->rank);
	cli_put_spaces(stdout, (width < c->shape ? c->shape - width : 0) + 2);
	cli_put_u64(stdout, e->nbytes, c->nbytes);
	if (inspect_options.all_columns)
		put_place(f, e, c);
	put_remarks(f, e);
	putc('\n', stdout);
}

static void
put_titles(const struct columns *c)
{
	printf("%s%-*s  %-*s  %-*s  %*s  %*s  align  encoding%s%s%s\n",
	    cli_colour(CLI_BOLD), (int)c->name, "name", (int)c->dtype, "dtype",
	    (int)c->shape, "shape", (int)c->nbytes, "bytes", (int)c->offset,
	    "offset",
	    !c->checksums ? ""
	    : c->files	  ? "  crc32c  "
			  : "  crc32c",
	    c->files ? "  file" : "", cli_colour(CLI_PLAIN));
}

void
inspect_list(struct inspect_file *f)
{
	struct columns c = measure_columns(f);

	if (inspect_options.all_columns)
		put_titles(&c);
	for (size_t i = 0; i < f->n && !cli_output_failed(); i++)
		put_line(f, inspect_entry(f, i), &c);
}

static void
put_total(const char *name, const struct inspect_total *t, const size_t w[3])
{
	printf("%-10s  ", name);
	cli_put_u64(stdout, t->tensors, w[0]);
	fputs("  ", stdout);
	cli_put_u64(stdout, t->elements, w[1]);
	fputs("  ", stdout);
	cli_put_u64(stdout, t->nbytes, w[2]);
	if (t->nbytes >= 1024)
		printf("  (%s)", CLI_HUMAN(t->nbytes));
	putc('\n', stdout);
}

void
inspect_put_totals(struct inspect_file *f)
{
	struct inspect_totals t = {0};
	size_t w[3] = {7, 8, 5};

	inspect_count(f, &t);
	widen(&w[0], cli_u64_width(t.all.tensors), 20);
	widen(&w[1], cli_u64_width(t.all.elements), 20);
	widen(&w[2], cli_u64_width(t.all.nbytes), 20);
	printf("%s%-10s  %*s  %*s  %*s%s\n", cli_colour(CLI_BOLD), "dtype",
	    (int)w[0], "tensors", (int)w[1], "elements", (int)w[2], "bytes",
	    cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < TP_DTYPE_COUNT; i++)
		if (t.by_dtype[i].tensors)
			put_total(
			    tp_dtype_name((enum tp_dtype)i), &t.by_dtype[i], w);
	put_total("total", &t.all, w);
}
