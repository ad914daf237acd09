#!/bin/sh
# What --openmetrics writes, read by Prometheus: its blocks must hold the totals of the run.
# Usage: promtool_test.sh HEADWAY PROMTOOL WORK_FOLDER. Exit code 77 where there is no promtool.
set -eu
headway=$1
promtool=$2
work=$3
"$promtool" --version >/dev/null 2>&1 || {
  echo "skipped: no promtool (Debian: apt-get install prometheus)"
  exit 77
}
rm -rf "$work"
mkdir -p "$work"
# Short of KV, with prompts that begin alike: preemptions, prefix hits that are there once and then not.
cat >"$work/short.json" <<'JSON'
{
  "model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "roofline", "cluster": {"replicas": 2},
  "engine": {"num_gpu_blocks_override": 400, "max_model_len": 2048, "enable_prefix_caching": true},
  "workload": {"num_prompts": 120, "request_rate": 40, "input_len": 600, "output_len": 200}
}
JSON

result() { # result KEY: the first number of that name
  sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*$/\1/p" "$work/$run.json" | head -n 1
}
# last NAME [FACTOR]: the newest values of the series of that name, added up.
last() {
  awk -v name="__name__=\"vllm:$1\"" -v factor="${2:-1}" '
    index($0, name) {
      at = $NF; value = $(NF - 1); series = $0; sub(/} [^}]*$/, "", series)
      if (!(series in time) || at > time[series]) { time[series] = at; newest[series] = value }
    }
    END {
      for (series in newest) sum += newest[series]
      printf "%.12g\n", sum * factor
    }' "$work/$run.dump"
}
same() { # same WHAT GOT EXPECTED
  awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b > 0 && d <= 1e-6 * b) }' || {
    echo "FAILED: $run: $1: $2 in Prometheus, $3 in the result" >&2
    exit 1
  }
}

look() { # look RUN SCENARIO FLAGS...
  run=$1
  shift
  "$headway" run "$@" --quiet --openmetrics "$work/$run.txt" --save-result "$work/$run.json" >/dev/null
  "$promtool" tsdb create-blocks-from openmetrics -q "$work/$run.txt" "$work/$run.tsdb"
  mkdir -p "$work/$run.tsdb/wal" # which dump asks for
  "$promtool" tsdb dump "$work/$run.tsdb" >"$work/$run.dump"
  samples=$(grep -vc '^#' "$work/$run.txt")
  same "samples" "$(wc -l <"$work/$run.dump")" "$samples"
  served=$(result completed)
  same "requests" "$(last request_success_total)" "$served"
  same "prompt tokens" "$(last prompt_tokens_total)" "$(result total_input_tokens)"
  same "output tokens" "$(last generation_tokens_total)" "$(result total_output_tokens)"
  same "engine steps" "$(last iteration_tokens_total_count)" "$(result steps)"
  per_request=$(awk -v n="$served" 'BEGIN { print 1000 / n }')
  same "mean TTFT" "$(last time_to_first_token_seconds_sum "$per_request")" "$(result mean_ttft_ms)"
  same "mean E2EL" "$(last e2e_request_latency_seconds_sum "$per_request")" "$(result mean_e2el_ms)"
}
look quickstart quickstart --limit 200
look preempting "$work/short.json"
same "preemptions" "$(last num_preemptions_total)" "$(result preemptions)"

# A run in which nothing was served has no samples, which is no fault.
run=empty
"$headway" run "$work/short.json" --set engine.max_model_len=16 --quiet \
  --openmetrics "$work/empty.txt" >/dev/null
"$promtool" tsdb create-blocks-from openmetrics -q "$work/empty.txt" "$work/empty.tsdb"
rm -rf "$work"
