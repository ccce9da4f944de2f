/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_read.c and its parts: models made here, good and bad */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tp/endian.h"

#include "formats/plugin.h"
#include "formats/proto_alloc.h"
#include "formats/proto_skim.h"
#include "formats/sha1.h"
#include "support/fact.h"
#include "support/fail_alloc.h"
#include "support/temp_dir.h"
#include "support/wire.h"

#include "onnx.pb-c.h"

/* A tensor t of one dtype and one size; its data is the caller's to add. */
static struct wire
tensor(unsigned data_type, uint64_t n)
{
	struct wire t = {.n = 0};

	wire_int(&t, 1, n);
	wire_int(&t, 2, data_type);
	wire_str(&t, 8, "t");
	return t;
}

static void
add_location(struct wire *t, const char *key, const char *value)
{
	struct wire e = {.n = 0};

	wire_str(&e, 1, key);
	wire_str(&e, 2, value);
	wire_msg(t, 13, &e);
}

static const char *
write_model(const struct wire *graph)
{
	const char *path = temp_path(&test_dir, "model.onnx");
	struct wire m = {.n = 0};

	wire_int(&m, 1, 8);
	wire_msg(&m, 7, graph);
	write_file(path, m.b, m.n);
	return path;
}

static enum tp_status
open_graph(const struct wire *graph, unsigned flags, struct tp_reader **r,
    struct tp_err *err)
{
	const struct tp_open_options options = {.flags = flags};

	return tp_open(write_model(graph), &options, r, err);
}

static enum tp_status
open_tensor(const struct wire *t, struct tp_reader **r, struct tp_err *err)
{
	struct wire g = {.n = 0};

	wire_msg(&g, 5, t);
	return open_graph(&g, 0, r, err);
}

static void
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

static void
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

static void
bad(const struct wire *t, const char *words)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	assert_int_equal(open_tensor(t, &r, &err), TP_EFORMAT);
	assert_null(r);
	if (!strstr(err.msg, words) || !strstr(err.msg, "'t'"))
		fail_msg("\"%s\" lacks \"%s\"", err.msg, words);
}

/* Packed, one by one, and both; around them fields that do not count. */
static void
test_typed_mixed(void **state)
{
	struct wire t = tensor(6, 5);

	(void)state;
	wire_bytes(&t, 5, "\x01\x80\x01", 3);
	wire_int(&t, 5, (uint64_t)-3);
	wire_str(&t, 12, "doc");
	wire_int(&t, 5, 0xfffffffe);
	wire_bytes(&t, 5, "", 0);
	wire_bytes(&t, 5, "\x7f", 1);
	good(&t, "\1\0\0\0\200\0\0\0\375\377\377\377\376\377\377\377\177\0\0",
	    20);
	t = tensor(1, 3);
	wire_fixed32(&t, 4, 0x3f800000);
	wire_bytes(&t, 4, "\0\0\0\x40\0\0\x40\x40", 8);
	good(&t, "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
	t = tensor(11, 1);
	wire_tag(&t, 10, 1);
	wire_raw(&t, "12345678", 8);
	good(&t, "12345678", 8);
}

/* Limits of each dtype that is stored in wider numbers. */
static void
test_typed_ranges(void **state)
{
	static const struct {
		unsigned data_type, field;
		int64_t low, high;
		size_t size;
	} rows[] = {{2, 5, 0, 255, 1}, {3, 5, -128, 127, 1},
	    {4, 5, 0, 65535, 2}, {5, 5, -32768, 32767, 2}, {9, 5, 0, 1, 1},
	    {10, 5, 0, 65535, 2}, {16, 5, 0, 65535, 2},
	    {12, 11, 0, 4294967295, 4}, {17, 5, 0, 255, 1}, {20, 5, 0, 255, 1},
	    {24, 5, 0, 255, 1}};
	uint8_t want[16];
	struct wire t;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		t = tensor(rows[i].data_type, 2);
		wire_int(&t, rows[i].field, (uint64_t)rows[i].low);
		wire_int(&t, rows[i].field, (uint64_t)rows[i].high);
		memset(want, 0, sizeof(want));
		tp_put_le64(want, (uint64_t)rows[i].low);
		tp_put_le64(want + rows[i].size, (uint64_t)rows[i].high);
		good(&t, want, 2 * rows[i].size);

		t = tensor(rows[i].data_type, 1);
		wire_int(&t, rows[i].field, (uint64_t)rows[i].high + 1);
		bad(&t, "is outside");
		t = tensor(rows[i].data_type, 1);
		wire_int(&t, rows[i].field, (uint64_t)(rows[i].low - 1));
		bad(&t, "is outside");
	}
	t = tensor(13, 1);
	wire_int(&t, 11, UINT64_MAX);
	good(&t, "\377\377\377\377\377\377\377\377", 8);
	t = tensor(7, 1);
	wire_int(&t, 7, (uint64_t)INT64_MIN);
	good(&t, "\0\0\0\0\0\0\0\200", 8);
}

