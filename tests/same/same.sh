#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same.sh BUILD surroundings|locales - two runs of everything make the same bytes,
# whatever surrounds them
#
# One run is as the tools are mostly called. The others differ from it in all that
# must not matter: the number of threads, the time zone, the mask of new files, the
# folder and how it is called, the order in which files are named and made, and
# where the system puts memory; or they are those of a program with a locale.
set -eu

here=$(dirname "$(realpath "$0")")
bin=$1 kind=$2
PATH=$bin/tools:$bin/tests/support:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

outputs() {
	sh "$here/../support/outputs.sh" "$@"
}

# compare WHAT: the lines of the run in file there.
compare() {
	diff "$work/here" "$work/there" || {
		echo "$1: other bytes"
		exit 1
	}
	echo "$1: $(wc -l <"$work/there") outputs are the same"
}

(umask 022 && LC_ALL=C TZ=UTC TP_OUTPUTS_THREADS=1 outputs "$work/a" >"$work/here")
[ "$(wc -l <"$work/here")" -ge 60 ] || {
	echo "only $(wc -l <"$work/here") outputs"
	exit 1
}

case $kind in
surroundings)
	far="$work/another folder/$(printf '%0200d' 0)/b'c"
	fixed=
	# Where that is allowed, without randomised addresses.
	! setarch -R true 2>/dev/null || fixed="setarch -R"
	# shellcheck disable=SC2086 # words
	(umask 077 && TZ=Pacific/Kiritimati TP_OUTPUTS_THREADS=7 \
	    TP_OUTPUTS_ORDER=reversed $fixed sh "$here/../support/outputs.sh" \
	    "$far" >"$work/there")
	compare "surroundings${fixed:+, $fixed}"
	;;
locales)
	LOCPATH=$work/locales
	sh "$here/locales.sh" "$LOCPATH"
	export LOCPATH
	for name in tr_TR de_DE; do
		LC_ALL=$name.UTF-8 outputs "$work/b" >"$work/there"
		compare "$name"
	done
	# The libraries in a program that asks for the locale. Text of the tools
	# is theirs, and they do not ask.
	grep -v '\.txt$' "$work/here" >"$work/files"
	mv "$work/files" "$work/here"
	for name in tr_TR de_DE; do
		LC_ALL=$name.UTF-8 LD_PRELOAD=$bin/tests/same/set_locale.so \
		    outputs "$work/b" >"$work/all"
		grep -v '\.txt$' "$work/all" >"$work/there"
		compare "$name, asked for"
	done
	# And that a locale which is not there is noticed.
	rc=0
	LC_ALL=xx_XX.UTF-8 LD_PRELOAD=$bin/tests/same/set_locale.so \
	    tp-inspect --version >"$work/there" 2>&1 || rc=$?
	[ "$rc" = 99 ] || {
		echo "a locale that is not there: status $rc, expected 99"
		exit 1
	}
	;;
esac
