#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnxruntime.sh BIN CACHE - real models, written again, in ONNX Runtime: inside
# one file, with external data (the default threshold), out of safetensors
#
# TP_ONNXRUNTIME names a node_modules folder that holds onnxruntime-node.
set -eu

here=$(dirname "$(realpath "$0")")
bin=$1
cache=$2

[ -d "${TP_ONNXRUNTIME:-/nonexistent}/onnxruntime-node" ] || {
	echo "SKIPPED: TP_ONNXRUNTIME names no folder with onnxruntime-node"
	exit 77
}
"$here/../support/fetch_models.sh" "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge MODEL INPUT…: see onnxruntime.js
judge() {
	model=$cache/$1
	shift
	rm -rf "${work:?}"/*
	mkdir "$work/outside" "$work/graph"
	"$bin/tools/tp-convert" -q "$model" "$work/inside.onnx"
	"$bin/tools/tp-convert" -q --external-data always \
	    "$model" "$work/outside/m.onnx"
	"$bin/tools/tp-convert" -q "$model" "$work/m.safetensors"
	"$bin/tools/tp-convert" -q --graph "$model" \
	    "$work/m.safetensors" "$work/graph/m.onnx"
	NODE_PATH=$TP_ONNXRUNTIME node "$here/onnxruntime.js" "$model" \
	    "$work/inside.onnx" "$work/outside/m.onnx" \
	    "$work/graph/m.onnx" -- "$@"
	echo "${model##*/}: loads, and computes the same"
}

judge silero_vad_legacy.onnx input=1,1536 sr:16000
judge silero_vad_v5.onnx input=1,512 state=2,1,128 sr:16000
judge silero_vad_v6.onnx input=1,512 state=2,1,128 sr:16000
judge ch_PP-OCRv4_det_infer.onnx x=1,3,64,64
judge ch_PP-OCRv4_rec_infer.onnx x=1,3,48,160
judge ch_ppocr_mobile_v2.0_cls_infer.onnx x=1,3,48,192
