/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the schemes of --plan auto, one pass over the model for each */
#include "quantize/plan.h"

#include <string.h>

#include "tp/transfer.h"

#include "cli_file.h"
#include "cli_json.h"

/* Of two that are alike in size and error the first is taken. */
static const struct {
	const char *scheme;
	enum tp_quant_per per;
} candidates[] = {
    {"f16", TP_PER_TENSOR},
    {"bf16", TP_PER_TENSOR},
    {"int8", TP_PER_CHANNEL},
    {"int4", TP_PER_BLOCK},
};

bool
plan_is_auto(const struct plan_request *request)
{
	return request->from && !strcmp(request->from, "auto");
}

const char *
plan_check(const struct plan_request *request)
{
	bool targets = request->has_sqnr || request->max_nbytes;

	if (!plan_is_auto(request))
		return targets || request->save
			   ? "--target-sqnr, --target-size and --save-plan are "
			     "for --plan auto"
			   : NULL;
	return request->has_sqnr == (request->max_nbytes > 0)
		   ? "--plan auto wants one of --target-sqnr and --target-size"
		   : NULL;
}

/* Can the output hold what a scheme makes? */
static enum tp_status
check_format(struct tp_reader *quantized, const char *output,
    const char *format, struct tp_err *err)
{
	struct tp_transfer_options o = {
	    .create = {.format = format, .force = true},
	    .allow_loss = TP_LOSS_ALIAS,
	};
	struct tp_transfer *t = NULL;
	enum tp_status rc =
	    tp_transfer_plan(&quantized, 1, output, &o, &t, err);

	if (!rc)
		rc = tp_transfer_check(t, err);
	tp_transfer_free(t);
	return rc;
}

/* Offer one scheme. TP_EUNSUPPORTED: it is none for this model. */
static enum tp_status
offer(struct tp_reader *r, const struct tp_quantize_options *options,
    const char *output, const char *format, struct tp_plan *plan,
    struct tp_err *err)
{
	struct tp_reader *quantized = NULL;
	enum tp_status rc = tp_quantize_reader(r, options, &quantized, err);

	if (!rc)
		rc = check_format(quantized, output, format, err);
	if (!rc)
		rc = tp_plan_offer(plan, quantized, err);
	tp_close(quantized);
	return rc;
}

enum tp_status
plan_choose(const struct plan_request *request, struct tp_reader *r,
    const struct tp_quantize_options *options, const char *output,
    const char *format, struct tp_plan *plan, struct tp_err *err)
{
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]);
	     i++) {
		struct tp_quantize_options o = *options;
		struct selection s = *(const struct selection *)options->ctx;
		enum tp_status rc;

		s.scheme = tp_scheme_find(candidates[i].scheme);
		s.per = candidates[i].per;
		s.symmetric = true;
		s.auto_axis = true;
		o.ctx = &s;
		o.measure_later = false;
		rc = offer(r, &o, output, format, plan, err);
		if (rc == TP_EUNSUPPORTED)
			cli_note("the plan does without %s: %s", s.scheme->name,
			    err->msg);
		else if (rc)
			return rc;
	}
	if (!request->has_sqnr)
		return tp_plan_fit(plan, request->max_nbytes, err);
	tp_plan_reach(plan, request->sqnr);
	return TP_OK;
}

/* A cli_put_fn */
static int
put_plan(FILE *out, void *ctx)
{
	struct tp_json j;

	tp_json_init(&j, cli_json_write, out, TP_JSON_PRETTY);
	tp_plan_write(ctx, &j);
	/* What could not be written the stream remembers. */
	(void)!tp_json_finish(&j);
	return 0;
}

enum tp_status
plan_save(struct tp_plan *plan, const char *path, struct tp_err *err)
{
	int errnum = cli_write_file(path, put_plan, plan);

	return errnum ? tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET, "%s",
			    strerror(errnum))
		      : TP_OK;
}
