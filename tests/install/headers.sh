#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh - every public header compiles alone, twice, as strict C11
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
for header in "$SOURCE"/libtensor/include/tp/*.h "$SOURCE"/formats/include/tp/*.h; do
	name=tp/$(basename "$header")
	printf '#include "%s"\n#include "%s"\nint x;\n' "$name" "$name" \
	    >"$work/one.c"
	"$CC" -std=c11 -Wall -Wextra -Wpedantic -Wundef -Wshadow -Wconversion \
	    -Wstrict-prototypes -Wcast-qual -Werror -fsyntax-only \
	    -I"$SOURCE/libtensor/include" -I"$SOURCE/formats/include" \
	    "$work/one.c" || {
		echo "$name is not self-contained"
		exit 1
	}
	n=$((n + 1))
done
[ "$n" -ge 15 ] || {
	echo "only $n headers found"
	exit 1
}
echo "$n headers"
