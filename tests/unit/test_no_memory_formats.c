/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory_formats.c - libtpformats' functions while the heap fails */
#include "support/no_memory.h"

#include <dirent.h>

#include "tp/onnx.h"
#include "tp/onnx_program.h"
#include "tp/quantize_plan.h"
#include "tp/transfer.h"

#include "support/native_files.h"
#include "support/onnx_build.h"
#include "support/onnx_files.h"
#include "support/safetensors_file.h"
#include "support/temp_dir.h"

static char path_native[512], path_onnx[512], path_value[512], path_plan[512],
    path_coded[512], path_out[512];

/* Its storage that is worth deflating, of 5000 bytes. */
#define ZEROS 2
/* Entries of native_small that share the storage of another. */
#define N_ALIASES 2

/* Tensors of the file that is coded; so many always need more memory. */
#define N_CODED 3000

/* An output that was there before. */
#define OLD "old"

/* What functions get, and where they put what they make. */
struct world {
	struct tp_reader *native, *onnx, *quantized, *coded, *opened;
	struct tp_stream *memory, *zeros, *stream;
	struct tp_writer *writer, *full, *created;
	struct tp_onnx_summary *summary, *summary_2;
	struct tp_onnx_program *program, *program_2;
	struct tp_plan *plan, *plan_2;
	struct tp_transfer *transfer, *transfer_2, *written;
	struct tp_strings *strings;
	struct tp_tensor *tensor;
	struct tp_value value;
	struct tp_attachment attachment;
	struct tp_json json;
	unsigned n_aliases;
	uint8_t bytes[16];
	uint64_t nbytes;
	size_t size;
};

static const unsigned axes_1_0[] = {1, 0};
static const struct tp_type any_type = {.kind = TP_VALUE_NONE};
static const struct tp_create_options force = {
    .format = "native", .force = true, .sync = TP_SYNC_NEVER};
static const struct tp_transfer_options transfer = {
    .create = {.format = "native", .force = true, .sync = TP_SYNC_NEVER},
    .n_threads = 1};

static const struct tp_transfer_options to_safetensors = {
    .create = {.format = "safetensors", .force = true}};

/*
 * ---- in arguments ----
 */

static int
swallow(void *ctx, const char *s, size_t n)
{
	(void)ctx, (void)s, (void)n;
	return 0;
}

static void
see_loss(void *ctx, size_t entry, enum tp_loss_kind kind, const char *why)
{
	struct world *w = ctx;

	(void)entry, (void)why;
	w->n_aliases += kind == TP_LOSS_ALIAS;
}

static void
see_problem(void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	(void)ctx, (void)is_error, (void)scope, (void)message;
}

/* A tp_recipe_fn */
static enum tp_status
choose_int8(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	(void)ctx, (void)r, (void)entry, (void)err;
	*recipe = (struct tp_recipe){.scheme = tp_scheme_find("int8"),
	    .symmetric = true,
	    .per = TP_PER_CHANNEL};
	return TP_OK;
}

static const struct tp_quantize_options to_int8 = {
    .recipe = choose_int8, .n_threads = 1};

/*
 * ---- the world ----
 */

#define ok(call) assert_int_equal((call), TP_OK)

/* True if the line that is tried needs what belongs to that prefix. */
static bool
about(const char *prefix)
{
	return !strncmp(no_memory_name, prefix, strlen(prefix));
}

/* All storages are put that come before that one. */
static struct tp_writer *
begin_file(size_t until)
{
	const struct native_model *n = native_small();
	struct tp_create_options deflated = force;
	struct tp_writer *writer;
	const size_t *order;
	size_t n_order;

	deflated.compress = 6;
	ok(tp_create(path_out, &n->m, &deflated, &writer, NULL));
	order = tp_writer_order(writer, &n_order);
	for (size_t i = 0; i < n_order && order[i] != until; i++) {
		size_t k = order[i];
		struct tp_stream *s;

		ok(tp_stream_memory(NULL, n->data[k],
		    (size_t)n->m.storage_nbytes[k], &s, NULL));
		ok(tp_writer_put(writer, k, s, NULL));
		tp_stream_close(s);
	}
	return writer;
}

static void
make_transfers(struct world *w)
{
	if (!strcmp(no_memory_name, "tp_transfer_plan"))
		return;
	if (about("tp_transfer_verify") || about("tp_transfer_file")) {
		ok(tp_transfer_plan(
		    &w->native, 1, path_out, &transfer, &w->written, NULL));
		ok(tp_transfer_run(w->written, NULL));
		return;
	}
	/* Ties and sparse tensors of the one are losses, the other's graph a
	 * note. */
	if (about("tp_transfer_loss") || about("tp_transfer_note")) {
		ok(tp_transfer_plan(
		    about("tp_transfer_loss") ? &w->native : &w->onnx, 1,
		    path_out, &to_safetensors, &w->transfer, NULL));
		assert_true(tp_transfer_n_losses(w->transfer) +
				tp_transfer_n_notes(w->transfer) >
			    0);
		return;
	}
	ok(tp_transfer_plan(
	    &w->native, 1, path_out, &transfer, &w->transfer, NULL));
}

