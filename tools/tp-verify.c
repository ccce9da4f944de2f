/* SPDX-License-Identifier: Apache-2.0 */
/* tp-verify.c - decides whether a model may ship */
#include "cli.h"
#include "verify/check.h"
#include "verify/diff.h"
#include "verify/manifest.h"
#include "verify/op.h"
#include "verify/run.h"

static const struct cli_option options[] = {{.kind = CLI_END}};

static const struct cli_command commands[] = {
    {"check", "read every byte of models, and judge", &check_app, check_run},
    {"diff", "compare the tensors of two models", &diff_app, diff_run},
    {"manifest", "hashes of all tensors, in any format the same", &manifest_app,
	manifest_run},
    {"op", "run one operator on tensors from files", &op_app, op_run},
    {"ops", "list the reference operators", &ops_app, ops_run},
    {"run", "compute models, and compare with what is expected", &run_app,
	run_run},
    {.name = NULL},
};

static const struct cli_app app = {
    .name = "tp-verify",
    .synopsis = "COMMAND [options] ...",
    .summary =
	"Decide whether a model may ship. The exit status is 0 only when "
	"everything that was asked for was looked at and holds. "
	"'tp-verify COMMAND --help' tells about a command.",
    .options = options,
    .min_args = 1,
    .commands = commands,
};

int
main(int argc, char **argv)
{
	return cli_finish(cli_run(&app, argc, argv));
}
