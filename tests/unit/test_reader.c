/* SPDX-License-Identifier: Apache-2.0 */
/* reader*.c, stream*.c, window.c: the checks and streams all formats share */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"

#include "formats/crc32c.h"
#include "formats/plugin.h"
#include "support/fail_alloc.h"
#include "support/fake_reader.h"
#include "support/temp_dir.h"

/* Read a stream in steps of `step` bytes into a buffer of its size. */
static enum tp_status
drain(struct tp_stream *s, uint8_t *buf, size_t step, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	while (!rc && tp_stream_left(s) > 0) {
		size_t n =
		    tp_stream_left(s) < step ? (size_t)tp_stream_left(s) : step;
		uint64_t at = tp_stream_nbytes(s) - tp_stream_left(s);

		rc = tp_stream_read(s, buf + at, n, err);
	}
	return rc;
}

static void
assert_entry_bytes(struct tp_reader *r, size_t i, const void *want, size_t n)
{
	static const size_t steps[] = {1, 3, 1000};

	for (size_t k = 0; k < COUNT_OF(steps); k++) {
		struct tp_stream *s = NULL;
		uint8_t buf[256];

		assert_int_equal(tp_stream_entry(r, i, &s, NULL), TP_OK);
		assert_int_equal(tp_stream_nbytes(s), n);
		assert_int_equal(drain(s, buf, steps[k], NULL), TP_OK);
		assert_memory_equal(buf, want, n);
		tp_stream_close(s);
	}
}

static void
wrong_entries_are_refused(void **state)
{
	static const int64_t two_three[] = {2, 3}, huge[] = {INT64_MAX, 4},
			     negative[] = {-1}, back[] = {-3, 1},
			     far[] = {INT64_MAX, 1}, deep[65];
	static const struct tp_sparse_info sparse = {2, 1, false},
					   too_many = {7, 1, false},
					   no_indices = {2, 9, false};
	const struct {
		struct tp_entry entry;
		enum tp_status status;
		const char *message;
	} rows[] = {
	    {{.name = TP_STR("a\xff"), .dtype = TP_DTYPE_U8}, TP_EFORMAT,
		"tensor name 'a\\xff' is not UTF-8 at byte 1"},
	    {{.name = TP_STR("t"), .dtype = TP_DTYPE_U8, .storage = 7},
		TP_EFORMAT, "tensor 't': storage 7 of 2"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 1,
		 .shape = negative},
		TP_EFORMAT, "tensor 't': axis 0 has the negative size -1"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = huge},
		TP_EFORMAT,
		"tensor 't': element count overflows at axis 1 of shape "
		"[9223372036854775807, 4]"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 65,
		 .shape = deep},
		TP_ELIMIT, "tensor 't': rank 65, the limit is 64"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_F64,
		 .rank = 2,
		 .shape = two_three},
		TP_EFORMAT,
		"tensor 't': 6 elements of f64 need more than the 16 bytes "
		"that are there"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = two_three,
		 .first = 11},
		TP_EFORMAT,
		"tensor 't': 17 elements of u8 need more than the 16 bytes "
		"that are there"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = two_three,
		 .strides = back},
		TP_EFORMAT, "tensor 't': its strides reach before its storage"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = two_three,
		 .strides = far},
		TP_EFORMAT, "tensor 't': stride 1 of axis 1 overflows"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_STRING,
		 .rank = 2,
		 .shape = two_three},
		TP_EFORMAT, "tensor 't': 6 strings in 16 bytes"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = two_three,
		 .sparse = &too_many},
		TP_EFORMAT, "tensor 't': 7 sparse values for 6 elements"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_U8,
		 .rank = 2,
		 .shape = two_three,
		 .sparse = &no_indices},
		TP_EFORMAT, "tensor 't': not a possible sparse tensor"},
	    {{.name = TP_STR("t"),
		 .dtype = TP_DTYPE_C128,
		 .rank = 2,
		 .shape = two_three,
		 .sparse = &sparse},
		TP_EFORMAT,
		"tensor 't': 2 sparse values of c128 need more than the 16 "
		"bytes that are there"},
	};
	struct temp_dir *d = *state;
	struct tp_reader *r =
	    fake_reader(NULL, temp_path(d, "f"), "0123456789abcdef", 16);

	fake_storage(r, 0, 16);
	fake_storage(r, 0, 16);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_err err = TP_ERR_INIT;

		assert_int_equal(
		    tpi_reader_add(r, &rows[i].entry, 5, &err), rows[i].status);
		assert_string_equal(err.msg, rows[i].message);
		assert_int_equal(err.offset, 5);
		assert_int_equal(tp_reader_n_entries(r), 0);
	}
	tp_close(r);
}