static void
world_make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	write_file(path_out, OLD, strlen(OLD));
	ok(tp_strings_new(NULL, 0, &w->strings, NULL));
	ok(tp_open(path_native, NULL, &w->native, NULL));
	ok(tp_open(path_onnx, NULL, &w->onnx, NULL));
	ok(tp_stream_memory(
	    NULL, native_small()->data[0], 16, &w->memory, NULL));
	tp_json_init(&w->json, swallow, NULL, TP_JSON_PRETTY);
	ok(tp_stream_memory(
	    NULL, native_small()->data[ZEROS], 5000, &w->zeros, NULL));
	if (about("tp_writer_commit") || about("tp_writer_settle"))
		w->full = begin_file(SIZE_MAX);
	else if (about("tp_writer"))
		w->writer = begin_file(ZEROS);
	if (about("tp_onnx_summary"))
		ok(tp_onnx_summary_new(w->onnx, &w->summary, NULL));
	if (about("tp_onnx_program"))
		ok(tp_onnx_program_open(
		    path_onnx, NULL, w->strings, &w->program, NULL));
	if (about("tp_quant") || about("tp_dequantize") || about("tp_plan"))
		ok(tp_quantize_reader(w->onnx, &to_int8, &w->quantized, NULL));
	if (about("tp_reader_adopt"))
		ok(tp_open(path_coded, NULL, &w->coded, NULL));
	if (about("tp_plan"))
		ok(tp_plan_new(NULL, w->onnx, &w->plan, NULL));
	if (about("tp_plan_fit") || about("tp_plan_re") ||
	    about("tp_plan_write"))
		ok(tp_plan_offer(w->plan, w->quantized, NULL));
	if (about("tp_plan_recipe") || about("tp_plan_write"))
		tp_plan_reach(w->plan, 20);
	if (about("tp_transfer"))
		make_transfers(w);
	w->opened = UNTOUCHED;
	w->stream = UNTOUCHED;
	w->created = UNTOUCHED;
	w->summary_2 = UNTOUCHED;
	w->program_2 = UNTOUCHED;
	w->plan_2 = UNTOUCHED;
	w->transfer_2 = UNTOUCHED;
	w->tensor = UNTOUCHED;
}

static bool
is_made(const void *p)
{
	return p && p != UNTOUCHED;
}

static void
world_check(struct world *w)
{
	char *text;
	size_t n;

	assert_false(is_made(w->opened));
	assert_false(is_made(w->stream));
	assert_false(is_made(w->created));
	assert_false(is_made(w->summary_2));
	assert_false(is_made(w->program_2));
	assert_false(is_made(w->plan_2));
	assert_false(is_made(w->transfer_2));
	assert_false(is_made(w->tensor));
	assert_int_equal(w->value.kind, TP_VALUE_NONE);
	assert_null(w->attachment.data);
	/* The file that was there is. */
	if (w->written)
		return;
	text = read_file(path_out, &n);
	assert_int_equal(n, strlen(OLD));
	assert_memory_equal(text, OLD, n);
	free(text);
}

/* A file that nobody asked for is in the folder. */
static void
assert_nothing_left(void)
{
	DIR *d = opendir(test_dir.path);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] == '.' && strspn(e->d_name, ".") < 3 &&
		    e->d_name[strspn(e->d_name, ".")])
			fail_msg("%s: %s is left", no_memory_name, e->d_name);
	closedir(d);
}

#define FREE_MADE(p, release)       \
	do {                        \
		if (is_made(p))     \
			release(p); \
	} while (0)

static void
world_release(struct world *w)
{
	/* Also without memory: what is not told is lost in silence. */
	if (about("tp_format_loses"))
		assert_int_equal(w->n_aliases, N_ALIASES);
	FREE_MADE(w->tensor, tp_tensor_free);
	FREE_MADE(w->stream, tp_stream_close);
	FREE_MADE(w->created, tp_writer_free);
	FREE_MADE(w->summary_2, tp_onnx_summary_free);
	FREE_MADE(w->program_2, tp_onnx_program_close);
	FREE_MADE(w->plan_2, tp_plan_free);
	FREE_MADE(w->transfer_2, tp_transfer_free);
	FREE_MADE(w->opened, tp_close);
	tp_value_release(&w->value);
	tp_stream_close(w->memory);
	tp_stream_close(w->zeros);
	tp_writer_free(w->writer);
	tp_writer_free(w->full);
	tp_onnx_summary_free(w->summary);
	tp_onnx_program_close(w->program);
	tp_plan_free(w->plan);
	tp_transfer_free(w->transfer);
	tp_transfer_free(w->written);
	tp_close(w->quantized);
	tp_close(w->coded);
	tp_close(w->native);
	tp_close(w->onnx);
	tp_strings_free(w->strings);
	assert_nothing_left();
}

