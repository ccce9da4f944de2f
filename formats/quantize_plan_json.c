/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_plan_json.c - a plan as a file
 *
 *	{"version":1,"tensors":{
 *	    NAME:{"scheme":"keep"},
 *	    NAME:{"scheme":"f16"},
 *	    NAME:{"scheme":"int8","per":"channel","axis":0,"symmetric":true,
 *		"calibrate":"minmax"},
 *	    NAME:{"scheme":"int4","per":"block","axis":1,"block":32,…},…}}
 *
 * Every tensor of the model is in it once, and nothing is left out or added:
 * casts have a scheme only, and others what belongs to them.
 */
#include "quantize_plan.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "plugin.h"

#include "banned.h"

/* A plan of more is no plan. */
#define MAX_NBYTES ((uint64_t)256 << 20)

/* A tensor's object and its members. */
#define MAX_VALUES 16

#define KEEP "keep"

static const char *const calibrations[] = {
    [TP_CALIBRATE_MINMAX] = "minmax",
    [TP_CALIBRATE_MSE] = "mse",
};

/*
 * ---- writing ----
 */

static void
put_recipe(struct tp_json *j, const struct tp_recipe *p)
{
	tp_json_key(j, "scheme");
	tp_json_text(j, p->scheme ? p->scheme->name : KEEP);
	if (!p->scheme || p->scheme->scale == TP_DTYPE_NONE)
		return;
	tp_json_key(j, "per");
	tp_json_text(j, tp_quant_per_name(p->per));
	if (p->per != TP_PER_TENSOR) {
		tp_json_key(j, "axis");
		tp_json_u64(j, p->axis);
	}
	if (p->per == TP_PER_BLOCK) {
		tp_json_key(j, "block");
		tp_json_u64(j, p->block);
	}
	tp_json_key(j, "symmetric");
	tp_json_bool(j, p->symmetric);
	tp_json_key(j, "calibrate");
	tp_json_text(j, calibrations[p->calibrate]);
}

void
tp_plan_write(const struct tp_plan *p, struct tp_json *j)
{
	tp_json_object_begin(j);
	tp_json_key(j, "version");
	tp_json_u64(j, 1);
	tp_json_key(j, "tensors");
	tp_json_object_begin(j);
	for (size_t i = 0; i < p->n; i++) {
		tp_json_key_str(j, tp_reader_entry(p->r, i)->name);
		tp_json_object_begin(j);
		put_recipe(j, tp_plan_recipe(p, i));
		tp_json_object_end(j);
	}
	tp_json_object_end(j);
	tp_json_object_end(j);
}

/*
 * ---- reading ----
 */

/* The members of a tensor's object; NULL: not there. */
struct members {
	const cJSON *scheme, *per, *axis, *block, *symmetric, *calibrate;
};

static enum tp_status
bad(struct tp_err *err, struct tp_str name, const char *what)
{
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "tensor '%s': %s",
	    TP_BRIEF(name), what);
}

static enum tp_status
find_members(const cJSON *object, struct members *m, struct tp_str name,
    struct tp_err *err)
{
	const struct {
		const char *key;
		const cJSON **at;
	} keys[] = {{"scheme", &m->scheme}, {"per", &m->per},
	    {"axis", &m->axis}, {"block", &m->block},
	    {"symmetric", &m->symmetric}, {"calibrate", &m->calibrate}};
	const size_t n_keys = sizeof(keys) / sizeof(keys[0]);

	if (!cJSON_IsObject(object))
		return bad(err, name, "an object is expected");
	for (const cJSON *item = object->child; item; item = item->next) {
		size_t k = 0;

		while (k < n_keys && strcmp(item->string, keys[k].key) != 0)
			k++;
		if (k == n_keys)
			return bad(err, name, "an unknown key");
		if (*keys[k].at)
			return bad(err, name, "a key is there twice");
		*keys[k].at = item;
	}
	return TP_OK;
}

/* The place of a string among n names, or n. */
static size_t
place_of(const cJSON *item, const char *const *names, size_t n)
{
	size_t i = 0;

	while (i < n && !(cJSON_IsString(item) && names[i] &&
			    !strcmp(item->valuestring, names[i])))
		i++;
	return i;
}

/* What has scales: all that is expected, and nothing else. */
static enum tp_status
read_scaled(const struct members *m, const struct tp_entry *e,
    struct tp_recipe *p, struct tp_err *err)
{
	const char *pers[TP_PER_BLOCK + 1];
	uint64_t axis = 0;
	size_t k;

	for (int i = 0; i <= TP_PER_BLOCK; i++)
		pers[i] = tp_quant_per_name((enum tp_quant_per)i);
	k = place_of(m->per, pers, TP_PER_BLOCK + 1);
	if (k > TP_PER_BLOCK)
		return bad(err, e->name, "\"per\" is missing or wrong");
	p->per = (enum tp_quant_per)k;
	if (p->per == TP_PER_TENSOR
		? m->axis != NULL
		: !tpi_json_u64(m->axis, &axis) || axis >= e->rank)
		return bad(err, e->name, "\"axis\" is missing or wrong");
	p->axis = (unsigned)axis;
	if (p->per != TP_PER_BLOCK
		? m->block != NULL
		: !tpi_json_u64(m->block, &p->block) || p->block == 0)
		return bad(err, e->name, "\"block\" is missing or wrong");
	if (!cJSON_IsBool(m->symmetric))
		return bad(err, e->name, "\"symmetric\" is missing or wrong");
	p->symmetric = cJSON_IsTrue(m->symmetric);
	k = place_of(m->calibrate, calibrations,
	    sizeof(calibrations) / sizeof(calibrations[0]));
	if (k == sizeof(calibrations) / sizeof(calibrations[0]))
		return bad(err, e->name, "\"calibrate\" is missing or wrong");
	p->calibrate = (enum tp_calibrate)k;
	if (p->scheme->block && (p->block != p->scheme->block ||
				    !p->symmetric || p->axis + 1 != e->rank))
		return bad(err, e->name, "the scheme fixes axis and block");
	return TP_OK;
}

