#!/bin/sh
# sweep_mpi_test.sh HEADWAY MPIRUN FOLDER: three MPI ranks, threads and shards give the same bytes;
# a job whose rank is killed loses at most the points it was at, and the next does only the rest.
set -eu
headway=$1
mpirun=$2
rm -rf "$3"
mkdir -p "$3"
cd "$3"

fail() {
  echo "sweep_mpi_test: $*" >&2
  exit 1
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { "$mpirun" --oversubscribe -n "$@"; }

cat >s.json <<'END'
{"model": "llama-3.1-8b", "gpu": "h100-sxm",
 "workload": {"num_prompts": 800, "request_rate": 4, "input_len": 500, "output_len": 50}}
END
cat >p.json <<'END'
{"scenario": "s.json",
 "axes": {"engine.scheduler": ["orca", "vllm-v1", "sarathi"], "workload.request_rate": [1, 4]},
 "seeds": 4}
END

"$headway" sweep p.json -o threads -j 2 2>/dev/null
"$headway" sweep merge threads -q
ranks 3 "$headway" sweep p.json -o three 2>three.err || fail "three ranks: $(cat three.err)"
grep -q '24 points: 24 run' three.err || fail "three ranks said: $(cat three.err)"
"$headway" sweep p.json --mpi -j 2 -o alone 2>alone.err || fail "one rank: $(cat alone.err)"
for shard in 3/4 1/4 0/4 2/4; do "$headway" sweep p.json -o shards --shard "$shard" -q; done
for dir in three alone shards; do
  "$headway" sweep merge "$dir" -q
  cmp threads/results.csv "$dir/results.csv"
  cmp threads/results.json "$dir/results.json"
done

# A rank is killed when some points are finished, which ends the whole job.
mkdir -p killed/points
cat >victim.sh <<'END'
if [ "$OMPI_COMM_WORLD_RANK" != 1 ]; then exec "$1" sweep p.json -o killed; fi
"$1" sweep p.json -o killed &
while [ "$(find killed -name '0*.json' | wc -l)" -lt 3 ]; do sleep 0.01; done
kill -9 $!
wait $!
END
ranks 3 sh victim.sh "$headway" >killed.log 2>&1 || true
before=$(find killed -name '0*.json' | wc -l)
ranks 3 "$headway" sweep p.json -o killed 2>rest.err || fail "the rest: $(cat rest.err)"
[ "$before" -eq 0 ] || grep -q "$before finished before" rest.err ||
  fail "$before were finished, the rerun said: $(cat rest.err)"
"$headway" sweep merge killed -q
cmp threads/results.csv killed/results.csv
cmp threads/results.json killed/results.json

# A mistake ends all ranks with exit code 2.
code=0
ranks 3 "$headway" sweep p.json -o threads --resume --shard 5 >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || fail "a bad shard gave $code"
sed 's/"seeds": 4/"seeds": 5/' p.json >q.json
code=0
ranks 3 "$headway" sweep q.json -o threads >/dev/null 2>q.err || code=$?
[ "$code" = 2 ] || fail "another plan's folder gave $code: $(cat q.err)"
grep -q 'another plan' q.err || fail "another plan's folder said: $(cat q.err)"
echo "sweep over MPI: the same bytes"
