#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# emulate.sh BUILD COMMAND… - programs of a foreign build, to be called as ever
#
# Each program of the build moves to NAME.foreign, and a script that runs it by
# COMMAND takes its name. Those that are scripts already are written anew. In
# their environment TP_EMULATED is set: times mean nothing there.
set -euo pipefail

build=$(realpath "$1")
shift
find "$build/tools" "$build/tests" -type f -perm -u+x ! -name '*.foreign' \
    ! -name '*.so*' | while read -r program; do
	[ "$(head -c 4 "$program" | tr -d '\177')" != ELF ] ||
	    mv "$program" "$program.foreign"
	[ -e "$program.foreign" ] || continue
	printf '#!/bin/sh\nexport TP_EMULATED=1\nexec %s %s "$@"\n' "$*" \
	    "$program.foreign" >"$program"
	chmod +x "$program"
done
