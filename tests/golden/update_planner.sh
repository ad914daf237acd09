#!/bin/sh
# Writes the answers to the planner's questions into docs/planner.md, and draws their pictures:
#
#   sh tests/golden/update_planner.sh build/headway docs/planner.md
set -eu
program=$1
page=$2
sh "$(dirname "$0")/update_page.sh" "$program" "$page"
for demo in disaggregation routing autoscaling failure; do
  "$program" demo "$demo" --svg "$(dirname "$page")/pictures/planner_$demo.svg" >/dev/null
done
