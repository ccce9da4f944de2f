/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_native.c - native files, as schemas/native.md draws them */
#include "hostile_text.h"

#include <stdio.h>

#include <zlib.h>

#include "formats/crc32c.h"
#include "tp/endian.h"

struct native {
	struct text file, sections[5];
	size_t n_records[5];
};

enum { STORAGES, TENSORS, QUANTIZERS, METADATA, ATTACHMENTS };

static void
put_le(struct text *t, unsigned nbytes, uint64_t v)
{
	uint8_t b[8];

	tp_put_le64(b, v);
	put(t, b, nbytes);
}

static void
pad(struct text *t)
{
	put_zeros(t, (8 - t->n % 8) % 8);
}

/* A record of what is in body, which begins behind the size. */
static void
put_record(struct native *f, int section, const struct text *body)
{
	struct text *t = &f->sections[section];

	put_le(t, 4, (body->n + 4 + 7) / 8 * 8);
	put(t, body->b, body->n);
	pad(t);
	f->n_records[section]++;
}

#define BOMB ((size_t)15 << 20)

/* How a storage or an attachment of zeros lies in the file: in one piece. */
static void
put_extent(struct native *f, struct text *record, size_t nbytes, bool deflated)
{
	static uint8_t zeros[BOMB], packed[HOSTILE_BYTES];
	uLongf n = sizeof(packed);

	if (!deflated)
		n = (uLongf)nbytes;
	else if (compress2(packed, &n, zeros, (uLong)nbytes, 9) != Z_OK)
		abort();
	put_le(record, 4, deflated);
	put_le(record, 8, 64 + f->file.n);
	put_le(record, 8, n);
	put_le(record, 8, nbytes);
	put_le(record, 4, tpi_crc32c(0, zeros, nbytes));
	put_le(record, 4, deflated ? UINT32_C(1) << 26 : 0);
	put(&f->file, deflated ? packed : zeros, n);
	pad(&f->file);
}

/* The only piece, when it is deflated, is as large as all that is stored. */
static void
put_piece(struct text *record, bool deflated)
{
	if (deflated)
		put(record, record->b + 12, 4);
}

static void
add_storage(struct native *f, size_t nbytes, bool deflated)
{
	struct text record = {.n = 0};

	put_extent(f, &record, nbytes, deflated);
	put_piece(&record, deflated);
	put_record(f, STORAGES, &record);
}

static void
add_attachment(struct native *f, const char *name, size_t nbytes)
{
	struct text record = {.n = 0};

	put_extent(f, &record, nbytes, nbytes > 0);
	put_le(&record, 4, strlen(name));
	put_le(&record, 4, 0);
	put_piece(&record, nbytes > 0);
	put(&record, name, strlen(name));
	put_record(f, ATTACHMENTS, &record);
}

struct view {
	size_t storage;
	uint64_t first, n;
	const int64_t *stride;
	size_t indices; /* storage of them, 0: dense */
	uint32_t quantizer;
};

static void
add_tensor(struct native *f, const struct view *v)
{
	struct text record = {.n = 0};
	char name[24];
	int len = snprintf(name, sizeof(name), "%zx", f->n_records[TENSORS]);

	put_le(&record, 2, 7); /* i8 */
	put_le(&record, 1, 1); /* rank */
	put_le(&record, 1, 0);
	put_le(&record, 4, 16U | (v->stride ? 1U : 0) | (v->indices ? 2U : 0));
	put_le(&record, 4, v->storage);
	put_le(&record, 8, v->first);
	put_le(&record, 4, v->quantizer);
	put_le(&record, 4, (uint64_t)len);
	put_le(&record, 4, 0);
	put_le(&record, 4, (uint64_t)len);
	put_le(&record, 8, v->n);
	if (v->stride)
		put_le(&record, 8, (uint64_t)*v->stride);
	if (v->indices) {
		put_le(&record, 8, 1);
		put_le(&record, 8, v->indices);
	}
	put(&record, name, (size_t)len);
	put_record(f, TENSORS, &record);
}

/* Room for another record of so many bytes? */
static bool
fits(const struct native *f, size_t nbytes)
{
	size_t sum = 64 + f->file.n + 5 * 24 + 16;

	for (size_t i = 0; i < 5; i++)
		sum += f->sections[i].n;
	return sum + nbytes < HOSTILE_BYTES;
}

