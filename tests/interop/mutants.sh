#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutants.sh BIN COUNT - damaged models of libonnx-testdata and, where
# TP_TEST_DATA has them, of newer releases: each is computed or refused
set -eu

bin=$1
count=$2
models=/usr/share/libonnx-testdata/data
newer=${TP_TEST_DATA:-/nonexistent}/onnx-head-tests.tar.xz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -d "$models" ] || {
	echo "SKIPPED: libonnx-testdata is not installed"
	exit 77
}
find -L "$models" -name model.onnx >"$work/found"
if [ -f "$newer" ]; then
	tar -C "$work" -xf "$newer"
	find "$work" -name model.onnx >>"$work/found"
fi
# Weights of several megabytes have little to do with what is tested.
LC_ALL=C sort "$work/found" | xargs ls -Ld --time-style=+ -l |
	awk '$5 < 200000 { print $NF }' | sed 's,/model.onnx$,,' >"$work/list"
[ "$(wc -l <"$work/list")" -ge 900 ]
"$bin/tests/interop/mutants" "${TP_MUTANTS_SEED:-1}" 0 "$count" <"$work/list"
