/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_write.c - weights as ONNX files: bytes, dtypes, external data */
#include "support/cmocka_all.h"

#include "support/fail_alloc.h"
#include "support/onnx_files.h"
#include "tp/endian.h"

static const struct tp_create_options always = {
    .external = TP_EXTERNAL_ALWAYS, .sync = TP_SYNC_NEVER};
static const struct tp_create_options never = {
    .external = TP_EXTERNAL_NEVER, .sync = TP_SYNC_NEVER};

static void
assert_bytes(ProtobufCBinaryData got, const void *want, size_t n)
{
	assert_int_equal(got.len, n);
	if (n)
		assert_memory_equal(got.data, want, n);
}

static void
write_ok(const struct onnx_source *s, const struct tp_create_options *options)
{
	struct tp_err err = TP_ERR_INIT;

	if (onnx_write(temp_path(&test_dir, "m.onnx"), s, options, &err))
		fail_msg("%s", err.msg);
}

static TpOnnx__ModelProto *
unpack(void)
{
	return onnx_unpack(temp_path(&test_dir, "m.onnx"));
}

static void
drop(TpOnnx__ModelProto *m)
{
	tp_onnx__model_proto__free_unpacked(m, NULL);
}

static void
test_every_byte(void **state)
{
	static const uint8_t want[] = {
	    0x08, 8, /* ir_version */
	    0x12, 8, 't', 'p', '-', 't', 'o', 'o', 'l', 's', 0x3a,
	    28, /* graph */
	    0x12, 7, 'w', 'e', 'i', 'g', 'h', 't', 's', 0x2a,
	    17,		  /* initializer */
	    0x08, 2,	  /* dims */
	    0x10, 1,	  /* FLOAT */
	    0x42, 1, 'w', /* name */
	    0x4a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0x42, 4, 0x0a, 0, 0x10,
	    17, /* opset_import "" 17 */
	    0x72, 8, 0x0a, 1, 'k', 0x12, 3, 'v', 0, 'w', /* metadata */
	};
	const struct tp_meta meta[] = {{TP_STR("k"), TP_STR("v\0w")}};
	struct onnx_source s = {0};
	size_t n;
	char *got;

	(void)state;
	onnx_source_add(
	    &s, "w", TP_DTYPE_F32, SHAPE(2), "\0\0\x80\x3f\0\0\0\xc0", 8);
	s.m.meta = meta;
	s.m.n_meta = 1;
	write_ok(&s, NULL);
	got = read_file(temp_path(&test_dir, "m.onnx"), &n);
	assert_int_equal(n, sizeof(want));
	assert_memory_equal(got, want, n);
	free(got);
}

static void
test_nothing(void **state)
{
	struct onnx_source s = {0};
	TpOnnx__ModelProto *m;

	(void)state;
	write_ok(&s, NULL);
	m = unpack();
	assert_non_null(m->graph);
	assert_int_equal(m->graph->n_initializer, 0);
	drop(m);
}

/* Numbers of TensorProto.DataType, IR and opset versions as ONNX has them. */
static const struct {
	enum tp_dtype dtype;
	int code, ir, opset;
	unsigned nbytes; /* of 8 elements */
} dtypes[] = {
    {TP_DTYPE_F32, 1, 8, 17, 32},
    {TP_DTYPE_U8, 2, 8, 17, 8},
    {TP_DTYPE_I8, 3, 8, 17, 8},
    {TP_DTYPE_U16, 4, 8, 17, 16},
    {TP_DTYPE_I16, 5, 8, 17, 16},
    {TP_DTYPE_I32, 6, 8, 17, 32},
    {TP_DTYPE_I64, 7, 8, 17, 64},
    {TP_DTYPE_BOOL, 9, 8, 17, 8},
    {TP_DTYPE_F16, 10, 8, 17, 16},
    {TP_DTYPE_F64, 11, 8, 17, 64},
    {TP_DTYPE_U32, 12, 8, 17, 32},
    {TP_DTYPE_U64, 13, 8, 17, 64},
    {TP_DTYPE_C64, 14, 8, 17, 64},
    {TP_DTYPE_C128, 15, 8, 17, 128},
    {TP_DTYPE_BF16, 16, 8, 17, 16},
    {TP_DTYPE_F8E4M3FN, 17, 9, 19, 8},
    {TP_DTYPE_F8E4M3FNUZ, 18, 9, 19, 8},
    {TP_DTYPE_F8E5M2, 19, 9, 19, 8},
    {TP_DTYPE_F8E5M2FNUZ, 20, 9, 19, 8},
    {TP_DTYPE_U4, 21, 10, 21, 4},
    {TP_DTYPE_I4, 22, 10, 21, 4},
    {TP_DTYPE_F4E2M1, 23, 11, 23, 4},
    {TP_DTYPE_F8E8M0, 24, 12, 24, 8},
    {TP_DTYPE_U2, 25, 13, 25, 2},
    {TP_DTYPE_I2, 26, 13, 25, 2},
};

