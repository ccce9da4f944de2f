#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# convert.sh - how fast conversions and listings are, against cp in the same run
#
# Makes files of 1 GiB and more under TP_BENCH_DIR (else TMPDIR, else /tmp) and
# removes them at the end. Each job runs TP_BENCH_ROUNDS times (5), alternating
# with cp of the same file, after one round that does not count; the table shows
# medians. The CPU column is what all threads spent, as a ratio to cp: where it
# is fine and the time is not, other programs were at work. Peak resident size is
# the largest of all rounds. The exit status is 1 when a row misses its mark.
set -eu

# shellcheck disable=SC1091 # it stands beside this script
. "$(dirname "$(realpath "$0")")/lib.sh"

mib64=65536 mib16=16384 mib128=131072

say "making files in $PWD"
bench_model a.safetensors 1024 64
printf '%-36s %8s %8s %12s %5s %15s\n' "1 GiB of f32, warm cache" cp job \
    "time (most)" cpu "peak (most)"

versus "safetensors -> safetensors" 1.10 $mib64 'cp a.safetensors copy' \
    tp-convert -q a.safetensors out.safetensors
versus "safetensors -> ONNX, external" 1.10 $mib64 'cp a.safetensors copy' \
    tp-convert -q --external-data always a.safetensors out.onnx
versus "safetensors -> native" 1.25 $mib64 'cp a.safetensors copy' \
    tp-convert -q a.safetensors out.tpt
tp-convert -q a.safetensors b.tpt
versus "native -> safetensors, checked" 1.25 $mib64 'cp b.tpt copy' \
    tp-convert -q b.tpt out.safetensors
versus "f32 -> f16, safetensors" 1.00 $mib64 'cp a.safetensors copy' \
    tp-convert -q --dtype f16 a.safetensors out.safetensors
versus "f32 -> bf16, safetensors" 1.00 $mib64 'cp a.safetensors copy' \
    tp-convert -q --dtype bf16 a.safetensors out.safetensors
bench_model one.safetensors 1024 1
versus "f32 -> bf16, one tensor" 1.00 $mib64 'cp one.safetensors copy' \
    tp-convert -q --dtype bf16 one.safetensors out.safetensors
rm one.safetensors

tp-convert -q --external-data always a.safetensors b.onnx
absolute "tp-inspect, 1 GiB safetensors" 10 $mib16 tp-inspect a.safetensors
absolute "tp-inspect, 1 GiB native" 10 $mib16 tp-inspect b.tpt
absolute "tp-inspect, 1 GiB ONNX" 10 $mib16 tp-inspect b.onnx
# 1 GiB at 4 GB/s.
absolute "tp-inspect --stats, 2 threads" 268 $mib64 \
    tp-inspect --stats --threads 2 a.safetensors
bench_model many.safetensors 1 100000
absolute "tp-inspect, 100,000 tensors listed" 200 $mib128 \
    tp-inspect many.safetensors
rm -f b.* many.safetensors

# flat FORMAT OPTION…: memory against size, the same job on files of three sizes.
flat() {
	to=$1
	shift
	name="memory, 256 MiB, 1 GiB, 4 GiB: $*${*:+ }-> $to"
	wanted "$name" || return 0
	say "memory: $* to $to"
	for mib in 256 1024 4096; do
		[ -e "m$mib.safetensors" ] ||
		    bench_model "m$mib.safetensors" "$mib" 64
		forget
		bench_run result tp-convert -q "$@" "m$mib.safetensors" \
		    "out.$to" >/dev/null
		awk '{ print $2 }' result
	done | awk -v name="$name" '
	{
		v[NR] = $1
		lo = NR == 1 || $1 < lo ? $1 : lo
		hi = $1 > hi ? $1 : hi
	}
	END {
		bad = hi - lo > 8192
		printf "%-54s %5.1f %5.1f %5.1f MiB (8 apart) %s\n", name,
		    v[1] / 1024, v[2] / 1024, v[3] / 1024, bad ? "MISSED" : "ok"
		exit bad
	}' || missed=1
	forget
}
flat safetensors
flat tpt
flat safetensors --dtype f16

# shellcheck disable=SC2154 # lib.sh sets it
exit "$missed"
