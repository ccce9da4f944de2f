# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# lib.sh - words for command-line tests; run.sh reads it before each script

# expect STATUS COMMAND…: the command must end with that exit status.
expect() {
	expect_want=$1
	shift
	expect_got=0
	"$@" || expect_got=$?
	[ "$expect_got" = "$expect_want" ] && return
	echo "exit status $expect_got, expected $expect_want: $*" >&2
	exit 1
}

# says STATUS TEXT COMMAND…: the command ends with that status, and TEXT is on a
# line of what it prints. Both streams are left in the files out and err.
says() {
	says_want=$1 says_text=$2 says_got=0
	shift 2
	"$@" >out 2>err || says_got=$?
	if [ "$says_got" = "$says_want" ] && grep -qF -e "$says_text" out; then
		return
	fi
	echo "exit status $says_got, expected $says_want and" \
	    "'$says_text': $*" >&2
	cat out err >&2
	exit 1
}

# skip WHY: this machine cannot run the test.
skip() {
	echo "SKIPPED: $*"
	exit 77
}

# need COMMAND…: skip without them.
need() {
	for need_it; do
		command -v "$need_it" >/dev/null ||
		    skip "$need_it is not installed"
	done
}

# need_data PATH: skip unless TP_TEST_DATA has that file or folder.
need_data() {
	[ -n "${TP_TEST_DATA:-}" ] || skip "TP_TEST_DATA is not set"
	[ -e "$TP_TEST_DATA/$1" ] || skip "TP_TEST_DATA has no $1"
}

# le64 N: 8 bytes, little-endian.
le64() {
	le64_n=$1
	for _ in 1 2 3 4 5 6 7 8; do
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\$(printf %o $((le64_n % 256)))"
		le64_n=$((le64_n / 256))
	done
}

# make_safetensors HEADER N OUTPUT: the JSON in file HEADER, padded with spaces
# to 8 bytes, then N zero bytes.
make_safetensors() {
	make_size=$(wc -c <"$1")
	make_pad=$((-make_size & 7))
	{
		le64 $((make_size + make_pad))
		cat "$1"
		printf '%*s' "$make_pad" ''
		head -c "$2" /dev/zero
	} >"$3"
}

# write_safetensors OUTPUT HEADER: the JSON in the text HEADER, then the data
# from standard input.
write_safetensors() {
	write_pad=$((-${#2} & 7))
	{
		le64 $((${#2} + write_pad))
		printf '%s%*s' "$2" "$write_pad" ''
		cat
	} >"$1"
}

# bytes HEX…: these bytes.
bytes() {
	for bytes_it; do
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\$(printf %o "0x$bytes_it")"
	done
}

# data_of SAFETENSORS: the data behind the header, as hexadecimal bytes.
data_of() {
	data_n=$(od -An -tu8 -N8 "$1" | tr -d ' ')
	tail -c "+$((9 + data_n))" "$1" | od -An -v -tx1 | tr -s '\n ' ' ' |
	    sed 's/^ //; s/ $//'
}

# same WANT GOT WHAT
same() {
	[ "$1" = "$2" ] && return
	printf '%s:\n  expected %s\n  found    %s\n' "$3" "$1" "$2" >&2
	exit 1
}
