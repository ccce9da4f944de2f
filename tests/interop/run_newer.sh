#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_newer.sh BIN FOLDER - the tests of a newer ONNX, opsets up to 28, are
# computed: onnx-head-tests.tar.xz of the external test data
set -eu

here=$(dirname "$(realpath "$0")")
folder=$2
archive=${TP_TEST_DATA:-}/onnx-head-tests.tar.xz

[ -e "$archive" ] || {
	echo "SKIPPED: TP_TEST_DATA has no onnx-head-tests.tar.xz"
	exit 77
}
rm -rf "$folder"
mkdir -p "$folder"
tar -xJf "$archive" -C "$folder"
data=$(dirname "$(find "$folder" -type d -name node | head -n 1)")
"$here/run_tests.sh" "$1" "$here/run/newer" \
    "1863 tests: 1848 passed, 6 random, 0 expected to differ, 0 failed, 0 not run, 9 excluded" \
    "$data/node" "$data/simple" "$data/light"
rm -rf "$folder"