static void
test_dtypes(void **state)
{
	uint8_t data[128];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 1);
	for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
		struct onnx_source s = {0};
		TpOnnx__ModelProto *m;
		const TpOnnx__TensorProto *t;

		onnx_source_add(&s, "w", dtypes[i].dtype, SHAPE(2, 4), data,
		    dtypes[i].nbytes);
		write_ok(&s, NULL);
		m = unpack();
		assert_int_equal(m->ir_version, dtypes[i].ir);
		assert_int_equal(m->opset_import[0]->version, dtypes[i].opset);
		t = m->graph->initializer[0];
		assert_int_equal(t->data_type, dtypes[i].code);
		assert_int_equal(t->n_dims, 2);
		assert_int_equal(t->dims[1], 4);
		assert_bytes(t->raw_data, data, dtypes[i].nbytes);
		drop(m);
	}
}

static void
test_what_cannot_be_held(void **state)
{
	static const enum tp_dtype missing[] = {
	    TP_DTYPE_F6E2M3, TP_DTYPE_F6E3M2};
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(missing); i++) {
		struct onnx_source s = {0};

		onnx_source_add(&s, "w", missing[i], SHAPE(4), "abc", 3);
		assert_int_equal(
		    onnx_write(temp_path(&test_dir, "no.onnx"), &s, NULL, &err),
		    TP_EUNSUPPORTED);
		assert_non_null(strstr(err.msg, "dtype"));
	}
	{
		struct onnx_source s = {0};

		onnx_source_add(&s, "", TP_DTYPE_U8, SHAPE(3), "abc", 3);
		assert_int_equal(
		    onnx_write(temp_path(&test_dir, "no.onnx"), &s, NULL, &err),
		    TP_EUNSUPPORTED);
		assert_non_null(strstr(err.msg, "name"));
	}
	assert_int_equal(access(temp_path(&test_dir, "no.onnx"), F_OK), -1);
}

static void
test_scalars_and_empty_tensors(void **state)
{
	struct onnx_source s = {0};
	TpOnnx__ModelProto *m;

	(void)state;
	onnx_source_add(&s, "scalar", TP_DTYPE_U8, SCALAR, "x", 1);
	onnx_source_add(&s, "one", TP_DTYPE_U8, SHAPE(1), "y", 1);
	onnx_source_add(&s, "none", TP_DTYPE_F32, SHAPE(2, 0, 3), "", 0);
	onnx_source_add(&s, "no text", TP_DTYPE_STRING, SHAPE(0), "", 0);
	write_ok(&s, &always);
	m = unpack();
	assert_int_equal(m->graph->initializer[0]->n_dims, 0);
	assert_int_equal(m->graph->initializer[1]->n_dims, 1);
	assert_int_equal(m->graph->initializer[2]->n_dims, 3);
	assert_int_equal(m->graph->initializer[2]->dims[2], 3);
	assert_int_equal(m->graph->initializer[2]->raw_data.len, 0);
	assert_int_equal(m->graph->initializer[3]->n_string_data, 0);
	assert_int_equal(m->graph->initializer[3]->data_type, 8);
	drop(m);
}

static void
put_string(uint8_t **p, const void *text, size_t n)
{
	tp_put_le64(*p, n);
	memcpy(*p + 8, text, n);
	*p += 8 + n;
}

