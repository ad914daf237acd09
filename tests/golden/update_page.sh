#!/bin/sh
# Writes what the program prints into a page, below each of its lines "$ headway ...":
#
#   sh tests/golden/update_page.sh build/headway docs/lecture.md
set -eu
program=$1
page=$2
new=$(mktemp)
trap 'rm -f "$new"' EXIT
while IFS= read -r line; do
  case $line in
    '$ headway '*)
      printf '%s\n' "$line"
      # shellcheck disable=SC2086  # a list of words
      "$program" ${line#'$ headway '}
      skip=yes
      ;;
    '```')
      printf '%s\n' "$line"
      skip=no
      ;;
    *) if [ "${skip:-no}" = no ]; then printf '%s\n' "$line"; fi ;;
  esac
done <"$page" >"$new"
cat "$new" >"$page"
