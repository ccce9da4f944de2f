/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what every tool does the same way
 *
 * A tool is a table of options, a description and a main of ten lines:
 *
 *	for (int i = cli_parse(&app, argc, argv); i < argc; i++)
 *		rc = cli_worst(rc, inspect(argv[i]));
 *	return cli_finish(rc);
 *
 * A tool of several commands has an app for itself, whose operands begin with
 * the name of a command, and one for each command; see cli_run.
 *
 * The table serves getopt_long, --help and the test that holds the man page to
 * it. The options that all tools have (CLI_COMMON_OPTIONS) are added by itself
 * and end up in cli_common.
 *
 * SIGPIPE is ignored: a reader that goes away early makes writes fail, and
 * cli_finish turns that into CLI_OUTPUT without a word. A conversion is thus
 * never killed halfway because nobody reads its report.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/error.h"
#include "tp/macros.h"

/* Exit statuses; the worst of all files wins. */
enum cli_exit {
	CLI_OK = 0,
	CLI_DIFFERS = 1,     /* verify: a comparison or gate failed */
	CLI_USAGE = 2,	     /* the command line makes no sense */
	CLI_INPUT = 3,	     /* an input could not be read or is malformed */
	CLI_UNSUPPORTED = 4, /* asked for something that cannot be done */
	CLI_OUTPUT = 5,	     /* an output could not be written */
};

/*
 * ---- options ----
 */

enum cli_kind {
	CLI_END,
	CLI_HEADING, /* help: a line above a group of options */
	CLI_FLAG,    /* bool: set */
	CLI_COUNT,   /* int: one more each time */
	CLI_STRING,  /* const char * */
	CLI_SIZE,    /* uint64_t: bytes, K M G (1024) and KB MB GB (1000) */
	CLI_INT,     /* int64_t between min and max */
	CLI_CHOICE,  /* int: the place in choices */
	CLI_LIST,    /* struct cli_list: appended; repeatable */
	CLI_CALL,    /* call(option, text) */
};

struct cli_option {
	enum cli_kind kind;
	int letter; /* 0: has no short form */
	const char *name;
	const char *arg; /* what --help calls the argument; NULL: none */
	void *value;	 /* where it goes, of the type that kind says */
	const char *help;
	/* Not NULL: the argument may be left out (--name[=ARG]), and means
	 * this. */
	const char *without;
	int64_t min, max;	    /* CLI_INT, CLI_SIZE; both 0: any */
	const char *const *choices; /* CLI_CHOICE; NULL-terminated */
	/* CLI_CALL: NULL, or what is wrong with the text: a few words. */
	const char *(*call)(const struct cli_option *option, const char *text);
};

/* Arguments in the order of the command line; several options may share one. */
struct cli_list {
	struct cli_list_item {
		const struct cli_option *option; /* by which it came */
		const char *text;
	} * items;
	size_t n;
};
void cli_list_release(struct cli_list *list);

/*
 * What call and check return when there is no memory: the run ends with
 * CLI_INPUT then, since the command line may be right.
 */
extern const char cli_no_memory[];

struct cli_command;

struct cli_app {
	const char *name;     /* of a command: "tool command" */
	const char *synopsis; /* after the name; lines are separated by '\n' */
	const char *summary;  /* one paragraph; --help wraps it */
	const struct cli_option *options;
	int min_args, max_args; /* operands; max 0: any number */
	/* Not NULL: the first operand is one of these, and ends the options. */
	const struct cli_command *commands;
	/* Called when all is parsed: NULL, or what is wrong with the whole. */
	const char *(*check)(void);
};

/* A command of a tool; the list ends with a name of NULL. */
struct cli_command {
	const char *name;
	const char *help; /* a few words */
	const struct cli_app *app;
	/* argv[0 … n_args-1] are the operands. Returns the exit status. */
	int (*run)(int n_args, char **argv);
};

enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };

/* The options of all tools. */
struct cli_common {
	bool quiet;
	int verbose;
	bool json;
	int64_t threads;     /* 0: as many as there are processors */
	uint64_t max_memory; /* bytes, 64M unless said otherwise */
	bool has_max_memory; /* … which it was */
	int progress;	     /* enum cli_when */
};
extern struct cli_common cli_common;

/*
 * Parse, after making sure that descriptors 0, 1 and 2 are open. Operands are
 * moved behind the options; the index of the first is returned. Exits for
 * --help, --version and on a wrong command line (CLI_USAGE, with a hint).
 */
int cli_parse(const struct cli_app *app, int argc, char **argv);

/*
 * The same without exiting: false when the tool must end with *status. Text
 * goes to out and talk; *first is the first operand.
 */
bool cli_parse_to(const struct cli_app *app, int argc, char **argv, FILE *out,
    FILE *talk, int *first, int *status);

/*
 * The whole run of a tool of several commands but for cli_finish: parse its
 * options, then those of the command, and run that.
 */
int cli_run(const struct cli_app *app, int argc, char **argv);

/* What --help prints, 80 columns wide. */
void cli_help(const struct cli_app *app, FILE *out);

/* Its first lines: "Usage: …". */
void cli_put_usage(const struct cli_app *app, FILE *out);

/* The option that name is most likely a misspelling of, or NULL. */
const char *cli_suggest(const struct cli_option *const *options, size_t n,
    const char *name, size_t len);

/* "64", "64K", "1.5G", "10MB": false if it is no size or does not fit. */
bool cli_size_parse(const char *text, uint64_t *out);
bool cli_int_parse(const char *text, int64_t *out);

/*
 * Is what --option says the name of a format, or NULL? NULL, or what is wrong
 * (good until the next call).
 */
const char *cli_format_check(const char *option, const char *name);

/* The options that every tool ends with. */
extern const struct cli_option cli_common_options[];

/*
 * ---- long jobs ----
 */

/*
 * From now on SIGINT, SIGTERM and SIGHUP (unless ignored) make cli_stopped true
 * instead of ending the program; a second one ends it. After cli_finish
 * cli_end_by_signal ends it as the signal would have.
 */
void cli_catch_signals(void);
bool cli_stopped(void);
void cli_end_by_signal(void);

/*
 * ---- messages and the end ----
 */

/* For the time before cli_parse, and for tests. */
void cli_set_program(const char *name);
const char *cli_program(void);

/* The path as messages call it: "-" is standard input. */
const char *cli_path_text(const char *path);

/* "program: text" on stderr. The text is escaped but for its last newline. */
void cli_message(const char *fmt, ...) TP_PRINTF(1, 2);
/* The same; silent with --quiet. */
void cli_note(const char *fmt, ...) TP_PRINTF(1, 2);
/* "program: path: text"; path "-" is called standard input. */
void cli_message_about(const char *path, const char *fmt, ...) TP_PRINTF(2, 3);
/* A tp_warn_fn: "program: path: warning: message", silent with --quiet. */
void cli_warn(void *ctx, const char *path, const char *message);

/*
 * "program: path: status at byte N: message" on stderr, escaped; path may be
 * NULL. Returns the exit status that belongs to it.
 */
int cli_report(const char *path, const struct tp_err *err);

/* "malformed file at byte 3: message" without program and file. */
void cli_put_error(FILE *out, const struct tp_err *err);

int cli_exit_of(enum tp_status status);
int cli_worst(int a, int b);

/* True once a write to stdout has failed: the rest need not be computed. */
bool cli_output_failed(void);

/*
 * The last act: flush and close stdout. A failed write is CLI_OUTPUT and said,
 * except for a closed pipe, which is CLI_OUTPUT in silence.
 */
int cli_finish(int status);

#endif
