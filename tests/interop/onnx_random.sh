#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_random.sh BIN FOLDER [SEED] - random models of Python's onnx package
set -eu

[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
exec /usr/bin/python3 "$(dirname "$0")/onnx_random.py" \
	"$1/tools/tp-convert" "$2" 25 "${3:-1}"
