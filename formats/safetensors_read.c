/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_read.c - the header of one file, strictly
 *
 *	u64le N | N bytes of JSON, padded with spaces | tensor bytes
 *
 *	{"__metadata__": {"key": "value"},
 *	 "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Offsets count from the first tensor byte; the tensors must cover the rest of
 * the file exactly, in any order. No tensor byte is touched.
 */
#include "safetensors.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/shape.h"

#include "json.h"

#include "banned.h"

/* Parts of one "shape"; more dimensions than any tensor has. */
#define SHAPE_VALUES_MAX 1024

struct header {
	struct tp_reader *r;
	struct tpi_safetensors_set *set;
	size_t source;
	char *text;
	size_t text_size;
	uint64_t data_offset, data_nbytes; /* what lies behind the header */
	struct tpi_json json;
	bool has_metadata;
	struct tp_map keys; /* of this file's metadata, in a set */
	size_t first_entry;
	uint64_t next; /* where the tensors so far end, if in order */
	bool in_order;
};

/* A tensor while its members are read. */
struct info {
	struct tp_str name;
	uint64_t at; /* in the file, for messages */
	enum tp_dtype dtype;
	bool has_shape, has_offsets;
	unsigned rank;
	int64_t shape[TP_MAX_RANK];
	uint64_t begin, end;
};

static enum tp_status
read_text(struct header *h, struct tp_err *err)
{
	const struct tpi_source *src = h->r->sources[h->source];
	enum tp_status rc;
	uint8_t length[8];
	uint64_t n;

	if (src->size < 8)
		return tp_fail(err, TP_EFORMAT, 0,
		    "%" PRIu64 " bytes are too short for the length of a "
		    "safetensors header",
		    src->size);
	rc = tpi_source_read(src, 0, length, 8, err);
	if (rc)
		return rc;
	n = tp_le64(length);
	if (n > h->r->limits.header_bytes)
		return tp_fail(err, TP_ELIMIT, 0,
		    "header of %" PRIu64 " bytes, the limit is %" PRIu64, n,
		    h->r->limits.header_bytes);
	if (n > src->size - 8)
		return tp_fail(err, TP_EFORMAT, 0,
		    "header of %" PRIu64 " bytes in a file of %" PRIu64, n,
		    src->size);
	h->data_offset = 8 + n;
	h->data_nbytes = src->size - h->data_offset;
	h->text = tp_mem_array(h->r->alloc, (size_t)n, 1);
	if (!h->text)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a header of %" PRIu64 " bytes", n);
	h->text_size = (size_t)n;
	return tpi_source_read(src, 8, h->text, h->text_size, err);
}

static enum tp_status
read_dtype(struct header *h, struct info *t, struct tp_err *err)
{
	struct tp_str name = {0};
	enum tp_status rc;

	if (tpi_json_peek(&h->json) != '"')
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': dtype is %s, expected a string",
		    TP_BRIEF(t->name), tpi_json_kind(&h->json));
	rc = tpi_json_string(&h->json, &name, err);
	if (rc)
		return rc;
	t->dtype = tpi_safetensors_dtype_find(name);
	if (t->dtype == TP_DTYPE_NONE)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': safetensors has no dtype '%s'",
		    TP_BRIEF(t->name), TP_BRIEF(name));
	return TP_OK;
}

/*
 * The array of the member of that name could not be read: say why. *item is
 * the first that is no whole number, or NULL if they all are.
 */
static enum tp_status
look_at_array(struct header *h, const struct info *t, const char *member,
    const cJSON **array, const cJSON **item, struct tp_err *err)
{
	const cJSON *p;
	enum tp_status rc;
	uint64_t value;

	if (tpi_json_peek(&h->json) != '[')
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': %s is %s, expected an array",
		    TP_BRIEF(t->name), member, tpi_json_kind(&h->json));
	rc = tpi_json_take(&h->json, SHAPE_VALUES_MAX, array, err);
	if (rc)
		return rc;
	cJSON_ArrayForEach(p, *array) {
		if (!tpi_json_u64(p, &value))
			break;
	}
	*item = p;
	return TP_OK;
}

