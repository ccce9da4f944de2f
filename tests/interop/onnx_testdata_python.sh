#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_testdata_python.sh FOLDER - the results of onnx_testdata.sh as Python's
# onnx package sees them
set -eu

[ -s "$1/pairs" ] || {
	echo "SKIPPED: onnx_testdata has left nothing to compare"
	exit 77
}
[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
exec /usr/bin/python3 "$(dirname "$0")/compare_onnx.py" "$1/pairs"
