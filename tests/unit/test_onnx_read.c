/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_read.c and its parts: values, sparse tensors and skeletons made here */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/endian.h"

#include "formats/plugin.h"
#include "formats/proto_alloc.h"
#include "formats/proto_skim.h"
#include "formats/sha1.h"
#include "support/onnx_wire.h"

#include "onnx.pb-c.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(test_typed_mixed),
	    TEMP_DIR_TEST(test_typed_ranges),
	    TEMP_DIR_TEST(test_typed_packed),
	    TEMP_DIR_TEST(test_typed_strings),
	    TEMP_DIR_TEST(test_pieces),
	    TEMP_DIR_TEST(test_sparse),
	    TEMP_DIR_TEST(test_skeleton),
	    cmocka_unit_test(test_sha1),
	    cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
