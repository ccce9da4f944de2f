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

rounds=${TP_BENCH_ROUNDS:-5}
dir=$(mktemp -d "${TP_BENCH_DIR:-${TMPDIR:-/tmp}}/tp-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
missed=0

say() {
	printf '%s\n' "$*" >&2
}

# The median of a column of times.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

forget() {
	rm -rf out.* copy
}

# alternate INPUT COMMAND…: fills the files cp.times and job.times.
alternate() {
	input=$1
	shift
	: >cp.times
	: >job.times
	for round in $(seq 0 "$rounds"); do
		forget
		bench_run result cp "$input" copy
		[ "$round" = 0 ] || cat result >>cp.times
		forget
		bench_run result "$@" >/dev/null
		[ "$round" = 0 ] || cat result >>job.times
	done
	forget
}

# row NAME RATIO-MARK KIB-MARK: one line from the two files.
row() {
	cp_s=$(awk '{ print $1 }' cp.times | median)
	job_s=$(awk '{ print $1 }' job.times | median)
	cp_cpu=$(awk '{ print $3 }' cp.times | median)
	job_cpu=$(awk '{ print $3 }' job.times | median)
	peak=$(awk '{ print $2 }' job.times | sort -n | tail -1)
	awk -v name="$1" -v cp="$cp_s" -v job="$job_s" -v peak="$peak" \
	    -v most="$2" -v kib="$3" -v cpu="$job_cpu" -v cp_cpu="$cp_cpu" \
	    'BEGIN {
		ratio = job / cp
		bad = ratio > most || peak > kib
		printf "%-36s %6.3f s %6.3f s %5.2f (%.2f) %5.2f %6.1f MiB (%d) %s\n",
		    name, cp, job, ratio, most, cpu / cp_cpu, peak / 1024,
		    kib / 1024, bad ? "MISSED" : "ok"
		exit bad
	}' || missed=1
}

# absolute NAME MS-MARK KIB-MARK COMMAND…: a job that has no cp beside it.
absolute() {
	name=$1 ms=$2 kib=$3
	shift 3
	: >job.times
	for _ in $(seq "$rounds"); do
		bench_run result "$@" >/dev/null
		cat result >>job.times
	done
	job_s=$(awk '{ print $1 }' job.times | median)
	peak=$(awk '{ print $2 }' job.times | sort -n | tail -1)
	awk -v name="$name" -v job="$job_s" -v peak="$peak" -v ms="$ms" \
	    -v kib="$kib" 'BEGIN {
		bad = job * 1000 > ms || peak > kib
		printf "%-36s %24.1f ms (%d) %12.1f MiB (%d) %s\n",
		    name, job * 1000, ms, peak / 1024, kib / 1024,
		    bad ? "MISSED" : "ok"
		exit bad
	}' || missed=1
}

mib64=65536 mib16=16384 mib128=131072

say "making files in $dir"
bench_model a.safetensors 1024 64
printf '%-36s %8s %8s %12s %5s %15s\n' "1 GiB of f32, warm cache" cp job \
    "time (most)" cpu "peak (most)"

alternate a.safetensors tp-convert -q a.safetensors out.safetensors
row "safetensors -> safetensors" 1.10 $mib64
alternate a.safetensors tp-convert -q --external-data always a.safetensors \
    out.onnx
row "safetensors -> ONNX, external" 1.10 $mib64
alternate a.safetensors tp-convert -q a.safetensors out.tpt
row "safetensors -> native" 1.25 $mib64
tp-convert -q a.safetensors b.tpt
alternate b.tpt tp-convert -q b.tpt out.safetensors
row "native -> safetensors, checked" 1.25 $mib64
alternate a.safetensors tp-convert -q --dtype f16 a.safetensors out.safetensors
row "f32 -> f16, safetensors" 1.00 $mib64
alternate a.safetensors tp-convert -q --dtype bf16 a.safetensors out.safetensors
row "f32 -> bf16, safetensors" 1.00 $mib64
bench_model one.safetensors 1024 1
alternate one.safetensors tp-convert -q --dtype bf16 one.safetensors \
    out.safetensors
row "f32 -> bf16, one tensor" 1.00 $mib64
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
	say "memory: $* to $to"
	for mib in 256 1024 4096; do
		[ -e "m$mib.safetensors" ] ||
		    bench_model "m$mib.safetensors" "$mib" 64
		forget
		bench_run result tp-convert -q "$@" "m$mib.safetensors" \
		    "out.$to" >/dev/null
		awk '{ print $2 }' result
	done | awk -v name="memory, 256 MiB, 1 GiB, 4 GiB: $*${*:+ }-> $to" '
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

exit $missed
