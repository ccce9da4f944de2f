#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lib.sh - what benchmarks have in common; they read it and then are in a fresh
# folder of their own, which goes when they end. An argument of theirs is a word:
# only rows whose names contain it are measured.
#
# shellcheck disable=SC2034 # the scripts end with $missed
set -eu

word=${1:-}
rounds=${TP_BENCH_ROUNDS:-5}
dir=$(mktemp -d "${TP_BENCH_DIR:-${TMPDIR:-/tmp}}/tp-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
missed=0

say() {
	printf '%s\n' "$*" >&2
}

# Is the row of that name asked for?
wanted() {
	case $1 in
	*"$word"*) ;;
	*) return 1 ;;
	esac
}

# The median of a column of times.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

forget() {
	rm -rf out.* copy
}

# alternate BASE COMMAND…: fills the files base.times and job.times. BASE is the
# command, in one word, that the other is measured against.
alternate() {
	base=$1
	shift
	: >base.times
	: >job.times
	for round in $(seq 0 "$rounds"); do
		forget
		# shellcheck disable=SC2086 # its words
		bench_run result $base >/dev/null
		[ "$round" = 0 ] || cat result >>base.times
		forget
		bench_run result "$@" >/dev/null
		[ "$round" = 0 ] || cat result >>job.times
	done
	forget
}

# row NAME RATIO-MARK KIB-MARK: one line from the two files.
row() {
	base_s=$(awk '{ print $1 }' base.times | median)
	job_s=$(awk '{ print $1 }' job.times | median)
	base_cpu=$(awk '{ print $3 }' base.times | median)
	job_cpu=$(awk '{ print $3 }' job.times | median)
	peak=$(awk '{ print $2 }' job.times | sort -n | tail -1)
	awk -v name="$1" -v base="$base_s" -v job="$job_s" -v peak="$peak" \
	    -v most="$2" -v kib="$3" -v cpu="$job_cpu" -v base_cpu="$base_cpu" \
	    'BEGIN {
		ratio = job / base
		bad = ratio > most || peak > kib
		printf "%-36s %6.3f s %6.3f s %5.2f (%.2f) %5.2f %6.1f MiB (%d) %s\n",
		    name, base, job, ratio, most, cpu / base_cpu, peak / 1024,
		    kib / 1024, bad ? "MISSED" : "ok"
		exit bad
	}' || missed=1
}

# versus NAME RATIO-MARK KIB-MARK BASE COMMAND…: alternate them for one line.
versus() {
	name=$1 ratio=$2 kib=$3
	shift 3
	wanted "$name" || return 0
	alternate "$@"
	row "$name" "$ratio" "$kib"
}

# absolute NAME MS-MARK KIB-MARK COMMAND…: a job that has no cp beside it, by the
# time that clock says: 1 on the wall, 3 of the processor.
clock=1
absolute() {
	name=$1 ms=$2 kib=$3
	shift 3
	wanted "$name" || return 0
	: >job.times
	for _ in $(seq "$rounds"); do
		bench_run result "$@" >/dev/null
		cat result >>job.times
	done
	job_s=$(awk -v column="$clock" '{ print $column }' job.times | median)
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
