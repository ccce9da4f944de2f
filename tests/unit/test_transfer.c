/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c and its parts: plans, losses, bytes, and refusals */
#include "support/cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "support/fail_alloc.h"
#include "support/native_files.h"
#include "support/temp_dir.h"
#include "tp/endian.h"
#include "tp/transfer.h"

/*
 * A model with one of each thing that some format lacks. Storages: six floats
 * 1 … 6 shown three times, three 4-bit integers -8 7 -1, one complex double
 * 1.5 - 2.5i, sparse values 10 20 at 1 and 3, a scale of 0.5 and its bytes 5 6.
 */
static const uint8_t floats[24] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40,
    0x40, 0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0xc0, 0x40};
static const uint8_t nibbles[2] = {0x78, 0x0f};
static const uint8_t complexes[16] = {
    0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0xc0};
static const uint8_t sparse_values[8] = {0, 0, 0x20, 0x41, 0, 0, 0xa0, 0x41};
static const uint8_t sparse_indices[16] = {1, 0, 0, 0, 0, 0, 0, 0, 3};
static const uint8_t quantized[2] = {5, 6};
static const uint8_t scale[4] = {0, 0, 0, 0x3f};

static const int64_t shape23[] = {2, 3}, shape32[] = {3, 2}, shape3[] = {3},
		     shape1[] = {1}, shape4[] = {4}, shape2[] = {2};
static const int64_t swapped[] = {1, 3};
static const struct tp_sparse_info sparse = {.n_values = 2, .indices = 4};
static const struct tp_quant_info quant = {
    .per = TP_PER_TENSOR, .scale = 6, .zero_point = TP_NONE};

static const struct tp_entry entries[] = {
    {.name = LIT("base"),
	.dtype = TP_DTYPE_F32,
	.rank = 2,
	.shape = shape23,
	.n_elems = 6,
	.nbytes = 24},
    {.name = LIT("tied"),
	.dtype = TP_DTYPE_F32,
	.rank = 2,
	.shape = shape23,
	.n_elems = 6,
	.nbytes = 24},
    {.name = LIT("transposed"),
	.dtype = TP_DTYPE_F32,
	.rank = 2,
	.shape = shape32,
	.strides = swapped,
	.n_elems = 6,
	.nbytes = 24},
    {.name = LIT("i4"),
	.dtype = TP_DTYPE_I4,
	.rank = 1,
	.shape = shape3,
	.n_elems = 3,
	.nbytes = 2,
	.storage = 1},
    {.name = LIT("c128"),
	.dtype = TP_DTYPE_C128,
	.rank = 1,
	.shape = shape1,
	.n_elems = 1,
	.nbytes = 16,
	.storage = 2},
    {.name = LIT("sparse"),
	.dtype = TP_DTYPE_F32,
	.rank = 1,
	.shape = shape4,
	.n_elems = 4,
	.nbytes = 16,
	.storage = 3,
	.sparse = &sparse},
    {.name = LIT("scale"),
	.dtype = TP_DTYPE_F32,
	.n_elems = 1,
	.nbytes = 4,
	.storage = 5},
    {.name = LIT("q"),
	.dtype = TP_DTYPE_U8,
	.rank = 1,
	.shape = shape2,
	.n_elems = 2,
	.nbytes = 2,
	.storage = 6,
	.quant = &quant},
};
static const struct tp_meta meta[] = {
    {LIT("format"), LIT("pt")}, {LIT("step"), LIT("7")}};
#define N_ENTRIES COUNT_OF(entries)

struct fixture {
	struct temp_dir dir;
	char in[512], out[512];
	struct tp_reader *reader;
};

