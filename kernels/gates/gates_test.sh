#!/bin/sh
# The gates of gates.sh on small compiler outputs: each fault must be found, and nothing where all is
# well.
set -eu
gates=$(dirname "$0")/gates.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/table" <<'END'
# a comment
good_kernel   40   ld.global.v4 mma.sync
END

# write REGISTERS SPILLED_BYTES NAME LOAD: one kernel, compiled for one architecture.
write() {
  cat >"$folder/x.cu.o.ptxas" <<END
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z11$3PKf' for 'sm_80'
ptxas info    : Function properties for _Z11$3PKf
    0 bytes stack frame, $2 bytes spill stores, $2 bytes spill loads
ptxas info    : Used $1 registers, used 1 barriers, 400 bytes cmem[0]
END
  cat >"$folder/x.cu.o.ptx" <<END
.visible .entry _Z11$3PKf(
	.param .u64 _Z11$3PKf_param_0
)
{
	$4 	{%r1, %r2, %r3, %r4}, [%rd1];
	mma.sync.aligned.m16n8k16 {%f1}, {%r1}, {%r2}, {%f1};
	ret;
}
END
}

failures=0
expect() { # expect STATUS TEXT WHAT
  status=0
  output=$(sh "$gates" "$folder/table" "$folder/x.cu.o" "$folder/y.cpp.o" 2>&1) || status=$?
  case "$status $output" in
    "$1 "*"$2"*) ;;
    *)
      printf 'FAILED %s: exit %s, printed:\n%s\n' "$3" "$status" "$output"
      failures=$((failures + 1))
      ;;
  esac
}

write 40 0 good_kernel ld.global.v4.u32
expect 0 'good_kernel                        40 registers of 40' 'a good kernel'
expect 0 '1 compilations, 1 entries of PTX, 0 faults' 'a good kernel'
write 41 0 good_kernel ld.global.v4.u32
expect 1 'uses 41 registers, the table allows 40' 'one register too many'
write 40 8 good_kernel ld.global.v4.u32
expect 1 'spills: 8 bytes of stores' 'a spill'
write 40 0 good_kernel ld.global.u8
expect 1 'has no ld.global.v4' 'single-byte loads'
write 40 0 new_kernel ld.global.v4.u32
expect 1 'no row of the table names it' 'a kernel without a row'
expect 1 'no kernel is named good_kernel' 'a row without a kernel'
write 40 0 good_kernel ld.global.v4.u32
: >"$folder/x.cu.o.ptxas"
: >"$folder/x.cu.o.ptx"
expect 1 'nothing was read' 'no output at all'
[ "$failures" -eq 0 ] && echo 'all gates work'
exit "$failures"