static enum tp_status
refuse_shape(struct header *h, const struct info *t, struct tp_err *err)
{
	const cJSON *array = NULL, *item = NULL;
	enum tp_status rc = look_at_array(h, t, "shape", &array, &item, err);

	if (rc)
		return rc;
	if (item)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': shape has %s, expected whole numbers below "
		    "2^64",
		    TP_BRIEF(t->name), TPI_JSON_SHOW(item));
	return tp_fail(err, TP_ELIMIT, t->at,
	    "tensor '%s': rank %d, the limit is %d", TP_BRIEF(t->name),
	    cJSON_GetArraySize(array), TP_MAX_RANK);
}

static enum tp_status
read_shape(struct header *h, struct info *t, struct tp_err *err)
{
	uint64_t sizes[TP_MAX_RANK];
	size_t rank = 0;

	if (!tpi_json_u64s(&h->json, sizes, TP_MAX_RANK, &rank))
		return refuse_shape(h, t, err);
	for (size_t i = 0; i < rank; i++) {
		if (sizes[i] > INT64_MAX)
			return tp_fail(err, TP_ELIMIT, t->at,
			    "tensor '%s': axis %zu has the size %" PRIu64
			    ", the limit is %" PRId64,
			    TP_BRIEF(t->name), i, sizes[i], INT64_MAX);
		t->shape[i] = (int64_t)sizes[i];
	}
	t->rank = (unsigned)rank;
	t->has_shape = true;
	return TP_OK;
}

static enum tp_status
refuse_offsets(struct header *h, const struct info *t, struct tp_err *err)
{
	const cJSON *array = NULL, *item = NULL;
	enum tp_status rc =
	    look_at_array(h, t, "data_offsets", &array, &item, err);

	if (rc)
		return rc;
	if (item)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': data_offsets has %s, expected whole numbers "
		    "below 2^64",
		    TP_BRIEF(t->name), TPI_JSON_SHOW(item));
	return tp_fail(err, TP_EFORMAT, t->at,
	    "tensor '%s': data_offsets has %d numbers, expected 2",
	    TP_BRIEF(t->name), cJSON_GetArraySize(array));
}

static enum tp_status
read_offsets(struct header *h, struct info *t, struct tp_err *err)
{
	uint64_t pair[2];
	const size_t begin = h->json.pos;
	size_t n = 0;

	if (!tpi_json_u64s(&h->json, pair, 2, &n) || n != 2) {
		h->json.pos = begin;
		return refuse_offsets(h, t, err);
	}
	t->begin = pair[0];
	t->end = pair[1];
	t->has_offsets = true;
	return TP_OK;
}

static enum tp_status
given_twice(
    const struct info *t, bool given, const char *member, struct tp_err *err)
{
	if (!given)
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, t->at, "tensor '%s': %s is given twice",
	    TP_BRIEF(t->name), member);
}

static bool
is(struct tp_str key, struct tp_str name)
{
	return key.len == name.len && !memcmp(key.s, name.s, name.len);
}

/* The members of a tensor, in any order; unknown ones are passed over. */
static enum tp_status
read_members(struct header *h, struct info *t, struct tp_err *err)
{
	enum tp_status rc;

	if (tpi_json_peek(&h->json) != '{')
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s' is %s, expected an object", TP_BRIEF(t->name),
		    tpi_json_kind(&h->json));
	rc = tpi_json_object(&h->json, err);
	while (!rc) {
		struct tp_str key = {0};
		bool more = false;

		rc = tpi_json_member(&h->json, &more, &key, err);
		if (rc || !more)
			break;
		if (is(key, TP_STR("dtype"))) {
			rc = given_twice(t, t->dtype, "dtype", err);
			rc = rc ? rc : read_dtype(h, t, err);
		} else if (is(key, TP_STR("shape"))) {
			rc = given_twice(t, t->has_shape, "shape", err);
			rc = rc ? rc : read_shape(h, t, err);
		} else if (is(key, TP_STR("data_offsets"))) {
			rc =
			    given_twice(t, t->has_offsets, "data_offsets", err);
			rc = rc ? rc : read_offsets(h, t, err);
		} else {
			rc = tpi_json_skip(&h->json, err);
		}
	}
	if (!rc && (!t->dtype || !t->has_shape || !t->has_offsets))
		rc = tp_fail(err, TP_EFORMAT, t->at, "tensor '%s' has no %s",
		    TP_BRIEF(t->name),
		    !t->dtype	    ? "dtype"
		    : !t->has_shape ? "shape"
				    : "data_offsets");
	return rc;
}

