/* SPDX-License-Identifier: Apache-2.0 */
/* The native format: what goes in comes out, and the specification's example */
#include "support/cmocka_all.h"

#include <inttypes.h>

#include "tp/shape.h"

#include "support/fail_alloc.h"
#include "support/native_files.h"
#include "support/temp_dir.h"

static void
assert_str(struct tp_str got, struct tp_str want)
{
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.s, want.s, want.len);
}

static void
assert_quant(const struct tp_quant_info *got, const struct tp_quant_info *want)
{
	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(got->per, want->per);
	assert_int_equal(got->axis, want->axis);
	assert_int_equal(got->block, want->block);
	assert_int_equal(got->scale, want->scale);
	assert_int_equal(got->zero_point, want->zero_point);
	assert_int_equal(got->in_graph, want->in_graph);
}

static void
assert_entry(const struct tp_entry *got, const struct tp_entry *want)
{
	assert_str(got->name, want->name);
	assert_str(got->scope, want->scope);
	assert_str(got->local, want->local.s ? want->local : want->name);
	assert_int_equal(got->origin, want->origin);
	assert_int_equal(got->dtype, want->dtype);
	assert_int_equal(got->rank, want->rank);
	for (unsigned i = 0; i < want->rank; i++)
		assert_int_equal(got->shape[i], want->shape[i]);
	assert_int_equal(got->n_elems, want->n_elems);
	assert_int_equal(got->first, want->first);
	assert_int_equal(got->storage, want->storage);
	assert_int_equal(got->strides != NULL, want->strides != NULL);
	for (unsigned i = 0; want->strides && i < want->rank; i++)
		assert_int_equal(got->strides[i], want->strides[i]);
	assert_quant(got->quant, want->quant);
	assert_int_equal(got->sparse != NULL, want->sparse != NULL);
	if (want->sparse) {
		assert_int_equal(got->sparse->n_values, want->sparse->n_values);
		assert_int_equal(got->sparse->indices, want->sparse->indices);
		assert_int_equal(
		    got->sparse->coordinates, want->sparse->coordinates);
	}
}

/* All bytes of the stream equal; read in steps of an odd size. */
static void
assert_stream(struct tp_stream *s, const uint8_t *want, uint64_t nbytes)
{
	static uint8_t buf[70001];
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(tp_stream_nbytes(s), nbytes);
	while (tp_stream_left(s)) {
		uint64_t left = tp_stream_left(s);
		size_t n = left < sizeof(buf) ? (size_t)left : sizeof(buf);

		if (tp_stream_read(s, buf, n, &err))
			fail_msg("%s", err.msg);
		assert_memory_equal(buf, want, n);
		want += n;
	}
}

static void
assert_model(struct tp_reader *r, const struct native_model *n)
{
	struct tp_err err = TP_ERR_INIT;

	assert_string_equal(tp_format_name(tp_reader_format(r)), "native");
	assert_int_equal(tp_reader_n_entries(r), n->m.n_entries);
	assert_int_equal(tp_reader_n_storages(r), n->m.n_storages);
	assert_int_equal(tp_reader_n_meta(r), n->m.n_meta);
	assert_int_equal(tp_reader_n_attachments(r), n->m.n_attachments);
	for (size_t i = 0; i < n->m.n_entries; i++)
		assert_entry(tp_reader_entry(r, i), &n->m.entries[i]);
	for (size_t i = 0; i < n->m.n_storages; i++) {
		struct tp_stream *s = NULL;

		if (tp_stream_storage(r, i, &s, &err))
			fail_msg("%s", err.msg);
		assert_stream(s, n->data[i], n->m.storage_nbytes[i]);
		tp_stream_close(s);
	}
	for (size_t i = 0; i < n->m.n_meta; i++) {
		assert_str(tp_reader_meta(r, i)->key, n->m.meta[i].key);
		assert_str(tp_reader_meta(r, i)->value, n->m.meta[i].value);
	}
	for (size_t i = 0; i < n->m.n_attachments; i++) {
		struct tp_attachment a;

		if (tp_reader_attachment(r, i, &a, &err))
			fail_msg("%s", err.msg);
		assert_str(a.name, n->m.attachments[i].name);
		assert_int_equal(a.nbytes, n->m.attachments[i].nbytes);
		if (a.nbytes)
			assert_memory_equal(
			    a.data, n->m.attachments[i].data, a.nbytes);
	}
}

