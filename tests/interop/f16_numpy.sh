#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# f16_numpy.sh CONVERT_RAW - every f16, and what rounds to them, against NumPy
set -eu

for python in python3 /usr/bin/python3; do
	"$python" -c 'import numpy' 2>/dev/null || continue
	# shellcheck disable=SC2093 # the first that has it, and no other
	exec "$python" "$(dirname "$0")/f16_numpy.py" "$1"
done
echo "SKIPPED: there is no Python with NumPy"
exit 77
