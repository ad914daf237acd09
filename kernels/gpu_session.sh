#!/bin/sh
# One session on a machine with a GPU: builds the kernels and the profiler, checks every kernel,
# profiles within a budget, validates where headway-validate is there, and leaves everything it did
# in one folder. Ends at the first failed check. Made for bare machines: needs nvcc, its host
# compiler, and the headers of nlohmann-json and CLI11; no CMake, no Boost, no fmt, no zlib, no
# network.
#
#   sh kernels/gpu_session.sh [--out DIR] [--budget-s N] [--grid quick|full] [--limit-s N]
#                             [--arch 90a] [--jobs N] [--scenario FILE] [--build-only]
#   sh kernels/gpu_session.sh pack FILE.tar.gz     source, those headers, build/headway-validate:
#                                                  what to carry over
#
# In --out (default gpu-session): build/, profile/, session.log, one log a step, device.txt.
# Exit codes: 0 fine; 1 a check failed or a step broke; 2 no GPU, no compiler or no headers.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
out=gpu-session budget=240 grid=full limit=480 arch=90a jobs= scenario= build_only=no

refuse() { echo "gpu_session: $*" >&2; exit 2; }

# The folder below which these headers lie.
find_headers() {
  for folder in "${HEADWAY_HEADERS:-}" "$root/kernels/headers" /usr/local/include /usr/include; do
    [ -n "$folder" ] || continue
    [ -f "$folder/$1" ] && { echo "$folder"; return 0; }
  done
  return 1
}

require_headers() {
  json=$(find_headers nlohmann/json.hpp) || no_header nlohmann/json.hpp
  cli=$(find_headers CLI/CLI.hpp) || no_header "CLI/CLI.hpp (CLI11)"
}
no_header() {
  refuse "no $1; name the folder it lies below in HEADWAY_HEADERS, or make a package on a" \
    "machine that has it (sh $0 pack FILE.tar.gz)"
}

commit() {
  git -C "$root" rev-parse --short=12 HEAD 2>/dev/null ||
    cat "$root/kernels/headers/commit" 2>/dev/null
}

# headway-validate needs all of the simulator, so it travels built, with the libraries that a bare
# machine lacks and the data where an installed program looks for them.
pack_validate() {
  [ -x "$root/build/headway-validate" ] || { echo "without validate: it is not built" >&2; return; }
  mkdir -p "$1/bin" "$1/lib" "$1/share/headway" || exit 1
  cp "$root/build/headway-validate" "$1/bin/" || exit 1
  ldd "$1/bin/headway-validate" | awk '/lib(fmt|openblas|gfortran|quadmath|z)\./ { print $3 }' |
    while read -r library; do cp -L "$library" "$1/lib/"; done
  ln -s ../../../sim/model/catalogue "$1/share/headway/models"
  ln -s ../../../sim/hardware/catalogue "$1/share/headway/gpus"
  for kind in profiles traces scenarios; do ln -s "../../../$kind" "$1/share/headway/$kind"; done
}

pack() {
  [ $# = 1 ] || refuse "pack takes the name of the package"
  require_headers
  stage=$(mktemp -d) || exit 1
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage/headway/kernels/headers" || exit 1
  (cd "$root" && tar -cf - CMakeLists.txt LICENSE README.md kernels sim profiles scenarios traces) |
    tar -xf - -C "$stage/headway" || exit 1
  cp -rL "$json/nlohmann" "$cli/CLI" "$stage/headway/kernels/headers/" || exit 1
  commit > "$stage/headway/kernels/headers/commit"
  pack_validate "$stage/headway/prebuilt"
  tar -czf "$1" -C "$stage" headway || exit 1
  echo "$1: unpack it and run sh headway/kernels/gpu_session.sh"
}

if [ "${1:-}" = pack ]; then shift; pack "$@"; exit 0; fi

while [ $# -gt 0 ]; do
  case $1 in
    --build-only) build_only=yes; shift; continue ;;
    --out|--budget-s|--grid|--limit-s|--arch|--jobs|--scenario) ;;
    *) refuse "unknown argument $1 (the head of $0 lists them)" ;;
  esac
  [ $# -ge 2 ] || refuse "$1 takes a value"
  case $1 in
    --out) out=$2 ;;
    --budget-s) budget=$2 ;;
    --grid) grid=$2 ;;
    --limit-s) limit=$2 ;;
    --arch) arch=$2 ;;
    --jobs) jobs=$2 ;;
    --scenario) scenario=$2 ;;
  esac
  shift 2
done

nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
[ -x "$nvcc" ] || refuse "no nvcc on PATH and none at /usr/local/cuda/bin"
cuda=$(cd "$(dirname "$nvcc")/.." && pwd)
require_headers
if [ "$build_only" = no ]; then
  # A node of the driver, or its own tool.
  ls /dev/nvidia[0-9]* >/dev/null 2>&1 || nvidia-smi -L 2>/dev/null | grep -q GPU ||
    refuse "no GPU on this machine (neither /dev/nvidia0 nor one that nvidia-smi lists)"
fi

