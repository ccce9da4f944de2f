#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh NAME.test - run one command-line test and judge it
#
#	NAME.test		a shell script, read by sh -eu after lib.sh
#	NAME.exit		its exit status; without the file: 0
#	NAME.stdout.exact	its standard output, byte by byte
#	NAME.stdout.glob	… or a pattern for all of it
#	NAME.stderr.exact	the same two for standard error
#	NAME.stderr.glob
#
# A stream with neither file must stay empty. In a pattern * stands for any
# text, newlines too, and ? for one character; nothing else is special.
#
# The script runs in a fresh folder, with the tools and the test-support
# programs first on PATH and with CORPUS naming tests/corpus. A temporary file
# that is still there at the end, of the tools' or in TMPDIR, fails the test.
# Status 77 skips it.
#
# ctest sets TP_BIN (a PATH of the programs) and CORPUS.
set -u

test=$(realpath "$1") || exit 1
base=${test%.test}
cli=$(dirname "$(realpath "$0")")
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-cli.XXXXXX") || exit 1
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

complain() {
	failed=1
	printf 'FAIL %s: %s\n' "$(basename "$test")" "$*"
}

# shellcheck disable=SC2016 # sh -c expands them
run_script() {
	mkdir "$work/dir" "$work/tmp" &&
	    cd "$work/dir" &&
	    env LC_ALL=C TZ=UTC TERM=dumb HOME="$work/dir" \
		TMPDIR="$work/tmp" CORPUS="$CORPUS" PATH="$TP_BIN:$PATH" \
		sh -eu -c '. "$1"; . "$2"' "$(basename "$test")" \
		"$cli/lib.sh" "$test" \
		>"$work/stdout" 2>"$work/stderr" </dev/null
}

# All of file $1 against the pattern in file $2.
matches_glob() {
	pattern=$(sed 's/[][\\]/\\&/g' "$2")
	# shellcheck disable=SC2254 # the pattern is meant
	case $(cat "$1") in
	$pattern) return 0 ;;
	*) return 1 ;;
	esac
}

check_stream() {
	if [ -e "$base.$1.exact" ]; then
		cmp -s "$work/$1" "$base.$1.exact" && return
		complain "$1 differs from $(basename "$base").$1.exact:"
		diff -u "$base.$1.exact" "$work/$1"
	elif [ -e "$base.$1.glob" ]; then
		matches_glob "$work/$1" "$base.$1.glob" && return
		complain "$1 does not match $(basename "$base").$1.glob:"
		diff -u "$base.$1.glob" "$work/$1"
	elif [ -s "$work/$1" ]; then
		complain "$1 should be empty:"
		cat "$work/$1"
	fi
}

check_status() {
	expected=0
	[ -e "$base.exit" ] && expected=$(cat "$base.exit")
	[ "$1" = "$expected" ] && return
	complain "exit status $1, expected $expected"
	cat "$work/stdout" "$work/stderr"
}

# The tools write NAME as .NAME.tp-part first; TMPDIR holds standard input.
check_leftovers() {
	left=$(find "$work/dir" -name '.*.tp-*'; find "$work/tmp" -type f)
	[ -z "$left" ] || complain "left behind: $left"
}

run_script
status=$?
if [ "$status" = 77 ]; then
	cat "$work/stdout" "$work/stderr"
	exit 77
fi
check_status "$status"
check_stream stdout
check_stream stderr
check_leftovers
exit "$failed"
