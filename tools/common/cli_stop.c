/* SPDX-License-Identifier: Apache-2.0 */
/* cli_stop.c - signals that ask a long job to end */
#include <signal.h>

#include "cli.h"

/* The signal that asks to stop; the work ends at its next step. */
static volatile sig_atomic_t stop_signal;

static void
on_signal(int sig)
{
	stop_signal = sig;
}

void
cli_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction sa;

		/* One that is ignored, as by nohup, stays so. */
		if (!sigaction(signals[i], NULL, &sa) &&
		    sa.sa_handler == SIG_IGN)
			continue;
		/* A second one kills, should the first go unheard. */
		sa = (struct sigaction){
		    .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
		sigemptyset(&sa.sa_mask);
		(void)sigaction(signals[i], &sa, NULL);
	}
}

bool
cli_stopped(void)
{
	return stop_signal != 0;
}

void
cli_end_by_signal(void)
{
	if (stop_signal)
		raise(stop_signal);
}