static void
round_trip(
    const struct native_model *n, const struct tp_create_options *options)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	const char *path = temp_path(&test_dir, "a.tpt");

	if (native_write(path, n, options, &err))
		fail_msg("%s", err.msg);
	if (tp_open(path, NULL, &r, &err))
		fail_msg("%s", err.msg);
	assert_model(r, n);
	tp_close(r);
}

/*
 * ---- dtypes ----
 */

#define MAX_N 9

/* What n elements take; a string is its length and as many bytes 'a'. */
static size_t
fill(uint8_t *p, enum tp_dtype dtype, size_t n)
{
	unsigned bits = tp_dtype_bits(dtype);
	size_t nbytes = (bits * n + 7) / 8;

	for (size_t i = 0; i < nbytes; i++)
		p[i] = (uint8_t)(i * 37 + (size_t)dtype * 11 + 1);
	if (nbytes && bits * n % 8)
		p[nbytes - 1] &= (uint8_t)((1u << bits * n % 8) - 1);
	if (dtype == TP_DTYPE_BOOL)
		for (size_t i = 0; i < n; i++)
			p[i] &= 1;
	for (size_t i = 0; dtype == TP_DTYPE_STRING && i < n; i++) {
		tp_put_le64(p + nbytes, i);
		memset(p + nbytes + 8, 'a', i);
		nbytes += 8 + i;
	}
	return nbytes;
}

static void
every_dtype_and_count(void **state)
{
	enum { N = TP_DTYPE_COUNT * (MAX_N + 2) };
	static uint8_t bytes[N][16 * MAX_N + 8];
	static char names[N][32];
	static int64_t shapes[N];
	static struct tp_entry entries[N];
	static uint64_t nbytes[N];
	static const void *data[N];
	struct native_model n = {.data = data};
	size_t k = 0;

	(void)state;
	for (int dtype = 1; dtype < TP_DTYPE_COUNT; dtype++)
		for (int64_t count = -1; count <= MAX_N; count++, k++) {
			struct tp_entry *e = &entries[k];

			/* -1 stands for a scalar. */
			shapes[k] = count;
			snprintf(names[k], sizeof(names[k]), "%s.%" PRId64,
			    tp_dtype_name((enum tp_dtype)dtype), count);
			e->name = tp_str(names[k]);
			e->dtype = (enum tp_dtype)dtype;
			e->rank = count < 0 ? 0 : 1;
			e->shape = &shapes[k];
			e->n_elems = count < 0 ? 1 : (uint64_t)count;
			e->storage = k;
			nbytes[k] =
			    fill(bytes[k], e->dtype, (size_t)e->n_elems);
			e->nbytes = nbytes[k];
			data[k] = bytes[k];
		}
	n.m = (struct tp_model){.entries = entries,
	    .n_entries = k,
	    .storage_nbytes = nbytes,
	    .n_storages = k};
	round_trip(&n, NULL);
	round_trip(&n, &(struct tp_create_options){.compress = 6});
	round_trip(&n, &(struct tp_create_options){.align = 4096});
}

/*
 * ---- everything at once ----
 */

#define NAME_4K 4096

/*
 * Tied weights, views, all kinds of quantizers, sparse tensors, names that are
 * hard to bear, metadata, attachments.
 */