/* Dtype, shape and place must tell the same number of bytes. */
static enum tp_status
check_place(struct header *h, const struct info *t, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	uint64_t n_elems = 0, nbytes = 0;
	enum tp_status rc;

	rc = tp_shape_numel(t->shape, t->rank, &n_elems, &why);
	if (!rc)
		rc = tp_dtype_nbytes(t->dtype, n_elems, &nbytes, &why);
	if (rc)
		return tp_fail(err, TP_EFORMAT, t->at, "tensor '%s': %s",
		    TP_BRIEF(t->name), why.msg);
	if (n_elems % 8 * tp_dtype_bits(t->dtype) % 8)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': %" PRIu64 " elements of %s end inside a byte",
		    TP_BRIEF(t->name), n_elems,
		    tpi_safetensors_dtype_name(t->dtype));
	if (t->end < t->begin)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s' begins at %" PRIu64 " and ends at %" PRIu64,
		    TP_BRIEF(t->name), t->begin, t->end);
	if (t->end - t->begin != nbytes)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s': data_offsets give %" PRIu64
		    " bytes, %s of shape %s needs %" PRIu64,
		    TP_BRIEF(t->name), t->end - t->begin,
		    tpi_safetensors_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(t->shape, t->rank), nbytes);
	if (t->end > h->data_nbytes)
		return tp_fail(err, TP_EFORMAT, t->at,
		    "tensor '%s' ends at %" PRIu64 ", the data at %" PRIu64,
		    TP_BRIEF(t->name), t->end, h->data_nbytes);
	return TP_OK;
}

static enum tp_status
read_tensor(struct header *h, struct tp_str name, struct tp_err *err)
{
	struct info t;
	struct tp_storage_info storage = {.file = h->source};
	struct tp_entry entry = {.name = name};
	enum tp_status rc;

	/* Not all of it: the shape is as large as the rest of the work. */
	t.name = name;
	t.at = tpi_json_at(&h->json);
	t.dtype = TP_DTYPE_NONE;
	t.has_shape = t.has_offsets = false;
	rc = read_members(h, &t, err);
	if (!rc)
		rc = check_place(h, &t, err);
	if (!rc && h->set)
		rc = h->set->check(h->set, name, t.at, err);
	if (rc)
		return rc;

	storage.nbytes = storage.stored_nbytes = t.end - t.begin;
	storage.offset = h->data_offset + t.begin;
	rc = tpi_reader_add_storage(h->r, &storage, name, &entry.storage, err);
	if (rc)
		return rc;
	entry.dtype = t.dtype;
	entry.rank = t.rank;
	entry.shape = t.shape;
	rc = tpi_reader_add(h->r, &entry, t.at, err);
	h->in_order &= t.begin == h->next;
	h->next = t.end;
	return rc;
}

/*
 * One pair. The files of a shard set repeat their metadata, which must then say
 * the same.
 */
static enum tp_status
add_meta(struct header *h, struct tp_str key, struct tp_str value, uint64_t at,
    struct tp_err *err)
{
	struct tp_reader *r = h->r;
	size_t i = r->n_meta;
	enum tp_status rc;

	if (!h->set)
		return tpi_reader_add_meta(r, key, value, at, err);
	if (!tp_map_find(&r->meta_keys, key, &i)) {
		rc = tpi_reader_add_meta(r, key, value, at, err);
		if (rc)
			return rc;
	} else if (tp_str_cmp(r->meta[i].value, value)) {
		return tp_fail(err, TP_EFORMAT, at,
		    "metadata '%s' is '%s', an earlier shard has '%s'",
		    TP_BRIEF(key), TP_BRIEF(value), TP_BRIEF(r->meta[i].value));
	}
	rc = tp_map_add(&h->keys, r->meta[i].key, i, NULL, err);
	if (rc == TP_EARG)
		rc = tp_fail(err, TP_EFORMAT, at, "duplicate metadata key '%s'",
		    TP_BRIEF(key));
	return rc;
}

