#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_tests.sh BIN LISTS SUMMARY FOLDER... - tp-verify run over tests of others
#
# LISTS.expect-fail, LISTS.tolerances are what the options of that name take.
# LISTS.unsupported names tests that cannot be run, and why: NAME REASON. Each
# of them must be "not run" and nothing else; all others must hold, so many that
# the summary is SUMMARY.
set -eu

bin=$1
lists=$2
summary=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed '/^#/d; s/[ 	].*//' "$lists.unsupported" >"$work/unsupported"
for folder; do
	find "$folder" -name model.onnx
done | sed 's|/model.onnx$||' | LC_ALL=C sort >"$work/all"

# One by one: a test that has come to hold must leave the list.
while read -r name; do
	folder=$(grep "/$name\$" "$work/all")
	status=0
	"$bin/tools/tp-verify" run "$folder" >"$work/one" || status=$?
	[ "$status" = 4 ] || {
		echo "$name is listed as unsupported, the exit status is $status"
		cat "$work/one"
		exit 1
	}
	set -- "$@" --exclude "$name"
	sed -n 1p "$work/one"
done <"$work/unsupported"

status=0
"$bin/tools/tp-verify" run --expect-fail "$lists.expect-fail" \
    --tolerances "$lists.tolerances" "$@" >"$work/out" || status=$?
grep -v ': random: ' "$work/out"
[ "$status" = 0 ] || exit 1
grep -qxF "$summary" "$work/out" || {
	echo "expected: $summary"
	exit 1
}