/* Below 8 bits a number is a packed byte, whatever the count. */
static void
test_typed_packed(void **state)
{
	struct wire t = tensor(22, 3);

	(void)state;
	wire_bytes(&t, 5, "\x21\x03", 2);
	good(&t, "\x21\x03", 2);
	t = tensor(22, 3);
	wire_bytes(&t, 5, "\x01\x02\x03", 3);
	bad(&t, "3 values in int32_data, expected 2");
	t = tensor(25, 5);
	wire_bytes(&t, 5, "\x21\x03", 2);
	good(&t, "\x21\x03", 2);
	t = tensor(23, 1);
	wire_int(&t, 5, 256);
	bad(&t, "value 256 at index 0 of int32_data is outside 0..255");
}

static void
test_typed_strings(void **state)
{
	struct wire t = tensor(8, 2);

	(void)state;
	wire_str(&t, 6, "");
	wire_bytes(&t, 6, "a\0b", 3);
	good(&t, "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0a\0b", 19);
	wire_str(&t, 6, "third");
	bad(&t, "3 values in string_data, expected 2");
}

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

/* The value of an attribute in two pieces is one tensor. */
static void
test_pieces(void **state)
{
	struct wire t1 = {.n = 0}, t2 = {.n = 0}, a = {.n = 0}, n = {.n = 0},
		    g = {.n = 0};
	struct tp_reader *r = NULL;

	(void)state;
	wire_int(&t1, 1, 3);
	wire_bytes(&t1, 5, "\1\2", 2);
	wire_int(&t2, 2, 3);
	wire_int(&t2, 5, 3);
	wire_str(&a, 1, "value");
	wire_msg(&a, 5, &t1);
	wire_int(&a, 20, 4);
	wire_msg(&a, 5, &t2);
	wire_str(&n, 2, "c");
	wire_str(&n, 4, "Constant");
	wire_msg(&n, 5, &a);
	wire_msg(&g, 1, &n);
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	assert_int_equal(tp_reader_entry(r, 0)->dtype, TP_DTYPE_I8);
	check_bytes(r, 0, "\1\2\3", 3);
	tp_close(r);
}

static void
external(const char *words, const char *location, const char *offset,
    const char *length, const char *checksum)
{
	struct wire t = tensor(2, 4);

	wire_int(&t, 14, 1);
	if (location)
		add_location(&t, "location", location);
	if (offset)
		add_location(&t, "offset", offset);
	if (length)
		add_location(&t, "length", length);
	if (checksum)
		add_location(&t, "checksum", checksum);
	if (words)
		bad(&t, words);
	else
		good(&t, "cdef", 4);
}

