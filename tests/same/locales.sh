#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# locales.sh FOLDER - make the locales whose rules differ most from those of C
#
# Turkish has other capital letters of i, both have the decimal comma. Debian's
# package locales has what they are made of. Programs find them with
# LOCPATH=FOLDER. Status 77 where they cannot be made.
set -eu

if ! command -v localedef >/dev/null || [ ! -e /usr/share/i18n/locales/tr_TR ]; then
	echo "SKIPPED: localedef has no source of locales; see Debian's locales"
	exit 77
fi
mkdir -p "$1"
for name in tr_TR de_DE; do
	[ -e "$1/$name.UTF-8/LC_NUMERIC" ] ||
	    localedef -i "$name" -f UTF-8 "$1/$name.UTF-8"
done
