#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_opsets.sh - the table of operators that change, by ONNX's own schemas;
# see onnx_opsets.py
set -eu

[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
here=$(dirname "$(realpath "$0")")
exec /usr/bin/python3 "$here/onnx_opsets.py" \
    "$here/../../formats/onnx_opsets.def"
