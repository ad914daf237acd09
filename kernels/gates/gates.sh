#!/bin/sh
# gates.sh TABLE OBJECT...: holds what nvcc made of the kernels against TABLE (gates.txt explains it), by
# OBJECT.ptxas and OBJECT.ptx, which capture.sh left. Objects that are not of a .cu are passed over.
# Prints one line a fault; exit 1 on any.
set -eu
table=$1
shift
for object in "$@"; do
  shift
  case "$object" in
    *.cu.o) set -- "$@" "$object.ptxas" "$object.ptx" ;;
  esac
done
awk -v table="$table" '
function fault(text) { print "gate: " text; faults++ }
# The row of the table for a mangled name: the longest key that is part of it.
function row_of(name,    key, best) {
  best = ""
  for (key in ceiling) if (index(name, key) > 0 && length(key) > length(best)) best = key
  return best
}
BEGIN {
  while ((getline line < table) > 0) {
    if (line ~ /^#/ || line ~ /^[ \t]*$/) continue
    n = split(line, word, /[ \t]+/)
    ceiling[word[1]] = word[2]
    needs[word[1]] = ""
    for (i = 3; i <= n; i++) needs[word[1]] = needs[word[1]] " " word[i]
  }
}
# --- ptxas: "Compiling entry function NAME for ARCH", then spills, then registers ---
/Compiling entry function/ {
  split($0, part, "\047")
  name = part[2]; arch = part[4]; kernels++
}
/bytes spill stores/ && name != "" {
  for (i = 1; i <= NF; i++) if ($i == "spill" && $(i - 2) + 0 > 0)
    fault(name " (" arch ") spills: " $(i - 2) " bytes of " $(i + 1))
  if ($1 + 0 > 0 && $2 == "bytes" && $3 == "stack")
    fault(name " (" arch ") has a stack frame of " $1 " bytes")
}
/Used [0-9]+ registers/ && name != "" {
  for (i = 1; i <= NF; i++) if ($i == "Used") used = $(i + 1) + 0
  key = row_of(name)
  if (key == "") fault(name ": no row of the table names it")
  else {
    seen[key] = 1
    if (used > ceiling[key] + 0)
      fault(name " (" arch ") uses " used " registers, the table allows " ceiling[key])
    if (used > most[key]) most[key] = used
  }
  name = ""
}
# --- PTX: the instructions that an entry must have ---
/^\.visible \.entry|^\.entry|^\.weak \.entry|^[ \t]*\.visible \.entry/ {
  entry = $0
  sub(/.*\.entry[ \t]+/, "", entry); sub(/\(.*/, "", entry)
  key = row_of(entry); count = split(needs[key], wanted, " ")
  for (i = 1; i <= count; i++) found[i] = 0
}
entry != "" && /;/ { for (i = 1; i <= count; i++) if (index($0, wanted[i]) > 0) found[i]++ }
entry != "" && /^}/ {
  for (i = 1; i <= count; i++) if (!found[i]) fault(entry " has no " wanted[i])
  entries++; entry = ""
}
END {
  for (key in ceiling) if (!(key in seen)) fault("no kernel is named " key)
  for (key in most) printf "%-32s %4d registers of %d\n", key, most[key], ceiling[key] | "sort"
  close("sort")
  if (kernels == 0 || entries == 0) fault("nothing was read")
  printf "%d compilations, %d entries of PTX, %d faults\n", kernels, entries, faults
  exit faults > 0
}' "$@" </dev/null