static int
set_up(void **state)
{
	static const uint64_t nbytes[] = {24, 2, 16, 8, 16, 4, 2};
	static const void *const data[] = {floats, nibbles, complexes,
	    sparse_values, sparse_indices, scale, quantized};
	struct tp_quant_info q = quant;
	struct tp_entry e[N_ENTRIES];
	struct fixture *f = calloc(1, sizeof(*f));

	memcpy(e, entries, sizeof(e));
	e[7].quant = &q;
	temp_dir_make(&f->dir);
	snprintf(f->in, sizeof(f->in), "%s/in.tpt", f->dir.path);
	snprintf(f->out, sizeof(f->out), "%s/out", f->dir.path);
	assert_int_equal(
	    native_write(f->in,
		&(struct native_model){.m = {.entries = e,
					   .n_entries = N_ENTRIES,
					   .storage_nbytes = nbytes,
					   .n_storages = 7,
					   .meta = meta,
					   .n_meta = 2},
		    .data = data},
		NULL, NULL),
	    TP_OK);
	assert_int_equal(tp_open(f->in, NULL, &f->reader, NULL), TP_OK);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	tp_close(f->reader);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

/* Plan, expecting success. */
static struct tp_transfer *
plan(struct fixture *f, const struct tp_transfer_options *o)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	enum tp_status rc =
	    tp_transfer_plan(&f->reader, 1, f->out, o, &t, &err);

	if (rc)
		fail_msg("plan: %s", err.msg);
	return t;
}

/* Plan, write, verify. The output is opened; the caller closes it. */
static struct tp_reader *
transfer(struct fixture *f, const struct tp_transfer_options *o)
{
	struct tp_transfer *t = plan(f, o);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (tp_transfer_run(t, &err) || tp_transfer_verify(t, &err))
		fail_msg("transfer: %s", err.msg);
	tp_transfer_free(t);
	assert_int_equal(tp_open(f->out, NULL, &r, &err), TP_OK);
	return r;
}

static const struct tp_entry *
entry_of(const struct tp_reader *r, const char *name)
{
	size_t i = tp_reader_find(r, tp_str(name));

	if (i == TP_NONE)
		fail_msg("no tensor %s", name);
	return tp_reader_entry(r, i);
}

static void
expect_bytes(struct tp_reader *r, const char *name, const void *want, size_t n)
{
	size_t i = tp_reader_find(r, tp_str(name));
	struct tp_stream *s = NULL;
	uint8_t found[64];

	assert_int_not_equal(i, TP_NONE);
	assert_int_equal(tp_stream_entry(r, i, &s, NULL), TP_OK);
	assert_int_equal(tp_stream_nbytes(s), n);
	assert_int_equal(tp_stream_read(s, found, n, NULL), TP_OK);
	tp_stream_close(s);
	assert_memory_equal(found, want, n);
}

static size_t
item_named(const struct tp_transfer *t, const char *name)
{
	for (size_t i = 0; i < tp_transfer_n_items(t); i++)
		if (!tp_str_cmp(tp_transfer_item(t, i)->name, tp_str(name)))
			return i;
	fail_msg("no item %s", name);
	return 0;
}

/* In the target's own format everything is kept. */
static void
native_keeps_all(void **state)
{
	struct fixture *f = *state;
	struct tp_transfer_options o = {.create.format = "native"};
	struct tp_transfer *t = plan(f, &o);
	struct tp_reader *r;

	assert_int_equal(tp_transfer_n_losses(t), 0);
	assert_int_equal(tp_transfer_n_notes(t), 0);
	assert_int_equal(
	    tp_transfer_item(t, item_named(t, "tied"))->how, TP_HOW_SHARED);
	assert_int_equal(tp_transfer_item(t, item_named(t, "transposed"))->how,
	    TP_HOW_SHARED);
	assert_int_equal(tp_transfer_nbytes(t), 24 + 2 + 16 + 8 + 16 + 2 + 4);
	tp_transfer_free(t);

	r = transfer(f, &o);
	assert_int_equal(tp_reader_n_entries(r), N_ENTRIES);
	assert_int_equal(tp_reader_n_storages(r), 7);
	assert_int_equal(
	    entry_of(r, "tied")->storage, entry_of(r, "base")->storage);
	assert_int_equal(
	    entry_of(r, "transposed")->storage, entry_of(r, "base")->storage);
	assert_non_null(entry_of(r, "transposed")->strides);
	assert_non_null(entry_of(r, "sparse")->sparse);
	assert_non_null(entry_of(r, "q")->quant);
	assert_int_equal(tp_reader_n_meta(r), 2);
	tp_close(r);
}

