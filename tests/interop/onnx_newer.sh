#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_newer.sh BIN FOLDER - the same round trips for models of a newer ONNX:
# onnx-head-tests.tar.xz of the external test data
set -eu

bin=$1
folder=$2
archive=${TP_TEST_DATA:-}/onnx-head-tests.tar.xz

[ -e "$archive" ] || {
	echo "SKIPPED: TP_TEST_DATA has no onnx-head-tests.tar.xz"
	exit 77
}
rm -rf "$folder"
mkdir -p "$folder/models"
tar -xJf "$archive" -C "$folder/models" --wildcards '*/model.onnx'
find "$folder/models" -name model.onnx | LC_ALL=C sort >"$folder/list"
[ "$(wc -l <"$folder/list")" -ge 1800 ] || {
	echo "only $(wc -l <"$folder/list") models in the archive"
	exit 1
}

"$bin/tests/interop/roundtrip" "$folder" <"$folder/list"
rm -rf "$folder"
