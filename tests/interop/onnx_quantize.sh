#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_quantize.sh BIN FOLDER - models with narrowed weights, judged by Python's
# onnx package and computed with numpy; see onnx_quantize.py
set -eu

[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
rm -rf "$2"
mkdir -p "$2"
archive=${TP_TEST_DATA:-}/onnx-head-tests.tar.xz
if [ -e "$archive" ]; then
	tar -xJf "$archive" -C "$2" --wildcards '*/test_dequantizelinear*'
fi
exec /usr/bin/python3 "$(dirname "$0")/onnx_quantize.py" "$1/tools" "$2"