mkdir -p "$out/build" || refuse "cannot make $out"
out=$(cd "$out" && pwd)
: > "$out/session.log" || refuse "cannot write to $out"
begin=$(date +%s)
elapsed() { echo $(($(date +%s) - begin)); }
say() { echo "[$(elapsed) s] $*" | tee -a "$out/session.log" >&2; }
# The time that a step may take: what it wants, but no more than what is left of the limit.
within() {
  left=$((limit - $(elapsed)))
  [ "$left" -gt 5 ] || left=5
  [ "$1" -lt "$left" ] && left=$1
  echo "$left"
}
# step NAME SECONDS COMMAND...: its output into NAME.log; ends the session when it fails.
step() {
  name=$1 seconds=$(within "$2")
  shift 2
  say "$name: at most $seconds s"
  timeout -k 10 "$seconds" "$@" > "$out/$name.log" 2>&1
  code=$?
  tail -n 60 "$out/$name.log" >> "$out/session.log"
  say "$name: exit code $code"
  [ $code = 0 ] && return 0
  tail -n 20 "$out/$name.log" >&2
  exit 1
}

# ---- build ----

sim_sources() {
  ls sim/core/*.cpp sim/model/*.cpp sim/hardware/*.cpp
  for name in profile profile_reader profile_writer interpolation fitted_model measured_operators \
              operators; do echo sim/cost/$name.cpp; done
  for name in cli command_line console profile_arguments; do echo sim/cli/$name.cpp; done
}
kernel_sources() { ls kernels/instances/*.cu kernels/providers/*.cpp kernels/gpu_kernels.cpp; }
profiler_sources() {
  ls kernels/cpu/*.cpp kernels/profiler/*.cu
  ls kernels/profiler/*.cpp | grep -v cuda_absent
}
test_sources() { echo kernels/tests/main.cpp kernels/tests/runtime_cuda.cpp | tr ' ' '\n'; }

version=$(sed -n 's/.*project(headway VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
flags="-std=c++20 -O2 -I$root -DHEADWAY_WITHOUT_ZLIB -DNDEBUG"
for folder in "$json" "$cli"; do
  [ "$folder" = /usr/include ] || flags="$flags -I$folder"
done
cat > "$out/build/compile.sh" <<COMPILE
# compile.sh SOURCE: into one object a source, named after it. 255 tells xargs to begin no more.
object=$out/build/\$(echo "\$1" | tr / _).o
defines=
case \$1 in
  sim/core/data_files.cpp|sim/core/build_info.cpp)
    defines='-DHEADWAY_VERSION="$version" -DHEADWAY_GIT_HASH="$(commit)" -DHEADWAY_WITH_CUDA=1
             -DHEADWAY_SOURCE_DIR="$root" -DHEADWAY_BUILD_DIR="$out/build"' ;;
esac
case \$1 in
  *.cu) $nvcc $flags -gencode=arch=compute_$arch,code=sm_$arch -c "\$1" -o "\$object" ;;
  *) g++ $flags -I$cuda/include \$defines -c "\$1" -o "\$object" ;;
esac || exit 255
COMPILE
cat > "$out/build/build.sh" <<BUILD
cd "$root" || exit 1
# The slowest first, so that none is left alone at the end.
xargs -P ${jobs:-$(nproc)} -n 1 sh "$out/build/compile.sh" < "$out/build/sources" || exit 1
link() { $nvcc -cudart static -Xcompiler -static-libstdc++,-static-libgcc -o "$out/build/\$1" \
  \$(for f in \$(cat "$out/build/\$1.list"); do echo "$out/build/\$(echo "\$f" | tr / _).o"; done) \
  -ldl -lpthread -lrt; }
link kernel_tests_cuda && link headway-profile
BUILD
(
  cd "$root" || exit 1
  { kernel_sources; test_sources; } > "$out/build/kernel_tests_cuda.list"
  { kernel_sources; profiler_sources; sim_sources; } > "$out/build/headway-profile.list"
  cat "$out"/build/*.list | sort -u > "$out/build/all"
  { grep '\.cu$' "$out/build/all"; grep -v '\.cu$' "$out/build/all"; } > "$out/build/sources"
) || exit 1

step build "${HEADWAY_BUILD_S:-240}" sh "$out/build/build.sh"
[ "$build_only" = yes ] && { say "built only"; exit 0; }

# ---- check, profile, validate ----

{ nvidia-smi -q 2>/dev/null || echo "no nvidia-smi"; } > "$out/device.txt"
step checks 90 "$out/build/kernel_tests_cuda"
# What is left, less a reserve for what follows the profile.
validate=
for program in "$root/prebuilt/bin/headway-validate" "$root/build/headway-validate"; do
  [ -z "$validate" ] && [ -x "$program" ] && validate=$program
done
reserve=10
[ -n "$validate" ] && reserve=130
most=$((limit - $(elapsed) - reserve))
[ "$budget" -lt "$most" ] || budget=$most
[ "$budget" -ge 20 ] || { say "no time left to profile"; exit 1; }
step profile $((budget + 20)) "$out/build/headway-profile" --device cuda --grid "$grid" \
  --budget-s "$budget" -o "$out/profile"

LD_LIBRARY_PATH=$root/prebuilt/lib:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
if [ -z "$validate" ]; then
  say "validate: left out, headway-validate is not there"
elif ! "$validate" --help > "$out/validate.log" 2>&1; then
  say "validate: left out, headway-validate does not start here ($(tail -n 1 "$out/validate.log"))"
else
  step validate 120 "$validate" --device cuda $scenario
fi
say "done: $out/profile"
