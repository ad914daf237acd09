#!/bin/sh
# Writes what the program prints into docs/lecture.md, and draws its picture:
#
#   sh tests/golden/update_lecture.sh build/headway docs/lecture.md
set -eu
program=$1
page=$2
sh "$(dirname "$0")/update_page.sh" "$program" "$page"
"$program" roofline --model llama-2-13b --gpu h100-sxm --set gpu.memory_bytes=80e9 \
  --svg "$(dirname "$page")/roofline.svg" >/dev/null
