# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# lib.sh - words for command-line tests; run.sh reads it before each script

# expect STATUS COMMAND…: the command must end with that exit status.
expect() {
	expect_want=$1
	shift
	expect_got=0
	"$@" || expect_got=$?
	[ "$expect_got" = "$expect_want" ] && return
	echo "exit status $expect_got, expected $expect_want: $*" >&2
	exit 1
}

# skip WHY: this machine cannot run the test.
skip() {
	echo "SKIPPED: $*"
	exit 77
}

# need COMMAND…: skip without them.
need() {
	for need_it; do
		command -v "$need_it" >/dev/null ||
		    skip "$need_it is not installed"
	done
}

# need_data PATH: skip unless TP_TEST_DATA has that file or folder.
need_data() {
	[ -n "${TP_TEST_DATA:-}" ] || skip "TP_TEST_DATA is not set"
	[ -e "$TP_TEST_DATA/$1" ] || skip "TP_TEST_DATA has no $1"
}
