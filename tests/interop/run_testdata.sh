#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_testdata.sh BIN - every test of Debian's libonnx-testdata is computed
set -eu

here=$(dirname "$(realpath "$0")")
data=/usr/share/libonnx-testdata/data

[ -d "$data" ] || {
	echo "SKIPPED: libonnx-testdata is not installed"
	exit 77
}
exec "$here/run_tests.sh" "$1" "$here/run/testdata" \
    "1072 tests: 1065 passed, 6 random, 1 expected to differ, 0 failed, 0 not run, 0 excluded" \
    "$data/node" "$data/simple" "$data/pytorch-converted" \
    "$data/pytorch-operator"