static const struct native_model *
rich_model(void)
{
	static const float f32[24] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
	    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
	static uint8_t raw[96],
	    scales[16] = {0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128,
		64},
	    zeros[4] = {1, 2, 3, 4}, q[4 * 8], values[12] = {7, 8, 9},
	    indices[24] = {1}, coordinates[48] = {0};
	static char long_name[NAME_4K];
	static const int64_t s4x6[] = {4, 6}, s6x4[] = {6, 4}, s2[] = {2},
			     s24[] = {24}, s4[] = {4}, s4x8[] = {4, 8},
			     s10x10[] = {10, 10}, t6x4[] = {1, 6}, t2[] = {6},
			     back[] = {-1}, same[] = {0}, s0x3[] = {0, 3};
	static const struct tp_quant_info per_tensor = {.per = TP_PER_TENSOR,
					      .scale = 5,
					      .zero_point = TP_NONE},
					  per_channel = {.per = TP_PER_CHANNEL,
					      .axis = 0,
					      .scale = 6,
					      .zero_point = 7,
					      .in_graph = true},
					  per_block = {.per = TP_PER_BLOCK,
					      .axis = 1,
					      .block = 8,
					      .scale = 6,
					      .zero_point = TP_NONE};
	static const struct tp_sparse_info flat = {3, 5, false},
					   coords = {3, 6, true};
	static const uint64_t nbytes[] = {96, 16, 4, 32, 12, 24, 48, 0, 0, 4};
	static const void *const data[] = {
	    raw, scales, zeros, q, values, indices, coordinates, raw, raw, raw};
	static struct tp_entry e[] = {
	    {LIT("emb"), LIT(""), LIT("emb"), TP_ORIGIN_PLAIN, TP_DTYPE_F32, 2,
		s4x6, NULL, 24, 96, 0, 0, NULL, NULL},
	    {LIT("lm_head"), LIT(""), LIT("lm_head"), TP_ORIGIN_INITIALIZER,
		TP_DTYPE_F32, 2, s4x6, NULL, 24, 96, 0, 0, NULL, NULL},
	    {LIT("emb.T"), LIT(""), LIT("emb.T"), TP_ORIGIN_INITIALIZER,
		TP_DTYPE_F32, 2, s6x4, t6x4, 24, 96, 0, 0, NULL, NULL},
	    {LIT("backwards"), {NULL, 0}, {NULL, 0}, TP_ORIGIN_PLAIN,
		TP_DTYPE_F32, 1, s24, back, 24, 96, 0, 23, NULL, NULL},
	    {LIT("2.body/0.else_branch:w#2"), LIT("2.body/0.else_branch"),
		LIT("w"), TP_ORIGIN_CONSTANT, TP_DTYPE_F32, 1, s2, t2, 2, 8, 0,
		2, NULL, NULL},
	    {LIT("scale"), LIT(""), LIT("scale"), TP_ORIGIN_PLAIN, TP_DTYPE_F32,
		0, NULL, NULL, 1, 4, 1, 3, NULL, NULL},
	    {LIT("scales"), LIT(""), LIT("scales"), TP_ORIGIN_PLAIN,
		TP_DTYPE_F32, 1, s4, NULL, 4, 16, 1, 0, NULL, NULL},
	    {LIT("zeros"), LIT(""), LIT("zeros"), TP_ORIGIN_PLAIN, TP_DTYPE_I8,
		1, s4, NULL, 4, 4, 2, 0, NULL, NULL},
	    {LIT("q.tensor"), LIT(""), LIT("q.tensor"), TP_ORIGIN_PLAIN,
		TP_DTYPE_I8, 2, s4x8, NULL, 32, 32, 3, 0, &per_tensor, NULL},
	    {LIT("q.channel"), LIT(""), LIT("q.channel"), TP_ORIGIN_PLAIN,
		TP_DTYPE_I8, 2, s4x8, NULL, 32, 32, 3, 0, &per_channel, NULL},
	    {LIT("q.block"), LIT(""), LIT("q.block"), TP_ORIGIN_PLAIN,
		TP_DTYPE_U8, 2, s4x8, NULL, 32, 32, 3, 0, &per_block, NULL},
	    {LIT("sparse.flat"), LIT("s"), LIT("flat"), TP_ORIGIN_SPARSE,
		TP_DTYPE_F32, 2, s10x10, NULL, 100, 400, 4, 0, NULL, &flat},
	    {LIT("sparse.coords"), LIT("elsewhere"), LIT("other"),
		TP_ORIGIN_SPARSE, TP_DTYPE_F32, 2, s10x10, NULL, 100, 400, 4, 0,
		NULL, &coords},
	    {LIT(""), LIT(""), LIT(""), TP_ORIGIN_PLAIN, TP_DTYPE_F64, 2, s0x3,
		NULL, 0, 0, 7, 0, NULL, NULL},
	    {LIT("nul\0in\0it"), LIT(""), LIT("it"), TP_ORIGIN_PLAIN,
		TP_DTYPE_F32, 1, s4, same, 4, 16, 0, 5, NULL, NULL},
	    {LIT("\xf0\x9f\xa4\x97/../\" \\\n"), LIT("x\0y"),
		LIT("\xf0\x9f\xa4\x97"), TP_ORIGIN_PLAIN, TP_DTYPE_U8, 1, s4,
		NULL, 4, 4, 9, 0, NULL, NULL},
	    {{long_name, NAME_4K}, LIT(""), {long_name, NAME_4K},
		TP_ORIGIN_PLAIN, TP_DTYPE_U8, 1, s4, NULL, 4, 4, 9, 0, NULL,
		NULL},
	};
	static const struct tp_meta meta[] = {
	    {LIT("z"), LIT("last comes first")},
	    {LIT("format"), LIT("pt")},
	    {LIT(""), LIT("")},
	    {LIT("nul\0key"), LIT("nul\0\0value")},
	};
	static const struct tp_attachment attachments[] = {
	    {LIT("onnx.graph"), "any bytes \xff\xfe\0.", 14},
	    {LIT("empty"), "", 0},
	    {LIT(""), f32, sizeof(f32)},
	};
	static struct native_model n;

	memset(long_name, 'n', sizeof(long_name));
	for (size_t i = 0; i < 24; i++) {
		uint32_t bits;

		memcpy(&bits, &f32[i], 4);
		tp_put_le32(raw + 4 * i, bits);
	}
	for (size_t i = 0; i < sizeof(q); i++)
		q[i] = (uint8_t)(i * 9);
	tp_put_le64(indices + 8, 17);
	tp_put_le64(indices + 16, 99);
	for (size_t i = 0; i < 6; i++)
		tp_put_le64(coordinates + 8 * i, i);
	n.m = (struct tp_model){.entries = e,
	    .n_entries = COUNT_OF(e),
	    .storage_nbytes = nbytes,
	    .n_storages = COUNT_OF(nbytes),
	    .meta = meta,
	    .n_meta = COUNT_OF(meta),
	    .attachments = attachments,
	    .n_attachments = COUNT_OF(attachments)};
	n.data = data;
	return &n;
}