/* The same bytes for the same model. */
static void
native_to_native_is_the_same_file(void **state)
{
	struct fixture *f = *state;
	size_t n1, n2;
	uint8_t *a, *b;

	tp_close(transfer(
	    f, &(struct tp_transfer_options){.create.format = "native"}));
	a = read_file(f->in, &n1);
	b = read_file(f->out, &n2);
	assert_int_equal(n1, n2);
	assert_memory_equal(a, b, n1);
	free(a);
	free(b);
}

static unsigned
losses_of(const struct tp_transfer *t, const char *name)
{
	return tp_transfer_item(t, item_named(t, name))->losses;
}

static void
every_loss_is_listed_and_refused(void **state)
{
	struct fixture *f = *state;
	struct tp_transfer *t = plan(
	    f, &(struct tp_transfer_options){.create.format = "safetensors"});
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(losses_of(t, "base"), 0);
	assert_int_equal(losses_of(t, "tied"), TP_LOSS_ALIAS);
	assert_int_equal(
	    losses_of(t, "transposed"), TP_LOSS_ALIAS | TP_LOSS_STRIDES);
	assert_int_equal(losses_of(t, "i4"), TP_LOSS_DTYPE);
	assert_int_equal(losses_of(t, "c128"), TP_LOSS_DTYPE);
	assert_int_equal(losses_of(t, "sparse"), TP_LOSS_SPARSE);
	assert_int_equal(losses_of(t, "scale"), 0);
	assert_int_equal(losses_of(t, "q"), TP_LOSS_QUANTIZATION);
	assert_int_equal(tp_transfer_n_losses(t), 7);
	for (size_t i = 0; i < 7; i++) {
		assert_false(tp_transfer_loss(t, i)->allowed);
		assert_non_null(tp_transfer_loss(t, i)->remedy);
	}

	assert_int_equal(tp_transfer_check(t, &err), TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "7 losses"));
	assert_int_equal(tp_transfer_run(t, &err), TP_EUNSUPPORTED);
	tp_transfer_free(t);
	assert_int_equal(temp_dir_count(&f->dir), 1);
}

/* Each kind is needed: without one of them nothing is written. */
static void
allowing_some_is_not_enough(void **state)
{
	static const unsigned kinds[] = {TP_LOSS_ALIAS, TP_LOSS_STRIDES,
	    TP_LOSS_DTYPE, TP_LOSS_SPARSE, TP_LOSS_QUANTIZATION};

	for (size_t i = 0; i < 5; i++) {
		struct tp_transfer *t =
		    plan(*state, &(struct tp_transfer_options){
				     .create.format = "safetensors",
				     .allow_loss = TP_LOSS_ALL & ~kinds[i]});

		assert_int_equal(tp_transfer_check(t, NULL), TP_EUNSUPPORTED);
		tp_transfer_free(t);
	}
}

