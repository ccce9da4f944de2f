/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_bus.c - a mapped file that someone shortens
 *
 * Touching a page that is no longer in the file raises SIGBUS. There is no way
 * back from it, but an end with a message and a status that are right.
 */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

static char message[1024];
static size_t n_message;

static void
end_program(int signal_number)
{
	(void)signal_number;
	/* Only what is safe in a handler; nobody hears of a failure. */
	if (write(STDERR_FILENO, message, n_message) < 0)
		_exit(CLI_INPUT);
	_exit(CLI_INPUT);
}

void
cli_mapped(const char *path)
{
	struct sigaction action;
	FILE *f = fmemopen(message, sizeof(message), "w");

	if (!f)
		return;
	fprintf(f, "%s: ", cli_program());
	cli_put_text(f, tp_str(cli_path_text(path)));
	fputs(": cannot read: it became shorter meanwhile\n", f);
	fclose(f);
	n_message = strlen(message);
	memset(&action, 0, sizeof(action));
	action.sa_handler = end_program;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}
