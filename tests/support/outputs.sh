#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outputs.sh FOLDER - make what the tools make of one model; print the sha256 of all
#
# Expects the tools and sample_checkpoint on PATH. Every build of the tools, for
# any machine, with any options of the compiler, prints the same. Deflated bytes
# depend on the version of zlib, so of such files the tensors are hashed.
#
# TP_OUTPUTS_THREADS is the number of threads (default 2). With TP_OUTPUTS_ORDER
# "reversed", files of which the order does not matter are made and named the other
# way round.
set -eu

threads=${TP_OUTPUTS_THREADS:-2} order=${TP_OUTPUTS_ORDER:-}

mkdir -p "$1"
cd "$1"
rm -rf ./*

convert() {
	tp-convert --quiet --threads "$threads" "$@"
}

quantize() {
	tp-quantize --quiet --threads "$threads" "$@"
}

# op NAME OUTPUT INPUT… [-- OPTION…]
op() {
	op_name=$1 op_out=$2
	shift 2
	op_in=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		op_in="$op_in --in $1"
		shift
	done
	[ $# -eq 0 ] || shift
	# shellcheck disable=SC2086 # words
	tp-verify op --threads "$threads" $op_in --out "$op_out" "$@" "$op_name" >/dev/null
}

# in_order FILE…: one a line
in_order() {
	printf '%s\n' "$@" | LC_ALL=C sort ${order:+-r}
}

sample_checkpoint model.tpt
convert --allow-loss alias model.tpt model.safetensors
convert --allow-loss alias model.tpt model.onnx
convert --external-data always model.tpt outside.onnx
convert --compress model.tpt deflated.tpt
convert --allow-loss alias --max-shard-size 2K model.tpt shards.safetensors
mkdir again
for file in $(in_order shards*); do
	cp "$file" again
done
convert again/shards.safetensors.index.json joined.safetensors
rm -r again
for dtype in f16 bf16 f8e4m3fn f8e5m2 f64; do
	convert --dtype "conv*=$dtype" --overflow saturate model.tpt \
	    "cast-$dtype.tpt"
done
convert --dtype 'conv*=f32' --dtype 'embedding*=f32' --dtype 'output*=f32' \
    model.tpt wide.tpt

for scheme in int8 uint8 int4 uint4 f16 bf16 f8e4m3 f8e5m2 q8_0 q4_0; do
	quantize --min-elements 1 --scheme "$scheme" wide.tpt \
	    "$scheme.tpt"
done
for scheme in int8 uint8 f8e4m3 bf16; do
	quantize --min-elements 1 --scheme "$scheme" wide.tpt \
	    "$scheme.safetensors"
done
quantize --min-elements 1 --scheme int8 --per channel --asymmetric \
    --calibrate mse wide.tpt mse.tpt
quantize --dequantize int8.tpt int8-wide.tpt
quantize --min-elements 1 --plan auto --target-sqnr 40 --save-plan plan.json \
    --report plan-report.json wide.tpt plan.tpt
quantize --plan plan.json wide.tpt replayed.tpt

w=wide.tpt:conv2.weight e=wide.tpt:embedding.weight
for name in Exp Log Tanh Sigmoid Erf Sqrt Sin Gelu Softplus Reciprocal; do
	op "$name" "op-$name.tpt" "$w"
done
for name in Add Mul Div Pow; do
	op "$name" "op-$name.tpt" "$w" "$w"
done
op Softmax op-Softmax.tpt "$e"
op ReduceSum op-ReduceSum.tpt "$e"
op ReduceLogSumExp op-ReduceLogSumExp.tpt "$e"
op Transpose op-Transpose.tpt "$e"
op MatMul op-MatMul.tpt "$e" op-Transpose.tpt
op Gemm op-Gemm.tpt "$e" "$e" -- --attr transB=1
op Conv op-Conv.tpt "$w" "$w" -- --attr pads=1,1,1,1
op LayerNormalization op-LayerNormalization.tpt "$e" wide.tpt:conv2.bias
op Cast op-Cast.tpt "$e" -- --attr to=f16

# Lines of several files, whichever comes first.
# shellcheck disable=SC2046 # names
tp-inspect --hash $(in_order cast-*.tpt op-*.tpt) >lines
LC_ALL=C sort lines >hashes.txt
rm lines
tp-inspect --threads "$threads" --stats wide.tpt >statistics.txt
tp-inspect --values 'embedding.weight[:4]' wide.tpt >values.txt
tp-inspect --hash deflated.tpt >deflated.txt
rm deflated.tpt
tp-verify diff --sqnr 10 model.tpt int8-wide.tpt >diff.txt
sha256sum ./*
