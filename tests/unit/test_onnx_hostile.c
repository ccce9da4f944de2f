/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_read.c and its parts: models that are wrong, huge, deep, or change */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tp/endian.h"

#include "formats/proto_wire.h"
#include "support/fact.h"
#include "support/fail_alloc.h"
#include "support/onnx_wire.h"

static void
test_malformed(void **state)
{
	struct wire t = tensor(1, 1), v;
	struct tp_reader *r = NULL;

	(void)state;
	wire_bytes(&t, 4, "12345", 5);
	bad(&t, "no multiple of 4");
	t = tensor(1, 2);
	wire_bytes(&t, 4, "12345", 5);
	wire_fixed32(&t, 4, 0);
	bad(&t, "1 bytes of a number of 4");
	t = tensor(6, 1);
	wire_bytes(&t, 5, "\x80", 1);
	bad(&t, "");
	t = tensor(1, 1);
	wire_str(&t, 9, "1234");
	wire_int(&t, 14, 2);
	bad(&t, "unknown data_location 2");
	t = tensor(1, 1);
	wire_str(&t, 9, "1234");
	wire_int(&t, 14, 1);
	bad(&t, "external, but it has raw_data too");
	t = tensor(1, 0);
	for (int i = 0; i < 64; i++)
		wire_int(&t, 1, 1);
	assert_int_equal(open_tensor(&t, &r, NULL), TP_ELIMIT);
	t = tensor(27, 1);
	bad(&t, "unknown data_type 27");
	v = tensor((unsigned)-1, 1);
	bad(&v, "unknown data_type -1");
}

/* 1 GiB of weights in the file: opening reads none of it. */
static void
test_large(void **state)
{
	const uint64_t hole = (uint64_t)1 << 30;
	struct wire t = tensor(2, hole), g = {.n = 0}, m = {.n = 0};
	const char *path = temp_path(&test_dir, "large.onnx");
	struct tp_open_options options = {.alloc = NULL};
	struct tp_reader *r = NULL;
	struct fail_alloc a;
	int fd;

	(void)state;
	wire_tag(&t, 9, 2);
	wire_varint(&t, hole);
	wire_tag(&g, 5, 2);
	wire_varint(&g, t.n + hole);
	wire_raw(&g, t.b, t.n);
	wire_tag(&m, 7, 2);
	wire_varint(&m, g.n + hole);
	wire_raw(&m, g.b, g.n);
	write_file(path, m.b, m.n);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(m.n + hole)), 0);
	close(fd);

	fail_alloc_init(&a, 0);
	options.alloc = &a.alloc;
	assert_int_equal(tp_open(path, &options, &r, NULL), TP_OK);
	assert_int_equal(tp_reader_entry(r, 0)->nbytes, hole);
	assert_int_equal(tp_reader_storage(r, 0)->encoding, TP_ENC_RAW);
	assert_int_equal(tp_reader_storage(r, 0)->offset, m.n);
	tp_close(r);
	assert_true(a.peak < (size_t)1 << 20);
	assert_int_equal(a.n_live, 0);
}

/* Numbers that were two when the file was opened are one when it is read. */
static void
test_changed(void **state)
{
	struct wire t = tensor(6, 2), g = {.n = 0};
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	struct tp_reader *r = NULL;
	uint8_t buf[8];
	int fd;

	(void)state;
	wire_bytes(&t, 5, "\1\2", 2);
	wire_msg(&g, 5, &t);
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	fd = open(tp_reader_file(r, 0, NULL), O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(
	    pwrite(fd, "\x81\2", 2, (off_t)tp_reader_storage(r, 0)->offset), 2);
	close(fd);
	assert_int_equal(tp_stream_entry(r, 0, &s, NULL), TP_OK);
	assert_int_equal(tp_stream_read(s, buf, 8, &err), TP_EIO);
	assert_non_null(strstr(err.msg, "tensor 't': the file has changed"));
	tp_stream_close(s);
	tp_close(r);
}

/* A million values with a tag each: no memory for each of them. */
static void
test_many_unpacked(void **state)
{
	const size_t n = 1000000;
	uint8_t *data = malloc(5 * n);
	const char *path = temp_path(&test_dir, "many.onnx");
	struct tp_open_options options = {.alloc = NULL};
	struct wire t = tensor(1, n), g = {.n = 0}, m = {.n = 0};
	struct tp_stream *s = NULL;
	struct tp_reader *r = NULL;
	struct fail_alloc a;
	uint8_t four[4];
	FILE *f;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < n; i++) {
		data[5 * i] = 4 << 3 | 5;
		tp_put_le32(data + 5 * i + 1, (uint32_t)i);
	}
	wire_tag(&g, 5, 2);
	wire_varint(&g, t.n + 5 * n);
	wire_raw(&g, t.b, t.n);
	wire_tag(&m, 7, 2);
	wire_varint(&m, g.n + 5 * n);
	wire_raw(&m, g.b, g.n);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(m.b, 1, m.n, f), m.n);
	assert_int_equal(fwrite(data, 5, n, f), n);
	assert_int_equal(fclose(f), 0);
	free(data);

	fail_alloc_init(&a, 0);
	options.alloc = &a.alloc;
	assert_int_equal(tp_open(path, &options, &r, NULL), TP_OK);
	assert_true(a.peak < (size_t)1 << 20);
	assert_int_equal(tp_stream_entry(r, 0, &s, NULL), TP_OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(tp_stream_read(s, four, 4, NULL), TP_OK);
		if (tp_le32(four) != i)
			fail_msg("value %zu is %u", i, tp_le32(four));
	}
	tp_stream_close(s);
	tp_close(r);
	assert_int_equal(a.n_live, 0);
}

