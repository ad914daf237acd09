#!/bin/sh
# setup.sh install-deps against stand-ins for the compiler, apt-get, id and sudo.
# Usage: setup_test.sh SETUP WORK_FOLDER
set -eu
setup=$1
work=$2
rm -rf "$work"
mkdir -p "$work/bin"
log=$work/apt.log

stub() { # stub NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
# The tools that setup.sh itself needs, and nothing else of the machine.
for tool in sh dirname printf sed env nproc rm cp; do
  path=$(command -v "$tool")
  case $path in /*) ln -s "$path" "$work/bin/$tool" ;; esac
done
expect() { # expect TEXT FILE
  grep -q -- "$1" "$2" || {
    echo "FAILED: no \"$1\" in:" >&2
    cat "$2" >&2
    exit 1
  }
}
exits() { # exits CODE
  [ "$code" -eq "$1" ] || {
    echo "FAILED: exit code $code where $1 was expected" >&2
    cat "$work/out" >&2
    exit 1
  }
}
untouched() {
  [ ! -e "$log" ] || {
    echo "FAILED: apt-get was called: $(cat "$log")" >&2
    exit 1
  }
}
run() { # run: setup.sh with only the stand-ins on the PATH; its exit code
  code=0
  PATH=$work/bin sh "$setup" install-deps >"$work/out" 2>&1 </dev/null || code=$?
}

stub cmake 'exit 0'
stub node 'exit 0'
stub npm 'exit 0'
stub ninja 'exit 0'
stub id 'echo 0'

# Everything there: apt-get is not touched.
stub c++ 'exit 0'
stub apt-get "echo \"\$*\" >>'$log'; exit 1"
run
exits 0
untouched

# Only what the report page needs is missing: it is installed ...
rm "$work/bin/node" "$work/bin/npm"
stub apt-get "echo \"\$*\" >>'$log'; case \"\$*\" in *install*)
  cp '$work/bin/ninja' '$work/bin/node'; cp '$work/bin/ninja' '$work/bin/npm' ;; esac"
run
exits 0
expect '--no-install-recommends nodejs npm' "$log"
# ... and where it cannot be, all else goes on.
rm "$work/bin/node" "$log"
stub apt-get 'exit 100'
run
exits 0
expect 'going on without nodejs' "$work/out"
stub id 'echo 1000'
stub apt-get "echo \"\$*\" >>'$log'"
run
exits 0
untouched
expect 'going on without nodejs' "$work/out"
stub id 'echo 0'
stub node 'exit 0'

# No headers, root: one install of the named packages, after which they are there.
stub c++ 'exit 1'
stub apt-get "echo \"\$*\" >>'$log'; case \"\$*\" in *install*)
  printf '#!/bin/sh\nexit 0\n' >'$work/bin/c++' ;; esac"
run
exits 0
expect 'DPkg::Lock::Timeout=600 update' "$log"
expect '--no-install-recommends .*zlib1g-dev .*nlohmann-json3-dev .*catch2' "$log"
expect 'missing: zlib1g-dev' "$work/out"

# apt-get fails: so does setup.sh, saying what could not be installed.
stub c++ 'exit 1'
stub apt-get 'exit 100'
run
exits 1
expect 'apt-get could not install: zlib1g-dev' "$work/out"

# No rights: the command to run is named, and apt-get is not.
rm -f "$log"
stub id 'echo 1000'
stub apt-get "echo \"\$*\" >>'$log'"
run
exits 1
untouched
expect 'as root, run: apt-get install --no-install-recommends zlib1g-dev' "$work/out"
stub sudo 'exit 1'
run
exits 1
untouched
expect 'run: sudo apt-get install' "$work/out"

# No apt-get at all.
rm "$work/bin/apt-get"
run
exits 1
expect 'no apt-get here' "$work/out"

rm -rf "$work"
