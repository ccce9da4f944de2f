#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page.sh NAME=1,3,H,W OUT.safetensors - an input of f32 that shows a white page
# (2) with lines of black letters (-2), as far as a network that looks for text
# can tell; the same as in onnxruntime.js
set -eu

name=${1%%=*}
sizes=${1#*=}
rest=${sizes#*,*,}
height=${rest%,*}
width=${rest#*,}

# A byte, in octal.
byte() {
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\$(printf %03o "$1")"
}

json="{\"$name\":{\"dtype\":\"F32\",\"shape\":[$sizes],"
json="$json\"data_offsets\":[0,$((12 * height * width))]}}"
{
	byte $((${#json} % 256))
	byte $((${#json} / 256))
	printf '\0\0\0\0\0\0%s' "$json"
	# 00 00 00 40 is 2, 00 00 00 c0 is -2.
	awk -v height="$height" -v width="$width" '
	function is_ink(x, y,  kind, i, k) {
		kind = (int(x / 12) * 7 + int(y / 32) * 3) % 5
		i = x % 12
		k = y % 32
		return k >= 8 && k < 24 && x > 20 && x < width - 20 && \
		    (i < 3 || (kind % 2 && k < 11) || \
			(kind % 3 == 0 && k >= 21) || \
			(i >= 8 && i < 10 && kind > 2))
	}
	BEGIN {
		for (c = 0; c < 3; c++)
			for (y = 0; y < height; y++)
				for (x = 0; x < width; x++)
					printf "%s", \
					    is_ink(x, y) ? "zzzi" : "zzzw"
	}' </dev/null | LC_ALL=C tr ziw '\000\300\100'
} >"$2"