static void
allowed_losses_have_these_values(void **state)
{
	static const uint8_t i8[] = {0xf8, 7, 0xff};
	static const uint8_t c64[] = {0, 0, 0xc0, 0x3f, 0, 0, 0x20, 0xc0};
	/* 0 10 0 20 */
	static const uint8_t dense[] = {
	    0, 0, 0, 0, 0, 0, 0x20, 0x41, 0, 0, 0, 0, 0, 0, 0xa0, 0x41};
	/* 1 4, 2 5, 3 6 */
	static const uint8_t packed[] = {0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x40, 0,
	    0, 0, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0xc0, 0x40};
	struct fixture *f = *state;
	struct tp_reader *r = transfer(
	    f, &(struct tp_transfer_options){
		   .create.format = "safetensors", .allow_loss = TP_LOSS_ALL});

	assert_int_equal(tp_reader_n_entries(r), N_ENTRIES);
	expect_bytes(r, "base", floats, 24);
	expect_bytes(r, "tied", floats, 24);
	expect_bytes(r, "transposed", packed, 24);
	assert_int_equal(entry_of(r, "i4")->dtype, TP_DTYPE_I8);
	expect_bytes(r, "i4", i8, 3);
	assert_int_equal(entry_of(r, "c128")->dtype, TP_DTYPE_C64);
	expect_bytes(r, "c128", c64, 8);
	expect_bytes(r, "sparse", dense, 16);
	expect_bytes(r, "q", quantized, 2);
	expect_bytes(r, "scale", scale, 4);
	assert_int_equal(entry_of(r, "scale")->rank, 0);
	tp_close(r);
}

/*
 * ---- choosing ----
 */

struct wish {
	const char *name, *new_name;
	enum tp_dtype dtype;
	bool drop;
};

static enum tp_status
grant(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_choice *choice, struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(r, entry);

	(void)err;
	for (const struct wish *w = ctx; w->name; w++) {
		if (tp_str_cmp(e->name, tp_str(w->name)))
			continue;
		choice->drop = w->drop;
		if (w->new_name)
			choice->name = tp_str(w->new_name);
		if (w->dtype)
			choice->dtype = w->dtype;
	}
	return TP_OK;
}

static void
casts_keep_ties_and_strides(void **state)
{
	static const uint8_t halves[] = {
	    0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44, 0, 0x45, 0, 0x46};
	static const uint8_t packed[] = {
	    0, 0x3c, 0, 0x44, 0, 0x40, 0, 0x45, 0, 0x42, 0, 0x46};
	struct wish wishes[] = {{.name = "base", .dtype = TP_DTYPE_F16},
	    {.name = "tied", .dtype = TP_DTYPE_F16},
	    {.name = "transposed", .dtype = TP_DTYPE_F16},
	    {.name = "i4", .dtype = TP_DTYPE_I16},
	    {.name = "sparse", .dtype = TP_DTYPE_BF16}, {.name = NULL}};
	/* -8, 7, -1 */
	static const uint8_t i16[] = {0xf8, 0xff, 7, 0, 0xff, 0xff};
	/* 0 10 0 20 */
	static const uint8_t dense[] = {0, 0, 0x20, 0x41, 0, 0, 0xa0, 0x41};
	struct fixture *f = *state;
	struct tp_reader *r =
	    transfer(f, &(struct tp_transfer_options){.create.format = "native",
			    .choose = grant,
			    .choose_ctx = wishes});

	expect_bytes(r, "base", halves, 12);
	expect_bytes(r, "transposed", packed, 12);
	assert_non_null(entry_of(r, "transposed")->strides);
	assert_int_equal(
	    entry_of(r, "tied")->storage, entry_of(r, "base")->storage);
	assert_int_equal(
	    entry_of(r, "transposed")->storage, entry_of(r, "base")->storage);
	expect_bytes(r, "i4", i16, 6);
	expect_bytes(r, "sparse", dense, 8);
	assert_non_null(entry_of(r, "sparse")->sparse);
	tp_close(r);
}

static void
different_casts_part_ties(void **state)
{
	struct wish wishes[] = {
	    {.name = "tied", .dtype = TP_DTYPE_F64}, {.name = NULL}};
	struct fixture *f = *state;
	struct tp_reader *r =
	    transfer(f, &(struct tp_transfer_options){.create.format = "native",
			    .choose = grant,
			    .choose_ctx = wishes});

	expect_bytes(r, "base", floats, 24);
	assert_int_equal(entry_of(r, "tied")->nbytes, 48);
	assert_int_not_equal(
	    entry_of(r, "tied")->storage, entry_of(r, "base")->storage);
	assert_int_equal(
	    entry_of(r, "transposed")->storage, entry_of(r, "base")->storage);
	tp_close(r);
}

