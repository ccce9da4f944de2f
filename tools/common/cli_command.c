/* SPDX-License-Identifier: Apache-2.0 */
/* cli_command.c - tools of several commands: `tool [options] command …` */
#include "cli.h"

#include <string.h>

#include "text.h"

static const struct cli_command *
find_command(const struct cli_app *app, const char *name)
{
	for (const struct cli_command *c = app->commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static int
refuse(const struct cli_app *app, const char *name)
{
	fprintf(stderr, "%s: unknown command '", app->name);
	cli_put_text(stderr, tp_str(name));
	fputs("': the commands are", stderr);
	for (const struct cli_command *c = app->commands; c->name; c++)
		fprintf(
		    stderr, "%s %s", c == app->commands ? "" : ",", c->name);
	fprintf(stderr, "\nTry '%s --help'.\n", app->name);
	return CLI_USAGE;
}

int
cli_run(const struct cli_app *app, int argc, char **argv)
{
	int first = cli_parse(app, argc, argv), operand, status;
	const struct cli_command *command = find_command(app, argv[first]);

	if (!command)
		return refuse(app, argv[first]);
	argc -= first;
	argv += first;
	if (!cli_parse_to(
		command->app, argc, argv, stdout, stderr, &operand, &status))
		return status;
	return command->run(argc - operand, argv + operand);
}
