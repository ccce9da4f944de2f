#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_rewrite.sh BIN FOLDER CORPUS - models written again in every layout:
# those of onnx-cases.tar.xz that are whole, and every seventh of
# libonnx-testdata (onnx_testdata.sh takes them all, in one layout)
set -eu

bin=$1
folder=$2
corpus=$3
models=/usr/share/libonnx-testdata/data

rm -rf "$folder"
mkdir -p "$folder/once" "$folder/twice"
tar -xJf "$corpus/onnx-cases.tar.xz" -C "$folder"
awk -F'\t' -v dir="$folder/onnx-cases/" '$2 == "ok" { print dir $1 }' \
	"$folder/onnx-cases/manifest.tsv" >"$folder/list"
[ "$(wc -l <"$folder/list")" -eq 104 ] || {
	echo "$(wc -l <"$folder/list") whole models in onnx-cases, expected 104"
	exit 1
}
if [ -d "$models" ]; then
	find -L "$models" -name '*.onnx' | LC_ALL=C sort |
		awk 'NR % 7 == 0' >>"$folder/list"
else
	echo "libonnx-testdata is not installed: only onnx-cases"
fi
"$bin/tests/interop/rewrite" "$folder" <"$folder/list"
rm -rf "$folder"
