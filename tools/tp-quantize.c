/* SPDX-License-Identifier: Apache-2.0 */
/* tp-quantize.c - a model with narrower weights, and what that costs */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize/quantize.h"
#include "untrusted.h"

/* --calibrate minmax|percentile:P|mse */
static const char *
parse_calibrate(const struct cli_option *option, const char *text)
{
	struct selection *selection = &quantize_options.selection;
	char *end;

	(void)option;
	quantize_options.calibrate = true;
	if (!strcmp(text, "minmax") || !strcmp(text, "mse")) {
		selection->calibrate = strcmp(text, "mse") ? TP_CALIBRATE_MINMAX
							   : TP_CALIBRATE_MSE;
		return NULL;
	}
	if (strncmp(text, "percentile:", 11))
		return "minmax, percentile:P or mse";
	selection->calibrate = TP_CALIBRATE_PERCENTILE;
	selection->percentile = strtod(text + 11, &end);
	if (end == text + 11 || *end || !(selection->percentile > 0) ||
	    selection->percentile > 100)
		return "a percentile is above 0 and at most 100";
	return NULL;
}

/* --target-sqnr DB */
static const char *
parse_sqnr(const struct cli_option *option, const char *text)
{
	struct plan_request *plan = &quantize_options.plan;
	char *end;

	(void)option;
	plan->sqnr = strtod(text, &end);
	plan->has_sqnr = true;
	return end == text || *end || !isfinite(plan->sqnr)
		   ? "a number of decibels"
		   : NULL;
}

/* In the order of the enums that the options become. */
static const char *const pers[] = {"tensor", "channel", "block", NULL};
static const char *const nonfinites[] = {"error", "keep-float", NULL};
static const char *const graph_dtypes[] = {"keep", "f16", NULL};

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Formats"},
    {CLI_STRING, 'f', "from", "FMT", &quantize_options.from,
	.help = "the format of the input, else told by its content"},
    {CLI_STRING, 't', "to", "FMT", &quantize_options.output.format,
	.help = "the format of the output, else told by its suffix"},

    {CLI_HEADING, .help = "Scheme"},
    {CLI_STRING, 's', "scheme", "SCHEME", &quantize_options.scheme,
	.help = "int8, uint8, int4, uint4, f16, bf16, f8e4m3, f8e5m2, q8_0 or q4_0"},
    {CLI_FLAG, 0, "dequantize", NULL, &quantize_options.dequantize,
	.help = "the reverse: make floats (f32) of what is quantized"},
    {CLI_CHOICE, 0, "per", "tensor|channel|block", &quantize_options.per,
	.help = "what has a scale of its own (default channel)", .choices = pers},
    {CLI_INT, 0, "axis", "N", &quantize_options.axis,
	.help = "the axis of channels and blocks; from the end if negative (default "
	"0, of blocks the last; in graphs as the consumers want it)", .min = -64, .max = 63},
    {CLI_INT, 0, "block", "N", &quantize_options.block,
	.help = "elements of a block (default 32)", .min = 1, .max = INT32_MAX},
    {CLI_FLAG, 0, "symmetric", NULL, &quantize_options.symmetric,
	.help = "zero is in the middle of the codes (default of int8 and int4)"},
    {CLI_FLAG, 0, "asymmetric", NULL, &quantize_options.asymmetric,
	.help = "zero is where the range wants it (default of uint8 and uint4)"},
    {CLI_CALL, 0, "calibrate", "minmax|percentile:P|mse",
	.call = parse_calibrate, .help =
	"the range that codes cover: of all values, of P percent of them, or where "
	"the squared error is least (default minmax)"},

    {CLI_CHOICE, 0, "graph-dtype", "keep|f16", &quantize_options.graph_dtype,
	.help = "of f16 in ONNX: cast weights back to what the graph computes with "
	"(default keep), or let it compute with f16", .choices = graph_dtypes},

    {CLI_HEADING, .help = "Plan"},
    {CLI_STRING, 0, "plan", "auto|FILE", &quantize_options.plan.from,
	.help = "in place of --scheme: for each tensor float, f16, bf16, int8 per "
	"channel or int4 per block, as the target wants it or FILE says"},
    {CLI_CALL, 0, "target-sqnr", "DB", .call = parse_sqnr,
	.help = "for auto: the smallest tensors of which each reaches DB decibels"},
    {CLI_SIZE, 0, "target-size", "SIZE", &quantize_options.plan.max_nbytes,
	.help = "for auto: the best worst tensor while all take SIZE at most, scales "
	"too, the file's header not", .min = 1, .max = INT64_MAX},
    {CLI_STRING, 0, "save-plan", "FILE", &quantize_options.plan.save,
	.help = "for auto: write the plan to FILE, which --plan takes"},

    {CLI_HEADING, .help = "Tensors"},
    CLI_FILTER_OPTIONS(quantize_options.selection.filter),
    {CLI_INT, 0, "min-elements", "N", &quantize_options.min_elements,
	.help = "keep tensors of fewer elements as they are (default 1024)",
	.min = 1, .max = INT64_MAX},
    {CLI_CHOICE, 0, "nonfinite", "error|keep-float", &quantize_options.nonfinite,
	.help = "what becomes of a tensor with a NaN or an infinity (default error)",
	.choices = nonfinites},
    {CLI_LIST, 0, "skip-if", "[GLOB=]METRIC<VALUE", &quantize_options.selection.skip.list,
	.help = "keep a tensor as it is whose sqnr, cosine, maxabs or saturated is "
	"below VALUE, or with > above it (repeatable)"},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_LIST, 0, "fail-if", "[GLOB=]METRIC<VALUE", &quantize_options.fail_if.list,
	.help = "write nothing and exit with 1 if that holds for a tensor (repeatable)"},
    {CLI_STRING, 0, "report", "FILE", &quantize_options.report,
	.help = "also write the JSON report to FILE"},
    CLI_OUTPUT_OPTIONS(quantize_options.output, "measure, report"),
    {.kind = CLI_END},
};
/* clang-format on */

static const struct cli_app app = {
    .name = "tp-quantize",
    .synopsis = "[options] INPUT OUTPUT",
    .summary =
	"Narrow the weights of a model and tell, for each tensor, what was "
	"lost. Floats of two and more axes are narrowed, all else is kept. "
	"From ONNX to ONNX the graph goes along. --dequantize makes floats "
	"again.",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .check = quantize_check_options,
};

int
main(int argc, char **argv)
{
	int first = cli_parse(&app, argc, argv);
	int rc = quantize(argv[first], argv[first + 1]);

	quantize_options_release();
	rc = cli_finish(rc);
	cli_end_by_signal();
	return rc;
}