static void
test_external(void **state)
{
	/* sha1sum of the six bytes. */
	static const char sum[] = "1f8ac10f23c5b5bc1167bda84b833e5c057a77d2";
	static const char wrong[] = "1f8ac10f23c5b5bc1167bda84b833e5c057a77d3";
	char upper[] = "1F8AC10F23C5B5BC1167BDA84B833E5C057A77D2";
	struct wire t = tensor(2, 4), g = {.n = 0};
	struct tp_reader *r = NULL;

	(void)state;
	write_file(temp_path(&test_dir, "w"), "abcdef", 6);
	external(NULL, "w", "2", NULL, NULL);
	external(NULL, "./w", "2", "4", sum);
	external(NULL, ".//w", "02", "4", upper);
	external("SHA-1", "w", "2", "4", wrong);
	external("SHA-1", "w", "2", "4", "");
	external("without a location", NULL, "2", "4", NULL);
	external("6 bytes, expected 4", "w", NULL, NULL, NULL);
	external(
	    "has 3 bytes from offset 3 on, expected 4", "w", "3", "4", NULL);
	external("has 0 bytes", "w", "7", "4", NULL);
	external("has 0 bytes", "w", "18446744073709551615", "4", NULL);
	external("not a number", "w", "18446744073709551616", "4", NULL);
	external("not a number", "w", "+2", "4", NULL);
	external("not a number", "w", " 2", "4", NULL);
	external("not a number", "w", "", "4", NULL);
	external("not a number", "w", "2", "0x4", NULL);
	external("external length is 0, expected 4", "w", "2", "0", NULL);
	external("leaves the folder", "..", NULL, NULL, NULL);
	external("leaves the folder", "a/..", NULL, NULL, NULL);
	external("leaves the folder", "../w", "2", "4", NULL);
	external("is absolute", "/w", "2", "4", NULL);

	add_location(&t, "location", "w");
	add_location(&t, "location", "w");
	wire_int(&t, 14, 1);
	bad(&t, "location given twice");

	/* A checksum may be left unread. */
	t = tensor(2, 6);
	add_location(&t, "location", "w");
	add_location(&t, "checksum", wrong);
	wire_int(&t, 14, 1);
	wire_msg(&g, 5, &t);
	assert_int_equal(open_graph(&g, TP_OPEN_NO_CHECKSUM, &r, NULL), TP_OK);
	check_bytes(r, 0, "abcdef", 6);
	tp_close(r);
}

static enum tp_status
open_external(const char *location, struct tp_err *err)
{
	struct wire t = tensor(2, 4);
	struct tp_reader *r = NULL;
	enum tp_status rc;

	wire_int(&t, 14, 1);
	add_location(&t, "location", location);
	rc = open_tensor(&t, &r, err);
	tp_close(r);
	return rc;
}

/* What is no regular file inside the folder. */
static void
test_external_files(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	char target[600];

	(void)state;
	assert_int_equal(open_external("missing", &err), TP_EIO);
	assert_non_null(strstr(err.msg, "'missing'"));
	assert_int_equal(mkfifo(temp_path(&test_dir, "fifo"), 0600), 0);
	assert_int_equal(open_external("fifo", &err), TP_EIO);
	assert_int_equal(symlink("/dev/zero", temp_path(&test_dir, "dev")), 0);
	assert_int_equal(open_external("dev", &err), TP_EFORMAT);
	assert_int_equal(symlink("loop", temp_path(&test_dir, "loop")), 0);
	assert_int_equal(open_external("loop", &err), TP_EIO);
	assert_int_equal(symlink("/tmp", temp_path(&test_dir, "out")), 0);
	assert_int_equal(open_external("out/x", &err), TP_EIO);
	assert_int_equal(symlink("/etc", temp_path(&test_dir, "etc")), 0);
	assert_int_equal(open_external("etc/passwd", &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "leaves the folder"));

	/* A folder whose name only begins like that of the model. */
	snprintf(target, sizeof(target), "%sX", test_dir.path);
	assert_int_equal(mkdir(target, 0700), 0);
	snprintf(target, sizeof(target), "%sX/f", test_dir.path);
	write_file(target, "1234", 4);
	assert_int_equal(symlink(target, temp_path(&test_dir, "near")), 0);
	assert_int_equal(open_external("near", &err), TP_EFORMAT);
	assert_int_equal(unlink(target), 0);
	snprintf(target, sizeof(target), "%sX", test_dir.path);
	assert_int_equal(rmdir(target), 0);

	/* A folder in between, itself a link that stays inside. */
	assert_int_equal(mkdir(temp_path(&test_dir, "sub"), 0700), 0);
	write_file(temp_path(&test_dir, "sub/f"), "1234", 4);
	assert_int_equal(symlink("sub", temp_path(&test_dir, "link")), 0);
	assert_int_equal(open_external("link/f", &err), TP_OK);
	assert_int_equal(unlink(temp_path(&test_dir, "sub/f")), 0);
	assert_int_equal(rmdir(temp_path(&test_dir, "sub")), 0);
}

