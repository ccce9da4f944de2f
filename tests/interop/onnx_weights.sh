#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_weights.sh BIN FOLDER CORPUS - safetensors files as ONNX models without
# a graph, inside and outside the file, as Python's onnx package sees them
set -eu

bin=$1
folder=$2
corpus=$3

[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
rm -rf "$folder"
mkdir -p "$folder"
for file in "$corpus"/safetensors/*.safetensors \
	"${TP_TEST_DATA:-/nonexistent}"/models/*.safetensors; do
	name=$(basename "$file" .safetensors)
	# Broken on purpose, or of a dtype that ONNX lacks: nothing to compare.
	"$bin/tools/tp-convert" -q "$file" "$folder/$name.onnx" \
		2>/dev/null || continue
	"$bin/tools/tp-convert" -q --external-data always \
		--external-threshold 1 "$file" "$folder/$name.ext.onnx"
	printf '%s\t%s\n' "$file" "$folder/$name.onnx" \
		"$file" "$folder/$name.ext.onnx" >>"$folder/pairs"
done
/usr/bin/python3 "$(dirname "$0")/onnx_weights.py" "$folder/pairs"
rm -rf "$folder"
