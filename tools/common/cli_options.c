/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_options.c - from the table of options to getopt_long and into variables
 */
#include "cli.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/version.h"

#include "cli_start.h"
#include "text.h"

static const char *const when_names[] = {"auto", "always", "never", NULL};
static bool opt_help, opt_version;

struct cli_common cli_common = {.max_memory = UINT64_C(64) << 20};

const struct cli_option cli_common_options[] = {
    {CLI_HEADING, .help = "Common options"},
    {CLI_FLAG, 'h', "help", NULL, &opt_help, .help = "print this and exit"},
    {CLI_FLAG, 0, "version", NULL, &opt_version,
	.help = "print the version and exit"},
    {CLI_FLAG, 'q', "quiet", NULL, &cli_common.quiet,
	.help = "no notes and warnings, only errors"},
    {CLI_COUNT, 'v', "verbose", NULL, &cli_common.verbose, .help = "say more"},
    {CLI_FLAG, 0, "json", NULL, &cli_common.json,
	.help = "print one JSON document instead of text"},
    {CLI_INT, 0, "threads", "N", &cli_common.threads,
	.help = "use N threads (default: one a processor)", .min = 1,
	.max = 64},
    {CLI_SIZE, 0, "max-memory", "SIZE", &cli_common.max_memory,
	.help = "use at most about SIZE of memory for buffers (default 64M)",
	.min = 1 << 20, .max = INT64_MAX},
    {CLI_CHOICE, 0, "progress", "WHEN", &cli_common.progress,
	.help = "show progress: auto (on a terminal), always or never",
	.choices = when_names},
    {.kind = CLI_END},
};

/* More than any tool has; the codes of long options begin above all letters. */
#define MAX_OPTIONS 80
#define FIRST_CODE 1000

/* The tables that getopt_long wants, made from ours. */
struct parser {
	const struct cli_app *app;
	const struct cli_option *rows[MAX_OPTIONS];
	size_t n;
	struct option longs[MAX_OPTIONS + 1];
	char shorts[3 * MAX_OPTIONS + 3];
	FILE *talk;
};

static void
add_rows(struct parser *p, const struct cli_option *rows)
{
	char *s = p->shorts + strlen(p->shorts);

	for (const struct cli_option *o = rows; o->kind; o++) {
		if (o->kind == CLI_HEADING || p->n == MAX_OPTIONS)
			continue;
		p->longs[p->n] = (struct option){o->name,
		    !o->arg	 ? no_argument
		    : o->without ? optional_argument
				 : required_argument,
		    NULL, FIRST_CODE + (int)p->n};
		p->rows[p->n++] = o;
		if (!o->letter)
			continue;
		*s++ = (char)o->letter;
		if (o->arg)
			*s++ = ':';
		if (o->arg && o->without)
			*s++ = ':';
	}
	*s = '\0';
}

static const struct cli_option *
find_row(const struct parser *p, int code)
{
	if (code >= FIRST_CODE)
		return p->rows[code - FIRST_CODE];
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i]->letter == code)
			return p->rows[i];
	return NULL;
}

const char cli_no_memory[] = "out of memory";

/* One line of complaint, then where help is, if that can help. */
static int
complain(const struct parser *p, const char *what, const char *about,
    const char *why)
{
	fprintf(p->talk, "%s: ", p->app->name);
	cli_put_text(p->talk, tp_str(what));
	if (about) {
		putc('\'', p->talk);
		cli_put_text(p->talk, tp_str(about));
		putc('\'', p->talk);
	}
	if (why) {
		fputs(": ", p->talk);
		cli_put_text(p->talk, tp_str(why));
	}
	putc('\n', p->talk);
	if (what == cli_no_memory || why == cli_no_memory)
		return CLI_INPUT;
	fprintf(p->talk, "Try '%s --help'.\n", p->app->name);
	return CLI_USAGE;
}

/*
 * An option that getopt_long did not take: unknown, ambiguous, or `--flag=x`.
 */
static int
refuse(const struct parser *p, const char *word)
{
	char text[3] = {'-', 0, 0}, hint[96] = "";
	const char *name = word + 2;
	size_t len = strcspn(name, "="), n_begin = 0;
	const char *meant;

	if (optopt > 0 && optopt < FIRST_CODE) {
		text[1] = (char)optopt;
		return complain(p, "unknown option ", text, NULL);
	}
	if (optopt >= FIRST_CODE)
		return complain(p, "option takes no argument: ", word, NULL);
	for (size_t i = 0; i < p->n; i++)
		n_begin += !strncmp(p->rows[i]->name, name, len);
	if (n_begin > 1)
		return complain(p, "ambiguous option ", word, NULL);
	meant = cli_suggest(p->rows, p->n, name, len);
	if (meant)
		snprintf(hint, sizeof(hint), "did you mean '--%s'?", meant);
	return complain(p, "unknown option ", word, meant ? hint : NULL);
}

static const char *
append(struct cli_list *list, const struct cli_option *o, const char *text)
{
	struct cli_list_item *grown;

	grown = tp_mem_grow(
	    NULL, list->items, list->n, list->n + 1, sizeof(*grown));
	if (!grown)
		return cli_no_memory;
	list->items = grown;
	list->items[list->n++] = (struct cli_list_item){o, text};
	return NULL;
}

