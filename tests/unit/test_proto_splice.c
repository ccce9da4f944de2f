/* SPDX-License-Identifier: Apache-2.0 */
/* test_proto_splice.c - messages around payloads that lie elsewhere */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "formats/proto_splice.h"
#include "support/fail_alloc.h"

/*
 * message Node { repeated Node child = 1; optional bytes data = 2; }
 * Described by hand, so that the test does not hang on a schema.
 */
struct node {
	ProtobufCMessage base;
	size_t n_child;
	struct node **child;
	protobuf_c_boolean has_data;
	ProtobufCBinaryData data;
};

static const ProtobufCMessageDescriptor node_descriptor;

static const ProtobufCFieldDescriptor node_fields[] = {
    {.name = "child",
	.id = 1,
	.label = PROTOBUF_C_LABEL_REPEATED,
	.type = PROTOBUF_C_TYPE_MESSAGE,
	.quantifier_offset = offsetof(struct node, n_child),
	.offset = offsetof(struct node, child),
	.descriptor = &node_descriptor},
    {.name = "data",
	.id = 2,
	.label = PROTOBUF_C_LABEL_OPTIONAL,
	.type = PROTOBUF_C_TYPE_BYTES,
	.quantifier_offset = offsetof(struct node, has_data),
	.offset = offsetof(struct node, data)},
};

static const unsigned node_by_name[] = {0, 1};
static const ProtobufCIntRange node_ranges[] = {{1, 0}, {0, 2}};

static const ProtobufCMessageDescriptor node_descriptor = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .name = "Node",
    .short_name = "Node",
    .c_name = "Node",
    .package_name = "",
    .sizeof_message = sizeof(struct node),
    .n_fields = 2,
    .fields = node_fields,
    .fields_sorted_by_name = node_by_name,
    .n_field_ranges = 1,
    .field_ranges = node_ranges,
};

#define NODE                                              \
	{                                                 \
		.base = {.descriptor = &node_descriptor } \
	}

/* The message with the payloads filled in; byte b of payload i is i * 16. */
static uint8_t *
flatten(const struct tpi_splice *s, size_t *n)
{
	uint8_t *out = calloc(1, (size_t)s->total + 1);

	assert_non_null(out);
	*n = 0;
	for (size_t i = 0; i < s->n_parts; i++) {
		const struct tpi_splice_part *p = &s->parts[i];

		assert_true(*n + p->nbytes <= s->total);
		assert_true(p->nbytes > 0);
		if (p->payload == TP_NONE)
			memcpy(out + *n, p->bytes, (size_t)p->nbytes);
		else
			memset(
			    out + *n, (int)p->payload * 16, (size_t)p->nbytes);
		*n += (size_t)p->nbytes;
	}
	assert_int_equal(*n, s->total);
	return out;
}

static void
test_lengths_count_the_payloads(void **state)
{
	/* Two children with 3 and 200 bytes; the parent has 1 literal byte. */
	struct node a = NODE, b = NODE, root = NODE;
	struct node *children[] = {&a, &b};
	uint8_t literal = 0x55;
	struct tpi_splice s;
	uint8_t want[213];
	uint8_t *got;
	size_t n;

	(void)state;
	root.n_child = 2;
	root.child = children;
	root.has_data = a.has_data = b.has_data = 1;
	root.data = (ProtobufCBinaryData){1, &literal};
	assert_int_equal(tpi_splice_init(&s, NULL, 2, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 0, 3, &a.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 1, 200, &b.data, NULL), TP_OK);

	/* 0a 05 12 03 <3> | 0a cb 01 12 c8 01 <200> | 12 01 55 */
	memcpy(want, "\x0a\x05\x12\x03\0\0\0\x0a\xcb\x01\x12\xc8\x01", 13);
	assert_int_equal(tpi_splice_measure(&s, &root.base), 7 + 6 + 200 + 3);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	assert_int_equal(s.n_parts, 5);
	assert_int_equal(s.parts[1].payload, 0);
	assert_int_equal(s.parts[3].payload, 1);
	assert_int_equal(s.parts[3].nbytes, 200);
	got = flatten(&s, &n);
	assert_int_equal(n, 216);
	assert_memory_equal(got, want, 13);
	for (size_t i = 13; i < 213; i++)
		assert_int_equal(got[i], 16);
	assert_memory_equal(got + 213, "\x12\x01\x55", 3);
	free(got);
	tpi_splice_release(&s);
}

static void
test_unknown_fields(void **state)
{
	/* A payload may be an unknown field; other unknown fields stay. */
	uint8_t zero = 0;
	ProtobufCMessageUnknownField unknown[] = {
	    {4001, PROTOBUF_C_WIRE_TYPE_VARINT, 1, &zero},
	    {3, PROTOBUF_C_WIRE_TYPE_32BIT, 4, NULL},
	    {536870911, PROTOBUF_C_WIRE_TYPE_VARINT, 1, &zero},
	};
	struct node root = NODE;
	ProtobufCBinaryData place;
	struct tpi_splice s;
	uint8_t *got;
	size_t n;

	(void)state;
	assert_int_equal(tpi_splice_init(&s, NULL, 3, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 2, 4, &place, NULL), TP_OK);
	unknown[1].data = place.data;
	root.base.n_unknown_fields = 3;
	root.base.unknown_fields = unknown;
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	got = flatten(&s, &n);
	/* 4001 << 3 is 88 fa 01; 3 << 3 | 5 is 1d; f8 ff ff ff 0f. */
	assert_int_equal(n, 4 + 5 + 6);
	assert_memory_equal(got,
	    "\x88\xfa\x01\0\x1d\x20\x20\x20\x20\xf8\xff\xff\xff\x0f\0", 15);
	free(got);
	tpi_splice_release(&s);
}

