#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual.sh - the programs in libtensor(3) compile and print what it says
set -eu

[ -z "$INSTRUMENTED" ] || {
	echo "SKIPPED: libraries built with $INSTRUMENTED need its runtime"
	exit 77
}

page=$SOURCE/man/libtensor.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cflags='-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'

# part WORDS: the display behind the comment with these words, as it is read.
part() {
	awk -v mark=".\\\\\" $1" '
		$0 == mark { found = 1; next }
		found && /^\.Bd/ { inside = 1; next }
		inside && /^\.Ed/ { exit }
		inside' "$page" | sed 's/\\e/\\/g; s/\\&//g'
}

# compile NAME LIBRARY…
compile() {
	name=$1
	shift
	part "program $name" >"$work/$name.c"
	[ "$(wc -l <"$work/$name.c")" -gt 30 ] || {
		echo "the manual has no program $name"
		exit 1
	}
	# shellcheck disable=SC2086 # a list of words
	"$CC" $cflags -I"$SOURCE/libtensor/include" \
	    -I"$SOURCE/formats/include" "$work/$name.c" -o "$work/$name" \
	    -L"$BUILD/formats" -L"$BUILD/libtensor" "$@"
}

for name in core gradient graph; do
	compile "$name" -ltensor
	part "output $name" >"$work/want"
	LD_LIBRARY_PATH=$BUILD/libtensor "$work/$name" >"$work/got"
	diff "$work/want" "$work/got"
	echo "$name: ok"
done

compile files -ltpformats -ltensor
printf '\100\0\0\0\0\0\0\0%-64s\0\0\200\77\0\0\0\100' \
    '{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' \
    >"$work/x.safetensors"
LD_LIBRARY_PATH=$BUILD/formats:$BUILD/libtensor \
    "$work/files" "$work/x.safetensors" >"$work/got"
echo 'x f32 [2] 2' | diff - "$work/got"
! LD_LIBRARY_PATH=$BUILD/formats:$BUILD/libtensor \
    "$work/files" "$work/files.c" 2>"$work/got" || exit 1
grep -q 'files.c: not a file of a format known here' "$work/got"
echo "files: ok"
