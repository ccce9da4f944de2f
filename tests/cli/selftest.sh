#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# selftest.sh - the harness itself: run.sh must fail whatever it should fail
# shellcheck disable=SC2016 # the variables belong to the tests given
set -eu

cli=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TP_BIN="$work" CORPUS="$work"

# given FILE TEXT: a side file of the test t.
given() {
	printf '%b' "$2" >"t.$1"
}

# judge WHAT STATUS: run t, which must be judged so; then forget it.
judge() {
	got=0
	sh "$cli/run.sh" t.test >log 2>&1 || got=$?
	if [ "$got" != "$2" ]; then
		echo "$1: run.sh said $got, expected $2"
		cat log
		exit 1
	fi
	rm -f t.*
}

given test 'true\n'
judge "silence and success" 0
given test 'exit 3\n'
judge "a status that nobody expects" 1
given test 'exit 3\n'
given exit '3\n'
judge "the status expected" 0
given test 'true\n'
given exit '3\n'
judge "success where failure is expected" 1
given test 'false; exit 0\n'
judge "a failing line in the middle" 1
given test 'echo "$undefined_variable"\n'
judge "an undefined variable" 1

given test 'echo out\n'
judge "output that nobody expects" 1
given test 'echo err >&2\n'
judge "an error message that nobody expects" 1
given test 'echo out\n'
given stdout.exact 'out\n'
judge "exact output" 0
given test 'printf out\n'
given stdout.exact 'out\n'
judge "a missing newline" 1
given test 'echo "w [2, 3] \\\\n" >&2\n'
given stderr.glob '? [2, 3] *\n'
judge "a pattern with brackets" 0
given test 'echo "w 2" >&2\n'
given stderr.glob '? [2, 3] *\n'
judge "brackets are no set of characters" 1
given test 'echo one; echo two; echo three\n'
given stdout.glob 'one\n*three\n'
judge "a pattern across lines" 0
given test 'echo one; echo two\n'
given stdout.glob 'one\n*three\n'
judge "a pattern that does not match" 1
given test 'true\n'
given stdout.glob 'one*\n'
judge "nothing where a pattern expects something" 1

given test 'touch .out.tp-part\n'
judge "a temporary file left behind" 1
given test 'echo >"$TMPDIR/in"\n'
judge "a file left in TMPDIR" 1
given test 'mkdir d; touch d/f; chmod 0 d\n'
judge "a folder without permissions" 0
given test 'expect 2 sh -c "exit 2"; expect 0 true\n'
judge "expect" 0
given test 'expect 2 true\n'
judge "expect, disappointed" 1
given test 'skip "no reason"\n'
judge "skip" 77
given test 'need no-such-command\n'
judge "need" 77
