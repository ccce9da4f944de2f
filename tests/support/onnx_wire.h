/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_wire.h - ONNX models put together field by field, also wrong ones
 *
 *	struct wire t = tensor(1, 2);
 *
 *	wire_bytes(&t, 9, data, 8);
 *	good(&t, data, 8);
 *
 * Numbers of fields and dtypes are those of schemas/onnx.proto. Files lie in
 * test_dir, so a test is a TEMP_DIR_TEST.
 */
#ifndef TEST_ONNX_WIRE_H
#define TEST_ONNX_WIRE_H

#include <string.h>

#include "support/temp_dir.h"
#include "support/wire.h"
#include "tp/format.h"

/* A tensor t of one dtype and one size; its data is the caller's to add. */
static inline struct wire
tensor(unsigned data_type, uint64_t n)
{
	struct wire t = {.n = 0};

	wire_int(&t, 1, n);
	wire_int(&t, 2, data_type);
	wire_str(&t, 8, "t");
	return t;
}

/* Of data that lies in another file. */
static inline void
add_location(struct wire *t, const char *key, const char *value)
{
	struct wire e = {.n = 0};

	wire_str(&e, 1, key);
	wire_str(&e, 2, value);
	wire_msg(t, 13, &e);
}

static inline const char *
write_model(const struct wire *graph)
{
	const char *path = temp_path(&test_dir, "model.onnx");
	struct wire m = {.n = 0};

	wire_int(&m, 1, 8);
	wire_msg(&m, 7, graph);
	write_file(path, m.b, m.n);
	return path;
}

static inline enum tp_status
open_graph(const struct wire *graph, unsigned flags, struct tp_reader **r,
    struct tp_err *err)
{
	const struct tp_open_options options = {.flags = flags};

	return tp_open(write_model(graph), &options, r, err);
}

static inline enum tp_status
open_tensor(const struct wire *t, struct tp_reader **r, struct tp_err *err)
{
	struct wire g = {.n = 0};

	wire_msg(&g, 5, t);
	return open_graph(&g, 0, r, err);
}

static inline void
check_bytes(struct tp_reader *r, size_t i, const void *want, size_t n)
{
	struct tp_stream *s = NULL;
	uint8_t buf[256];

	assert_true(n <= sizeof(buf));
	for (size_t step = 1; step <= 64; step *= 4) {
		assert_int_equal(tp_stream_entry(r, i, &s, NULL), TP_OK);
		assert_int_equal(tp_stream_nbytes(s), n);
		for (size_t at = 0, part; at < n; at += part) {
			part = n - at < step ? n - at : step;
			assert_int_equal(
			    tp_stream_read(s, buf + at, part, NULL), TP_OK);
		}
		tp_stream_close(s);
		assert_memory_equal(buf, want, n);
	}
}

static inline void
good(const struct wire *t, const void *want, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (open_tensor(t, &r, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(tp_reader_n_entries(r), 1);
	check_bytes(r, 0, want, n);
	tp_close(r);
}

static inline void
bad(const struct wire *t, const char *words)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	assert_int_equal(open_tensor(t, &r, &err), TP_EFORMAT);
	assert_null(r);
	if (!strstr(err.msg, words) || !strstr(err.msg, "'t'"))
		fail_msg("\"%s\" lacks \"%s\"", err.msg, words);
}

#endif