static void
names_that_become_one_are_refused(void **state)
{
	struct wish wishes[] = {
	    {.name = "i4", .new_name = "base"}, {.name = NULL}};
	struct fixture *f = *state;
	struct tp_transfer_options o = {
	    .create.format = "native", .choose = grant, .choose_ctx = wishes};
	struct tp_reader *two[] = {f->reader, NULL};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;

	assert_int_equal(tp_transfer_plan(&f->reader, 1, f->out, &o, &t, &err),
	    TP_EUNSUPPORTED);
	assert_null(t);
	assert_non_null(strstr(err.msg, "'base'"));
	assert_non_null(strstr(err.msg, "'i4'"));

	/* The same name in two files: both are named. */
	snprintf(f->out, sizeof(f->out), "%s/copy.tpt", f->dir.path);
	tp_close(
	    transfer(f, &(struct tp_transfer_options){.create.format = NULL}));
	assert_int_equal(tp_open(f->out, NULL, &two[1], &err), TP_OK);
	assert_int_equal(tp_transfer_plan(two, 2, temp_path(&f->dir, "m.tpt"),
			     NULL, &t, &err),
	    TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "in.tpt"));
	assert_non_null(strstr(err.msg, "copy.tpt"));
	tp_close(two[1]);
}

static void
two_inputs_merge(void **state)
{
	struct wish first[] = {{.name = "tied", .drop = true},
	    {.name = "transposed", .drop = true},
	    {.name = "sparse", .drop = true}, {.name = "c128", .drop = true},
	    {.name = "i4", .drop = true}, {.name = "scale", .drop = true},
	    {.name = "q", .drop = true}, {.name = NULL}};
	static const struct tp_meta step = {LIT("step"), LIT("8")};
	struct tp_transfer_options o = {
	    .create.format = "native", .choose = grant, .choose_ctx = first};
	struct fixture *f = *state;
	struct tp_reader *two[2] = {f->reader, NULL}, *r = NULL;
	struct tp_transfer *t = NULL;
	struct tp_err err = TP_ERR_INIT;

	/* One file with `base` and step 8, another with `tied` and `i4`. */
	o.set_meta = &step;
	o.n_set_meta = 1;
	snprintf(f->out, sizeof(f->out), "%s/a.tpt", f->dir.path);
	tp_close(transfer(f, &o));
	assert_int_equal(tp_open(f->out, NULL, &two[1], &err), TP_OK);
	first[0] = (struct wish){.name = "base", .drop = true};
	first[4] = (struct wish){.name = "i4"};
	o.n_set_meta = 0;
	snprintf(f->out, sizeof(f->out), "%s/b.tpt", f->dir.path);
	r = transfer(f, &o);
	assert_int_equal(tp_reader_n_entries(r), 2);
	two[0] = r;

	/* Both have a step, and the values differ. */
	snprintf(f->out, sizeof(f->out), "%s/c.tpt", f->dir.path);
	assert_int_equal(
	    tp_transfer_plan(two, 2, f->out, NULL, &t, &err), TP_OK);
	assert_int_equal(tp_transfer_n_losses(t), 1);
	assert_int_equal(tp_transfer_loss(t, 0)->kind, TP_LOSS_METADATA);
	assert_int_equal(tp_transfer_check(t, &err), TP_EUNSUPPORTED);
	tp_transfer_free(t);

	/* Said by the caller, it is no loss. */
	o = (struct tp_transfer_options){.set_meta = &step, .n_set_meta = 1};
	assert_int_equal(tp_transfer_plan(two, 2, f->out, &o, &t, &err), TP_OK);
	assert_int_equal(tp_transfer_n_losses(t), 0);
	assert_int_equal(tp_transfer_n_meta(t), 2);
	assert_int_equal(tp_transfer_run(t, &err), TP_OK);
	assert_int_equal(tp_transfer_verify(t, &err), TP_OK);
	tp_transfer_free(t);
	tp_close(two[0]);
	tp_close(two[1]);

	assert_int_equal(tp_open(f->out, NULL, &r, &err), TP_OK);
	assert_int_equal(tp_reader_n_entries(r), 3);
	expect_bytes(r, "base", floats, 24);
	expect_bytes(r, "tied", floats, 24);
	expect_bytes(r, "i4", nibbles, 2);
	assert_memory_equal(tp_reader_meta(r, 1)->value.s, "8", 2);
	tp_close(r);
}