static void
test_strings(void **state)
{
	/* Lengths whose sum takes one, two and three bytes as a varint. */
	static const size_t longest[] = {1, 127, 200, 20000};
	static char text[20000];
	static uint8_t data[20100];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < COUNT_OF(longest); i++) {
		struct onnx_source s = {0};
		const TpOnnx__TensorProto *t;
		TpOnnx__ModelProto *m;
		uint8_t *p = data;

		put_string(&p, "", 0);
		put_string(&p, "a\0b", 3);
		put_string(&p, text, longest[i]);
		put_string(&p, "\xe6\x96\xb0", 3);
		onnx_source_add(&s, "w", TP_DTYPE_STRING, SHAPE(2, 2), data,
		    (uint64_t)(p - data));
		onnx_source_add(&s, "last", TP_DTYPE_U8, SHAPE(1), "!", 1);
		write_ok(&s, &always);
		m = unpack();
		t = m->graph->initializer[0];
		assert_int_equal(t->data_type, 8);
		assert_int_equal(t->has_raw_data, 0);
		assert_int_equal(t->n_string_data, 4);
		assert_bytes(t->string_data[0], "", 0);
		assert_bytes(t->string_data[1], "a\0b", 3);
		assert_bytes(t->string_data[2], text, longest[i]);
		assert_bytes(t->string_data[3], "\xe6\x96\xb0", 3);
		assert_bytes(m->graph->initializer[1]->raw_data, "!", 1);
		drop(m);
	}
}

static void
test_bad_strings(void **state)
{
	/* One string: its length says more or less than there is. */
	static const uint8_t lengths[] = {0, 2, 4, 255};
	struct tp_err err = TP_ERR_INIT;
	uint8_t data[11] = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		struct onnx_source s = {0};

		data[0] = lengths[i];
		onnx_source_add(
		    &s, "w", TP_DTYPE_STRING, SCALAR, data, sizeof(data));
		assert_int_equal(
		    onnx_write(temp_path(&test_dir, "no.onnx"), &s, NULL, &err),
		    TP_EFORMAT);
		assert_non_null(strstr(err.msg, "'w'"));
	}
	/* Not even room for the lengths. */
	{
		struct onnx_source s = {0};

		onnx_source_add(&s, "w", TP_DTYPE_STRING, SHAPE(2), data, 11);
		assert_int_equal(
		    onnx_write(temp_path(&test_dir, "no.onnx"), &s, NULL, &err),
		    TP_EFORMAT);
	}
	assert_int_equal(access(temp_path(&test_dir, "no.onnx"), F_OK), -1);
}

static void
test_sparse(void **state)
{
	/* 3 values of a [4, 5], as element numbers and as coordinates. */
	static const int64_t numbers[] = {0, 7, 19};
	static const int64_t coordinates[] = {0, 0, 1, 2, 3, 4};
	uint8_t le[48];
	struct onnx_source s = {0};
	const TpOnnx__SparseTensorProto *p;
	TpOnnx__ModelProto *m;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		size_t n = k ? 6 : 3;
		struct tp_entry *e;

		s = (struct onnx_source){0};
		for (size_t i = 0; i < n; i++)
			tp_put_le64(le + 8 * i,
			    (uint64_t)(k ? coordinates : numbers)[i]);
		e = onnx_source_add(
		    &s, "w", TP_DTYPE_U8, SHAPE(4, 5), "abc", 3);
		e->nbytes = 20;
		e->sparse = &s.sparse[0];
		s.sparse[0] = (struct tp_sparse_info){
		    .n_values = 3, .indices = 1, .coordinates = k};
		s.nbytes[1] = 8 * n;
		s.data[1] = le;
		s.m.n_storages = 2;
		write_ok(&s, &always);
		m = unpack();
		assert_int_equal(m->graph->n_initializer, 0);
		assert_int_equal(m->graph->n_sparse_initializer, 1);
		p = m->graph->sparse_initializer[0];
		assert_bytes(p->values->name, "w", 1);
		assert_int_equal(p->values->n_dims, 1);
		assert_int_equal(p->values->dims[0], 3);
		assert_bytes(p->values->raw_data, "abc", 3);
		assert_int_equal(p->indices->data_type, 7);
		assert_int_equal(p->indices->n_dims, k ? 2 : 1);
		assert_int_equal(p->indices->dims[0], 3);
		if (k)
			assert_int_equal(p->indices->dims[1], 2);
		assert_bytes(p->indices->raw_data, le, 8 * n);
		assert_int_equal(p->n_dims, 2);
		assert_int_equal(p->dims[0], 4);
		drop(m);
	}
}

