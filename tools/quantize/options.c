/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - which options go together, and what they come to
 *
 * There are three ways to work, each with options that make no sense for the
 * others: --dequantize, --plan and --scheme.
 */
#include "quantize/quantize.h"

#include <stdio.h>

struct quantize_options quantize_options = {
    .per = QUANTIZE_UNSET,
    .axis = QUANTIZE_NO_AXIS,
    .block = QUANTIZE_UNSET,
    .min_elements = QUANTIZE_MIN_ELEMENTS,
    .graph_dtype = QUANTIZE_UNSET,
};

void
quantize_options_release(void)
{
	struct quantize_options *o = &quantize_options;

	gates_release(&o->selection.skip);
	gates_release(&o->fail_if);
	cli_list_release(&o->selection.filter.include);
	cli_list_release(&o->selection.filter.exclude);
}

/* How scales are shared and where zero is: all but the size of blocks. */
static bool
grouping_given(const struct quantize_options *o)
{
	return o->per >= 0 || o->symmetric || o->asymmetric ||
	       o->axis != QUANTIZE_NO_AXIS;
}

static bool
filter_given(const struct quantize_options *o)
{
	return o->selection.filter.include.n || o->selection.filter.exclude.n;
}

static uint64_t
block_or_usual(const struct quantize_options *o)
{
	return o->block >= 0 ? (uint64_t)o->block : QUANTIZE_BLOCK;
}

static const char *
check_dequantize(const struct quantize_options *o)
{
	if (o->graph_dtype >= 0 || o->scheme || grouping_given(o) ||
	    o->block >= 0 || o->calibrate || o->nonfinite ||
	    o->selection.skip.list.n || o->fail_if.list.n || o->plan.from)
		return "--dequantize takes what is there: schemes and gates "
		       "are for the other way";
	return NULL;
}

/* A plan takes the place of a scheme; a file, of all that chooses tensors. */
static const char *
check_plan(struct quantize_options *o)
{
	if (o->scheme || grouping_given(o) || o->graph_dtype >= 0)
		return "--plan chooses the scheme and what belongs to it";
	if (!plan_is_auto(&o->plan) &&
	    (o->calibrate || o->block >= 0 ||
		o->min_elements != QUANTIZE_MIN_ELEMENTS || filter_given(o)))
		return "--plan FILE says what becomes of every tensor";
	if (o->selection.calibrate == TP_CALIBRATE_PERCENTILE)
		return "--calibrate percentile:P is not for --plan";
	o->selection.block = block_or_usual(o);
	return NULL;
}

/* Options that the scheme leaves no choice about. */
static const char *
check_fixed(const struct quantize_options *o, const struct tp_scheme *s)
{
	bool given = grouping_given(o) || o->block >= 0;

	if (o->symmetric && o->asymmetric)
		return "--symmetric and --asymmetric exclude each other";
	if (s->scale == TP_DTYPE_NONE && (given || o->calibrate))
		return "--per, --axis, --block, --symmetric, --asymmetric and "
		       "--calibrate are for schemes with scales";
	if (s->block && given)
		return "q8_0 and q4_0 fix --per, --axis, --block and the sign";
	return NULL;
}

/* A graph that computes with f16 has all its weights so. */
static const char *
check_graph_dtype(const struct quantize_options *o, const struct tp_scheme *s)
{
	if (o->graph_dtype < 0)
		return NULL;
	if (s->dtype != TP_DTYPE_F16)
		return "--graph-dtype is for --scheme f16";
	if (o->graph_dtype == QUANTIZE_GRAPH_F16 &&
	    (filter_given(o) || o->selection.skip.list.n || o->nonfinite))
		return "--graph-dtype f16 is for all tensors: --include, "
		       "--exclude, --skip-if and --nonfinite keep-float are "
		       "not";
	return NULL;
}

/* Options that what has a scale of its own makes no use of. */
static const char *
check_per(const struct quantize_options *o, enum tp_quant_per per)
{
	if (o->block >= 0 && per != TP_PER_BLOCK)
		return "--block is for --per block";
	if (o->selection.calibrate == TP_CALIBRATE_PERCENTILE &&
	    per == TP_PER_BLOCK)
		return "--calibrate percentile:P is not for blocks";
	if (o->axis != QUANTIZE_NO_AXIS && per == TP_PER_TENSOR)
		return "--axis is for --per channel and --per block";
	return NULL;
}

static void
select_scheme(struct quantize_options *o, const struct tp_scheme *s,
    enum tp_quant_per per)
{
	struct selection *to = &o->selection;

	to->scheme = s;
	to->per = per;
	to->block = s->block ? s->block : block_or_usual(o);
	/* The rows of ggml's schemes are along the last axis. */
	to->auto_axis = o->axis == QUANTIZE_NO_AXIS && !s->block;
	to->axis = s->block ? -1 : o->axis;
	to->symmetric = o->symmetric || (s->symmetric && !o->asymmetric);
}

static const char *
find_scheme(const char *name, const struct tp_scheme **out)
{
	static char message[200];
	const struct tp_scheme *s;
	size_t n;

	if (!name)
		return "--scheme, --plan or --dequantize is missing";
	*out = tp_scheme_find(name);
	if (*out)
		return NULL;
	n = (size_t)snprintf(
	    message, sizeof(message), "--scheme: the schemes are");
	for (size_t i = 0; (s = tp_scheme_at(i)) && n < sizeof(message); i++)
		n += (size_t)snprintf(message + n, sizeof(message) - n, "%s %s",
		    i ? "," : "", s->name);
	return message;
}

static const char *
check_scheme(struct quantize_options *o)
{
	const struct tp_scheme *s = NULL;
	const char *wrong = find_scheme(o->scheme, &s);
	enum tp_quant_per per;

	if (wrong)
		return wrong;
	per = o->per >= 0 ? (enum tp_quant_per)o->per : s->per;
	wrong = check_fixed(o, s);
	if (!wrong)
		wrong = check_graph_dtype(o, s);
	if (!wrong)
		wrong = check_per(o, per);
	if (!wrong)
		select_scheme(o, s, per);
	return wrong;
}

/* Of the tensors, whatever the scheme is. */
static const char *
check_tensors(struct quantize_options *o)
{
	const char *wrong = gates_parse(&o->selection.skip);

	o->selection.min_elements = (uint64_t)o->min_elements;
	o->selection.keep_nonfinite = o->nonfinite == QUANTIZE_KEEP_FLOAT;
	if (!wrong)
		wrong = gates_parse(&o->fail_if);
	if (wrong) {
		gates_release(&o->selection.skip);
		gates_release(&o->fail_if);
	}
	return wrong;
}

const char *
quantize_check_options(void)
{
	struct quantize_options *o = &quantize_options;
	const char *wrong = plan_check(&o->plan);

	if (!wrong)
		wrong = cli_format_check("from", o->from);
	if (!wrong)
		wrong = cli_format_check("to", o->output.format);
	if (wrong)
		return wrong;
	if (o->dequantize)
		return check_dequantize(o);
	wrong = o->plan.from ? check_plan(o) : check_scheme(o);
	return wrong ? wrong : check_tensors(o);
}