static void
everything_comes_back(void **state)
{
	(void)state;
	round_trip(rich_model(), NULL);
	for (int level = 1; level <= 9; level++)
		round_trip(rich_model(),
		    &(struct tp_create_options){.compress = level});
}

static void
values_of_views(void **state)
{
	const struct native_model *n = rich_model();
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	struct tp_stream *s = NULL;
	uint8_t want[96];

	(void)state;
	if (native_write(temp_path(&test_dir, "v.tpt"), n, NULL, &err) ||
	    tp_open(temp_path(&test_dir, "v.tpt"), NULL, &r, &err))
		fail_msg("%s", err.msg);

	/* emb.T[i][j] = emb[j][i] = 6 j + i */
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 4; j++)
			memcpy(want + 4 * (4 * i + j),
			    (const uint8_t *)n->data[0] + 4 * (6 * j + i), 4);
	assert_int_equal(tp_stream_entry(r, 2, &s, &err), TP_OK);
	assert_stream(s, want, 96);
	tp_stream_close(s);

	for (size_t i = 0; i < 24; i++)
		memcpy(want + 4 * i, (const uint8_t *)n->data[0] + 4 * (23 - i),
		    4);
	assert_int_equal(tp_stream_entry(r, 3, &s, &err), TP_OK);
	assert_stream(s, want, 96);
	tp_stream_close(s);
	tp_close(r);
}

static void
the_same_bytes_each_time(void **state)
{
	(void)state;
	for (int level = 0; level <= 6; level += 6) {
		const struct tp_create_options o = {.compress = level};
		uint8_t *a, *b;
		size_t na, nb;

		assert_int_equal(native_write(temp_path(&test_dir, "1.tpt"),
				     rich_model(), &o, NULL),
		    TP_OK);
		assert_int_equal(native_write(temp_path(&test_dir, "2.tpt"),
				     rich_model(), &o, NULL),
		    TP_OK);
		a = read_file(temp_path(&test_dir, "1.tpt"), &na);
		b = read_file(temp_path(&test_dir, "2.tpt"), &nb);
		assert_int_equal(na, nb);
		assert_memory_equal(a, b, na);
		free(a);
		free(b);
	}
}

static void
an_empty_model(void **state)
{
	const struct native_model n = {.data = NULL};

	(void)state;
	round_trip(&n, NULL);
	round_trip(&n, &(struct tp_create_options){.align = 65536});
}

static void
alignments(void **state)
{
	static const uint64_t wrong[] = {
	    1, 2, 4, 9, 65, 96, 131072, 65535, UINT64_MAX, UINT64_C(1) << 40};
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	for (uint64_t align = 8; align <= 65536; align *= 2) {
		const struct tp_create_options o = {.align = align};
		struct tp_reader *r = NULL;

		round_trip(rich_model(), &o);
		assert_int_equal(
		    tp_open(temp_path(&test_dir, "a.tpt"), NULL, &r, NULL),
		    TP_OK);
		for (size_t i = 0; i < tp_reader_n_storages(r); i++)
			assert_int_equal(
			    tp_reader_storage(r, i)->offset % align, 0);
		tp_close(r);
	}
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		const struct tp_create_options o = {.align = wrong[i]};

		assert_int_equal(native_write(temp_path(&test_dir, "w.tpt"),
				     rich_model(), &o, &err),
		    TP_EARG);
		assert_non_null(strstr(err.msg, "a power of two from 8"));
		assert_int_not_equal(
		    access(temp_path(&test_dir, "w.tpt"), F_OK), 0);
	}
}

