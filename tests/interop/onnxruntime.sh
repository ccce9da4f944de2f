#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnxruntime.sh BIN CACHE - real models, written again, in ONNX Runtime: inside
# one file, with external data (the default threshold), out of safetensors; and
# with narrowed weights, whose outputs have errors so many decibels below them
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

# narrow DECIBELS SCHEME MODEL INPUT…: weights may be in a file beside it
narrow() {
	decibels=$1 scheme=$2 model=$cache/$3
	shift 3
	rm -rf "${work:?}"/*
	mkdir "$work/outside"
	# shellcheck disable=SC2086 # it may have an option behind it
	"$bin/tools/tp-quantize" -q -s $scheme --verify \
	    "$model" "$work/narrow.onnx"
	"$bin/tools/tp-convert" -q --external-data always \
	    "$work/narrow.onnx" "$work/outside/m.onnx"
	NODE_PATH=$TP_ONNXRUNTIME node "$here/onnxruntime.js" \
	    --sqnr "$decibels" "$model" \
	    "$work/narrow.onnx" "$work/outside/m.onnx" -- "$@"
	echo "${model##*/}: $scheme, $(wc -c <"$model") ->" \
	    "$(wc -c <"$work/narrow.onnx") bytes"
}

judge silero_vad_legacy.onnx input=1,1536 sr:16000
judge silero_vad_v5.onnx input=1,512 state=2,1,128 sr:16000
judge silero_vad_v6.onnx input=1,512 state=2,1,128 sr:16000
judge ch_PP-OCRv4_det_infer.onnx x=1,3,64,64
judge ch_PP-OCRv4_rec_infer.onnx x=1,3,48,160
judge ch_ppocr_mobile_v2.0_cls_infer.onnx x=1,3,48,192

for scheme in int8 uint8; do
	narrow 30 "$scheme" silero_vad_legacy.onnx input=1,1536 sr:16000
	narrow 25 "$scheme" silero_vad_v5.onnx \
	    input=1,512 state=2,1,128 sr:16000
	narrow 25 "$scheme" ch_PP-OCRv4_det_infer.onnx x=1,3,160,320@page
	narrow 20 "$scheme" ch_PP-OCRv4_rec_infer.onnx x=1,3,48,160
	narrow 35 "$scheme" ch_ppocr_mobile_v2.0_cls_infer.onnx x=1,3,48,192
done
narrow 60 f16 silero_vad_v5.onnx input=1,512 state=2,1,128 sr:16000
narrow 55 f16 ch_PP-OCRv4_det_infer.onnx x=1,3,160,320@page
narrow 40 bf16 silero_vad_v5.onnx input=1,512 state=2,1,128 sr:16000
narrow 60 "f16 --graph-dtype f16" silero_vad_v5.onnx \
    input=1,512 state=2,1,128 sr:16000
narrow 50 "f16 --graph-dtype f16" ch_PP-OCRv4_det_infer.onnx \
    x=1,3,160,320@page
narrow 45 "f16 --graph-dtype f16" ch_PP-OCRv4_rec_infer.onnx x=1,3,48,160
narrow 65 "f16 --graph-dtype f16" ch_ppocr_mobile_v2.0_cls_infer.onnx \
    x=1,3,48,192
