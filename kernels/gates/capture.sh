#!/bin/sh
# A compiler launcher for nvcc: compiles as asked and keeps, beside OBJECT, what ptxas said of registers
# and spills (OBJECT.ptxas) and the PTX (OBJECT.ptx). kernels/gates/gates.sh reads both.
set -eu
object=
last=
for argument in "$@"; do
  [ "$last" = -o ] && object=$argument
  last=$argument
done
if [ -z "$object" ]; then
  exec "$@"
fi
keep=$object.keep
rm -rf "$keep"
mkdir -p "$keep"
status=0
"$@" -Xptxas=-v --keep --keep-dir "$keep" 2>"$object.ptxas" || status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$object.ptxas" >&2 || true
cat "$keep"/*.ptx >"$object.ptx" 2>/dev/null || true
rm -rf "$keep"
exit $status