static void
names_are_unique_bytes(void **state)
{
	const struct tp_entry with_nul = {.name = TP_STR("a\0b"),
				  .dtype = TP_DTYPE_U8},
			      same = with_nul, empty = {.dtype = TP_DTYPE_U8};
	struct temp_dir *d = *state;
	struct tp_reader *r = fake_reader(NULL, temp_path(d, "f"), "x", 1);
	struct tp_err err = TP_ERR_INIT;

	fake_storage(r, 0, 1);
	assert_int_equal(tpi_reader_add(r, &with_nul, 0, NULL), TP_OK);
	assert_int_equal(tpi_reader_add(r, &empty, 0, NULL), TP_OK);
	assert_int_equal(tpi_reader_add(r, &same, 9, &err), TP_EFORMAT);
	assert_string_equal(err.msg, "duplicate tensor name 'a\\x00b'");
	assert_int_equal(tp_reader_find(r, TP_STR("a\0b")), 0);
	assert_int_equal(tp_reader_find(r, TP_STR("")), 1);
	assert_true(tp_reader_find(r, TP_STR("a")) == TP_NONE);
	assert_int_equal(
	    tpi_reader_add_meta(r, TP_STR("k"), TP_STR("v\0"), 0, NULL), TP_OK);
	assert_int_equal(
	    tpi_reader_add_meta(r, TP_STR("k"), TP_STR(""), 3, &err),
	    TP_EFORMAT);
	assert_string_equal(err.msg, "duplicate metadata key 'k'");
	assert_int_equal(tp_reader_meta(r, 0)->value.len, 2);
	tp_close(r);
}

static void
storages_lie_in_the_file(void **state)
{
	static const struct tp_storage_info bad[] = {
	    {.nbytes = 5, .stored_nbytes = 5},
	    {.nbytes = 1, .stored_nbytes = 1, .offset = 4},
	    {.nbytes = 2, .stored_nbytes = 2, .offset = UINT64_MAX},
	    {.nbytes = 3, .stored_nbytes = 4},
	};
	struct temp_dir *d = *state;
	struct tp_reader *r = fake_reader(NULL, temp_path(d, "f"), "0123", 4);
	size_t index;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(tpi_reader_add_storage(
				     r, &bad[i], TP_STR("t"), &index, NULL),
		    TP_EFORMAT);
	assert_int_equal(tp_reader_n_storages(r), 0);
	tp_close(r);
}

static void
a_range_is_read_and_the_whole_is_checked(void **state)
{
	static const int64_t four[] = {4};
	struct temp_dir *d = *state;
	struct tp_reader *r =
	    fake_reader(NULL, temp_path(d, "f"), "--0123456789", 12);
	const struct tp_entry part = {.name = TP_STR("part"),
	    .dtype = TP_DTYPE_U8,
	    .rank = 1,
	    .shape = four,
	    .first = 3};
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	struct tp_stream *s;
	uint8_t buf[16];

	fake_storage(r, 2, 10);
	assert_int_equal(tpi_reader_add(r, &part, 0, NULL), TP_OK);
	assert_entry_bytes(r, 0, "3456", 4);

	r->storages[0].has_crc32c = true;
	r->storages[0].crc32c = tpi_crc32c(0, "0123456789", 10);
	assert_entry_bytes(r, 0, "3456", 4);

	/* A byte that the range does not hold is wrong, and it is noticed. */
	r->storages[0].crc32c ^= 1;
	assert_int_equal(tp_stream_entry(r, 0, &s, NULL), TP_OK);
	assert_int_equal(drain(s, buf, 3, &err), TP_EMISMATCH);
	assert_non_null(strstr(err.msg, "tensor 'part': checksum"));
	tp_stream_close(s);
	assert_int_equal(tp_reader_tensor(r, 0, &t, &err), TP_EMISMATCH);
	assert_null(t);
	r->flags |= TP_OPEN_NO_CHECKSUM;
	assert_entry_bytes(r, 0, "3456", 4);
	tp_close(r);
}