/* One file under several names is one source, one place is one storage. */
static void
test_external_shared(void **state)
{
	static const char *const locations[] = {"w", "./w", "w2", "w"};
	struct wire g = {.n = 0}, t;
	struct tp_reader *r = NULL;
	char name[2] = "a";

	(void)state;
	write_file(temp_path(&test_dir, "w"), "abcdefgh", 8);
	assert_int_equal(symlink("w", temp_path(&test_dir, "w2")), 0);
	for (size_t i = 0; i < 4; i++, name[0]++) {
		t.n = 0;
		wire_int(&t, 1, 4);
		wire_int(&t, 2, 2);
		wire_str(&t, 8, name);
		wire_int(&t, 14, 1);
		add_location(&t, "location", locations[i]);
		add_location(&t, "length", "4");
		if (i == 3)
			add_location(&t, "offset", "1");
		wire_msg(&g, 5, &t);
	}
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	assert_non_null(tp_reader_file(r, 1, NULL));
	assert_null(tp_reader_file(r, 2, NULL));
	assert_int_equal(tp_reader_n_storages(r), 2);
	assert_int_equal(tp_reader_entry(r, 2)->storage, 0);
	assert_int_equal(tp_reader_entry(r, 3)->storage, 1);
	check_bytes(r, 2, "abcd", 4);
	check_bytes(r, 3, "bcde", 4);
	tp_close(r);
}

/* shape [2, 3]; values i8 [n]; indices of one of the two forms. */
static struct wire
sparse(size_t n, const int64_t *indices, size_t n_indices, size_t columns)
{
	struct wire v = {.n = 0}, x = {.n = 0}, s = {.n = 0}, g = {.n = 0};

	wire_int(&v, 1, n);
	wire_int(&v, 2, 3);
	wire_str(&v, 8, "t");
	wire_bytes(&v, 9, "\7\10\11\12", n);
	wire_int(&x, 1, n_indices / (columns ? columns : 1));
	if (columns)
		wire_int(&x, 1, columns);
	wire_int(&x, 2, 7);
	for (size_t i = 0; i < n_indices; i++)
		wire_int(&x, 7, (uint64_t)indices[i]);
	wire_msg(&s, 1, &v);
	wire_msg(&s, 2, &x);
	wire_int(&s, 3, 2);
	wire_int(&s, 3, 3);
	wire_msg(&g, 15, &s);
	return g;
}

