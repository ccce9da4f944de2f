#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quant.sh - how fast weights are narrowed: on one thread beside memcpy and numpy
# in memory (bench_quant.c), and whole files beside cp of the input
# shellcheck disable=SC1091 # it stands beside this script
here=$(dirname "$(realpath "$0")")
. "$here/lib.sh"

# shellcheck disable=SC2154 # lib.sh sets it
bench_quant "$word" || missed=1

# At least four times as fast as numpy, where that is installed.
python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && break
done
if [ "$python" ]; then
	bench_quant seconds >ours
	OMP_NUM_THREADS=1 "$python" "$here/quant_numpy.py" >theirs
	paste ours theirs | awk -F '\t' -v word="$word" '
	index($1, word) {
		ratio = $4 / $2
		bad = ratio < 4
		printf "%-28s %-22s %6.2f   >= 4.00%s\n", $1, "numpy", ratio,
		    bad ? "   BELOW" : ""
		any += bad
	}
	END { exit any > 0 }' || missed=1
else
	say "numpy is not installed: nothing to compare with"
fi

mib64=65536
say "making files in $PWD"
bench_model a.safetensors 1024 64 4096
printf '%-36s %8s %8s %12s %5s %15s\n' "1 GiB of f32, warm, 2 threads" cp job \
    "time (most)" cpu "peak (most)"
# file NAME MARK SUFFIX OPTION…: one line.
file() {
	file_name=$1 file_mark=$2 file_to=out.$3
	shift 3
	versus "$file_name" "$file_mark" $mib64 'cp a.safetensors copy' \
	    tp-quantize -q --threads 2 "$@" a.safetensors "$file_to"
}
file "int8 per channel" 1.00 safetensors -s int8
file "int8 per channel, asymmetric" 1.20 safetensors -s int8 --asymmetric
file "int8 per channel, onnx" 1.00 onnx -s int8
file "f16" 1.20 safetensors -s f16
file "bf16, native" 1.20 tpt -s bf16
file "q8_0" 1.50 safetensors -s q8_0
file "int4 per block of 32" 1.50 tpt -s int4 --per block
# Scales that need a pass of their own; then one that measures before it writes.
file "int8, last axis" 2.00 safetensors -s int8 --axis -1
file "int8 per channel, gated" 2.00 safetensors -s int8 --fail-if 'sqnr<1'

# Tensors that are too small for more than one thread.
bench_model small.safetensors 1024 4096 256
versus "int8, tensors of 256 KiB" 2.00 $mib64 'cp small.safetensors copy' \
    tp-quantize -q --threads 2 -s int8 small.safetensors out.safetensors
rm small.safetensors

# A channel larger than all buffers: 1 GiB in four rows.
bench_model wide.safetensors 1024 1 67108864
versus "int8, rows of 256 MiB" 2.00 $mib64 'cp wide.safetensors copy' \
    tp-quantize -q --threads 2 -s int8 wide.safetensors out.safetensors

# shellcheck disable=SC2154 # lib.sh sets it
exit "$missed"
