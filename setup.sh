#!/bin/sh
# From a fresh Debian 12/13 or Ubuntu 24.04 to a result:
#
#   sh setup.sh demo           install what is missing, build, compare policies on a real trace
#   sh setup.sh test           the same, then all tests, plain and under ASan and UBSan
#   sh setup.sh build          the same without tests: the program is build/headway
#   sh setup.sh fast           build-fast/headway and bench, compiled twice: by what a training run counted
#   sh setup.sh install-deps   only install what is missing
set -eu
cd "$(dirname "$0")"

say() { printf '%s\n' "setup: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

# --- What is missing -------------------------------------------------------------------------

have_header() {
  printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" |
    c++ -x c++ -E - >/dev/null 2>&1
}

# Debian 12's default Boost (1.74) conflicts with the newer one beside it: name the newer one.
# shellcheck source=/dev/null
boost_package() {
  if [ "$(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-}${VERSION_ID:-}")" = debian12 ]; then
    printf 'libboost1.81-dev'
  else
    printf 'libboost-dev'
  fi
}

# Prints the packages whose tools or headers are not there, however they might have been installed.
missing_packages() {
  command -v c++ >/dev/null 2>&1 || printf 'g++ '
  command -v cmake >/dev/null 2>&1 || printf 'cmake '
  command -v ninja >/dev/null 2>&1 || printf 'ninja-build '
  have_header zlib.h || printf 'zlib1g-dev '
  have_header boost/version.hpp || printf '%s ' "$(boost_package)"
  have_header nlohmann/json.hpp || printf 'nlohmann-json3-dev '
  have_header CLI/CLI.hpp || printf 'libcli11-dev '
  have_header fmt/format.h || printf 'libfmt-dev '
  have_header catch2/catch.hpp || have_header catch2/catch_all.hpp || printf 'catch2 '
}

# What only the report page (--report) needs: the program builds without it.
missing_optional_packages() {
  command -v node >/dev/null 2>&1 || command -v nodejs >/dev/null 2>&1 || printf 'nodejs '
  command -v npm >/dev/null 2>&1 || printf 'npm '
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

may_install() { # without a question that nobody answers
  command -v apt-get >/dev/null 2>&1 || return 1
  [ "$(id -u)" -eq 0 ] && return
  command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

apt() { # apt ACTION [words]
  # shellcheck disable=SC2068  # lists of words
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 $@ >&2
}

install_deps() {
  install_needed
  install_optional
}

install_optional() {
  packages=$(missing_optional_packages)
  [ -n "$packages" ] || return 0
  if may_install; then
    say "installing for the report page: $packages"
    apt update -q || say "apt-get update failed; trying with the package lists that are here"
    apt install -y -q --no-install-recommends "$packages" || say "apt-get could not install: $packages"
  fi
  left=$(missing_optional_packages)
  [ -z "$left" ] || say "going on without $left(--report needs them, nothing else does)"
}

install_needed() {
  packages=$(missing_packages)
  if [ -z "$packages" ]; then
    return
  fi
  say "missing: $packages"
  command -v apt-get >/dev/null 2>&1 ||
    fail "no apt-get here: install these (or what your system calls them) and run again"
  by_hand="apt-get install --no-install-recommends $packages"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "no rights to install them; as root, run: $by_hand"
    if [ ! -t 0 ]; then
      sudo -n true 2>/dev/null || fail "no rights to install them; run: sudo $by_hand"
    fi
  fi
  say "installing them with apt-get"
  apt update -q || say "apt-get update failed; trying with the package lists that are here"
  apt install -y -q --no-install-recommends "$packages" || fail "apt-get could not install: $packages"
  left=$(missing_packages)
  [ -z "$left" ] || fail "still missing after installing: $left"
}

# --- Build and run ---------------------------------------------------------------------------

jobs() { nproc 2>/dev/null || echo 2; }

build() { # build PRESET TARGET [cmake arguments]
  preset=$1
  target=$2
  shift 2
  say "configuring and building ($preset)"
  cmake --preset "$preset" "$@" >&2
  cmake --build --preset "$preset" --target "$target" -j "$(jobs)" >&2
}

# Runs what people run: all schedulers, one engine and a fleet, caches on and full, skipping and stepping.
# Functions that it leaves out are compiled as in any other build.
train() {
  say "counting what a training run executes"
  schedulers=$(build-fast/headway list schedulers |
    awk 'NR > 1 && $1 != "block-diffusion" { printf "%s%s", comma, $1; comma = "," }')
  build-fast/headway compare scenarios/demo.json --vary "engine.scheduler=$schedulers" --limit 1000 --quiet
  build-fast/headway run scenarios/demo.json --limit 2000 --step-by-step --threads 1 --quiet
  build-fast/bench scale-1e4 azure-conv-cache starved closed-64 --threads 2
  build-fast/bench scale-1e4 azure-conv --threads 1
}

usage() {
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

case "${1:-}" in
  install-deps)
    install_deps
    ;;
  build)
    install_deps
    build release all -DHEADWAY_UNITY=ON
    say "built: build/headway"
    ;;
  fast)
    install_deps
    build fast headway -DHEADWAY_PGO=TRAIN
    build fast bench -DHEADWAY_PGO=TRAIN
    find build-fast -name '*.gcda' -delete
    train >build-fast/training.txt
    build fast headway -DHEADWAY_PGO=USE
    build fast bench -DHEADWAY_PGO=USE
    say "built: build-fast/headway, build-fast/bench"
    ;;
  demo)
    install_deps
    build release headway -DHEADWAY_TESTS=OFF -DHEADWAY_UNITY=ON  # the profiler and the engine are not needed for it
    set -- compare scenarios/demo.json --vary engine.scheduler=static,orca,vllm-v1
    if build/headway version | grep -q '^report page .*yes'; then
      set -- "$@" --report build/demo.html
      say "the figures go to build/demo.html, which opens in a browser"
    fi
    exec build/headway "$@"
    ;;
  test)
    install_deps
    build release all -DHEADWAY_TESTS=ON -DHEADWAY_HEADER_CHECK=ON -DHEADWAY_UNITY=ON
    ctest --preset release -j "$(jobs)"
    build asan-ubsan all -DHEADWAY_UNITY=ON
    exec ctest --preset asan-ubsan -j "$(jobs)"
    ;;
  *)
    usage
    ;;
esac
