#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh - runs fuzz targets that are built; ./dev fuzz builds them first
#
#	fuzz.sh run DIR SECONDS TARGET…
#	fuzz.sh coverage DIR TARGET…
#	fuzz.sh keep DIR TARGET…
#
# DIR is the folder of a build. What was learnt is shared by all builds, in
# build/fuzz/learnt/TARGET; what was found lies in build/fuzz/found/TARGET-*.
# FUZZ_SEED makes runs begin with the same numbers.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."

learnt=build/fuzz/learnt
facts=build/reliability/fuzz.facts
# Files of which fewer lines than that are reached, and why, with a tab between.
least=90
excused=tests/support/coverage.not

fact() {
	mkdir -p "${facts%/*}"
	printf '%s\t%s\n' "$1" "$2" >>"$facts"
}

# seeds DIR TARGET: files and folders; with Debian's test data, where it is
# installed: a model of every operator.
seeds() {
	local models=/usr/share/libonnx-testdata/data

	cat "$1/tests/fuzz/fuzz_$2.seeds"
	case $2 in
	graph | onnx | narrow | diff | value)
		[ ! -d "$models" ] || echo "$models/node $models/simple"
		;;
	esac
}

# byte NUMBER
byte() {
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\x$(printf %02x "$(($1 & 255))")"
}

# make_seeds DIR TARGET: where inputs end with a byte that chooses, whole files
# get one, and lie in build/fuzz/seeds/TARGET; for diff also pairs of files with
# the length of the first behind them. Says what to read.
make_seeds() {
	local to=build/fuzz/seeds/$2 found file before='' i=0 n

	read -ra found <<<"$(seeds "$1" "$2" | tr '\n' ' ')"
	grep -q fuzz_choice "tests/fuzz/fuzz_$2.c" || {
		echo "${found[*]}"
		return
	}
	mkdir -p "$to"
	[ "${#found[@]}" = 2 ] || [ -e "$to/0" ] ||
	    find "${found[@]:2}" -type f -size -128 -size +0 | LC_ALL=C sort |
	    while read -r file; do
		{ cat "$file" && byte $((i * 85 + i / 4)); } >"$to/$i"
		[ "$2" != diff ] || [ -z "$before" ] || {
			n=$(stat -c %s "$before")
			cat "$before" "$file"
			byte "$n" && byte $((n >> 8)) && byte $((i * 4 + 2))
		} >"$to/$i-pair"
		before=$file i=$((i + 1))
	done
	# The first two are what fuzzing found and learnt, and have their byte.
	echo "${found[0]} ${found[1]} $to"
}

# one DIR SECONDS TARGET: one line tells how it went. The limit of time is for
# what hangs: a slow machine is none of its business.
run_one() {
	local dir=$1 seconds=$2 target=$3 log executions begun=$SECONDS rc=0

	log=$dir/$target.log
	mkdir -p build/fuzz/found "$learnt/$target"
	# shellcheck disable=SC2046 # a list of folders
	ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS:-} \
	    "$dir/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
	    ${FUZZ_SEED:+-seed="$FUZZ_SEED"} \
	    -timeout=120 -malloc_limit_mb=64 -rss_limit_mb=2048 -max_len=65536 \
	    -dict="$dir/tests/fuzz/fuzz_$target.dict" -print_final_stats=1 \
	    -artifact_prefix="build/fuzz/found/$target-" "$learnt/$target" \
	    $(make_seeds "$dir" "$target") >"$log" 2>&1 || rc=$?
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	printf '%-12s %10s executions, coverage %s%s\n' "$target" \
	    "${executions:-no}" \
	    "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)" \
	    "$([ "$rc" = 0 ] || echo ", FAILED: see $log")"
	fact "fuzz.$target.executions" "${executions:-0}"
	fact "fuzz.$target.seconds" "$((SECONDS - begun))"
	return "$rc"
}

# One target a processor.
run() {
	local dir=$1 seconds=$2

	shift 2
	printf '%s\n' "$@" |
	    xargs -P "$(nproc)" -n 1 "$0" one "$dir" "$seconds" || return 1
}

# Files of formats/ that read: what has to do with a reader, a message or a walk
# over bytes, and nothing with a writer, a transfer or a model that is changed.
readers() {
	grep -lE 'tpi_(cursor|json|skim|wire|source)_|struct tp_reader \*|TpOnnx__' \
	    formats/*.c |
	    xargs grep -LE 'struct tp_(writer|transfer)|tpi_(de)?quantized|struct tpi_edit'
}

# lines_of DIR FILE: "PERCENT COUNT" of the lines that were executed.
lines_of() {
	gcov -n "$1/formats/CMakeFiles/tpformats_objects.dir/${2##*/}.gcda" \
	    2>/dev/null | grep -A1 "^File '.*$2'" |
	    sed -n 's/^Lines executed:\(.*\)% of \(.*\)/\1 \2/p'
}

