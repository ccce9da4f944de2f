#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh FOLDER - a model around all formats, and the proof that it is the same
#
# Expects the tools and sample_checkpoint on PATH. What it does is printed as
# the commands that a person would type.
set -euo pipefail

support=$(dirname "$(realpath "$0")")
folder=$1
models=$(realpath "$folder/..")/models
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

# Show a command, then run it.
run() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# same A B: both hold the same tensors, by the hash of every one.
same() {
	printf '\n$ diff <(tp-inspect --hash %s) <(tp-inspect --hash %s)\n' \
	    "$1" "$2"
	diff <(hashes "$1") <(hashes "$2")
	echo "no difference: every tensor of $2 is that of $1"
}

# One line a tensor, without what only tells how a file is laid out.
hashes() {
	tp-inspect --hash --sort name "$1" | tail -n +2
}

echo "A small checkpoint: two layers, tied embeddings, four dtypes, metadata."
run sample_checkpoint sample.tpt
run tp-inspect --metadata sample.tpt

echo
echo "To ONNX, with the weights in a file beside it so that the tie is kept,"
echo "and back. --verify reads the output by another path and compares."
run tp-convert --verify --external-data always sample.tpt sample.onnx
run tp-convert --verify sample.onnx back.tpt
same sample.tpt back.tpt

echo
echo "safetensors cannot store two names over one storage: it says so, and"
echo "stores both when that is allowed."
run tp-convert sample.tpt sample.safetensors || echo "exit status $?"
run tp-convert --verify --allow-loss alias sample.tpt sample.safetensors
same sample.tpt sample.safetensors

echo
model=silero_vad_legacy.onnx
if ! "$support/fetch_models.sh" "$models" "$model"; then
	echo "*** SKIPPED: the same with Silero VAD, which npm could not fetch ***"
	exit 0
fi
ln -s "$models/$model" silero.onnx
echo "A real model: Silero VAD, 190 of its 259 weights inside If branches."
echo "Weights out, and back into the same graph; then through native."
run tp-convert --verify silero.onnx silero.safetensors
run tp-convert --verify --graph silero.onnx silero.safetensors again.onnx
same silero.onnx again.onnx
run tp-convert --verify silero.onnx silero.tpt
run tp-convert --verify silero.tpt back.onnx
same silero.onnx back.onnx
