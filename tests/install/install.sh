#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh - install into an empty folder and build example.c against it,
# with pkg-config (shared and static) and with find_package (both)
set -eu

[ -z "$INSTRUMENTED" ] || {
	echo "SKIPPED: libraries built with $INSTRUMENTED need its runtime"
	exit 77
}

here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
"$CMAKE" --install "$BUILD" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(find "$prefix" -name libtensor.so)")
cflags='-std=c11 -Wall -Wextra -Wpedantic -Werror'

# The .pc files name the prefix they were configured for.
from_pkg_config() {
	PKG_CONFIG_PATH=$libdir/pkgconfig \
	    pkg-config --define-variable=prefix="$prefix" "$@" tpformats
}

check() {
	got=$(LD_LIBRARY_PATH=$libdir "$work/$1")
	[ "$got" = "safetensors: x f32 [2]" ] || {
		echo "$1 printed: $got"
		exit 1
	}
	echo "$1: ok"
}

printf '\100\0\0\0\0\0\0\0%-64s\0\0\200\77\0\0\0\100' \
    '{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' \
    >"$work/x.safetensors"
cd "$work"

# build NAME: with what pkg-config says, and the options given to it.
build() {
	name=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of words
	"$CC" $cflags "$here/example.c" -o "$name" \
	    $(from_pkg_config --cflags --libs "$@")
	check "$name"
}

build shared
mkdir elsewhere
mv "$libdir"/*.so* elsewhere
build static --static
mv elsewhere/* "$libdir"

find_package() {
	"$CMAKE" -S "$here/consumer" -B cmake -G "$GENERATOR" \
	    -DCMAKE_C_COMPILER="$CC" \
	    -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$here/example.c" &&
	    "$CMAKE" --build cmake
}
if ! find_package >log 2>&1; then
	cat log
	exit 1
fi
check cmake/shared
check cmake/static

"$prefix/bin/tp-inspect" --version | grep -q "$(from_pkg_config --modversion)"
find "$prefix" -name '*.[135]' -o -name 'tp-*' -path '*/bin/*' |
    sed "s|^$prefix/||" | sort
