/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of storages, read one after the other: what is known of a storage is
 * not found out again. Bytes that need not be read any more are overwritten
 * meanwhile, and nobody notices.
 */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/native_files.h"
#include "support/temp_dir.h"

#define MIB ((size_t)1 << 20)
#define N_BYTES (3 * MIB)
#define N_PART 100

/* Parts of the one storage: two in the first piece, three in the last. */
static const size_t parts[] = {
    10, 5000, 2 * MIB + 5000, 2 * MIB + 9000, 2 * MIB + 5050};
enum { EARLY, EARLY_TOO, LATE, LATER, LATE_TOO, N_PARTS };

static uint8_t bytes[N_BYTES];

static void
write_model(const char *path, uint64_t nbytes, int level)
{
	static const char names[] = "abcde";
	static const int64_t shape[] = {N_PART};
	const void *const data[] = {bytes};
	struct tp_entry entries[N_PARTS];
	struct native_model model = {.m = {.entries = entries,
					 .storage_nbytes = &nbytes,
					 .n_storages = 1},
	    .data = data};
	const struct tp_create_options o = {.compress = level};

	for (size_t i = 0; i < N_PARTS && parts[i] + N_PART <= nbytes; i++)
		entries[model.m.n_entries++] =
		    (struct tp_entry){.name = {names + i, 1},
			.dtype = TP_DTYPE_U8,
			.rank = 1,
			.shape = shape,
			.first = parts[i],
			.n_elems = N_PART,
			.nbytes = N_PART};
	assert_int_equal(native_write(path, &model, &o, NULL), TP_OK);
}

static void
fill_bytes(void)
{
	for (size_t i = 0; i < N_BYTES; i++)
		bytes[i] = (uint8_t)(i * i >> 12);
}

/* The model, open, and where its storage begins; level 0: as it lies. */
static struct tp_reader *
open_model(int level, uint64_t *offset)
{
	struct tp_reader *r = NULL;

	fill_bytes();
	write_model(temp_path(&test_dir, "m"), N_BYTES, level);
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "m"), NULL, &r, NULL), TP_OK);
	*offset = tp_reader_storage(r, 0)->offset;
	return r;
}

/* Change 64 bytes of the file; twice is not at all. */
static void
flip(uint64_t offset)
{
	int fd = open(temp_path(&test_dir, "m"), O_RDWR);
	uint8_t b[64];

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, b, sizeof(b), (off_t)offset), sizeof(b));
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] ^= 0xff;
	assert_int_equal(pwrite(fd, b, sizeof(b), (off_t)offset), sizeof(b));
	assert_int_equal(close(fd), 0);
}

/* Read a part, in two steps; if that works it is right. */
static enum tp_status
read_part(struct tp_reader *r, size_t part, struct tp_err *err)
{
	uint8_t got[N_PART];
	struct tp_stream *s = NULL;
	enum tp_status rc = tp_stream_entry(r, part, &s, err);

	if (!rc)
		rc = tp_stream_read(s, got, 40, err);
	if (!rc)
		rc = tp_stream_read(s, got + 40, N_PART - 40, err);
	tp_stream_close(s);
	if (!rc)
		assert_memory_equal(got, bytes + parts[part], N_PART);
	return rc;
}

static void
a_checksum_is_compared_once(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	struct tp_reader *r;
	uint64_t offset;

	(void)state;
	r = open_model(0, &offset);
	assert_int_equal(read_part(r, EARLY, &err), TP_OK);
	flip(offset + MIB);
	for (size_t i = 0; i < N_PARTS; i++) {
		assert_int_equal(read_part(r, i, &err), TP_OK);
		assert_int_equal(tp_reader_tensor(r, i, &t, &err), TP_OK);
		assert_memory_equal(
		    tp_tensor_data(t), bytes + parts[i], N_PART);
		tp_tensor_free(t);
	}
	tp_close(r);
}

static void
that_it_differs_is_remembered(void **state)
{
	struct tp_err first = TP_ERR_INIT, then = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	struct tp_reader *r;
	uint64_t offset;

	(void)state;
	r = open_model(0, &offset);
	flip(offset + MIB);
	assert_int_equal(read_part(r, EARLY, &first), TP_EMISMATCH);
	flip(offset + MIB);
	assert_int_equal(read_part(r, EARLY, &then), TP_EMISMATCH);
	assert_string_equal(then.msg, first.msg);
	assert_true(then.offset == first.offset);
	assert_int_equal(tp_reader_tensor(r, EARLY, &t, &then), TP_EMISMATCH);
	assert_string_equal(then.msg, first.msg);
	tp_close(r);
}

static void
a_part_begins_with_its_piece(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r;
	uint64_t offset;

	(void)state;
	r = open_model(6, &offset);
	assert_int_equal(tp_reader_storage(r, 0)->encoding, TP_ENC_ZLIB);
	assert_int_equal(read_part(r, LATE, &err), TP_OK);
	flip(offset + 8);
	assert_int_equal(read_part(r, LATER, &err), TP_OK);
	assert_int_equal(read_part(r, LATE, &err), TP_OK);
	assert_int_equal(read_part(r, EARLY, &err), TP_EFORMAT);
	assert_int_equal(read_part(r, LATE, &err), TP_OK);
	tp_close(r);
}

static void
a_decoder_goes_on_where_it_was(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r;
	uint64_t offset, before;

	(void)state;
	/* The stored bytes of the first two pieces, which a third follows. */
	fill_bytes();
	write_model(temp_path(&test_dir, "two"), 2 * MIB, 6);
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "two"), NULL, &r, NULL), TP_OK);
	before = tp_reader_storage(r, 0)->stored_nbytes;
	tp_close(r);

	r = open_model(6, &offset);
	assert_int_equal(read_part(r, EARLY, &err), TP_OK);
	assert_int_equal(read_part(r, LATE, &err), TP_OK);
	flip(offset + before + 8);
	assert_int_equal(read_part(r, LATER, &err), TP_OK);
	/* Before where it is, and inside what was read. */
	assert_int_equal(read_part(r, LATE_TOO, &err), TP_EFORMAT);
	flip(offset + before + 8);
	assert_int_equal(read_part(r, LATE_TOO, &err), TP_OK);
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(a_checksum_is_compared_once),
	    TEMP_DIR_TEST(that_it_differs_is_remembered),
	    TEMP_DIR_TEST(a_part_begins_with_its_piece),
	    TEMP_DIR_TEST(a_decoder_goes_on_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