/* What no reader takes is not written, in any format. */
static void
test_impossible_forms(void **state)
{
	static const int64_t strides[] = {1};
	static const struct {
		enum tp_dtype dtype;
		uint64_t n_values; /* 0: dense */
		uint64_t first;
		const int64_t *strides;
		enum tp_status rc;
	} rows[] = {
	    {TP_DTYPE_STRING, 1, 0, NULL, TP_EARG},
	    {TP_DTYPE_U8, 3, 0, NULL, TP_EARG},
	    {TP_DTYPE_U8, 1, 1, NULL, TP_EARG},
	    {TP_DTYPE_U8, 1, 0, strides, TP_EARG},
	    {TP_DTYPE_STRING, 0, 1, NULL, TP_EARG},
	    {TP_DTYPE_STRING, 0, 0, strides, TP_EARG},
	    {TP_DTYPE_STRING, 0, 0, NULL, TP_EFORMAT},
	};
	static const char *const names[] = {"no.onnx", "no.tpt"};
	static const uint8_t zeros[24];

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
		const char *path = temp_path(&test_dir, names[i % 2]);
		struct onnx_source s = {0};
		struct tp_entry *e = onnx_source_add(
		    &s, "w", rows[i / 2].dtype, SHAPE(2), zeros, 15);

		e->first = rows[i / 2].first;
		e->strides = rows[i / 2].strides;
		s.sparse[0] = (struct tp_sparse_info){
		    .n_values = rows[i / 2].n_values, .indices = 1};
		e->sparse = rows[i / 2].n_values ? &s.sparse[0] : NULL;
		s.nbytes[1] = sizeof(zeros);
		s.data[1] = zeros;
		s.m.n_storages = 2;
		assert_int_equal(
		    create_model(path, &s.m, NULL, s.data, &never, NULL),
		    rows[i / 2].rc);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static void
test_sparse_with_one_pattern(void **state)
{
	/* Values of their own, one storage of indices; inside both have it. */
	static const struct tp_create_options *const options[] = {
	    NULL, &always, &never};
	struct onnx_source s = {0};
	uint8_t le[16] = {0};

	(void)state;
	tp_put_le64(le + 8, 4);
	onnx_source_add(&s, "a", TP_DTYPE_U8, SHAPE(5), "ab", 2);
	onnx_source_add(&s, "b", TP_DTYPE_U8, SHAPE(5), "cd", 2);
	for (size_t i = 0; i < 2; i++) {
		s.entries[i].nbytes = 5;
		s.entries[i].sparse = &s.sparse[i];
		s.sparse[i] =
		    (struct tp_sparse_info){.n_values = 2, .indices = 2};
	}
	s.nbytes[2] = 16;
	s.data[2] = le;
	s.m.n_storages = 3;
	for (size_t k = 0; k < COUNT_OF(options); k++) {
		TpOnnx__ModelProto *m;

		write_ok(&s, options[k]);
		m = unpack();
		assert_int_equal(m->graph->n_sparse_initializer, 2);
		for (size_t i = 0; i < 2; i++) {
			const TpOnnx__SparseTensorProto *p =
			    m->graph->sparse_initializer[i];

			assert_bytes(p->values->raw_data, i ? "cd" : "ab", 2);
			assert_bytes(p->indices->raw_data, le, 16);
		}
		drop(m);
	}
}

/*
 * ---- external data ----
 */

static void
assert_external(
    const TpOnnx__TensorProto *t, const char *offset, const char *length)
{
	assert_int_equal(t->data_location, 1);
	assert_int_equal(t->has_raw_data, 0);
	assert_int_equal(t->n_external_data, 3);
	assert_bytes(t->external_data[0]->key, "location", 8);
	assert_bytes(t->external_data[0]->value, "m.onnx.data", 11);
	assert_bytes(t->external_data[1]->key, "offset", 6);
	assert_bytes(t->external_data[1]->value, offset, strlen(offset));
	assert_bytes(t->external_data[2]->key, "length", 6);
	assert_bytes(t->external_data[2]->value, length, strlen(length));
}

static void
test_external(void **state)
{
	static uint8_t a[1024], b[1023], c[4000];
	struct tp_create_options options = always;
	struct onnx_source s = {0};
	TpOnnx__ModelProto *m;
	size_t n;
	char *data;

	(void)state;
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	memset(c, 'c', sizeof(c));
	onnx_source_add(&s, "b", TP_DTYPE_U8, SHAPE(1023), b, sizeof(b));
	onnx_source_add(&s, "a", TP_DTYPE_U8, SHAPE(1024), a, sizeof(a));
	onnx_source_add(&s, "c", TP_DTYPE_F32, SHAPE(1000), c, sizeof(c));

	/* The default: 1024 bytes and up, multiples of 64. */
	write_ok(&s, &options);
	m = unpack();
	assert_bytes(m->graph->initializer[0]->raw_data, b, sizeof(b));
	assert_external(m->graph->initializer[1], "0", "1024");
	assert_external(m->graph->initializer[2], "1024", "4000");
	drop(m);
	data = read_file(temp_path(&test_dir, "m.onnx.data"), &n);
	assert_int_equal(n, 5024);
	assert_memory_equal(data, a, 1024);
	assert_memory_equal(data + 1024, c, 4000);
	free(data);

	/* Whole pages, and everything outside. */
	options.align = 4096;
	options.external_threshold = 1;
	write_ok(&s, &options);
	m = unpack();
	assert_external(m->graph->initializer[0], "0", "1023");
	assert_external(m->graph->initializer[1], "4096", "1024");
	assert_external(m->graph->initializer[2], "8192", "4000");
	drop(m);
	data = read_file(temp_path(&test_dir, "m.onnx.data"), &n);
	assert_int_equal(n, 12192);
	assert_int_equal(data[1023], 0);
	assert_memory_equal(data + 4096, a, 1024);
	assert_memory_equal(data + 8192, c, 4000);
	free(data);

	/* A small model stays whole when the choice is free. */
	unlink(temp_path(&test_dir, "m.onnx.data"));
	write_ok(&s, NULL);
	assert_int_equal(access(temp_path(&test_dir, "m.onnx.data"), F_OK), -1);
	m = unpack();
	assert_bytes(m->graph->initializer[2]->raw_data, c, sizeof(c));
	drop(m);

	/* And nothing large enough makes no file. */
	options.external_threshold = 5000;
	write_ok(&s, &options);
	assert_int_equal(access(temp_path(&test_dir, "m.onnx.data"), F_OK), -1);

	assert_int_equal(onnx_write("-", &s, &always, NULL), TP_EUNSUPPORTED);
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "\xff.onnx"), &s, &always, NULL),
	    TP_EUNSUPPORTED);
}

