/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_onnx_large.c - a tensor above 2 GiB, in a file that is one large hole
 *
 *	test_onnx_large		plan only: quick
 *	test_onnx_large copy	write and read it: 2 GiB on the disk
 */
#include "support/cmocka_all.h"

#include <sys/resource.h>

#include "support/onnx_build.h"
#include "support/onnx_files.h"
#include "tp/endian.h"
#include "tp/transfer.h"

/* One element more than 2 GiB of f32; the last is 1.0, the others 0. */
#define N_ELEMS INT64_C(536870913)
#define N_BYTES ((uint64_t)N_ELEMS * 4)

static struct temp_dir dir;

static void
add_pair(TpOnnx__TensorProto *t, const char *key, const char *value)
{
	TpOnnx__StringStringEntryProto *p =
	    build_message(&tp_onnx__string_string_entry_proto__descriptor);

	p->has_key = p->has_value = 1;
	p->key = build_bytes(key);
	p->value = build_bytes(value);
	BUILD_ADD(t->external_data, t->n_external_data, p);
}

static int
make_model(void **state)
{
	static const uint8_t one[] = {0, 0, 0x80, 0x3f};
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__TensorProto *t = build_tensor("w", 1, SHAPE(N_ELEMS));
	TpOnnx__ModelProto *m = build_model(8, 17, g);
	uint8_t packed[512];
	FILE *f;

	(void)state;
	temp_dir_make(&dir);
	add_pair(t, "location", "w.bin");
	t->has_data_location = 1;
	t->data_location = 1;
	BUILD_ADD(g->initializer, g->n_initializer, t);
	assert_true(protobuf_c_message_get_packed_size(&m->base) < 512);
	write_file(temp_path(&dir, "big.onnx"), packed,
	    protobuf_c_message_pack(&m->base, packed));
	f = fopen(temp_path(&dir, "w.bin"), "wb");
	assert_non_null(f);
	assert_int_equal(fseeko(f, (off_t)(N_BYTES - 4), SEEK_SET), 0);
	assert_int_equal(fwrite(one, 1, 4, f), 4);
	assert_int_equal(fclose(f), 0);
	return 0;
}

static int
remove_model(void **state)
{
	(void)state;
	temp_dir_remove(&dir);
	return 0;
}

static struct tp_reader *
open_model(const char *name)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (tp_open(temp_path(&dir, name), NULL, &r, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(tp_reader_n_entries(r), 1);
	assert_int_equal(tp_reader_entry(r, 0)->nbytes, N_BYTES);
	return r;
}

static void
test_one_file_is_refused(void **state)
{
	struct tp_transfer_options options = {
	    .create = {.external = TP_EXTERNAL_NEVER}};
	struct tp_reader *r = open_model("big.onnx");
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	enum tp_status rc;

	(void)state;
	rc = tp_transfer_plan(
	    &r, 1, temp_path(&dir, "out.onnx"), &options, &t, &err);
	if (!rc)
		rc = tp_transfer_run(t, &err);
	assert_int_equal(rc, TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "2 GiB"));
	tp_transfer_free(t);
	tp_close(r);
	assert_int_equal(temp_dir_count(&dir), 2);
}

/* A machine of 64 bits has all of it at once, another one says why not. */
static void
assert_mapped(struct tp_reader *r)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	enum tp_status rc = tp_reader_tensor(r, 0, &t, &err);
	const uint8_t *bytes;

	if (N_BYTES > PTRDIFF_MAX) {
		assert_int_equal(rc, TP_ENOMEM);
		assert_string_equal(
		    err.msg, "no address space for 2147483652 bytes");
		assert_null(t);
		return;
	}
	if (rc)
		fail_msg("%s", err.msg);
	bytes = tp_tensor_data(t);
	assert_int_equal(tp_le32(bytes), 0);
	bytes += (size_t)N_BYTES - 4;
	assert_int_equal(tp_le32(bytes), 0x3f800000);
	tp_tensor_free(t);
}

/* In pieces it goes through any machine. */
static void
assert_streamed(struct tp_reader *r)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	static uint8_t piece[1 << 20];
	size_t n = 0;

	if (tp_stream_entry(r, 0, &s, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(tp_stream_nbytes(s), N_BYTES);
	while (tp_stream_left(s) > 0) {
		n = tp_stream_left(s) < sizeof(piece)
			? (size_t)tp_stream_left(s)
			: sizeof(piece);
		if (tp_stream_read(s, piece, n, &err))
			fail_msg("%s", err.msg);
	}
	assert_int_equal(tp_le32(piece + n - 4), 0x3f800000);
	tp_stream_close(s);
}

static void
assert_last_is_one(const char *name)
{
	struct tp_reader *r = open_model(name);

	assert_mapped(r);
	assert_streamed(r);
	tp_close(r);
}

static void
test_external_data_holds_it(void **state)
{
	struct tp_transfer_options options = {
	    .create = {.external = TP_EXTERNAL_AUTO, .sync = TP_SYNC_NEVER}};
	struct tp_reader *r = open_model("big.onnx");
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	struct rusage usage;
	uint64_t nbytes = 0;

	(void)state;
	if (tp_transfer_plan(
		&r, 1, temp_path(&dir, "out.onnx"), &options, &t, &err) ||
	    tp_transfer_run(t, &err))
		fail_msg("%s", err.msg);
	assert_non_null(tp_transfer_file(t, 1, &nbytes));
	assert_int_equal(nbytes, N_BYTES);
	tp_transfer_free(t);
	tp_close(r);

	/* Copied, not held: ru_maxrss is in KiB. */
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	assert_true(usage.ru_maxrss < 64 * 1024);
	assert_last_is_one("out.onnx");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest quick[] = {
	    cmocka_unit_test(test_one_file_is_refused),
	};
	const struct CMUnitTest copy[] = {
	    cmocka_unit_test(test_external_data_holds_it),
	};

	if (argc > 1 && strcmp(argv[1], "copy") == 0)
		return cmocka_run_group_tests_name(
		    "copy", copy, make_model, remove_model);
	return cmocka_run_group_tests_name(
	    "quick", quick, make_model, remove_model);
}