# check_coverage TABLE: of each file so many lines are reached, or there is a
# reason why not, which holds.
check_coverage() {
	awk -F'\t' -v least="$least" -v list="$excused" '
		FNR == NR { if ($0 !~ /^#/) why[$1] = 1; next }
		$1 ~ /^formats\// {
			split($1, words, " +")
			name = words[1]; sub(/.*\//, "", name)
			seen[name] = 1
			if (words[2] < least && !why[name])
				bad = bad name ": less than " least " %\n"
			if (words[2] >= least && why[name])
				bad = bad name ": " least " %, but " list \
				    " has it\n"
		}
		END {
			for (name in why)
				if (!seen[name])
					bad = bad name ": no such file\n"
			printf "%s", bad
			exit bad != ""
		}
	' "$excused" "$1"
}

# Everything that was learnt once more under gcov, as it is now: lines that are
# executed.
coverage() {
	local dir=$1 target file percent count all

	all=$(grep -c '^tp_fuzz_target(' tests/fuzz/CMakeLists.txt)
	shift
	find "$dir" -name '*.gcda' -delete
	rm -rf "$dir/learnt"
	for target; do
		mkdir -p "$learnt/$target" "$dir/learnt"
		# A target that runs drops files meanwhile.
		cp -r "$learnt/$target" "$dir/learnt" 2>/dev/null || :
		# shellcheck disable=SC2046 # a list of folders
		echo "$dir/tests/fuzz/fuzz_$target $dir/learnt/$target" \
		    $(make_seeds "$dir" "$target") $(seeds "$dir" "$target")
	done | xargs -P "$(nproc)" -L 1 nice >"$dir/coverage.log"
	for file in $(readers); do
		read -r percent count <<<"$(lines_of "$dir" "$file")"
		[ -n "$count" ] || continue
		fact "fuzz.coverage.${file##*/}" "$percent"
		printf '%s %s %s\n' "$file" "$percent" "$count"
	done | awk '
		{ printf "%-32s %6s %% of %4d lines\n", $1, $2, $3
		  all += $3; covered += $2 * $3 / 100 }
		END { printf "all %.1f %d\n", 100 * covered / all, all }
	' | tee "$dir/coverage.txt"
	read -r _ percent count <<<"$(tail -1 "$dir/coverage.txt")"
	fact fuzz.coverage.lines "$count"
	fact fuzz.coverage.percent "$percent"
	[ $# != "$all" ] || check_coverage "$dir/coverage.txt" >&2
}

# What was learnt beyond the seeds, as few and as small files as reach the same,
# into the archive that tests replay. Models of Debian's test data are not ours,
# so what begins as one stays out.
keep() {
	local dir=$1 target have kept

	shift
	kept=$dir/kept
	rm -rf "$kept"
	for target; do
		have=$kept/.have-$target
		mkdir -p "$have" "$kept/$target" "$learnt/$target"
		# shellcheck disable=SC2046 # a list of folders
		find $(cat "$dir/tests/fuzz/fuzz_$target.seeds") -type f \
		    ! -path '*/learnt/*' -exec cp --backup=numbered -t "$have" {} \;
		ls "$have" >"$have.txt"
		# A target that runs drops files meanwhile.
		cp -r "$learnt/$target" "$have.learnt" 2>/dev/null || :
		"$dir/tests/fuzz/fuzz_$target" -merge=1 -use_counters=0 \
		    -max_len=4096 "$have" "$have.learnt" \
		    "$dir/tests/fuzz/learnt/$target" >"$have.log" 2>&1
		(cd "$have" && { grep -LrF backend-test . || :; } |
		    sed 's|^\./||' |
		    { grep -vxF -f "../.have-$target.txt" || :; } |
		    xargs -r cp -t "../$target")
	done
	rm -rf "$kept"/.have-*
	tar -C "$kept" --sort=name --mtime=@0 --owner=0 --group=0 \
	    --numeric-owner -cJf tests/fuzz/learnt.tar.xz .
	ls -l tests/fuzz/learnt.tar.xz
}

case ${1:-} in
run | coverage | keep) "$@" ;;
one) run_one "${@:2}" ;;
*)
	sed -n 's/^#	/usage: /p' "$0" >&2
	exit 2
	;;
esac