/* A window of a storage does not bring the rest along. */
static void
a_lone_scale_is_missed(void **state)
{
	struct wish wishes[] = {
	    {.name = "scale", .drop = true}, {.name = NULL}};
	struct tp_transfer *t = plan(
	    *state, &(struct tp_transfer_options){.create.format = "native",
			.choose = grant,
			.choose_ctx = wishes});

	assert_int_equal(tp_transfer_n_losses(t), 1);
	assert_int_equal(losses_of(t, "q"), TP_LOSS_QUANTIZATION);
	assert_int_equal(tp_transfer_check(t, NULL), TP_EUNSUPPORTED);
	tp_transfer_free(t);
}

static void
an_empty_name_is_escaped_or_refused(void **state)
{
	struct wish wishes[] = {{.name = "base", .new_name = ""},
	    {.name = "i4", .new_name = "%"}, {.name = NULL}};
	struct fixture *f = *state;
	struct tp_transfer_options o = {.create.format = "onnx",
	    .choose = grant,
	    .choose_ctx = wishes,
	    .allow_loss = TP_LOSS_ALL};
	struct tp_transfer *t = plan(f, &o);

	/* "%" is taken. */
	assert_int_equal(tp_transfer_check(t, NULL), TP_EUNSUPPORTED);
	tp_transfer_free(t);
	wishes[1].new_name = NULL;
	t = plan(f, &o);
	assert_int_equal(tp_transfer_check(t, NULL), TP_OK);
	assert_int_equal(losses_of(t, "%"), TP_LOSS_NAME);
	tp_transfer_free(t);
}

/*
 * ---- refusals and failures ----
 */

static void
the_input_is_never_the_output(void **state)
{
	struct fixture *f = *state;
	struct tp_transfer *t = NULL;
	struct tp_transfer_options o = {.create.force = true};

	snprintf(f->out, sizeof(f->out), "%s/link.tpt", f->dir.path);
	assert_int_equal(symlink("in.tpt", f->out), 0);
	assert_int_equal(
	    tp_transfer_plan(&f->reader, 1, f->in, &o, &t, NULL), TP_EARG);
	assert_int_equal(
	    tp_transfer_plan(&f->reader, 1, f->out, &o, &t, NULL), TP_EARG);
	assert_null(t);
}

static void
an_overflow_leaves_nothing(void **state)
{
	/* 6.0 is the only value beyond the largest of f4e2m1, no: 6 fits; as
	 * u2 only 1, 2 and 3 do. */
	struct wish wishes[] = {
	    {.name = "base", .dtype = TP_DTYPE_U2}, {.name = NULL}};
	struct fixture *f = *state;
	struct tp_transfer_options o = {
	    .create.format = "native", .choose = grant, .choose_ctx = wishes};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = plan(f, &o);

	assert_int_equal(tp_transfer_run(t, &err), TP_ERANGE);
	assert_non_null(strstr(err.msg, "'base'"));
	assert_non_null(strstr(err.msg, "4"));
	assert_int_equal(temp_dir_count(&f->dir), 1);
	tp_transfer_free(t);

	o.overflow = TP_OVERFLOW_SATURATE;
	t = plan(f, &o);
	assert_int_equal(tp_transfer_run(t, &err), TP_OK);
	assert_int_equal(tp_transfer_item(t, 0)->stats.n, 6);
	assert_int_equal(tp_transfer_item(t, 0)->stats.n_overflow, 3);
	assert_int_equal(tp_transfer_item(t, 0)->stats.first_overflow, 3);
	assert_int_equal(tp_transfer_verify(t, &err), TP_OK);
	tp_transfer_free(t);
}

