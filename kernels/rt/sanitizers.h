#pragma once

// What AddressSanitizer and ThreadSanitizer have to be told about fibers; nothing in other builds.
//
// Under ThreadSanitizer the emulator's own sources are compiled without instrumentation (so that
// its bookkeeping is no race) with HEADWAY_EMULATOR_TSAN, and switches order nothing: only what
// orders CUDA threads does, by tsan_release and tsan_acquire.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEADWAY_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADWAY_ASAN
#endif
#endif

#ifdef HEADWAY_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HEADWAY_EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace headway::kernels::emu {

// A stack as the sanitizers know it.
struct SanitizerStack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake = nullptr;  // ASan's shadow frames, while the stack is left
  void* tsan = nullptr;  // TSan's fiber
};

#ifdef HEADWAY_ASAN
inline void unpoison(const void* from, std::size_t bytes) {
  __asan_unpoison_memory_region(from, bytes);
}
// Before and after a switch. from = nullptr: left for good. previous: learns the stack that was
// left.
inline void asan_start(SanitizerStack* from, const SanitizerStack& to) {
  __sanitizer_start_switch_fiber(from == nullptr ? nullptr : &from->fake, to.bottom, to.size);
}
inline void finish_switch(SanitizerStack& now, SanitizerStack* previous) {
  __sanitizer_finish_switch_fiber(now.fake, previous == nullptr ? nullptr : &previous->bottom,
                                  previous == nullptr ? nullptr : &previous->size);
}
#else
inline void unpoison(const void*, std::size_t) {}
inline void asan_start(SanitizerStack*, const SanitizerStack&) {}
inline void finish_switch(SanitizerStack&, SanitizerStack*) {}
#endif

#ifdef HEADWAY_EMULATOR_TSAN
inline void create_sanitizer_fiber(SanitizerStack& stack) { stack.tsan = __tsan_create_fiber(0); }
inline void destroy_sanitizer_fiber(SanitizerStack& stack) { __tsan_destroy_fiber(stack.tsan); }
inline void remember_tsan_fiber(SanitizerStack& stack) { stack.tsan = __tsan_get_current_fiber(); }
inline void start_switch(SanitizerStack* from, const SanitizerStack& to) {
  asan_start(from, to);
  __tsan_switch_to_fiber(to.tsan, __tsan_switch_to_fiber_no_sync);
}
inline void tsan_release(void* object) { __tsan_release(object); }
inline void tsan_acquire(void* object) { __tsan_acquire(object); }
// Between these, allocating, filling and freeing count as no access.
inline void tsan_ignore_begin() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
inline void tsan_ignore_end() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
inline constexpr bool kTsan = true;
#else
inline void create_sanitizer_fiber(SanitizerStack&) {}
inline void destroy_sanitizer_fiber(SanitizerStack&) {}
inline void remember_tsan_fiber(SanitizerStack&) {}
inline void start_switch(SanitizerStack* from, const SanitizerStack& to) { asan_start(from, to); }
inline void tsan_release(void*) {}
inline void tsan_acquire(void*) {}
inline void tsan_ignore_begin() {}
inline void tsan_ignore_end() {}
inline constexpr bool kTsan = false;
#endif

}  // namespace headway::kernels::emu
