/* SPDX-License-Identifier: Apache-2.0 */
/* cli_help.c - the text of --help, from the same table that is parsed */
#include "cli.h"

#include <string.h>

#define WIDTH 80
#define HELP_COLUMN 26

/* Words from column on, continued at indent. */
static void
put_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
	bool first = true;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (!first && column + 1 + n > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		if (!first) {
			putc(' ', out);
			column++;
		}
		fwrite(text, 1, n, out);
		column += n;
		first = false;
		text += n;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

/*
 * Fill up to the column of explanations, which begin on a new line if need be.
 */
static void
put_help(FILE *out, size_t column, const char *help)
{
	if (column + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", (int)(HELP_COLUMN - column), "");
	put_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

static void
put_commands(FILE *out, const struct cli_command *commands)
{
	fputs("\nCommands:\n", out);
	for (const struct cli_command *c = commands; c->name; c++) {
		fprintf(out, "  %s", c->name);
		put_help(out, 2 + strlen(c->name), c->help);
	}
}

static void
put_option(FILE *out, const struct cli_option *o)
{
	char left[WIDTH + 1];
	int n;

	if (o->kind == CLI_HEADING) {
		fprintf(out, "\n%s:\n", o->help);
		return;
	}
	if (o->letter)
		n = snprintf(
		    left, sizeof(left), "  -%c, --%s", o->letter, o->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", o->name);
	if (o->arg && n > 0 && (size_t)n < sizeof(left))
		n += snprintf(left + n, sizeof(left) - (size_t)n,
		    o->without ? "[=%s]" : " %s", o->arg);
	fputs(left, out);
	put_help(out, (size_t)n, o->help);
}

void
cli_put_usage(const struct cli_app *app, FILE *out)
{
	const char *line = app->synopsis;
	const char *word = "Usage:";

	while (line) {
		const char *end = strchr(line, '\n');
		size_t n = end ? (size_t)(end - line) : strlen(line);

		fprintf(out, "%-6s %s %.*s\n", word, app->name, (int)n, line);
		word = "  or:";
		line = end ? end + 1 : NULL;
	}
}

void
cli_help(const struct cli_app *app, FILE *out)
{
	cli_put_usage(app, out);
	putc('\n', out);
	if (app->summary) {
		put_wrapped(out, app->summary, 0, 0);
		if (app->options->kind != CLI_HEADING && !app->commands)
			putc('\n', out);
	}
	if (app->commands)
		put_commands(out, app->commands);
	for (const struct cli_option *o = app->options; o->kind; o++)
		put_option(out, o);
	for (const struct cli_option *o = cli_common_options; o->kind; o++)
		put_option(out, o);
	fputs("\nSIZE is a number of bytes; K, M and G are powers of 1024, KB, "
	      "MB and GB of\n1000.\n",
	    out);
}
