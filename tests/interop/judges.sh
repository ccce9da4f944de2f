#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# judges.sh BIN - the judges of round trips notice one bit
set -eu

here=$(dirname "$(realpath "$0")")
bin=$1
model=/usr/share/libonnx-testdata/data/pytorch-converted/test_Linear/model.onnx

[ -e "$model" ] || {
	echo "SKIPPED: libonnx-testdata is not installed"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$model" same.onnx
cp "$model" other.onnx
# The middle of the file lies in the only large weight.
middle=$(($(wc -c <"$model") / 2))
byte=$(od -An -tu1 -j "$middle" -N 1 "$model" | tr -d ' ')
# shellcheck disable=SC2059 # the format is the byte
printf "\\$(printf %o $((byte ^ 1)))" |
    dd of=other.onnx bs=1 seek="$middle" conv=notrunc status=none

# expect STATUS COMMAND…
expect() {
	want=$1 got=0
	shift
	"$@" >log || got=$?
	[ "$got" = "$want" ] && return
	cat log
	echo "status $got, expected $want: $*"
	exit 1
}

expect 0 "$bin/tests/interop/onnx_same" "$model" same.onnx
expect 1 "$bin/tests/interop/onnx_same" "$model" other.onnx
if /usr/bin/python3 -c 'import onnx' 2>/dev/null; then
	printf '%s\t%s\n' "$model" same.onnx >same
	printf '%s\t%s\n' "$model" other.onnx >other
	expect 0 /usr/bin/python3 "$here/compare_onnx.py" same
	expect 1 /usr/bin/python3 "$here/compare_onnx.py" other
fi
