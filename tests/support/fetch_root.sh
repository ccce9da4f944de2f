#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetch_root.sh ARCHITECTURE FOLDER - the libraries of a Debian architecture
#
# The packages are unpacked into FOLDER/root and not installed: nothing of this
# machine changes, and their versions need not be those that it has.
set -euo pipefail

arch=$1 folder=$(realpath -m "$2")
packages=(zlib1g zlib1g-dev libcjson1 libcjson-dev libprotobuf-c1
	libprotobuf-c-dev libpcre2-8-0 libpcre2-dev libpcre2-16-0
	libpcre2-32-0 libpcre2-posix3 libcmocka0 libcmocka-dev)

[ -e "$folder/root/.complete" ] && exit
mkdir -p "$folder"/apt/{lists/partial,archives/partial} "$folder"/{debs,root}
: >"$folder/apt/status"
options=(-q -o "APT::Architecture=$arch" -o "APT::Architectures=$arch"
	-o "Dir::State::lists=$folder/apt/lists"
	-o "Dir::State::status=$folder/apt/status"
	-o "Dir::Cache=$folder/apt" -o APT::Sandbox::User=root)
# Some suites have no part for the architecture.
apt-get "${options[@]}" update || true
(cd "$folder/debs" && apt-get "${options[@]}" download "${packages[@]}")
for deb in "$folder"/debs/*.deb; do
	dpkg -x "$deb" "$folder/root"
done
# A link from the top leads into the folder, as it would in that system: else a
# static library is found where a shared one is meant.
find "$folder/root" -type l -lname '/*' | while read -r link; do
	ln -sfrT "$folder/root$(readlink "$link")" "$link"
done
touch "$folder/root/.complete"