/* Messages 11,000 deep, 34 KB of them. */
static void
test_deep(void **state)
{
	static uint8_t buf[65536];
	size_t at = sizeof(buf);
	const char *path = temp_path(&test_dir, "deep.onnx");
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	(void)state;
	/* From the inside out: TypeProto and Sequence in turn. */
	for (size_t n = 0; n % 2 || sizeof(buf) - at < 34000; n++) {
		uint8_t head[11];
		size_t len =
		    1 + tpi_wire_put_varint(head + 1, sizeof(buf) - at);

		head[0] = n % 2 ? 4 << 3 | 2 : 1 << 3 | 2;
		at -= len;
		memcpy(buf + at, head, len);
	}
	for (size_t k = 0; k < 3; k++) {
		static const uint8_t fields[] = {2, 11, 7};
		uint8_t head[11];
		size_t len =
		    1 + tpi_wire_put_varint(head + 1, sizeof(buf) - at);

		head[0] = (uint8_t)(fields[k] << 3 | 2);
		at -= len;
		memcpy(buf + at, head, len);
	}
	write_file(path, buf + at, sizeof(buf) - at);
	assert_int_equal(tp_open(path, NULL, &r, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "100 deep"));
}

/* Open what may be anything; if it opens, read all. It must only be clean. */
static void
try(const char *path)
{
	struct tp_attachment a;
	struct tp_reader *r = NULL;
	struct tp_stream *s;
	uint8_t buf[512];

	if (tp_open(path, NULL, &r, NULL)) {
		assert_null(r);
		return;
	}
	for (size_t i = 0; i < tp_reader_n_entries(r); i++) {
		if (tp_stream_entry(r, i, &s, NULL))
			continue;
		while (tp_stream_left(s) && tp_stream_nbytes(s) < 100000) {
			size_t n = tp_stream_left(s) < sizeof(buf)
				       ? (size_t)tp_stream_left(s)
				       : sizeof(buf);

			if (tp_stream_read(s, buf, n, NULL))
				break;
		}
		tp_stream_close(s);
	}
	if (tp_reader_attachment(r, 0, &a, NULL) == TP_OK)
		assert_non_null(a.data);
	tp_close(r);
}

/* The file keeps its size and its place. */
static void
rewrite(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, 0), n);
	close(fd);
}

/* Cases of the corpus, cut off everywhere and damaged at random. */
static void
test_damaged(void **state)
{
	static const char *const files[] = {"dtype-string-typed.onnx",
	    "scope-two-deep-if-in-loop.onnx", "sparse-coordinate-indices.onnx",
	    "function-attribute-reference.onnx", "quant-constants.onnx",
	    "wire-unknown-in-tensor.onnx", "wire-varint-overlong.onnx"};
	const char *path = temp_path(&test_dir, "damaged.onnx");
	const char *given = getenv("TP_TEST_SEED");
	uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 0) : 20261130;
	static uint8_t data[4096], copy[4096];
	char name[1024];
	size_t n;
	FILE *f;

	(void)state;
	print_message("seed %u\n", seed);
	print_fact("damaged.onnx_read", COUNT_OF(files) * 1000);
	for (size_t k = 0; k < COUNT_OF(files); k++) {
		snprintf(name, sizeof(name), "%s/%s", ONNX_CASES, files[k]);
		f = fopen(name, "rb");
		assert_non_null(f);
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		assert_true(n > 0 && n < sizeof(data));
		write_file(path, data, n);
		for (size_t cut = n; cut-- > 0;) {
			assert_int_equal(truncate(path, (off_t)cut), 0);
			try(path);
		}
		for (size_t i = 0; i < 1000; i++) {
			memcpy(copy, data, n);
			for (size_t hits = 0; hits < 1 + i % 3; hits++) {
				seed = seed * 1664525 + 1013904223;
				copy[(seed >> 8) % n] =
				    (uint8_t)(seed >> (i % 2 ? 24 : 26));
			}
			rewrite(path, copy, n);
			try(path);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(test_malformed),
	    TEMP_DIR_TEST(test_large),
	    TEMP_DIR_TEST(test_many_unpacked),
	    TEMP_DIR_TEST(test_changed),
	    TEMP_DIR_TEST(test_deep),
	    TEMP_DIR_TEST(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