static void
test_ties(void **state)
{
	/* a is the whole storage, b its second half, c something else. */
	static uint8_t data[4096];
	struct onnx_source s = {0};
	struct tp_err err = TP_ERR_INIT;
	struct tp_entry *e;
	TpOnnx__ModelProto *m;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i >> 4);
	onnx_source_add(&s, "a", TP_DTYPE_F32, SHAPE(1024), data, 4096);
	e = onnx_source_add(&s, "b", TP_DTYPE_F32, SHAPE(512), data, 2048);
	e->storage = 0;
	e->first = 512;
	s.m.n_storages = 1;
	onnx_source_add(&s, "c", TP_DTYPE_F32, SHAPE(512), data, 2048);

	write_ok(&s, &always);
	m = unpack();
	assert_external(m->graph->initializer[0], "0", "4096");
	assert_external(m->graph->initializer[1], "2048", "2048");
	assert_external(m->graph->initializer[2], "4096", "2048");
	drop(m);
	free(read_file(temp_path(&test_dir, "m.onnx.data"), &n));
	assert_int_equal(n, 6144);

	/* Inside the model they would be two tensors. */
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "m.onnx"), &s, NULL, &err),
	    TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "alias"));
	assert_non_null(strstr(err.msg, "'b'"));

	/* A part of a storage that is not shared may lie anywhere. */
	s = (struct onnx_source){0};
	e = onnx_source_add(&s, "b", TP_DTYPE_F32, SHAPE(512), data, 4096);
	e->nbytes = 2048;
	e->first = 256;
	write_ok(&s, NULL);
	m = unpack();
	assert_bytes(m->graph->initializer[0]->raw_data, data + 1024, 2048);
	drop(m);
	write_ok(&s, &always);
	m = unpack();
	assert_external(m->graph->initializer[0], "1024", "2048");
	drop(m);

	/* But not one that begins inside a byte. */
	s = (struct onnx_source){0};
	e = onnx_source_add(&s, "b", TP_DTYPE_I4, SHAPE(2), data, 2);
	e->nbytes = 1;
	e->first = 1;
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "m.onnx"), &s, NULL, &err),
	    TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "strides"));
}