/*
 * ---- the files that are read ----
 */

static void
set_path(char path[512], const char *name)
{
	snprintf(path, 512, "%s", temp_path(&test_dir, name));
}

/* y = x w, with w inside. */
static void
write_onnx(void)
{
	static const int64_t dims[] = {16, 4};
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__NodeProto *node = build_node("MatMul", "x w", "y");
	TpOnnx__TensorProto *w = build_floats("w", 2, dims, 64);
	TpOnnx__ValueInfoProto *x = build_value("x", 1),
			       *y = build_value("y", 1);

	BUILD_ADD(g->node, g->n_node, node);
	BUILD_ADD(g->initializer, g->n_initializer, w);
	BUILD_ADD(g->input, g->n_input, x);
	BUILD_ADD(g->output, g->n_output, y);
	onnx_put(path_onnx, build_model(8, 17, g));
	onnx_put(path_value, w);
}

static int
put_text(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) < n;
}

static void
write_plan(void)
{
	FILE *f = fopen(path_plan, "w");
	struct tp_reader *r, *quantized;
	struct tp_plan *plan;
	struct tp_json j;

	assert_non_null(f);
	ok(tp_open(path_onnx, NULL, &r, NULL));
	ok(tp_quantize_reader(r, &to_int8, &quantized, NULL));
	ok(tp_plan_new(NULL, r, &plan, NULL));
	ok(tp_plan_offer(plan, quantized, NULL));
	tp_plan_reach(plan, 20);
	tp_json_init(&j, put_text, f, TP_JSON_PRETTY);
	tp_plan_write(plan, &j);
	assert_int_equal(tp_json_finish(&j), 0);
	fclose(f);
	tp_plan_free(plan);
	tp_close(quantized);
	tp_close(r);
}

/*
 * Codes of which only metadata says what they stand for; so many that what is
 * told of them needs memory that opening the file has not left.
 */
static void
write_coded(void)
{
	static char json[N_CODED * 80];
	struct tp_reader *r, *quantized;
	struct tp_transfer *t;
	size_t n = 0;

	for (int i = 0; i < N_CODED; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n,
		    "%s\"w%d\":{\"dtype\":\"F32\",\"shape\":[1,1],"
		    "\"data_offsets\":[%d,%d]}",
		    i ? "," : "{", i, 4 * i, 4 * i + 4);
	json[n++] = '}';
	write_safetensors(
	    path_coded, (struct tp_str){json, n}, (size_t)4 * N_CODED);
	ok(tp_open(path_coded, NULL, &r, NULL));
	ok(tp_quantize_reader(r, &to_int8, &quantized, NULL));
	set_path(path_coded, "coded.safetensors");
	ok(tp_transfer_plan(
	    &quantized, 1, path_coded, &to_safetensors, &t, NULL));
	ok(tp_transfer_run(t, NULL));
	tp_transfer_free(t);
	tp_close(quantized);
	tp_close(r);
	ok(tp_open(path_coded, NULL, &r, NULL));
	ok(tp_reader_adopt_quantizers(r, NULL));
	assert_non_null(
	    tp_reader_entry(r, tp_reader_find(r, TP_STR("w0")))->quant);
	tp_close(r);
}

static int
set_up(void **state)
{
	static const struct tp_create_options deflated = {
	    .compress = 6, .sync = TP_SYNC_NEVER};
	/* The state of a test is its line, not the folder. */
	void *folder = NULL;
	int rc = temp_dir_setup(&folder);

	(void)state;
	set_path(path_native, "m.tpt");
	set_path(path_onnx, "m.onnx");
	set_path(path_value, "value.pb");
	set_path(path_plan, "plan.json");
	set_path(path_coded, "floats.safetensors");
	set_path(path_out, "out.tpt");
	ok(native_write(path_native, native_small(), &deflated, NULL));
	write_onnx();
	write_plan();
	write_coded();
	return rc;
}

#define NO_MEMORY_LIST "unit/no_memory/formats.def"
#include "support/no_memory_list.h"

int
main(int argc, char **argv)
{
	return no_memory_main("formats", argc, argv, set_up, temp_dir_teardown);
}