void
cli_list_release(struct cli_list *list)
{
	if (list->items)
		tp_mem_free(NULL, list->items, list->n, sizeof(list->items[0]));
	*list = (struct cli_list){0};
}

/* Put what was given where it belongs; NULL or what is wrong with it. */
static const char *
store(const struct cli_option *o, const char *text, char *why, size_t why_size)
{
	bool bounded = o->min || o->max;
	uint64_t size;
	int64_t number;
	size_t n;

	switch (o->kind) {
	case CLI_END:
	case CLI_HEADING:
		break;
	case CLI_FLAG:
		*(bool *)o->value = true;
		break;
	case CLI_COUNT:
		++*(int *)o->value;
		break;
	case CLI_STRING:
		*(const char **)o->value = text;
		break;
	case CLI_SIZE:
		if (!cli_size_parse(text, &size))
			return "not a size (a number, perhaps with K, M, G, "
			       "KB, "
			       "MB or GB)";
		if (bounded &&
		    (size < (uint64_t)o->min || size > (uint64_t)o->max)) {
			snprintf(why, why_size, "must be at least %lld",
			    (long long)o->min);
			return size < (uint64_t)o->min ? why : "too large";
		}
		*(uint64_t *)o->value = size;
		if (o->value == &cli_common.max_memory)
			cli_common.has_max_memory = true;
		break;
	case CLI_INT:
		if (!cli_int_parse(text, &number))
			return "not a whole number";
		if (bounded && (number < o->min || number > o->max)) {
			snprintf(why, why_size, "must be from %lld to %lld",
			    (long long)o->min, (long long)o->max);
			return why;
		}
		*(int64_t *)o->value = number;
		break;
	case CLI_CHOICE:
		for (int i = 0; o->choices[i]; i++)
			if (!strcmp(text, o->choices[i])) {
				*(int *)o->value = i;
				return NULL;
			}
		n = (size_t)snprintf(why, why_size, "must be one of");
		for (int i = 0; o->choices[i] && n < why_size; i++)
			n += (size_t)snprintf(why + n, why_size - n, "%s %s",
			    i ? "," : "", o->choices[i]);
		return why;
	case CLI_LIST:
		return append(o->value, o, text);
	case CLI_CALL:
		return o->call(o, text);
	}
	return NULL;
}

/* All options; the operands are then from optind on. */
static int
parse_options(struct parser *p, int argc, char **argv)
{
	char why[160], what[96];
	int code;

	optind = 0; /* start afresh */
	opterr = 0;
	for (;;) {
		const struct cli_option *o;
		const char *wrong;

		optopt = 0;
		code = getopt_long(argc, argv, p->shorts, p->longs, NULL);
		if (code == -1)
			return CLI_OK;
		if (code == '?')
			return refuse(p, argv[optind - 1]);
		if (code == ':')
			return complain(p,
			    "option needs an argument: ", argv[optind - 1],
			    NULL);
		o = find_row(p, code);
		assert(o);
		wrong =
		    store(o, optarg ? optarg : o->without, why, sizeof(why));
		if (!wrong)
			continue;
		snprintf(what, sizeof(what), "--%s ", o->name);
		return complain(p, what, optarg, wrong);
	}
}

static void
release_lists(const struct cli_option *rows)
{
	for (; rows->kind != CLI_END; rows++)
		if (rows->kind == CLI_LIST)
			cli_list_release(rows->value);
}

static bool
parse(
    struct parser *p, int argc, char **argv, FILE *out, int *first, int *status)
{
	const struct cli_app *app = p->app;
	FILE *talk = p->talk;
	const char *wrong;
	int n;

	/* '+' ends the options at the first operand. */
	snprintf(
	    p->shorts, sizeof(p->shorts), "%s", app->commands ? "+:" : ":");
	opt_help = opt_version = false;
	add_rows(p, app->options);
	add_rows(p, cli_common_options);
	*status = parse_options(p, argc, argv);
	if (*status != CLI_OK)
		return false;
	*first = optind;
	if (opt_help || opt_version) {
		if (opt_help)
			cli_help(app, out);
		else
			fprintf(out, "%s (tp-tools) %s\n", app->name,
			    TP_VERSION_STRING);
		return false;
	}
	n = argc - optind;
	if (n < app->min_args || (app->max_args && n > app->max_args)) {
		fprintf(talk, "%s: %s\n", app->name,
		    n < app->min_args ? "missing operand"
				      : "too many operands");
		cli_put_usage(app, talk);
		fprintf(talk, "Try '%s --help'.\n", app->name);
		*status = CLI_USAGE;
		return false;
	}
	wrong = app->check ? app->check() : NULL;
	if (wrong) {
		*status = complain(p, wrong, NULL, NULL);
		return false;
	}
	return true;
}

bool
cli_parse_to(const struct cli_app *app, int argc, char **argv, FILE *out,
    FILE *talk, int *first, int *status)
{
	struct parser p = {.app = app, .talk = talk};

	if (parse(&p, argc, argv, out, first, status))
		return true;
	release_lists(app->options);
	return false;
}

int
cli_parse(const struct cli_app *app, int argc, char **argv)
{
	int first, status;

	cli_set_program(app->name);
	cli_start();
	cli_watch_begin();
	if (!cli_parse_to(app, argc, argv, stdout, stderr, &first, &status)) {
		exit(cli_finish(status));
	}
	return first;
}
