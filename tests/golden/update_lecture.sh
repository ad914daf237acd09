#!/bin/sh
# Writes what the program prints into docs/lecture.md, below each of its commands:
#
#   sh tests/golden/update_lecture.sh build/headway docs/lecture.md
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
"$program" roofline --model llama-2-13b --gpu h100-sxm --set gpu.memory_bytes=80e9 \
  --svg "$(dirname "$page")/roofline.svg" >/dev/null
