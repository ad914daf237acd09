#include "kernels/rt/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "kernels/rt/sanitizers.h"

#if !defined(HEADWAY_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define HEADWAY_FIBER_UCONTEXT
#endif

#ifdef HEADWAY_FIBER_UCONTEXT
#include <ucontext.h>
#endif

// --- The switch --------------------------------------------------------------------------------

#ifndef HEADWAY_FIBER_UCONTEXT
// Saves the registers that a call preserves, stores the stack pointer in *from and continues at
// `to`, which an earlier switch or new_stack() left. The floating-point modes are not saved: nobody
// changes them.
extern "C" void headway_fiber_switch(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
.text
.globl headway_fiber_switch
.hidden headway_fiber_switch
.type headway_fiber_switch, @function
headway_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size headway_fiber_switch, .-headway_fiber_switch
)");
#else
asm(R"(
.text
.globl headway_fiber_switch
.hidden headway_fiber_switch
.type headway_fiber_switch, %function
headway_fiber_switch:
  sub sp, sp, #160
  stp d8, d9, [sp, #0]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp d8, d9, [sp, #0]
  ldp d10, d11, [sp, #16]
  ldp d12, d13, [sp, #32]
  ldp d14, d15, [sp, #48]
  ldp x19, x20, [sp, #64]
  ldp x21, x22, [sp, #80]
  ldp x23, x24, [sp, #96]
  ldp x25, x26, [sp, #112]
  ldp x27, x28, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  ret
.size headway_fiber_switch, .-headway_fiber_switch
)");
#endif
#endif

namespace headway::kernels::emu {
namespace {

// Kernels keep their arrays in registers; instrumented frames are several times larger.
#ifdef HEADWAY_ASAN
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif

#ifndef HEADWAY_FIBER_UCONTEXT
// What headway_fiber_switch expects to find on a stack, so that it "returns" into entry.
void* new_stack(char* top, void (*entry)()) {
#if defined(__x86_64__)
  constexpr int kWords = 8;  // 6 registers, the return address, and none for entry to return to
  constexpr int kReturn = 6;
#else
  constexpr int kWords = 20;
  constexpr int kReturn = 19;
#endif
  void** sp = reinterpret_cast<void**>(top) - kWords;
  for (int i = 0; i < kWords; ++i) sp[i] = nullptr;
  sp[kReturn] = reinterpret_cast<void*>(entry);
  return sp;
}
#endif

// The fiber that runs on this OS thread, and where resume() was called.
thread_local Fiber* running = nullptr;
#ifdef HEADWAY_FIBER_UCONTEXT
thread_local ucontext_t home;
#else
thread_local void* home = nullptr;
#endif
thread_local SanitizerStack home_stack;

}  // namespace

struct Fiber::Context {
  char* mapping = nullptr;  // one guard page, then the stack
  std::size_t mapped_bytes = 0;
  char* bottom = nullptr;
#ifdef HEADWAY_FIBER_UCONTEXT
  ucontext_t state;
#else
  void* sp = nullptr;
#endif
  SanitizerStack stack;
};

Fiber::Fiber() : context_(new Context) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Context& c = *context_;
  c.mapped_bytes = kStackBytes + page;
  void* mapping = mmap(nullptr, c.mapped_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    delete context_;
    throw std::bad_alloc();
  }
  c.mapping = static_cast<char*>(mapping);
  c.bottom = c.mapping + page;
  mprotect(c.mapping, page, PROT_NONE);
  c.stack.bottom = c.bottom;
  c.stack.size = kStackBytes;
  create_sanitizer_fiber(c.stack);
}

Fiber::~Fiber() {
  destroy_sanitizer_fiber(context_->stack);
  unpoison(context_->bottom, kStackBytes);  // another mapping may come here
  munmap(context_->mapping, context_->mapped_bytes);
  delete context_;
}

void Fiber::first() {
  Fiber* self = running;
  finish_switch(self->context_->stack, &home_stack);
  self->entry_();
  std::abort();  // entry ends with finish()
}

void Fiber::prepare(void (*entry)()) {
  Context& c = *context_;
  entry_ = entry;
  unpoison(c.bottom, kStackBytes);  // frames that were abandoned there
  c.stack.fake = nullptr;
#ifdef HEADWAY_FIBER_UCONTEXT
  getcontext(&c.state);
  c.state.uc_stack.ss_sp = c.bottom;
  c.state.uc_stack.ss_size = kStackBytes;
  c.state.uc_link = nullptr;
  makecontext(&c.state, &Fiber::first, 0);
#else
  c.sp = new_stack(c.bottom + kStackBytes, &Fiber::first);
#endif
}

void Fiber::resume() {
  Context& c = *context_;
  running = this;
  remember_tsan_fiber(home_stack);
  start_switch(&home_stack, c.stack);
#ifdef HEADWAY_FIBER_UCONTEXT
  swapcontext(&home, &c.state);
#else
  headway_fiber_switch(&home, c.sp);
#endif
  finish_switch(home_stack, nullptr);
  running = nullptr;
}

void Fiber::park() {
  Context& c = *context_;
  start_switch(&c.stack, home_stack);
#ifdef HEADWAY_FIBER_UCONTEXT
  swapcontext(&c.state, &home);
#else
  headway_fiber_switch(&c.sp, home);
#endif
  finish_switch(c.stack, &home_stack);
}

void Fiber::finish() {
  start_switch(nullptr, home_stack);
#ifdef HEADWAY_FIBER_UCONTEXT
  setcontext(&home);
#else
  headway_fiber_switch(&context_->sp, home);
#endif
  std::abort();
}

}  // namespace headway::kernels::emu
