#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh TOOLS SUPPORT SHIM - what the tools ask of the system fails once
#
# For each job below: count its system calls of each kind and its allocations,
# then run it once for each of them and each way to fail. Then
#	- status 0 must have left what an undisturbed run leaves,
#	- another status must be 3, 4 or 5, with a message, and must have left the
#	  old outputs, or nothing where there were none, under the final names,
#	- in both cases an undisturbed run that follows ends with 0, the same
#	  outputs, and no other file.
# The process is killed at every call, too. After a failed allocation nothing may
# be held at the end that an undisturbed run does not hold. The last line counts
# the faults.
set -uf # a command is split into words, and * is no pattern

tools=$1 support=$2 shim=$3
PATH=$tools:$support:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-fault.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
# The shim counts at exit, into a file that a sandbox would not let it make.
export TP_SANDBOX=off
n_faults=0 n_survived=0 n_refused=0 n_killed=0 failed=0

complain() {
	failed=1
	printf 'FAIL %s\n' "$*"
}

# with CALL N WHAT COMMAND…
with() {
	with_call=$1 with_at=$2 with_do=$3
	shift 3
	TP_FAULT_CALL=$with_call TP_FAULT_AT=$with_at TP_FAULT_DO=$with_do \
	TP_FAULT_COUNT=$work/count LD_PRELOAD=$shim "$@"
}

# The files under final names in folder out, as one text.
state() {
	(cd out && find . -type f ! -name '.*' | sort | xargs -r cksum)
}

# Files that nobody asked for.
leftovers() {
	find out -name '.*' ! -name . ! -path out
}

# start old|none: the folder as the job finds it.
start() {
	rm -rf out
	mkdir out
	[ "$1" = none ] || cp -R old/. out/
}

# Killed while several files got their names: the file that refers to the others
# has none, and what it was is kept.
is_between() {
	[ -n "$main" ] && [ ! -e "out/$main" ] && {
		[ "$had" = none ] || [ -e "out/.$main.tp-old" ]
	}
}

# judge STATUS BEFORE WHERE
judge() {
	judge_now=$(state)
	case $1 in
	0)
		n_survived=$((n_survived + 1))
		[ "$judge_now" = "$new" ] || complain "$3: ends with 0, but not all is there"
		cmp -s stdout new.stdout || complain "$3: ends with 0, but prints something else"
		;;
	3 | 4 | 5)
		n_refused=$((n_refused + 1))
		[ -s stderr ] || [ -s stdout ] || complain "$3: status $1 without a message"
		[ "$judge_now" = "$2" ] || complain "$3: status $1, and the old outputs are not there"
		;;
	137)
		n_killed=$((n_killed + 1))
		[ "$judge_now" = "$2" ] || [ "$judge_now" = "$new" ] ||
		    is_between ||
		    complain "$3: killed, and the outputs are neither old nor new"
		;;
	*) complain "$3: status $1: $(head -c 300 stderr)" ;;
	esac
}

# What the last run held at its end, and asked for.
n_held() {
	cut -d' ' -f2 count
}

n_calls() {
	cut -d' ' -f1 count
}

# fault CALL N WHAT old|none: one run, judged, and the next one.
fault() {
	fault_where="$job: $1 $2 $3, $4 before"
	had=$4
	start "$had"
	fault_before=$(state)
	n_faults=$((n_faults + 1))
	fault_status=0
	# shellcheck disable=SC2086 # words
	with "$1" "$2" "$3" $command >stdout 2>stderr || fault_status=$?
	judge "$fault_status" "$fault_before" "$fault_where"
	if [ "$1" = malloc ] && [ "$(n_held)" -gt "$held" ]; then
		complain "$fault_where: $(n_held) blocks are not given back"
	fi
	$command >stdout 2>stderr ||
	    complain "$fault_where: the next run fails: $(head -c 300 stderr)"
	[ "$(state)" = "$new" ] ||
	    complain "$fault_where: the next run leaves something else"
	[ -z "$(leftovers)" ] || complain "$fault_where: left $(leftovers)"
}

# job NAME COMMAND [MAIN]: old outputs are those of the same job on other input.
# MAIN is the file that refers to the others, where there are several.
job() {
	job=$1 command=$2 main=${3:-}
	start none
	cp other.tpt in.tpt
	prepare
	$command >/dev/null 2>stderr || complain "$job: $(cat stderr)"
	rm -rf old
	cp -R out old
	cp first.tpt in.tpt
	prepare
	start none
	$command >new.stdout 2>stderr || complain "$job: $(cat stderr)"
	new=$(state)
	for call in malloc open read pread mmap write copy_file_range fsync \
	    rename ftruncate close; do
		start none
		# shellcheck disable=SC2086 # words
		with "$call" 0 none $command >/dev/null 2>&1
		held=$(n_held) most=$(n_calls)
		n=0
		while [ "$n" -lt "$most" ]; do
			n=$((n + 1))
			for what in $(ways "$call"); do
				fault "$call" "$n" "$what" old
			done
			fault "$call" "$n" "$(ways "$call" | cut -d' ' -f1)" none
		done
	done
}

# How a call can fail.
ways() {
	case $1 in
	malloc) echo ENOMEM ;;
	open) echo EIO EMFILE EINTR KILL ;;
	read | pread) echo EIO EINTR short KILL ;;
	mmap) echo ENOMEM KILL ;;
	write | copy_file_range) echo EIO ENOSPC EDQUOT EINTR short KILL ;;
	fsync | rename | ftruncate) echo EIO ENOSPC KILL ;;
	close) echo EIO EINTR KILL ;;
	esac
}

# Other forms of in.tpt.
prepare() {
	tp-convert -q --force --allow-loss alias in.tpt in.safetensors &&
	    tp-convert -q --force --external-data always in.tpt in.onnx
}

sample_checkpoint first.tpt
# The same names and shapes, other values.
tp-convert -q --dtype 'conv*.weight=f8e4m3fn' --overflow saturate first.tpt \
    narrow.tpt
tp-convert -q --dtype 'conv1.weight=f32' --dtype 'conv2.weight=f16' narrow.tpt \
    other.tpt

job "native to safetensors" \
    "tp-convert -q --force --allow-loss alias in.tpt out/m.safetensors"
job "safetensors to native, compressed" \
    "tp-convert -q --force --compress in.safetensors out/m.tpt"
job "safetensors to ONNX with external data" \
    "tp-convert -q --force --external-data always in.safetensors out/m.onnx" \
    m.onnx
job "ONNX to native, flushed" \
    "tp-convert -q --force --sync always in.onnx out/m.tpt"
job "a cast, proven" \
    "tp-convert -q --force --verify --dtype *=f16 --overflow inf in.safetensors out/m.safetensors"
job "shards" \
    "tp-convert -q --force --max-shard-size 1K in.safetensors out/m.safetensors" \
    m.safetensors.index.json
job "int8" \
    "tp-quantize -q --force --scheme int8 in.safetensors out/m.safetensors"
job "inspect" "tp-inspect --stats --hash in.tpt"
job "check" "tp-verify check in.onnx"
job "diff" "tp-verify diff in.tpt in.safetensors"

echo "faults: $n_faults, of them survived $n_survived, refused $n_refused," \
    "killed $n_killed"
exit "$failed"
