#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh FOLDER - a model around all formats, and the proof that it is the same
#
# Expects the tools and sample_checkpoint on PATH. What it does is printed as
# the commands that a person would type.
set -euo pipefail

support=$(dirname "$(realpath "$0")")
folder=$1
rm -rf "$folder"
mkdir -p "$folder"
models=${TP_MODELS:-$(dirname "$(realpath "$folder")")/models}
cd "$folder"

# Show a command, then run it.
run() {
	printf '\n$ %s\n' "$*"
	"$@" 2>&1
}

# Everything that a file says: types, shapes, sizes, sha256, metadata.
list() {
	tp-inspect --sort name "$1" &&
	    tp-inspect --sort name --hash "$1" &&
	    tp-inspect --metadata "$1"
}

# same A B: both hold the same tensors.
same() {
	printf '\n$ diff <(list %s) <(list %s)\n' "$1" "$2"
	list "$1" >"$1.list"
	list "$2" >"$2.list"
	diff "$1.list" "$2.list"
	echo "no difference in $(grep -c '' "$1.list") lines"
}

echo "A small checkpoint: two layers, tied embeddings, four dtypes, metadata."
echo "(list FILE below is tp-inspect --sort name FILE, then with --hash, then"
echo "tp-inspect --metadata FILE.)"
run sample_checkpoint sample.tpt
run tp-inspect sample.tpt
run tp-inspect --metadata sample.tpt

echo
echo "To ONNX, with the weights in a file beside it so that the tie is kept,"
echo "and back. --verify reads the output by another path and compares."
run tp-convert --verify --external-data always sample.tpt sample.onnx
run tp-convert --verify sample.onnx back.tpt
same sample.tpt back.tpt
mkdir again
run tp-convert --external-data always back.tpt again/sample.onnx
run cmp sample.onnx again/sample.onnx
run cmp sample.onnx.data again/sample.onnx.data

echo
echo "safetensors cannot store two names over one storage: it says so, and"
echo "stores both when that is allowed."
run tp-convert sample.tpt sample.safetensors || echo "exit status $?"
run tp-convert --verify --allow-loss alias sample.tpt sample.safetensors
same sample.tpt sample.safetensors

model=silero_vad_legacy.onnx
echo
if ! "$support/fetch_models.sh" "$models" "$model"; then
	echo "*** SKIPPED: the same with Silero VAD, which npm could not fetch ***"
	exit 0
fi
ln -s "$models/$model" silero.onnx
echo "A real model: Silero VAD, 190 of its 259 weights inside If branches."
echo "Weights out, and back into the same graph; then through native."
run tp-convert --verify silero.onnx silero.safetensors
run tp-convert --verify --graph silero.onnx silero.safetensors graph.onnx
same silero.onnx graph.onnx
run tp-convert --verify silero.onnx silero.tpt
run tp-convert --verify silero.tpt back.onnx
same silero.onnx back.onnx