static void
test_sparse(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	struct wire g;

	(void)state;
	g = sparse(2, (const int64_t[]){1, 5}, 2, 0);
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	check_bytes(r, 0, "\0\7\0\0\0\10", 6);
	tp_close(r);
	g = sparse(2, (const int64_t[]){0, 2, 1, 0}, 4, 2);
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	check_bytes(r, 0, "\0\0\7\10\0\0", 6);
	tp_close(r);
	g = sparse(0, NULL, 0, 0);
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	check_bytes(r, 0, "\0\0\0\0\0\0", 6);
	tp_close(r);

	g = sparse(2, (const int64_t[]){-1, 5}, 2, 0);
	assert_int_equal(open_graph(&g, 0, &r, &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "sparse index -1"));
	g = sparse(2, (const int64_t[]){0, 3, 1, 0}, 4, 2);
	assert_int_equal(open_graph(&g, 0, &r, &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "outside 0..2"));
	g = sparse(2, (const int64_t[]){1, 0, 0, 2}, 4, 2);
	assert_int_equal(open_graph(&g, 0, &r, &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "does not ascend"));
	g = sparse(2, (const int64_t[]){1, 2, 3}, 3, 0);
	assert_int_equal(open_graph(&g, 0, &r, &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "expected i64 [2] or [2, 2]"));
}

/* Open the graph without its weights as a model. */
static TpOnnx__ModelProto *
skeleton(struct tp_reader *r)
{
	const struct tp_limits limits = tp_limits_default();
	struct tp_attachment a;
	ProtobufCMessage *m = NULL;

	assert_int_equal(tp_reader_attachment(r, 0, &a, NULL), TP_OK);
	assert_string_equal(a.name.s, TP_ATTACHMENT_ONNX);
	assert_int_equal(
	    tpi_skim_unpack(NULL, a.data, a.nbytes,
		&tp_onnx__model_proto__descriptor, &limits, &m, NULL),
	    TP_OK);
	return (TpOnnx__ModelProto *)m;
}

static struct wire
node(const char *op, const char *output, const char *attribute,
    const struct wire *t)
{
	struct wire a = {.n = 0}, n = {.n = 0};

	wire_str(&a, 1, attribute);
	if (!strcmp(attribute, "value_ints"))
		wire_int(&a, 8, 5);
	else
		wire_msg(&a, 5, t);
	wire_str(&n, 4, op);
	wire_str(&n, 2, output);
	wire_msg(&n, 5, &a);
	return n;
}

/* Weights are taken out; what is no weight stays, external or not. */
static void
test_skeleton(void **state)
{
	struct wire g = {.n = 0}, t, n;
	TpOnnx__ModelProto *m;
	TpOnnx__AttributeProto *a;
	struct tp_reader *r = NULL;

	(void)state;
	write_file(temp_path(&test_dir, "w"), "abcdef", 6);
	t = tensor(2, 6);
	wire_int(&t, 14, 1);
	add_location(&t, "location", "w");
	n = node("ConstantOfShape", "s", "value", &t);
	wire_msg(&g, 1, &n);
	wire_int(&t, 4001, 9);
	wire_msg(&g, 5, &t);
	t = tensor(6, 2);
	wire_bytes(&t, 5, "\1\2", 2);
	n = node("Other", "o", "value", &t);
	wire_msg(&g, 1, &n);
	n = node("Constant", "c", "value", &t);
	wire_msg(&g, 1, &n);
	n = node("Constant", "i", "value_ints", NULL);
	wire_msg(&g, 1, &n);

	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(r), 3);
	m = skeleton(r);
	a = m->graph->node[0]->attribute[0];
	assert_int_equal(a->t->raw_data.len, 6);
	assert_memory_equal(a->t->raw_data.data, "abcdef", 6);
	assert_int_equal(a->t->n_external_data, 0);
	assert_false(a->t->has_data_location);
	a = m->graph->node[1]->attribute[0];
	assert_int_equal(a->t->n_int32_data, 2);
	assert_int_equal(a->t->int32_data[1], 2);
	assert_false(a->t->has_raw_data);
	a = m->graph->node[2]->attribute[0];
	assert_int_equal(a->t->n_int32_data, 0);
	assert_int_equal(a->t->data_type, 6);
	assert_false(a->t->has_raw_data);
	a = m->graph->node[3]->attribute[0];
	assert_int_equal(a->n_ints, 0);
	assert_int_equal(a->name.len, 10);
	assert_false(m->graph->initializer[0]->has_raw_data);
	assert_int_equal(m->graph->initializer[0]->n_external_data, 0);
	assert_false(m->graph->initializer[0]->has_data_location);
	assert_int_equal(m->graph->initializer[0]->base.n_unknown_fields, 1);
	assert_int_equal(m->graph->initializer[0]->dims[0], 6);
	tpi_proto_free(NULL, &m->base);
	tp_close(r);

	/* Constants that are to stay have their values. */
	assert_int_equal(
	    open_graph(&g, TP_OPEN_KEEP_CONSTANTS, &r, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(r), 1);
	m = skeleton(r);
	assert_int_equal(m->graph->node[2]->attribute[0]->t->int32_data[0], 1);
	assert_int_equal(m->graph->node[3]->attribute[0]->ints[0], 5);
	tpi_proto_free(NULL, &m->base);
	tp_close(r);
}

