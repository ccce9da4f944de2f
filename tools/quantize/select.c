/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - the command line applied to each tensor */
#include "quantize/select.h"

#include <string.h>

static bool
is_real(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_F16 || dtype == TP_DTYPE_BF16 ||
	       dtype == TP_DTYPE_F32 || dtype == TP_DTYPE_F64;
}

/* Why a scheme cannot be for a tensor, or NULL. */
static const char *
why_not(const struct tp_scheme *scheme, const struct tp_entry *e)
{
	if (!is_real(e->dtype))
		return "its numbers are no floats of 16 bits or more";
	if (e->sparse)
		return "it is sparse";
	if (e->n_elems == 0)
		return "it has no elements";
	if (tp_dtype_bits(e->dtype) <= tp_dtype_bits(scheme->dtype))
		return "it is not wider than the scheme";
	/* ggml's rows are whole blocks. */
	if (scheme->block &&
	    (e->rank == 0 || (uint64_t)e->shape[e->rank - 1] % scheme->block))
		return "its rows are not a multiple of the scheme's blocks";
	return NULL;
}

/* Why a tensor is kept as it is, or NULL. */
static const char *
why_kept(const struct selection *s, const struct tp_entry *e)
{
	if (!cli_filter_takes(&s->filter, e->name))
		return "it is left out by name";
	if (is_real(e->dtype) && !e->sparse && e->rank < 2)
		return "it has fewer than two axes";
	if (is_real(e->dtype) && !e->sparse && e->n_elems < s->min_elements)
		return "it has fewer elements than --min-elements says";
	if (s->per != TP_PER_TENSOR && s->scheme->scale != TP_DTYPE_NONE &&
	    !s->auto_axis && is_real(e->dtype) &&
	    (s->axis >= (int64_t)e->rank || s->axis < -(int64_t)e->rank))
		return "it has no such axis";
	return why_not(s->scheme, e);
}

/* What the plan says; the graph may know better by now. */
static enum tp_status
take_planned(const struct selection *s, const struct tp_entry *e,
    const struct tp_recipe *planned, struct tp_recipe *recipe,
    struct tp_err *err)
{
	const char *why = recipe->why;

	if (!planned->scheme) {
		recipe->why = why ? why : planned->why;
		return TP_OK;
	}
	if (!why)
		why = why_not(planned->scheme, e);
	if (why)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the plan narrows tensor '%s' to %s, but %s",
		    TP_BRIEF(e->name), planned->scheme->name, why);
	*recipe = *planned;
	recipe->keep_nonfinite = s->keep_nonfinite;
	return TP_OK;
}

enum tp_status
select_recipe(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	const struct selection *s = ctx;
	const struct tp_entry *e = tp_reader_entry(r, entry);
	const char *why;

	if (s->plan)
		return take_planned(
		    s, e, tp_plan_recipe(s->plan, entry), recipe, err);
	why = why_kept(s, e);
	if (why)
		recipe->why = why;
	if (recipe->why)
		return TP_OK;
	recipe->scheme = s->scheme;
	recipe->keep_nonfinite = s->keep_nonfinite;
	if (s->scheme->scale == TP_DTYPE_NONE)
		return TP_OK;
	recipe->symmetric = s->symmetric;
	recipe->per = s->per;
	recipe->calibrate = s->calibrate;
	recipe->percentile = s->percentile;
	if (s->per != TP_PER_TENSOR && s->auto_axis)
		recipe->axis = TP_AXIS_AUTO;
	else if (s->per != TP_PER_TENSOR)
		recipe->axis =
		    (unsigned)(s->axis < 0 ? s->axis + e->rank : s->axis);
	if (s->per == TP_PER_BLOCK)
		recipe->block = s->block;
	return TP_OK;
}

const char *
select_accept(void *ctx, const struct tp_quantized_item *item)
{
	const struct selection *s = ctx;

	return gates_hit(&s->skip, item) ? "--skip-if keeps it" : NULL;
}

enum tp_status
select_dequantize(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	const struct selection *s = ctx;

	(void)err;
	if (!cli_filter_takes(&s->filter, tp_reader_entry(r, entry)->name))
		recipe->why = "it is left out by name";
	return TP_OK;
}

static bool
ends_with(struct tp_str name, const char *suffix)
{
	size_t n = strlen(suffix);

	return name.len >= n && !memcmp(name.s + name.len - n, suffix, n);
}

const char *
select_foreign(const struct tp_reader *r, size_t *entry)
{
	static const struct {
		const char *suffix, *layout;
	} rows[] = {
	    {".qweight", "GPTQ or AWQ"},
	    {".qzeros", "GPTQ or AWQ"},
	    {".absmax", "bitsandbytes"},
	    {".quant_map", "bitsandbytes"},
	    {".SCB", "bitsandbytes"},
	    {".quant_state.bitsandbytes__nf4", "bitsandbytes"},
	    {".quant_state.bitsandbytes__fp4", "bitsandbytes"},
	};

	for (size_t i = 0; i < tp_reader_n_entries(r); i++)
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			if (ends_with(
				tp_reader_entry(r, i)->name, rows[k].suffix)) {
				*entry = i;
				return rows[k].layout;
			}
	return NULL;
}
