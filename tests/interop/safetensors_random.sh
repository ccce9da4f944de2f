#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# safetensors_random.sh BIN FOLDER - random files, good and damaged, judged by
# Python's json module
set -eu

command -v python3 >/dev/null || {
	echo "SKIPPED: python3 is not installed"
	exit 77
}
rm -rf "$2"
python3 "$(dirname "$0")/safetensors_random.py" \
	"$1/tests/interop/safetensors_rewrite" "$2"
rm -rf "$2"
