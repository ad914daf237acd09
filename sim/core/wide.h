#pragma once

// HEADWAY_WIDE before a function of plain loops: it is compiled for wider registers as well, and the
// processor at hand decides. Without fused multiply-adds, so that all give the same numbers. Sanitizers
// do not know functions that are chosen when the program is loaded.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEADWAY_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HEADWAY_WIDE
#endif
