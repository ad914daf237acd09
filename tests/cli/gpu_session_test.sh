#!/bin/sh
# kernels/gpu_session.sh as far as a machine without a GPU goes: what it refuses, and its package.
#   gpu_session_test.sh SCRIPT FOLDER
script=$1 folder=$2
rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/headers/nlohmann" "$folder/headers/CLI" || exit 1
: > "$folder/headers/nlohmann/json.hpp"
: > "$folder/headers/CLI/CLI.hpp"
printf '#!/bin/sh\nexit 1\n' > "$folder/bin/nvcc"
printf '#!/bin/sh\necho "no devices were found"\nexit 6\n' > "$folder/bin/nvidia-smi"
chmod +x "$folder/bin/nvcc" "$folder/bin/nvidia-smi"
PATH=$folder/bin:$PATH HEADWAY_HEADERS=$folder/headers
export PATH HEADWAY_HEADERS

failures=0
# refuses TEXT ARGUMENTS...: exit code 2, TEXT on stderr, and nothing made.
refuses() {
  text=$1
  shift
  (cd "$folder" && sh "$script" "$@") > "$folder/stdout" 2> "$folder/stderr"
  code=$?
  if [ $code != 2 ] || ! grep -q -e "$text" "$folder/stderr" || [ -e "$folder/gpu-session" ]; then
    echo "FAILED: $script $*: exit code $code, said:"
    cat "$folder/stderr"
    failures=$((failures + 1))
  fi
}
refuses "unknown argument --bogus" --bogus
refuses "takes a value" --out
refuses "takes the name" pack
if ! ls /dev/nvidia[0-9]* > /dev/null 2>&1; then refuses "no GPU" --out "$folder/out"; fi

# A compiler that fails ends the session at the build, with its words in the log.
(cd "$folder" && sh "$script" --build-only --out "$folder/out") > /dev/null 2> "$folder/stderr"
if [ $? != 1 ] || ! grep -q "build: exit code" "$folder/out/session.log"; then
  echo "FAILED: a build that fails"
  failures=$((failures + 1))
fi

sh "$script" pack "$folder/package.tar.gz" > /dev/null 2>&1
for file in kernels/gpu_session.sh kernels/registry.h sim/cost/profile.h CMakeLists.txt \
            sim/model/catalogue/llama-3.1-8b.json kernels/headers/nlohmann/json.hpp; do
  tar -tzf "$folder/package.tar.gz" | grep -q "^headway/$file$" && continue
  echo "FAILED: no $file in the package"
  failures=$((failures + 1))
done
[ $failures = 0 ] && echo "gpu_session.sh: all as it should be"
exit $failures
