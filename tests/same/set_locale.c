/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_locale.c - preloaded, makes any program one that asks for the locale of
 * the environment, as a program may that uses the libraries
 *
 * A locale that is not there ends the program with status 99: else a run under
 * the locale of C would pass for one under another.
 */
#include <locale.h>
#include <unistd.h>

#define SAY(text) ((void)!write(STDERR_FILENO, text, sizeof(text) - 1))

__attribute__((constructor)) static void
set_locale(void)
{
	if (!setlocale(LC_ALL, "")) {
		SAY("set_locale: there is no such locale\n");
		_exit(99);
	}
}
