#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# analyze.sh LOG - what GCC's analyzer found, without what analyze.not explains
#
# LOG is what a whole build printed. A line for each finding, and for each line of
# the list that explains none; then the status is 1. The last line counts functions
# (where it names none, files) that the analyzer leaves halfway as too complex.
set -eu
export LC_ALL=C

support=$(dirname "$(realpath "$0")")
awk -F'\t' -v root="$(realpath "$support/../..")/" '
function say(text) {
	print text
	n++
}

FNR == NR {
	if ($0 !~ /^(#|$)/)
		why[$1 FS $2 FS $3] = $4
	next
}
/ Building C object / {
	object = $0
	name = ""
}
# In function "NAME"; a clone is NAME.arch_x86_64_v4 or the like.
match($0, /In function [^A-Za-z0-9_]+[A-Za-z0-9_]+/) {
	name = substr($0, RSTART, RLENGTH)
	sub(/.*[^A-Za-z0-9_]/, "", name)
}
/ warning: .*\[-W[a-z-]+\]$/ {
	file = $0
	sub(/:[0-9]+:.*/, "", file)
	if (index(file, root) == 1)
		file = substr(file, length(root) + 1)
	sub(/^(\.\.\/)+/, "", file)
	kind = $0
	sub(/.*\[-W/, "", kind)
	sub(/\]$/, "", kind)
	key = file FS name FS kind
	if (kind == "analyzer-too-complex")
		complex[object FS name] = 1
	else if (key in why)
		seen[key] = 1
	else
		say($0 " in " name)
}
END {
	for (key in why) {
		if (why[key] == "")
			say("analyze.not gives no reason: " key)
		else if (!(key in seen))
			say("analyze.not explains what is not found: " key)
	}
	for (key in complex)
		n_complex++
	print "too complex: " n_complex + 0
	exit n > 0
}' "$support/analyze.not" "$1"
