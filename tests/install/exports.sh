#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh - a shared library exports what its headers declare, nothing else
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Names that sanitizers and the coverage runtime add are not ours.
exported() {
	"$NM" -D --defined-only "$1" | awk '{ print $NF }' |
	    grep -vE '^(__|_init$|_fini$|mangle_path$)' | sort -u
}

compare() {
	sh "$SOURCE/tests/support/declared.sh" "$SOURCE/$1" >"$work/declared"
	exported "$BUILD/$1/$2" >"$work/exported"
	[ -s "$work/declared" ] || {
		echo "no declaration found in $1"
		exit 1
	}
	diff -u "$work/declared" "$work/exported" || {
		echo "$2: - is declared but not exported, + the reverse"
		exit 1
	}
	echo "$2: $(wc -l <"$work/exported") symbols"
}

compare libtensor libtensor.so
compare formats libtpformats.so