static void
a_mapped_tensor_outlives_its_reader(void **state)
{
	static const int64_t shape[] = {2, 2};
	static const uint8_t file[] = {9, 9, 9, 9, 1, 0, 2, 0, 3, 0, 4, 0};
	struct temp_dir *d = *state;
	const struct tp_entry e = {.name = TP_STR("e"),
	    .dtype = TP_DTYPE_U16,
	    .rank = 2,
	    .shape = shape};

	for (unsigned flags = 0; flags <= TP_OPEN_NO_MMAP; flags++) {
		struct tp_reader *r =
		    fake_reader(NULL, temp_path(d, "f"), file, sizeof(file));
		struct tp_tensor *t = NULL;
		const uint16_t *v;
		bool copied;

		r->flags = flags;
		fake_storage(r, 4, 8);
		assert_int_equal(tpi_reader_add(r, &e, 0, NULL), TP_OK);
		assert_int_equal(tp_reader_tensor(r, 0, &t, NULL), TP_OK);
		tp_close(r);
		v = tp_tensor_data(t);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(v[i], i + 1);
		/* Only what needs no swapping can be used where it lies. */
		copied = flags || !tp_host_is_little();
		assert_int_equal(tp_storage_kind(tp_tensor_storage(t)),
		    copied ? TP_STORAGE_OWNED : TP_STORAGE_MAPPED);
		assert_true((tp_tensor_data_mut(t) != NULL) == copied);
		tp_tensor_free(t);
	}
}

/* values | indices as int64, in one file */
static struct tp_reader *
sparse_reader(struct temp_dir *d, enum tp_dtype dtype, const uint8_t *values,
    size_t values_nbytes, const int64_t *indices, uint64_t n_values,
    unsigned rank, const int64_t *shape, bool coordinates)
{
	size_t n_indices = (size_t)n_values * (coordinates ? rank : 1);
	const struct tp_sparse_info info = {n_values, 1, coordinates};
	const struct tp_entry e = {.name = TP_STR("s"),
	    .dtype = dtype,
	    .rank = rank,
	    .shape = shape,
	    .sparse = &info};
	struct tp_reader *r;
	uint8_t file[256];

	if (values_nbytes)
		memcpy(file, values, values_nbytes);
	for (size_t i = 0; i < n_indices; i++)
		tp_put_le64(file + values_nbytes + 8 * i, (uint64_t)indices[i]);
	r = fake_reader(
	    NULL, temp_path(d, "s"), file, values_nbytes + 8 * n_indices);
	fake_storage(r, 0, values_nbytes);
	fake_storage(r, values_nbytes, 8 * n_indices);
	assert_int_equal(tpi_reader_add(r, &e, 0, NULL), TP_OK);
	return r;
}

static void
a_sparse_entry_becomes_dense(void **state)
{
	static const int64_t six[] = {6}, grid[] = {2, 3};
	struct temp_dir *d = *state;
	struct tp_reader *r;

	/* 0x0101 at 1, 0x0202 at 5 */
	r = sparse_reader(d, TP_DTYPE_U16, (const uint8_t *)"\1\1\2\2", 4,
	    (const int64_t[]){1, 5}, 2, 1, six, false);
	assert_entry_bytes(r, 0, "\0\0\1\1\0\0\0\0\0\0\2\2", 12);
	tp_close(r);

	/* The same by coordinates (0, 1) and (1, 2). */
	r = sparse_reader(d, TP_DTYPE_U16, (const uint8_t *)"\1\1\2\2", 4,
	    (const int64_t[]){0, 1, 1, 2}, 2, 2, grid, true);
	assert_entry_bytes(r, 0, "\0\0\1\1\0\0\0\0\0\0\2\2", 12);
	tp_close(r);

	/*
	 * Six bits an element, so that values cross bytes: 0x3f at 1 and 0x2a
	 * at 2; packed values are 111111 101010 -> bf 0a, and the dense form is
	 * 000000 111111 101010 000000 …: c0 af 02 00 00.
	 */
	r = sparse_reader(d, TP_DTYPE_F6E2M3, (const uint8_t *)"\xbf\x0a", 2,
	    (const int64_t[]){1, 2}, 2, 1, six, false);
	assert_entry_bytes(r, 0, "\xc0\xaf\x02\0\0", 5);
	tp_close(r);

	r = sparse_reader(d, TP_DTYPE_U8, NULL, 0, NULL, 0, 1, six, false);
	assert_entry_bytes(r, 0, "\0\0\0\0\0\0", 6);
	tp_close(r);
}

