/* SPDX-License-Identifier: Apache-2.0 */
/* tp-convert.c - one or more model files into one of another format */
#include <string.h>

#include "convert/convert.h"
#include "untrusted.h"

struct convert_options convert_options = {
    .constants = CONVERT_CONSTANTS_EXTRACT,
    .external_threshold = CONVERT_THRESHOLD,
};

/* --allow-loss KIND,KIND,… */
static const char *
parse_losses(const struct cli_option *option, const char *text)
{
	char word[32];

	(void)option;
	while (*text) {
		size_t n = strcspn(text, ",");
		unsigned kind = 0;

		if (n > 0 && n < sizeof(word)) {
			memcpy(word, text, n);
			word[n] = '\0';
			kind = tp_loss_find(word);
		}
		if (!kind)
			return "kinds are metadata, dtype, alias, name, "
			       "strides, quantization, sparse, all";
		convert_options.allow_loss |= kind;
		text += n + (text[n] == ',');
	}
	return NULL;
}

/* In the order of the enums that the options become. */
static const char *const overflows[] = {"error", "saturate", "inf", NULL};
static const char *const constants[] = {"keep", "extract", NULL};
static const char *const externals[] = {"auto", "always", "never", NULL};

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Formats"},
    {CLI_STRING, 'f', "from", "FMT", &convert_options.from,
	.help = "the format of the inputs, else told by their content"},
    {CLI_STRING, 't', "to", "FMT", &convert_options.output.format,
	.help = "the format of the output, else told by its suffix"},

    {CLI_HEADING, .help = "Tensors"},
    CLI_FILTER_OPTIONS(convert_options.rules.filter),
    {CLI_LIST, 'd', "dtype", "[GLOB=]TYPE", &convert_options.rules.dtype,
	.help = "convert tensors whose name matches GLOB to TYPE; without GLOB those "
	"of the same kind, for example all floats (repeatable, first match "
	"wins)"},
    {CLI_CHOICE, 0, "overflow", "error|saturate|inf", &convert_options.overflow,
	.help = "what becomes of values that TYPE cannot hold (default error)",
	.choices = overflows},
    {CLI_LIST, 0, "rename", "s/RE/NEW/|OLD=NEW", &convert_options.rules.rename,
	.help = "rename by regular expression or by name (repeatable, applied in "
	"order)"},
    {CLI_LIST, 0, "strip-prefix", "P", &convert_options.rules.rename,
	.help = "remove P from the beginning of names"},
    {CLI_LIST, 0, "add-prefix", "P", &convert_options.rules.rename,
	.help = "put P before all names"},
    {CLI_LIST, 0, "metadata", "K=V", &convert_options.metadata,
	.help = "set metadata K to V (repeatable)"},
    {CLI_FLAG, 0, "no-metadata", NULL, &convert_options.no_metadata,
	.help = "do not carry the inputs' metadata over"},
    {CLI_CALL, 0, "allow-loss", "KIND,...", .call = parse_losses, .help =
	"accept what the output cannot hold: metadata, dtype, alias, name, "
	"strides, quantization, sparse, all"},

    {CLI_HEADING, .help = "ONNX"},
    {CLI_STRING, 'g', "graph", "MODEL.onnx", &convert_options.graph,
	.help = "put the weights into the graph of MODEL.onnx"},
    {CLI_CHOICE, 0, "constants", "keep|extract", &convert_options.constants,
	.help = "whether Constant nodes count as weights (default extract)",
	.choices = constants},
    {CLI_CHOICE, 0, "external-data", "auto|always|never", &convert_options.external,
	.help = "store large tensors in a file beside the model (default auto: above "
	"2 GiB)", .choices = externals},
    {CLI_SIZE, 0, "external-threshold", "SIZE", &convert_options.external_threshold,
	.help = "tensors smaller than SIZE stay in the model (default 1024)"},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_SIZE, 0, "max-shard-size", "SIZE", &convert_options.max_shard_size,
	.help = "safetensors: write shards of at most SIZE and their index",
	.min = 1, .max = INT64_MAX},
    {CLI_SIZE, 0, "align", "N", &convert_options.align,
	.help = "begin tensor data at multiples of N bytes", .min = 1,
	.max = 65536},
    {CLI_INT, 'z', "compress", "LEVEL", &convert_options.compress,
	.help = "native: deflate tensor data (1 to 9, default 6)", .without = "6",
	.min = 1, .max = 9},
    CLI_OUTPUT_OPTIONS(convert_options.output, "print the plan"),
    {.kind = CLI_END},
};
/* clang-format on */

static const char *
check(void)
{
	const struct convert_options *o = &convert_options;
	const char *wrong = cli_format_check("from", o->from);

	if (!wrong)
		wrong = cli_format_check("to", o->output.format);
	if (!wrong)
		wrong = rules_parse(&convert_options.rules);
	if (wrong)
		return wrong;
	if (o->align & (o->align - 1))
		return "--align: not a power of two";
	for (size_t i = 0; i < o->metadata.n; i++)
		if (!strchr(o->metadata.items[i].text, '='))
			return "--metadata: no '=' between key and value";
	return NULL;
}

static const struct cli_app app = {
    .name = "tp-convert",
    .synopsis = "[options] INPUT... OUTPUT",
    .summary =
	"Convert model weights between formats. Several inputs become one "
	"output. What the output's format cannot hold is found before anything "
	"is written and refused unless --allow-loss accepts it.",
    .options = options,
    .min_args = 2,
    .check = check,
};

int
main(int argc, char **argv)
{
	int first = cli_parse(&app, argc, argv);
	int rc =
	    convert(argv + first, (size_t)(argc - 1 - first), argv[argc - 1]);

	rules_release(&convert_options.rules);
	cli_list_release(&convert_options.metadata);
	rc = cli_finish(rc);
	cli_end_by_signal();
	return rc;
}
