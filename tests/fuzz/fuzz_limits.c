/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_limits.c - what an input may take
 *
 * The promise: no operation on a file of at most 64 KB takes 100 ms of a
 * processor or 64 MiB more than there were. It is held to where nothing else is
 * counted with it: not under sanitizers, nor while coverage is measured
 * (TP_FUZZ_LIMITS). Processors are compared by a loop that takes a known time
 * on the slowest that counts as usual; slower ones have as much more. In an
 * emulator nothing is held to it (TP_EMULATED, set by emulate.sh). What goes
 * over must do so three times: the first may have been bad luck.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define INPUT_BYTES 65536
#define MOST_MS 100.0
#define MOST_KIB (64L * 1024)
#define ATTEMPTS 3

/* The loop, and what it takes. */
#define LOOP_BYTES (1 << 20)
#define LOOP_MS 3.0

static double
now_ms(void)
{
	struct timespec t;

	MUST(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t));
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* How many times slower than usual; 1 if it is not. */
static double
slowness(void)
{
	static double known;
	volatile uint32_t sink;

	if (known > 0)
		return known;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		double begin = now_ms(), ratio;
		uint32_t sum = 1;

		for (uint32_t i = 0; i < LOOP_BYTES; i++)
			sum = (sum ^ (i & 255)) * 16777619;
		sink = sum;
		(void)sink;
		ratio = (now_ms() - begin) / LOOP_MS;
		if (attempt == 0 || ratio < known)
			known = ratio;
	}
	known = known < 1 ? 1 : known;
	return known;
}

/* The most memory since the last call that forgot, in KiB. */
static long
peak_kib(bool forget)
{
	static int fd = -2;
	struct rusage u;

	if (fd == -2)
		fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (forget && (fd < 0 || write(fd, "5", 1) != 1))
		fd = -1;
	if (fd < 0 || getrusage(RUSAGE_SELF, &u))
		return 0;
	return u.ru_maxrss;
}

static struct {
	double ms;
	long kib;
} begun;

/* The current input went over, if what is set; and what was most so far. */
static struct {
	const char *what;
	struct fuzz_cost cost;
} over;
static struct fuzz_cost most;

void
fuzz_begin(void)
{
	begun.kib = peak_kib(true);
	begun.ms = now_ms();
}

void
fuzz_end(struct fuzz_cost *cost, const char *what)
{
	cost->ms += (now_ms() - begun.ms) / slowness();
	if (peak_kib(false) - begun.kib > cost->kib)
		cost->kib = peak_kib(false) - begun.kib;
	most.ms = cost->ms > most.ms ? cost->ms : most.ms;
	most.kib = cost->kib > most.kib ? cost->kib : most.kib;
	if (cost->ms < MOST_MS && cost->kib < MOST_KIB)
		return;
	over.what = what;
	over.cost = *cost;
}

struct fuzz_cost
fuzz_most(void)
{
	return most;
}

static bool
must_be_cheap(size_t n)
{
#ifdef TP_FUZZ_LIMITS
	return n <= INPUT_BYTES && !getenv("TP_EMULATED");
#else
	(void)n;
	return false;
#endif
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		over.what = NULL;
		fuzz_input(data, n);
		if (!over.what || !must_be_cheap(n))
			return 0;
	}
	fprintf(stderr, "broken: %s takes %.0f ms and %ld KiB\n", over.what,
	    over.cost.ms, over.cost.kib);
	abort();
}
