#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_checker.sh BIN FOLDER [SEED] - graphs with faults, beside onnx's checker
set -eu

[ -x /usr/bin/python3 ] || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
exec /usr/bin/python3 "$(dirname "$0")/onnx_checker.py" \
	"$1/tools/tp-verify" "$2" 270 "${3:-1}"
