#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# models_narrow.sh BIN CACHE NAME.onnx [SCHEME:DECIBELS… -- ARGUMENT…] - a real
# model of models.lock with narrowed weights; the scheme half is f16 that the
# graph computes with
#
# It is valid, its narrowed weights take a quarter of what they took (or a half),
# and (but for half) it comes back byte for byte when it is
# dequantized and quantized again. Computed by the reference operators, with these
# arguments of tp-verify run (or page:NAME=1,3,H,W, an input drawn by page.sh),
# every output has errors at least that many decibels below it.
set -eu

here=$(dirname "$(realpath "$0")")
PATH=$1/tools:$PATH
cache=$2
model=$3
shift 3

"$here/../support/fetch_models.sh" "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$cache/$model" "$work/model.onnx"
cd "$work"

# shrunk SCHEME: what narrowed weights take, with scales and zero points, of what
# they took. Those that are kept are few, but so may the others be.
shrunk() {
	case $1 in *8) most=28 ;; *) most=50 ;; esac
	awk -v most="$most" -v scheme="$1" '
	/"status":/ { narrowed = /"narrowed"/ }
	/"totals":/ { narrowed = 0 }
	narrowed && /"bytes_before":/ { before += $2 }
	narrowed && /"bytes_after":/ { after += $2 }
	END {
		printf "%s: %d -> %d bytes of weights, %.1f %%\n", scheme, \
		    before, after, 100 * after / before
		exit before < 100000 || 100 * after > most * before
	}' narrowed
}

# round SCHEME: 1.onnx, narrowed
round() {
	if [ "$1" = half ]; then
		tp-quantize -q --force --verify -s f16 --graph-dtype f16 \
		    model.onnx 1.onnx
	else
		tp-quantize -q --force --verify -s "$1" --report narrowed \
		    model.onnx 1.onnx
		shrunk "$1"
		tp-quantize -q --force --verify --dequantize 1.onnx 2.onnx
		tp-quantize -q --force -s "$1" 2.onnx 3.onnx
		cmp 1.onnx 3.onnx
	fi
	tp-verify check 1.onnx >log || {
		cat log
		exit 1
	}
	[ "$(($(wc -c <1.onnx) * 3))" -lt "$(($(wc -c <model.onnx) * 2))" ] || {
		echo "$1: only $(wc -c <1.onnx) of $(wc -c <model.onnx) bytes"
		exit 1
	}
}

# least DECIBELS ARGUMENT…: what 1.onnx computes
least() {
	decibels=$1
	shift
	# Status 1 says that they differ; how far is what counts.
	status=0
	tp-verify run model.onnx --against 1.onnx --json "$@" >report ||
	    status=$?
	[ "$status" -le 1 ] || {
		cat report
		echo "tp-verify run: status $status"
		exit 1
	}
	sed -n 's/.*"sqnr_db": *\([-0-9.]*\).*/\1/p' report >lines
	figures=$(tr '\n' ' ' <lines)
	awk -v least="$decibels" '{ if ($1 < least) bad = 1 }
	    END { exit bad || !NR }' lines || {
		echo "outputs have $figures dB, expected $decibels"
		exit 1
	}
	echo "outputs: $figures dB"
}

rows=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	rows="$rows $1"
	shift
done
[ $# = 0 ] || shift
case ${1:-} in
page:*)
	sh "$here/page.sh" "${1#page:}" page.safetensors
	shift
	set -- --in page.safetensors "$@"
	;;
esac
for row in $rows; do
	round "${row%:*}"
	echo "$model: ${row%:*}, $(wc -c <model.onnx) -> $(wc -c <1.onnx) bytes"
	[ $# = 0 ] || least "${row#*:}" "$@"
done
