#!/bin/sh
# object-write.sh URL TOKEN < CONTENT: a conditional put in the place of the object that was looked at, or of none.
# The first line of an object is the token: so no two holders write objects of one ETag.
set -eu
at=$(mktemp -d) && trap 'rm -r "$at"' EXIT
{ echo "$2" && cat; } > "$at/new"
while :; do
  status=$(curl -sS -D "$at/head" -o "$at/held" -w '%{http_code}' "$1")
  case $status in
    200) condition="If-Match: $(tr -d '\r' < "$at/head" | sed -n 's/^etag: *//Ip')" latest=$(head -n 1 "$at/held") ;;
    404) condition='If-None-Match: *' latest=0 ;;
    *) echo "the store answers $status" >&2 && exit 1 ;;
  esac
  [ "$2" -ge "$latest" ] || { echo "fenced off: a later holder has written: $latest" >&2 && exit 3; }
  status=$(curl -sS -o "$at/reply" -w '%{http_code}' -X PUT -H "$condition" --data-binary "@$at/new" "$1")
  case $status in
    200) exit 0 ;;
    409 | 412) ;; # Another one has written since: look again.
    *) echo "the store answers $status" >&2 && exit 1 ;;
  esac
done
