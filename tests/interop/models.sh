#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# models.sh BIN CACHE NAME.onnx - a real model of models.lock, by the tools:
# every weight comes out and goes back bit-equal
set -eu

here=$(dirname "$(realpath "$0")")
bin=$1
cache=$2
model=$3
PATH=$bin/tools:$bin/tests/interop:$PATH

"$here/../support/fetch_models.sh" "$cache"
expected=$(awk -v end="/$model" 'substr($2, length($2) - length(end) + 1) == end { print $4 }' \
    "$here/../models.lock")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$cache/$model" "$work/model.onnx"
cd "$work"

# same FILE: FILE says what the model says, wherever it keeps its weights.
same() {
	onnx_same model.onnx "$1"
}

n=$(tp-inspect --json model.onnx | tr , '\n' | grep -c '"origin":')
[ "$n" = "$expected" ] || {
	echo "$n weights, models.lock says $expected"
	exit 1
}

tp-convert -q --verify model.onnx weights.safetensors
tp-convert -q --verify --graph model.onnx weights.safetensors graph.onnx
same graph.onnx
tp-convert -q --verify model.onnx whole.tpt
tp-convert -q --verify whole.tpt native.onnx
same native.onnx
mkdir external
tp-convert -q --verify --external-data always model.onnx external/model.onnx
same external/model.onnx
echo "$model: $n weights out and back"