/*
 * ---- deflated storages ----
 */

#define MIB ((size_t)1 << 20)

static void
deflated_storages(void **state)
{
	static uint8_t zeros[3 * MIB + 17], noise[2 * MIB + 1], mixed[4 * MIB];
	static const uint64_t nbytes[] = {
	    sizeof(zeros), sizeof(noise), sizeof(mixed), MIB, 1, 0};
	static const void *const data[] = {
	    zeros, noise, mixed, zeros, noise, noise};
	const struct tp_attachment a = {TP_STR("a"), zeros, sizeof(zeros)};
	const struct native_model n = {.m = {.storage_nbytes = nbytes,
					   .n_storages = COUNT_OF(nbytes),
					   .attachments = &a,
					   .n_attachments = 1},
	    .data = data};
	struct tp_reader *r = NULL;
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++) {
		x = x * UINT32_C(1664525) + UINT32_C(1013904223);
		noise[i] = (uint8_t)(x >> 24);
	}
	memcpy(mixed + MIB, noise, MIB);
	for (int level = 1; level <= 9; level += 4) {
		round_trip(&n, &(struct tp_create_options){.compress = level});
		assert_int_equal(
		    tp_open(temp_path(&test_dir, "a.tpt"), NULL, &r, NULL),
		    TP_OK);

		/* Noise does not shrink and stays mappable. */
		assert_int_equal(
		    tp_reader_storage(r, 0)->encoding, TP_ENC_ZLIB);
		assert_true(tp_reader_storage(r, 0)->stored_nbytes < MIB / 16);
		assert_int_equal(tp_reader_storage(r, 1)->encoding, TP_ENC_RAW);
		assert_int_equal(
		    tp_reader_storage(r, 2)->encoding, TP_ENC_ZLIB);
		assert_true(tp_reader_storage(r, 2)->stored_nbytes > MIB);
		assert_true(
		    tp_reader_storage(r, 2)->stored_nbytes < MIB + MIB / 8);
		assert_int_equal(tp_reader_storage(r, 4)->encoding, TP_ENC_RAW);
		assert_int_equal(tp_reader_storage(r, 5)->encoding, TP_ENC_RAW);
		tp_close(r);
	}
}

static void
levels_are_checked(void **state)
{
	static const int wrong[] = {-1, 10, 100};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		const struct tp_create_options o = {.compress = wrong[i]};

		assert_int_equal(native_write(temp_path(&test_dir, "w.tpt"),
				     rich_model(), &o, NULL),
		    TP_EARG);
	}
}

/*
 * ---- memory ----
 */

/* Everything that the reader can do with the file. */
static enum tp_status
use_file(const char *path, const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_open_options o = {.alloc = alloc};
	struct tp_reader *r = NULL;
	enum tp_status rc = tp_open(path, &o, &r, err);
	uint8_t buf[128];

	if (rc) {
		assert_null(r);
		return rc;
	}
	for (size_t i = 0; i < tp_reader_n_storages(r) && !rc; i++) {
		struct tp_stream *s = NULL;

		rc = tp_stream_storage(r, i, &s, err);
		while (!rc && tp_stream_left(s)) {
			uint64_t left = tp_stream_left(s);

			rc = tp_stream_read(
			    s, buf, left < 128 ? (size_t)left : 128, err);
		}
		tp_stream_close(s);
	}
	for (size_t i = 0; i < tp_reader_n_attachments(r) && !rc; i++) {
		struct tp_attachment a;

		rc = tp_reader_attachment(r, i, &a, err);
	}
	tp_close(r);
	return rc;
}

static void
without_memory(void **state)
{
	const char *path = temp_path(&test_dir, "m.tpt");
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	for (int level = 0; level <= 6; level += 6)
		for (int reading = 0; reading < 2; reading++)
			while (fail_alloc_next(&a, rc)) {
				struct tp_err err = TP_ERR_INIT;
				struct tp_create_options o = {
				    .compress = level};

				o.alloc = &a.alloc;
				rc = reading ? use_file(path, &a.alloc, &err)
					     : native_write(path, rich_model(),
						   &o, &err);
				assert_int_equal(err.status, rc);
			}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_dtype_and_count),
	    cmocka_unit_test(everything_comes_back),
	    cmocka_unit_test(values_of_views),
	    cmocka_unit_test(the_same_bytes_each_time),
	    cmocka_unit_test(an_empty_model),
	    cmocka_unit_test(alignments),
	    cmocka_unit_test(deflated_storages),
	    cmocka_unit_test(levels_are_checked),
	    cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