static enum tp_status
read_recipe(const cJSON *object, const struct tp_entry *e, struct tp_recipe *p,
    struct tp_err *err)
{
	struct members m = {.scheme = NULL};
	enum tp_status rc = find_members(object, &m, e->name, err);
	bool keep;

	if (rc)
		return rc;
	if (!cJSON_IsString(m.scheme))
		return bad(err, e->name, "\"scheme\" is missing or wrong");
	keep = !strcmp(m.scheme->valuestring, KEEP);
	*p = (struct tp_recipe){.why = keep ? "the plan keeps it" : NULL};
	if (!keep) {
		p->scheme = tp_scheme_find(m.scheme->valuestring);
		if (!p->scheme)
			return bad(err, e->name, "there is no such scheme");
		if (p->scheme->scale != TP_DTYPE_NONE)
			return read_scaled(&m, e, p, err);
	}
	if (m.per || m.axis || m.block || m.symmetric || m.calibrate)
		return bad(err, e->name, "the scheme has no such keys");
	return TP_OK;
}

static enum tp_status
read_tensors(struct tpi_json *j, struct tp_plan *plan, struct tp_err *err)
{
	enum tp_status rc = tpi_json_object(j, err);
	bool more = true;

	while (!rc) {
		struct tp_str name;
		const cJSON *object;
		struct tpi_plan_row *row;
		size_t i;

		rc = tpi_json_member(j, &more, &name, err);
		if (rc || !more)
			break;
		i = tp_reader_find(plan->r, name);
		if (i == TP_NONE)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "tensor '%s' is in the plan and not in the model",
			    TP_BRIEF(name));
		row = &plan->rows[i];
		if (row->is_read)
			return bad(err, name, "it is there twice");
		rc = tpi_json_take(j, MAX_VALUES, &object, err);
		if (!rc)
			rc = read_recipe(object, tp_reader_entry(plan->r, i),
			    &row->choices[0].recipe, err);
		row->n_choices = 1;
		row->chosen = 0;
		row->is_read = true;
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
		    "a plan of version %s, 1 is known", TPI_JSON_SHOW(item));
	return rc;
}

/* Every tensor has to be told of. */
static enum tp_status
check_complete(const struct tp_plan *plan, struct tp_err *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (!plan->rows[i].is_read)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "tensor '%s' of the model is not in the plan",
			    TP_BRIEF(tp_reader_entry(plan->r, i)->name));
	return TP_OK;
}

static enum tp_status
read_root(struct tpi_json *j, struct tp_plan *plan, struct tp_err *err)
{
	bool more = true, has_version = false, has_tensors = false;
	enum tp_status rc = tpi_json_object(j, err);

	while (!rc) {
		struct tp_str key;
		bool is_version;

		rc = tpi_json_member(j, &more, &key, err);
		if (rc || !more)
			break;
		is_version = !tp_str_cmp(key, TP_STR("version"));
		if (is_version ? has_version
			       : has_tensors ||
				     tp_str_cmp(key, TP_STR("tensors")) != 0)
			return tp_fail(err, TP_EFORMAT, tpi_json_at(j),
			    "a plan has \"version\" and \"tensors\", once, and "
			    "nothing else");
		has_version |= is_version;
		has_tensors |= !is_version;
		rc = is_version ? read_version(j, err)
				: read_tensors(j, plan, err);
	}
	if (!rc && (!has_version || !has_tensors))
		rc = tp_fail(err, TP_EFORMAT, 0,
		    "a plan has \"version\" and \"tensors\"");
	return rc ? rc : tpi_json_end(j, err);
}

enum tp_status
tpi_plan_parse(
    struct tp_plan *plan, const char *text, size_t n, struct tp_err *err)
{
	struct tpi_json j;
	enum tp_status rc = tpi_json_init(&j, plan->alloc, text, n, 0, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < plan->n; i++)
		plan->rows[i].is_read = false;
	rc = read_root(&j, plan, err);
	tpi_json_release(&j);
	return rc ? rc : check_complete(plan, err);
}

enum tp_status
tp_plan_read(struct tp_plan *plan, const char *path, struct tp_err *err)
{
	struct tpi_source *source = NULL;
	enum tp_status rc = tpi_source_open(plan->alloc, path, &source, err);
	char *text;
	size_t n;

	if (rc)
		return rc;
	if (source->size > MAX_NBYTES) {
		rc = tp_fail(err, TP_ELIMIT, 0,
		    "a plan of %" PRIu64 " bytes, the limit is %" PRIu64,
		    source->size, MAX_NBYTES);
		tpi_source_close(source);
		return rc;
	}
	n = (size_t)source->size;
	text = tp_mem_array(plan->alloc, n, 1);
	if (!text)
		rc = tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a plan");
	if (!rc)
		rc = tpi_source_read(source, 0, text, n, err);
	tpi_source_close(source);
	if (!rc)
		rc = tpi_plan_parse(plan, text, n, err);
	tp_mem_free(plan->alloc, text, n, 1);
	return rc;
}
