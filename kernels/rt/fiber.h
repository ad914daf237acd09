#pragma once

#include <cstddef>

// A fiber: a call stack that can be left and entered again. Switching is a dozen instructions of
// our own on x86-64 and aarch64, ucontext elsewhere (or with HEADWAY_FIBER_UCONTEXT, twenty times
// slower). AddressSanitizer and ThreadSanitizer are told of every switch.
namespace headway::kernels::emu {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() calls entry() on an empty stack; whatever was on it is abandoned without
  // running destructors. entry must end with finish() and let no exception out.
  void prepare(void (*entry)());
  // Runs the fiber until it parks or finishes. Called on the OS thread's own stack only.
  void resume();

  // Called on the fiber: back to resume()'s caller.
  void park();
  [[noreturn]] void finish();

  struct Context;

 private:
  static void first();

  Context* context_;
  void (*entry_)() = nullptr;
};

}  // namespace headway::kernels::emu