static void
test_two_gigabytes(void **state)
{
	/* Only planned here: nothing so large is written. */
	const uint64_t huge = (uint64_t)1 << 31;
	struct tp_create_options options = never;
	struct tp_err err = TP_ERR_INIT;
	struct tp_writer *w = NULL;
	struct onnx_source s = {0};
	const size_t *order;
	size_t n;

	(void)state;
	options.format = "onnx";
	options.force = true;
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(536870912), NULL, huge);
	onnx_source_add(&s, "b", TP_DTYPE_U8, SHAPE(1), "b", 1);
	assert_int_equal(tp_create(temp_path(&test_dir, "big.onnx"), &s.m,
			     &options, &w, &err),
	    TP_EUNSUPPORTED);
	assert_null(w);
	assert_non_null(strstr(err.msg, "2 GiB"));
	assert_int_equal(access(temp_path(&test_dir, "big.onnx"), F_OK), -1);

	options.external = TP_EXTERNAL_AUTO;
	assert_int_equal(tp_create(temp_path(&test_dir, "big.onnx"), &s.m,
			     &options, &w, &err),
	    TP_OK);
	assert_string_equal(
	    tp_writer_file(w, 1, NULL), temp_path(&test_dir, "big.onnx.data"));
	order = tp_writer_order(w, &n);
	assert_int_equal(n, 2);
	assert_int_equal(order[0], 1); /* inside first */
	tp_writer_free(w);

	/* Strings can lie nowhere else. */
	s.entries[0].dtype = TP_DTYPE_STRING;
	s.entries[0].n_elems = 1;
	s.entries[0].rank = 0;
	assert_int_equal(tp_create(temp_path(&test_dir, "big.onnx"), &s.m,
			     &options, &w, &err),
	    TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "2 GiB"));
}

static void
test_same_bytes(void **state)
{
	static uint8_t data[5000];
	struct onnx_source s = {0};
	char *first[2], *again[2];
	size_t n[2], n_again[2];

	(void)state;
	onnx_source_add(&s, "a", TP_DTYPE_U8, SHAPE(5000), data, 5000);
	onnx_source_add(&s, "b", TP_DTYPE_U8, SHAPE(50), data, 50);
	write_ok(&s, &always);
	first[0] = read_file(temp_path(&test_dir, "m.onnx"), &n[0]);
	first[1] = read_file(temp_path(&test_dir, "m.onnx.data"), &n[1]);
	write_ok(&s, &always);
	again[0] = read_file(temp_path(&test_dir, "m.onnx"), &n_again[0]);
	again[1] = read_file(temp_path(&test_dir, "m.onnx.data"), &n_again[1]);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(n[i], n_again[i]);
		assert_memory_equal(first[i], again[i], n[i]);
		free(first[i]);
		free(again[i]);
	}
}

static void
test_no_memory(void **state)
{
	static uint8_t data[2048];
	const struct tp_meta meta[] = {{TP_STR("k"), TP_STR("v")}};
	struct onnx_source s = {0};
	size_t n_files = temp_dir_count(&test_dir);
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	onnx_source_add(&s, "a", TP_DTYPE_U8, SHAPE(2048), data, 2048);
	onnx_source_add(&s, "b", TP_DTYPE_U8, SHAPE(50), data, 50);
	onnx_source_add(&s, "s", TP_DTYPE_STRING, SHAPE(1), data, 8);
	s.m.meta = meta;
	s.m.n_meta = 1;
	while (fail_alloc_next(&a, rc)) {
		struct tp_create_options options = always;

		options.alloc = &a.alloc;
		rc = onnx_write(
		    temp_path(&test_dir, "n.onnx"), &s, &options, NULL);
		assert_int_equal(
		    temp_dir_count(&test_dir), n_files + (rc ? 0 : 2));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_byte),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_dtypes),
	    cmocka_unit_test(test_what_cannot_be_held),
	    cmocka_unit_test(test_scalars_and_empty_tensors),
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_bad_strings),
	    cmocka_unit_test(test_sparse),
	    cmocka_unit_test(test_impossible_forms),
	    cmocka_unit_test(test_sparse_with_one_pattern),
	    cmocka_unit_test(test_external),
	    cmocka_unit_test(test_ties),
	    cmocka_unit_test(test_two_gigabytes),
	    cmocka_unit_test(test_same_bytes),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