static bool
stop_at(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *limit = ctx;

	assert_true(done <= total);
	return done < *limit;
}

static void
an_interruption_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t limit = 30;
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t =
	    plan(f, &(struct tp_transfer_options){.create.format = "native",
			.progress = stop_at,
			.progress_ctx = &limit});

	assert_int_equal(tp_transfer_run(t, &err), TP_EOUTPUT);
	assert_string_equal(err.msg, "interrupted");
	assert_null(tp_transfer_file(t, 0, NULL));
	assert_int_equal(temp_dir_count(&f->dir), 1);
	tp_transfer_free(t);
}

/* A byte of a tensor, a name, a value of the metadata. */
static void
verify_sees_damage(void **state)
{
	static const char *const targets[] = {"base", "step", "\"7\"", NULL};
	struct fixture *f = *state;

	for (size_t i = 0; i < 4; i++) {
		struct tp_transfer *t = plan(
		    f, &(struct tp_transfer_options){
			   .create = {.format = "safetensors", .force = true},
			   .allow_loss = TP_LOSS_ALL});
		uint8_t *bytes;
		size_t n, at;

		assert_int_equal(tp_transfer_run(t, NULL), TP_OK);
		bytes = read_file(f->out, &n);
		at = n - 1;
		for (size_t k = 0; targets[i] && k + 8 < n; k++)
			if (!memcmp(
				bytes + k, targets[i], strlen(targets[i]))) {
				at = k + 1;
				break;
			}
		bytes[at] ^= 1;
		write_file(f->out, bytes, n);
		free(bytes);
		assert_int_equal(tp_transfer_verify(t, NULL), TP_EMISMATCH);
		tp_transfer_free(t);
	}
}

static void
memory_runs_out_cleanly(void **state)
{
	struct fixture *f = *state;
	struct wish wishes[] = {{.name = "base", .dtype = TP_DTYPE_F16},
	    {.name = "scale", .new_name = "s"}, {.name = NULL}};
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	while (fail_alloc_next(&a, rc)) {
		struct tp_transfer_options o = {
		    .create = {.format = "safetensors", .force = true},
		    .choose = grant,
		    .choose_ctx = wishes,
		    .allow_loss = TP_LOSS_ALL};
		struct tp_transfer *t = NULL;
		struct tp_err err = TP_ERR_INIT;

		o.create.alloc = &a.alloc;
		rc = tp_transfer_plan(&f->reader, 1, f->out, &o, &t, &err);
		if (!rc)
			rc = tp_transfer_run(t, &err);
		if (!rc)
			rc = tp_transfer_verify(t, &err);
		tp_transfer_free(t);
	}
	assert_in_range(a.n_rounds, 10, 2999);
	assert_int_equal(temp_dir_count(&f->dir), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(native_keeps_all),
	    TEST(native_to_native_is_the_same_file),
	    TEST(every_loss_is_listed_and_refused),
	    TEST(allowing_some_is_not_enough),
	    TEST(allowed_losses_have_these_values),
	    TEST(casts_keep_ties_and_strides),
	    TEST(different_casts_part_ties),
	    TEST(names_that_become_one_are_refused),
	    TEST(two_inputs_merge),
	    TEST(a_lone_scale_is_missed),
	    TEST(an_empty_name_is_escaped_or_refused),
	    TEST(the_input_is_never_the_output),
	    TEST(an_overflow_leaves_nothing),
	    TEST(an_interruption_leaves_nothing),
	    TEST(verify_sees_damage),
	    TEST(memory_runs_out_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
