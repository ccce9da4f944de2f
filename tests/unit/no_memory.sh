#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_memory.sh SOURCE TENSOR FORMATS - every public function has a line in the list
# of a test in which the heap fails
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/tp-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

# compare LIBRARY TEST
compare() {
	sh "$SOURCE/tests/support/declared.sh" "$SOURCE/$1" >"$work/declared"
	"$2" --list | sort >"$work/listed"
	[ -s "$work/declared" ] || {
		echo "no declaration found in $1"
		exit 1
	}
	diff -u "$work/declared" "$work/listed" || {
		echo "$1: - has no line in tests/unit/no_memory, + is declared" \
		    "nowhere, or twice in the list"
		exit 1
	}
	echo "$1: $(wc -l <"$work/listed") functions"
}

SOURCE=$1
compare libtensor "$2"
compare formats "$3"