static void
test_sha1(void **state)
{
	/* The examples of FIPS 180. */
	static const struct {
		const char *text, *hex;
	} rows[] = {{"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
	    {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"84983e441c3bd26ebaae4aa1f95129e5e54670f1"}};
	static uint8_t as[1000];
	struct tpi_sha1 h;
	char hex[41];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tpi_sha1_init(&h);
		tpi_sha1_add(&h, rows[i].text, strlen(rows[i].text));
		tpi_sha1_hex(&h, hex);
		assert_string_equal(hex, rows[i].hex);
	}
	memset(as, 'a', sizeof(as));
	tpi_sha1_init(&h);
	for (size_t n = 0, part; n < 1000000; n += part) {
		part = 1 + n % 977;
		if (part > 1000000 - n)
			part = 1000000 - n;
		tpi_sha1_add(&h, as, part);
	}
	tpi_sha1_hex(&h, hex);
	assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

static void
test_probe(void **state)
{
	const struct tp_format *f = tp_format_find("onnx");
	struct wire m = {.n = 0}, g = {.n = 0};

	(void)state;
	assert_non_null(f);
	wire_int(&m, 1, 8);
	wire_str(&m, 2, "someone");
	wire_msg(&m, 7, &g);
	assert_true(f->probe(m.b, m.n, m.n) >= 50);
	assert_true(f->probe(m.b, 4, m.n) > 0);
	assert_int_equal(f->probe(m.b, 0, 0), 0);
	assert_int_equal(f->probe((const uint8_t *)"some text\n", 10, 10), 0);
	assert_int_equal(
	    f->probe((const uint8_t *)"\x08\1\0\0\0\0\0\0{\"a\":1}", 15, 272),
	    0);
	assert_int_equal(f->probe((const uint8_t *)"PK\3\4....", 8, 1000), 0);
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
	    TEMP_DIR_TEST(test_typed_mixed),
	    TEMP_DIR_TEST(test_typed_ranges),
	    TEMP_DIR_TEST(test_typed_packed),
	    TEMP_DIR_TEST(test_typed_strings),
	    TEMP_DIR_TEST(test_malformed),
	    TEMP_DIR_TEST(test_pieces),
	    TEMP_DIR_TEST(test_external),
	    TEMP_DIR_TEST(test_external_files),
	    TEMP_DIR_TEST(test_external_shared),
	    TEMP_DIR_TEST(test_sparse),
	    TEMP_DIR_TEST(test_skeleton),
	    cmocka_unit_test(test_sha1),
	    cmocka_unit_test(test_probe),
	    TEMP_DIR_TEST(test_large),
	    TEMP_DIR_TEST(test_many_unpacked),
	    TEMP_DIR_TEST(test_changed),
	    TEMP_DIR_TEST(test_deep),
	    TEMP_DIR_TEST(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