static enum tp_status
read_metadata(struct header *h, struct tp_err *err)
{
	uint64_t at = tpi_json_at(&h->json);
	enum tp_status rc;

	if (h->has_metadata)
		return tp_fail(
		    err, TP_EFORMAT, at, "__metadata__ is given twice");
	h->has_metadata = true;
	if (tpi_json_peek(&h->json) == 'n')
		return tpi_json_skip(&h->json, err);
	if (tpi_json_peek(&h->json) != '{')
		return tp_fail(err, TP_EFORMAT, at,
		    "__metadata__ is %s, expected an object",
		    tpi_json_kind(&h->json));

	rc = tpi_json_object(&h->json, err);
	while (!rc) {
		struct tp_str key = {0}, value = {0};
		bool more = false;

		rc = tpi_json_member(&h->json, &more, &key, err);
		if (rc || !more)
			break;
		at = tpi_json_at(&h->json);
		if (tpi_json_peek(&h->json) != '"')
			return tp_fail(err, TP_EFORMAT, at,
			    "metadata '%s' is %s, expected a string",
			    TP_BRIEF(key), tpi_json_kind(&h->json));
		rc = tpi_json_string(&h->json, &value, err);
		if (!rc)
			rc = add_meta(h, key, value, at, err);
	}
	return rc;
}

/* The tensors cover the data exactly; if they came in order that is seen. */
static enum tp_status
check_cover(const struct header *h, struct tp_err *err)
{
	uint64_t end = h->next;

	if (!h->in_order) {
		enum tp_status rc = tpi_safetensors_extents(
		    h->r, h->first_entry, h->data_offset, &end, err);

		if (rc)
			return rc;
	}
	if (end != h->data_nbytes)
		return tp_fail(err, TP_EFORMAT, h->data_offset + end,
		    "the tensors end at %" PRIu64 ", the data at %" PRIu64, end,
		    h->data_nbytes);
	return TP_OK;
}

/*
 * How many tensors the text can hold: each has a brace, and the shortest is
 *
 *	"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}
 */
static size_t
guess_tensors(const struct header *h)
{
	const char *p = h->text, *end = p + h->text_size;
	const size_t most = h->text_size / 49;
	size_t n = 0;

	while (n < most && (p = memchr(p, '{', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

static enum tp_status
read_header(struct header *h, struct tp_err *err)
{
	enum tp_status rc = read_text(h, err);

	if (!rc)
		rc = tpi_reader_reserve(h->r, guess_tensors(h), err);
	if (!rc)
		rc = tpi_json_init(
		    &h->json, h->r->alloc, h->text, h->text_size, 8, err);
	if (!rc)
		rc = tpi_json_object(&h->json, err);
	while (!rc) {
		struct tp_str key = {0};
		bool more = false;

		rc = tpi_json_member(&h->json, &more, &key, err);
		if (rc || !more)
			break;
		if (is(key, TP_STR("__metadata__")))
			rc = read_metadata(h, err);
		else
			rc = read_tensor(h, key, err);
	}
	if (!rc)
		rc = tpi_json_end(&h->json, err);
	return rc ? rc : check_cover(h, err);
}

enum tp_status
tpi_safetensors_read(struct tp_reader *r, size_t source,
    struct tpi_safetensors_set *set, uint64_t *data_nbytes, struct tp_err *err)
{
	struct header h = {
	    .r = r,
	    .set = set,
	    .source = source,
	    .first_entry = r->n_entries,
	    .in_order = true,
	};
	enum tp_status rc;

	tp_map_init(&h.keys, r->alloc);
	rc = read_header(&h, err);
	if (!rc && data_nbytes)
		*data_nbytes = h.data_nbytes;
	tpi_json_release(&h.json);
	tp_map_release(&h.keys);
	tp_mem_free(r->alloc, h.text, h.text_size, 1);
	return rc;
}
