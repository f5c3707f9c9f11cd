#!/bin/sh
# file-write.sh FOLDER TOKEN < CONTENT: the number of the file is the token, with leading zeroes.
set -eu
name=$(printf '%s/ledger.%020d' "$1" "$2")
cat > "$name.tmp.$$"
sync "$name.tmp.$$"
mv -T "$name.tmp.$$" "$name"
