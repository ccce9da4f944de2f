#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh TOOLS SUPPORT DISTURB SHIM MODE [AMOUNT [ONLY]]
#
# MODE is one of disturb.c: calls that fail, inputs that change, a kill at any
# moment. AMOUNT is how many of each kind of call ("all"), or how many kills; ONLY
# leaves jobs out whose names do not contain it. The lines at the end count.
set -uf # a command is split into words, and * is no pattern

tools=$1 support=$2 disturb=$3 shim=$4 mode=$5 only=${7:-}
# Kills are shared out among the jobs that write.
amount=
case $mode:${6:-all} in
*:all) ;;
kill:*)
	n_jobs=$(grep -c '^	job w ' "$0")
	amount="--kills $((($6 + n_jobs - 1) / n_jobs))" ;;
*) amount="--most $6" ;;
esac
corpus=$(cd "$(dirname "$0")/../corpus" && pwd)
PATH=$tools:$support:$PATH
# Memory is faster than a disk, and a flush to it takes no time.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
work=$(mktemp -d "${TMPDIR:-/tmp}/tp-fault.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
# The shim counts at exit, into a file that a sandbox would not let it make.
export TP_SANDBOX=off

# ---- jobs ----

n_faults=0 n_survived=0 n_refused=0 n_killed=0 failed=0

# Inputs of a folder, from the model m.tpt that lies in it and the factor $2.
prepare_inputs() (
	cd "$1" || exit 1
	tp-convert -q --allow-loss alias m.tpt m.safetensors
	tp-convert -q --external-data always --external-threshold 16 m.tpt m.onnx
	tp-convert -q --max-shard-size 4K m.safetensors shards.safetensors
	tp-convert -q --compress m.tpt packed.tpt
	tp-quantize -q --min-elements 1 --scheme int8 m.tpt int8.tpt
	tp-quantize -q --min-elements 1 --plan auto --target-sqnr 30 -n \
	    --save-plan plan.json m.tpt none.tpt >/dev/null
	tp-verify manifest m.tpt >sums
	cp "$corpus/native/good-small.tpt" strided.tpt
	# A graph with weights beside it, which stay mapped while it runs.
	awk -v factor="$2" 'BEGIN {
		print "opset 17\ninput x f32 2,24\noutput y f32 ?"
		printf "init w f32 24,8 ="
		for (i = 0; i < 192; i++)
			printf " %d.5", i % 7 * factor
		print "\nnode MatMul x w -> t\nnode Relu t -> y"
		printf "in x f32 2,24 ="
		for (i = 0; i < 48; i++)
			printf " %d.25", i % 5 - 1
		print "" }' | onnx_test graph
	tp-convert -q --external-data always --external-threshold 16 \
	    graph/model.onnx net.onnx
	tp-convert -q net.onnx inline.onnx
	cp graph/test_data_set_0/input_0.pb .
	rm -r graph
)

prepare() {
	sample_checkpoint sample.tpt
	mkdir first other in keep old out
	tp-convert -q --dtype '*=f32' --allow-loss alias sample.tpt first/m.tpt
	tp-convert -q --dtype '*.weight=f8e4m3fn' --overflow saturate \
	    first/m.tpt narrow.tpt
	tp-convert -q --dtype '*=f32' narrow.tpt other/m.tpt
	prepare_inputs first 2
	prepare_inputs other 3
	mkdir sets
	for op in Abs Relu; do
		printf '%s\n' 'opset 17' 'input x f32 2' 'output y f32 2' \
		    "node $op x -> y" 'in x f32 2 = 0 2' 'out y f32 2 = 0 2' |
		    onnx_test "sets/$op"
	done
	rm sample.tpt narrow.tpt
	cp -R first/. keep
}

# job KIND NAME COMMAND [DISTURB-OPTION…]
#
# KIND is w for a job that writes files, r for one that only prints. What is in
# out before comes of the same command on other inputs.
job() {
	job_kind=$1 job_name=$2 job_command=$3
	shift 3
	case $mode in kill) [ "$job_kind" = w ] || return 0 ;; esac
	case $job_name in *"$only"*) ;; *) return 0 ;; esac
	rm -rf out old in
	mkdir out old
	cp -R other in
	# shellcheck disable=SC2086 # words
	$job_command >stdout 2>stderr || {
		printf 'FAIL %s: %s\n' "$job_name" "$(cat stdout stderr)"
		failed=1
		return
	}
	cp -R out/. old
	rm -rf in
	mkdir in
	# shellcheck disable=SC2086 # words
	"$disturb" --shim "$shim" --mode "$mode" $amount "$@" \
	    "$job_name" $job_command >log 2>&1 || failed=1
	grep -v '^DISTURBED' log
	# shellcheck disable=SC2046 # words
	count_job $(grep '^DISTURBED' log)
}

# count_job DISTURBED N survived N refused N killed N …
count_job() {
	[ $# -gt 8 ] || {
		echo "FAIL $job_name: no count"
		failed=1
		return
	}
	n_faults=$((n_faults + $2)) n_survived=$((n_survived + $4))
	n_refused=$((n_refused + $6)) n_killed=$((n_killed + $8))
	[ -z "${verbose:-}" ] || echo "$job_name: $2"
}