static void
test_nothing_to_splice(void **state)
{
	struct node root = NODE;
	struct tpi_splice s;

	(void)state;
	assert_int_equal(tpi_splice_init(&s, NULL, 0, NULL), TP_OK);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	assert_int_equal(s.total, 0);
	assert_int_equal(s.n_parts, 0);
	assert_int_equal(tpi_splice_place(&s, 0, 1, &root.data, NULL), TP_EARG);
	tpi_splice_release(&s);

	/* An empty payload makes no part, but the field is there. */
	assert_int_equal(tpi_splice_init(&s, NULL, 1, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 0, 0, &root.data, NULL), TP_OK);
	root.has_data = 1;
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	assert_int_equal(s.n_parts, 1);
	assert_int_equal(s.parts[0].payload, TP_NONE);
	assert_int_equal(s.total, 2);
	tpi_splice_release(&s);
}

static void
test_size_limit(void **state)
{
	/* Field and length take 6 bytes: at 2^31 - 7 it still fits. */
	struct node root = NODE;
	struct tp_err err = TP_ERR_INIT;
	struct tpi_splice s;
	uint64_t fits = INT32_MAX - 6;

	(void)state;
	root.has_data = 1;
	assert_int_equal(tpi_splice_init(&s, NULL, 2, NULL), TP_OK);
	assert_int_equal(
	    tpi_splice_place(&s, 0, fits, &root.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_measure(&s, &root.base), INT32_MAX);
	assert_int_equal(tpi_splice_pack(&s, &root.base, &err), TP_OK);
	assert_int_equal(s.total, INT32_MAX);
	assert_memory_equal(
	    s.parts[0].bytes, "\x12\xf9\xff\xff\xff\x07", s.literal_size);

	assert_int_equal(
	    tpi_splice_place(&s, 0, fits + 1, &root.data, NULL), TP_OK);
	assert_int_equal(
	    tpi_splice_pack(&s, &root.base, &err), TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "2 GiB"));

	/* Sums that do not fit 64 bits. */
	assert_int_equal(
	    tpi_splice_place(&s, 0, UINT64_MAX / 2 + 1, &root.data, NULL),
	    sizeof(size_t) == 8 ? TP_OK : TP_EUNSUPPORTED);
	assert_int_equal(
	    tpi_splice_place(&s, 1, UINT64_MAX / 2 + 1, &root.data, NULL),
	    sizeof(size_t) == 8 ? TP_OK : TP_EUNSUPPORTED);
	/* What did not fit a size_t did not change what was there. */
	assert_int_equal(tpi_splice_measure(&s, &root.base),
	    sizeof(size_t) == 8 ? UINT64_MAX : UINT64_C(1) << 31);
	tpi_splice_release(&s);
}

static void
test_misplaced(void **state)
{
	struct node a = NODE, b = NODE, root = NODE;
	struct node *children[] = {&a, &b};
	struct tpi_splice s;

	(void)state;
	a.has_data = b.has_data = 1;
	root.n_child = 2;
	root.child = children;
	assert_int_equal(tpi_splice_init(&s, NULL, 2, NULL), TP_OK);

	/* Payload 0 twice, payload 1 of the same size nowhere. */
	assert_int_equal(tpi_splice_place(&s, 1, 9, &a.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 0, 9, &a.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 0, 9, &b.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_EARG);
	assert_int_equal(s.n_parts, 0);

	/* Placed, but in no message. */
	root.n_child = 0;
	tpi_splice_drop(&s, 1);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_EARG);

	/* Dropped: the message may do without. */
	tpi_splice_drop(&s, 0);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	assert_int_equal(s.total, 0);

	/* And packed a second time. */
	root.n_child = 2;
	assert_int_equal(tpi_splice_place(&s, 1, 9, &a.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_place(&s, 0, 7, &b.data, NULL), TP_OK);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	assert_int_equal(s.total, 2 + 2 + 9 + 2 + 2 + 7);
	assert_int_equal(tpi_splice_pack(&s, &root.base, NULL), TP_OK);
	tpi_splice_release(&s);
}

static void
test_no_memory(void **state)
{
	enum { N = 40 };
	struct node nodes[N], root = NODE;
	struct node *children[N];
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		nodes[i] = (struct node)NODE;
		nodes[i].has_data = 1;
		children[i] = &nodes[i];
	}
	root.n_child = N;
	root.child = children;
	while (fail_alloc_next(&a, rc)) {
		struct tpi_splice s;

		rc = tpi_splice_init(&s, &a.alloc, N, NULL);
		for (size_t i = 0; !rc && i < N; i++)
			rc = tpi_splice_place(
			    &s, i, i + 1, &nodes[i].data, NULL);
		if (!rc) {
			rc = tpi_splice_pack(&s, &root.base, NULL);
			if (rc)
				assert_int_equal(s.n_parts, 0);
			else
				assert_int_equal(s.n_parts, 2 * N);
		}
		tpi_splice_release(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lengths_count_the_payloads),
	    cmocka_unit_test(test_unknown_fields),
	    cmocka_unit_test(test_nothing_to_splice),
	    cmocka_unit_test(test_size_limit),
	    cmocka_unit_test(test_misplaced),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
