/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_bus.c - a mapped file that someone shortens
 *
 * Touching a page that is no longer in the file raises SIGBUS, in whatever is
 * computing with the tensor at that moment. There is no way back from there,
 * but an end with a message and a status that are right. Which file it is the
 * kernel knows: /proc/self/maps has the name of each mapping. It is opened at
 * the start, since a sandbox may forbid that later.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tp/utf8.h"

#include "cli.h"
#include "cli_start.h"

/*
 * A line of the table:
 *
 *	7f0a5c000000-7f0a5c001000 r--p 00000000 fe:01 1234   /folder/name
 */
#define FIELDS_BEFORE_PATH 5
#define LINE_BYTES 8192

static int table = -1;

/* All is static: the stack may be small, and a handler must not allocate. */
static char line[LINE_BYTES], text[2 * LINE_BYTES];

static void
append(size_t *n, const char *s, size_t len)
{
	if (len > sizeof(text) - *n)
		len = sizeof(text) - *n;
	memcpy(text + *n, s, len);
	*n += len;
}

/* What a terminal might obey is shown as the numbers of its bytes. */
static void
append_escaped(size_t *n, const char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0, k; i < len; i += k) {
		uint32_t code = 0;

		k = tp_utf8_decode(s + i, len - i, &code);
		if (k && !tp_utf8_is_hidden(code)) {
			append(n, s + i, k);
			continue;
		}
		k = 1;
		append(n,
		    (const char[]){'\\', 'x', digits[(uint8_t)s[i] / 16],
			digits[(uint8_t)s[i] % 16]},
		    4);
	}
}

static uintptr_t
hex_number(const char **p)
{
	uintptr_t value = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			value = value * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uintptr_t)(c - 'a') + 10;
		else
			return value;
	}
}

/* The path in the line if it is about that address, else NULL. */
static const char *
path_of(uintptr_t address)
{
	const char *p = line;
	uintptr_t first = hex_number(&p), end;

	if (*p++ != '-')
		return NULL;
	end = hex_number(&p);
	if (address < first || address >= end)
		return NULL;
	for (int i = 1; i < FIELDS_BEFORE_PATH; i++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	p += strspn(p, " ");
	return *p == '/' ? p : NULL;
}

/* The path of what is mapped at an address, or NULL. */
static const char *
find_path(uintptr_t address)
{
	static char buf[4096];
	const char *path = NULL;
	size_t n = 0;
	ssize_t got;

	while (!path && (got = read(table, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < got && !path; i++) {
			if (buf[i] != '\n') {
				if (n < sizeof(line) - 1)
					line[n++] = buf[i];
				continue;
			}
			line[n] = '\0';
			n = 0;
			path = path_of(address);
		}
	return path;
}

static void
end_program(int signal_number, siginfo_t *info, void *context)
{
	static atomic_flag taken = ATOMIC_FLAG_INIT;
	static const char end[] = ": cannot read: it became shorter meanwhile, "
				  "or its disk fails\n";
	const char *path;
	size_t n = 0;

	(void)context;
	/* Another thread is about to end the program. */
	while (atomic_flag_test_and_set(&taken))
		(void)pause();
	path = find_path((uintptr_t)info->si_addr);
	if (!path && table >= 0) {
		/* No mapped file: touched once more, it ends as it would. */
		signal(signal_number, SIG_DFL);
		return;
	}
	append_escaped(&n, cli_program(), strlen(cli_program()));
	append(&n, ": ", 2);
	if (path)
		append_escaped(&n, path, strlen(path));
	else
		append(&n, "a mapped file", strlen("a mapped file"));
	append(&n, end, sizeof(end) - 1);
	/* Nobody hears of a failure. */
	if (write(STDERR_FILENO, text, n) < 0)
		_exit(CLI_INPUT);
	_exit(CLI_INPUT);
}

void
cli_watch_maps(void)
{
	struct sigaction action;

	table = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = end_program;
	action.sa_flags = SA_SIGINFO;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}
