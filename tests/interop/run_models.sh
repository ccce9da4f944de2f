#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_models.sh BIN CACHE - real models are computed to their end on inputs from
# a seed, the same with one thread and with two; where ONNX Runtime is there
# (TP_ONNXRUNTIME names a node_modules folder with onnxruntime-node) outputs are
# within 1e-4 of the range of its own
set -eu

here=$(dirname "$(realpath "$0")")
bin=$1
cache=$2
PATH=$bin/tools:$PATH

"$here/../support/fetch_models.sh" "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compute MODEL OPTION…
compute() {
	model=$cache/$1
	shift
	rm -rf "${work:?}"/*
	for threads in 1 2; do
		status=0
		tp-verify run "$model" --seed 1 --threads $threads "$@" \
		    --dump "$work/$threads" >"$work/out" || status=$?
		# Nothing is expected of the outputs yet: 4, one line each.
		if [ "$status" != 4 ] || sed '$d' "$work/out" | sed '$d' |
		    grep -v 'not run: nothing is expected of it$'; then
			cat "$work/out"
			exit 1
		fi
	done
	cmp "$work/1/run-0.tpt" "$work/2/run-0.tpt"
	if [ -d "${TP_ONNXRUNTIME:-/nonexistent}/onnxruntime-node" ]; then
		judge
	else
		echo "${model##*/}: computed; SKIPPED: no ONNX Runtime to compare"
	fi
}

# Inputs are among the values, by their names.
judge() {
	tp-convert -q "$work/1/run-0.tpt" "$work/values.safetensors"
	NODE_PATH=$TP_ONNXRUNTIME node "$here/run_onnxruntime.js" \
	    "$model" "$work/values.safetensors" "$work/out.safetensors"
	tp-verify run "$model" --in "$work/values.safetensors" \
	    --expect "$work/out.safetensors" --of-range 1e-4 >"$work/out" || {
		cat "$work/out"
		exit 1
	}
	sed "s|^$cache/||; \$d" "$work/out" | sed '$d'
}

compute silero_vad_legacy.onnx --shape input=1,1536 --int 16000
compute silero_vad_v5.onnx --shape input=1,512 --shape state=2,1,128 --int 16000
compute silero_vad_v6.onnx --shape input=1,512 --shape state=2,1,128 --int 16000
# Of noise the detector says that no pixel is text, with nothing but rounding
# between its answers: what is compared is a page.
page=$(mktemp)
trap 'rm -rf "$work" "$page"' EXIT
sh "$here/page.sh" x=1,3,160,320 "$page"
compute ch_PP-OCRv4_det_infer.onnx --in "$page"
compute ch_PP-OCRv4_rec_infer.onnx --shape x=1,3,48,160
compute ch_ppocr_mobile_v2.0_cls_infer.onnx --shape x=1,3,48,192
