#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_testdata.sh BIN FOLDER - every model of libonnx-testdata: listed, then
# through native and through safetensors and back, with its content unchanged
#
# FOLDER keeps the results for onnx_testdata_python.
set -eu

bin=$1
folder=$2
models=/usr/share/libonnx-testdata/data

[ -d "$models" ] || {
	echo "SKIPPED: libonnx-testdata is not installed"
	exit 77
}
rm -rf "$folder"
mkdir -p "$folder"
find -L "$models" -name '*.onnx' | LC_ALL=C sort >"$folder/list"
[ "$(wc -l <"$folder/list")" -ge 1072 ] || {
	echo "only $(wc -l <"$folder/list") models in $models"
	exit 1
}

xargs "$bin/tools/tp-inspect" <"$folder/list" >"$folder/listing"
"$bin/tests/interop/roundtrip" "$folder" <"$folder/list"