static void
finish(struct native *f, struct text *out)
{
	size_t dir = 64 + f->file.n;

	out->n = 0;
	put_zeros(out, 64);
	put(out, f->file.b, f->file.n);
	for (unsigned i = 0; i < 5; i++) {
		put_le(out, 4, i + 1);
		put_le(out, 4, 0);
		put_le(out, 8, f->n_records[i]);
		put_le(out, 8, f->sections[i].n);
		put(out, f->sections[i].b, f->sections[i].n);
	}
	memcpy(out->b, "\x89TPT\r\n\x1a\n\x04\x03\x02\x01\x01\0\0\0", 16);
	tp_put_le64(out->b + 16, out->n);
	tp_put_le64(out->b + 24, dir);
	tp_put_le64(out->b + 32, out->n - dir);
	tp_put_le32(out->b + 40, tpi_crc32c(0, out->b + dir, out->n - dir));
	tp_put_le32(out->b + 44, 8);
	tp_put_le32(out->b + 60, tpi_crc32c(0, out->b, 60));
}

#define NO_QUANTIZER UINT32_MAX

/* As many of one view as fit. */
static void
fill(struct native *f, struct view v)
{
	while (fits(f, 88))
		add_tensor(f, &v);
}

static void
tied(struct native *f)
{
	add_storage(f, 8, false);
	fill(f, (struct view){.n = 8, .quantizer = NO_QUANTIZER});
}

static void
empty(struct native *f)
{
	add_storage(f, 0, false);
	fill(f, (struct view){.n = 0, .quantizer = NO_QUANTIZER});
}

static void
repeated(struct native *f)
{
	static const int64_t still = 0;

	add_storage(f, 8, false);
	fill(f, (struct view){.n = UINT64_C(1) << 40,
		    .stride = &still,
		    .quantizer = NO_QUANTIZER});
}

static void
views(struct native *f)
{
	add_storage(f, 16384, false);
	fill(f, (struct view){.n = 16384, .quantizer = NO_QUANTIZER});
}

static void
backwards(struct native *f)
{
	static const int64_t back = -1;

	add_storage(f, 16384, false);
	fill(f, (struct view){.first = 16383,
		    .n = 16384,
		    .stride = &back,
		    .quantizer = NO_QUANTIZER});
}

static void
storages(struct native *f)
{
	for (size_t i = 0; fits(f, 144); i++) {
		add_storage(f, 8, false);
		add_tensor(
		    f, &(struct view){
			   .storage = i, .n = 8, .quantizer = NO_QUANTIZER});
	}
}

static void
bomb(struct native *f)
{
	add_storage(f, BOMB, true);
	add_tensor(f, &(struct view){.n = BOMB, .quantizer = NO_QUANTIZER});
}

static void
bomb_of_views(struct native *f)
{
	add_storage(f, BOMB, true);
	fill(f, (struct view){
		    .first = BOMB - 1, .n = 1, .quantizer = NO_QUANTIZER});
}

static void
sparse(struct native *f)
{
	add_storage(f, 8, false);
	add_storage(f, 8, false);
	add_tensor(f, &(struct view){.n = UINT64_C(1) << 40,
			  .indices = 1,
			  .quantizer = NO_QUANTIZER});
}

static void
quantizers(struct native *f)
{
	struct text record = {.n = 0};

	put_zeros(&record, 12);
	put_le(&record, 4, NO_QUANTIZER);
	put_zeros(&record, 12);
	add_storage(f, 8, false);
	for (uint32_t i = 0; fits(f, 144); i++) {
		add_tensor(f, &(struct view){.n = 8, .quantizer = i});
		put_record(f, QUANTIZERS, &record);
	}
}

static void
metadata(struct native *f)
{
	for (size_t i = 0; fits(f, 40); i++) {
		struct text record = {.n = 0};
		char key[24];
		int len = snprintf(key, sizeof(key), "%zx", i);

		put_le(&record, 4, (uint64_t)len);
		put_le(&record, 8, 0);
		put(&record, key, (size_t)len);
		put_record(f, METADATA, &record);
	}
}

static void
attachments(struct native *f)
{
	while (fits(f, 80))
		add_attachment(f, "a", 0);
}

static void
bomb_of_a_graph(struct native *f)
{
	add_attachment(f, "onnx.graph", BOMB);
}

static const struct {
	const char *name;
	void (*make)(struct native *f);
} natives[] = {
    {"tied tensors", tied},
    {"empty tensors", empty},
    {"an element repeated", repeated},
    {"views of all", views},
    {"views backwards", backwards},
    {"storages", storages},
    {"a bomb", bomb},
    {"views of a bomb", bomb_of_views},
    {"a huge sparse tensor", sparse},
    {"quantizers", quantizers},
    {"metadata", metadata},
    {"attachments", attachments},
    {"a graph that is a bomb", bomb_of_a_graph},
};

void
hostile_native(hostile_fn *fn)
{
	static struct native f;
	static struct text out;

	for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++) {
		memset(&f, 0, sizeof(f));
		natives[i].make(&f);
		finish(&f, &out);
		fn(natives[i].name, out.b, out.n);
	}
}