static void
wrong_sparse_indices_are_found(void **state)
{
	static const int64_t six[] = {6};
	static const struct {
		int64_t indices[2];
		const char *message;
	} rows[] = {
	    {{1, 6}, "tensor 's': sparse index 6 outside 0..5"},
	    {{-1, 3}, "tensor 's': sparse index -1 outside 0..5"},
	    {{4, 4}, "tensor 's': sparse indices do not ascend: 4 after 4"},
	    {{4, 3}, "tensor 's': sparse indices do not ascend: 3 after 4"},
	};
	struct temp_dir *d = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_reader *r =
		    sparse_reader(d, TP_DTYPE_U8, (const uint8_t *)"\1\2", 2,
			rows[i].indices, 2, 1, six, false);
		struct tp_err err = TP_ERR_INIT;
		struct tp_stream *s;
		uint8_t buf[6];

		assert_int_equal(tp_stream_entry(r, 0, &s, NULL), TP_OK);
		assert_int_equal(drain(s, buf, 2, &err), TP_EFORMAT);
		assert_string_equal(err.msg, rows[i].message);
		tp_stream_close(s);
		tp_close(r);
	}
}

static void
strided_entries_are_packed(void **state)
{
	static const int64_t three_two[] = {3, 2}, transposed[] = {1, 3},
			     four[] = {4}, backwards[] = {-2}, five[] = {5};
	struct temp_dir *d = *state;
	struct tp_reader *r =
	    fake_reader(NULL, temp_path(d, "f"), "0123456789\xba\xdc\x0e", 13);
	const struct tp_entry entries[] = {
	    {.name = TP_STR("transposed"),
		.dtype = TP_DTYPE_U8,
		.rank = 2,
		.shape = three_two,
		.strides = transposed,
		.first = 1},
	    {.name = TP_STR("backwards"),
		.dtype = TP_DTYPE_I8,
		.rank = 1,
		.shape = four,
		.strides = backwards,
		.first = 9},
	    /* From the middle of a byte: 0xb, 0xc, 0xd, 0xe, 0x0. */
	    {.name = TP_STR("nibbles"),
		.dtype = TP_DTYPE_U4,
		.rank = 1,
		.shape = five,
		.first = 21},
	};

	fake_storage(r, 0, 13);
	for (size_t i = 0; i < COUNT_OF(entries); i++)
		assert_int_equal(
		    tpi_reader_add(r, &entries[i], 0, NULL), TP_OK);
	assert_entry_bytes(r, 0, "142536", 6);
	assert_entry_bytes(r, 1, "9753", 4);
	assert_entry_bytes(r, 2, "\xcb\xed\0", 3);
	tp_close(r);
}

static void
unknown_files_are_refused_by_content(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "notes.txt");
	struct tp_open_options named = {.format = "none"};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	write_file(path, "", 0);
	assert_int_equal(tp_open(path, NULL, &r, &err), TP_EFORMAT);
	assert_string_equal(err.msg, "the file is empty");
	assert_int_equal(tp_open(path, &named, &r, &err), TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "unknown format 'none'"));
	assert_int_equal(
	    tp_open(temp_path(d, "missing"), NULL, &r, &err), TP_EIO);
	assert_null(r);
}

static void
raw_bytes_are_read_at_any_place(void **state)
{
	struct tp_reader *r =
	    fake_reader(NULL, temp_path(*state, "raw"), "0123456789", 10);
	size_t i = fake_storage(r, 2, 6);
	char buf[8] = "........";

	assert_int_equal(tp_reader_read_raw(r, i, 1, buf, 3, NULL), TP_OK);
	assert_memory_equal(buf, "345.....", 8);
	assert_int_equal(tp_reader_read_raw(r, i, 6, buf, 0, NULL), TP_OK);
	assert_int_equal(tp_reader_read_raw(r, i, 4, buf, 3, NULL), TP_EARG);
	assert_int_equal(
	    tp_reader_read_raw(r, i, UINT64_MAX, buf, 2, NULL), TP_EARG);
	assert_memory_equal(buf, "345.....", 8);
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(wrong_entries_are_refused),
	    TEMP_DIR_TEST(names_are_unique_bytes),
	    TEMP_DIR_TEST(storages_lie_in_the_file),
	    TEMP_DIR_TEST(a_range_is_read_and_the_whole_is_checked),
	    TEMP_DIR_TEST(a_mapped_tensor_outlives_its_reader),
	    TEMP_DIR_TEST(a_sparse_entry_becomes_dense),
	    TEMP_DIR_TEST(wrong_sparse_indices_are_found),
	    TEMP_DIR_TEST(strided_entries_are_packed),
	    TEMP_DIR_TEST(unknown_files_are_refused_by_content),
	    TEMP_DIR_TEST(raw_bytes_are_read_at_any_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