all_jobs() {
	convert_jobs
	quantize_jobs
	inspect_jobs
	verify_jobs
}

convert_jobs() {
	convert="tp-convert -q --force"
	job w "native to safetensors" "$convert --allow-loss alias in/m.tpt out/m.safetensors"
	job w "safetensors to native, compressed" \
	    "$convert --compress in/m.safetensors out/m.tpt"
	job w "compressed native to native" \
	    "$convert in/packed.tpt out/m.tpt"
	job w "safetensors to ONNX with external data" \
	    "$convert --external-data always --external-threshold 16 in/m.safetensors out/m.onnx" \
	    --main m.onnx
	job w "ONNX with external data to native, flushed" \
	    "$convert --sync always in/m.onnx out/m.tpt"
	job w "a cast, proven" \
	    "$convert --verify --dtype *=f16 --overflow inf in/m.safetensors out/m.safetensors"
	job w "to shards" \
	    "$convert --max-shard-size 4K in/m.safetensors out/m.safetensors" \
	    --main m.safetensors.index.json
	job w "from shards" \
	    "$convert in/shards.safetensors.index.json out/m.safetensors"
	job r "strided to standard output" \
	    "tp-convert -q --to native in/strided.tpt -"
	job w "weights into a graph" \
	    "$convert --graph in/inline.onnx in/net.onnx out/m.onnx"
}

quantize_jobs() {
	quantize="tp-quantize -q --force --min-elements 1"
	job w "int8" "$quantize --scheme int8 in/m.safetensors out/m.safetensors"
	job w "int4 by block, least error" \
	    "$quantize --scheme int4 --per block --calibrate mse in/m.tpt out/m.tpt"
	job w "a plan made, with a report" \
	    "$quantize --plan auto --target-sqnr 30 --save-plan out/plan.json --report out/report.json in/m.tpt out/m.tpt" \
	    --each
	job w "a plan followed" \
	    "tp-quantize -q --force --plan in/plan.json in/m.tpt out/m.tpt"
	job w "dequantized" "$quantize --dequantize in/int8.tpt out/m.tpt"
	job w "a graph quantized" "$quantize --scheme int8 in/net.onnx out/m.onnx"
	job w "a graph of halves, proven" \
	    "$quantize --verify --scheme f16 --graph-dtype f16 in/inline.onnx out/m.onnx"
}

inspect_jobs() {
	job r "inspect" "tp-inspect --stats --hash in/m.tpt"
	job r "inspect as JSON" \
	    "tp-inspect --json --long --stats --histogram --metadata in/m.safetensors"
	job r "inspect what has strides" "tp-inspect --stats --hash in/strided.tpt"
	job r "inspect a graph" "tp-inspect --graph --json in/net.onnx"
	job r "inspect values" "tp-inspect --values conv1.weight in/m.tpt"
	job r "inspect values of shards" \
	    "tp-inspect --values embedding.weight in/shards.safetensors.index.json"
	job r "inspect values of external data" \
	    "tp-inspect --values embedding.weight in/m.onnx"
	job r "inspect what is compressed" "tp-inspect --stats in/packed.tpt"
}

verify_jobs() {
	reports="--report-json out/r.json --report-junit out/r.xml"
	job r "check" "tp-verify check in/m.onnx"
	job w "check with reports" "tp-verify check $reports in/m.tpt in/packed.tpt" --each
	job r "diff" "tp-verify diff in/m.tpt in/m.safetensors"
	job r "diff of external data and shards" \
	    "tp-verify diff in/m.onnx in/shards.safetensors.index.json"
	job w "diff with reports" \
	    "tp-verify diff $reports in/m.tpt in/packed.tpt" --each
	job r "diff of what has strides" \
	    "tp-verify diff in/strided.tpt in/strided.tpt"
	job r "check what has strides" "tp-verify check in/strided.tpt"
	job r "manifest of what has strides" "tp-verify manifest in/strided.tpt"
	job r "manifest" "tp-verify manifest in/m.safetensors"
	job w "manifest checked, with reports" \
	    "tp-verify manifest --check in/sums $reports in/m.onnx" --each
	job r "run" "tp-verify run --seed 1 --against in/inline.onnx in/net.onnx"
	job r "run with tensors of a file" \
	    "tp-verify run --input x=in/input_0.pb --against in/inline.onnx in/net.onnx"
	job r "run a folder of data sets" "tp-verify run sets"
	job r "op" "tp-verify op --in in/m.tpt:embedding.weight Softmax"
	job r "op on shards, expected" \
	    "tp-verify op --in in/shards.safetensors.index.json:conv1.weight --expect in/m.onnx:conv1.weight Identity"
}

# ---- the whole ----

prepare || exit 1
all_jobs
[ "$n_faults" -gt 0 ] || {
	echo "no job is called so"
	exit 1
}
echo "FACT faults.$mode.faults $n_faults"
echo "FACT faults.$mode.survived $n_survived"
echo "FACT faults.$mode.refused $n_refused"
echo "FACT faults.$mode.killed $n_killed"
exit "$failed"
