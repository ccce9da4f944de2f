/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_record.c - which codes have which scales, from metadata
 *
 * The form is drawn in quantize_record.c. It comes from a file: every name must
 * be an entry, and what does not fit is an error.
 */
#include "dequantize.h"

#include <inttypes.h>
#include <string.h>

#include "tp/shape.h"

#include "json.h"

#include "banned.h"

/* Members of the object of one tensor, at most. */
#define MAX_VALUES 16

static enum tp_status
bad(struct tp_err *err, struct tp_str tensor, const char *what)
{
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "metadata %s: tensor '%s': %s", TP_QUANTIZED_KEY, TP_BRIEF(tensor),
	    what);
}

static const char *
text_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* The entry that a member names, or TP_NONE if it does not. */
static size_t
entry_of(const struct tp_reader *r, const cJSON *object, const char *key)
{
	struct tp_str name;

	if (!tpi_json_text(
		cJSON_GetObjectItemCaseSensitive(object, key), &name))
		return TP_NONE;
	return tp_reader_find(r, name);
}

static bool
number_of(const cJSON *object, const char *key, uint64_t max, uint64_t *out)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return item && tpi_json_u64(item, out) && *out <= max;
}

static enum tp_status
read_info(const struct tp_reader *r, struct tp_str name, const cJSON *object,
    struct tp_quant_info *info, struct tp_err *err)
{
	const char *per = text_of(object, "per");
	uint64_t axis = 0;

	info->scale = entry_of(r, object, "scale");
	info->zero_point = entry_of(r, object, "zero_point");
	if (info->scale == TP_NONE)
		return bad(err, name, "its scale is no tensor of the file");
	if (info->zero_point == TP_NONE && text_of(object, "zero_point"))
		return bad(
		    err, name, "its zero point is no tensor of the file");
	for (int i = TP_PER_TENSOR; i <= TP_PER_BLOCK + 1; i++) {
		if (i > TP_PER_BLOCK)
			return bad(err, name, "\"per\" is not known");
		info->per = (enum tp_quant_per)i;
		if (per && !strcmp(per, tp_quant_per_name(info->per)))
			break;
	}
	if (info->per != TP_PER_TENSOR &&
	    !number_of(object, "axis", TP_MAX_RANK, &axis))
		return bad(err, name, "\"axis\" is missing or wrong");
	info->axis = (unsigned)axis;
	if (info->per == TP_PER_BLOCK &&
	    (!number_of(object, "block", INT64_MAX, &info->block) ||
		info->block == 0))
		return bad(err, name, "\"block\" is missing or wrong");
	return TP_OK;
}

static enum tp_status
read_tensor(const struct tp_reader *r, struct tp_str name, const cJSON *object,
    tpi_record_fn *fn, void *ctx, struct tp_err *err)
{
	const char *scheme = text_of(object, "scheme");
	const struct tp_scheme *s = scheme ? tp_scheme_find(scheme) : NULL;
	struct tp_quant_info info = {.per = TP_PER_TENSOR};
	size_t entry = tp_reader_find(r, name);
	enum tp_status rc;

	if (entry == TP_NONE)
		return bad(err, name, "it is no tensor of the file");
	if (!s || tp_reader_entry(r, entry)->dtype != s->dtype)
		return bad(err, name, "it is not of the scheme it should be");
	if (s->scale == TP_DTYPE_NONE)
		return fn(ctx, entry, NULL, err);
	rc = read_info(r, name, object, &info, err);
	return rc ? rc : fn(ctx, entry, &info, err);
}

static enum tp_status
read_tensors(struct tpi_json *j, const struct tp_reader *r, tpi_record_fn *fn,
    void *ctx, struct tp_err *err)
{
	enum tp_status rc = tpi_json_object(j, err);
	bool more = true;

	while (!rc) {
		struct tp_str name;
		const cJSON *object;

		rc = tpi_json_member(j, &more, &name, err);
		if (rc || !more)
			break;
		rc = tpi_json_take(j, MAX_VALUES, &object, err);
		if (!rc)
			rc = read_tensor(r, name, object, fn, ctx, err);
	}
	return rc;
}

static enum tp_status
read_version(struct tpi_json *j, struct tp_err *err)
{
	const cJSON *item;
	uint64_t version = 0;
	enum tp_status rc = tpi_json_take(j, 1, &item, err);

	if (!rc && (!tpi_json_u64(item, &version) || version != 1))
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "metadata %s: version %s, 1 is known", TP_QUANTIZED_KEY,
		    TPI_JSON_SHOW(item));
	return rc;
}

static enum tp_status
read_record(const struct tp_reader *r, struct tp_str text, tpi_record_fn *fn,
    void *ctx, struct tp_err *err)
{
	struct tpi_json j;
	enum tp_status rc =
	    tpi_json_init(&j, r->alloc, text.s, text.len, 0, err);
	bool more = true;

	if (rc)
		return rc;
	rc = tpi_json_object(&j, err);
	while (!rc) {
		struct tp_str key;

		rc = tpi_json_member(&j, &more, &key, err);
		if (rc || !more)
			break;
		if (!tp_str_cmp(key, TP_STR("version")))
			rc = read_version(&j, err);
		else if (!tp_str_cmp(key, TP_STR("tensors")))
			rc = read_tensors(&j, r, fn, ctx, err);
		else
			rc = tpi_json_skip(&j, err);
	}
	if (!rc)
		rc = tpi_json_end(&j, err);
	tpi_json_release(&j);
	return rc;
}

enum tp_status
tpi_dequantize_record(
    const struct tp_reader *r, tpi_record_fn *fn, void *ctx, struct tp_err *err)
{
	for (size_t i = 0; i < tp_reader_n_meta(r); i++) {
		const struct tp_meta *m = tp_reader_meta(r, i);

		if (!tp_str_cmp(m->key, TP_STR(TP_QUANTIZED_KEY)))
			return read_record(r, m->value, fn, ctx, err);
	}
	return TP_OK;
}

/* A tpi_record_fn: ctx is the reader. */
static enum tp_status
adopt(void *ctx, size_t entry, const struct tp_quant_info *info,
    struct tp_err *err)
{
	struct tp_reader *r = ctx;
	struct tp_quant_info told;

	if (!info || r->entries[entry].quant)
		return TP_OK;
	told = *info;
	told.in_graph = true;
	return tpi_reader_set_quant(r, entry, &told, err);
}

enum tp_status
tp_reader_adopt_quantizers(struct tp_reader *r, struct tp_err *err)
{
	return tpi_dequantize_record(r, adopt, r, err);
}
