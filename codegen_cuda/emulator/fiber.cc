#include "codegen_cuda/emulator/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TCC_FIBERS_UNDER_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TCC_FIBERS_UNDER_ASAN
#endif
#ifdef TCC_FIBERS_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tcc::emulator {

StatusOr<FiberStacks> FiberStacks::Make(int count) {
  const size_t page = sysconf(_SC_PAGESIZE);
  const size_t bytes = count * kBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("no memory for the stacks of {} emulated threads: {}", count, strerror(errno)));
  }
  FiberStacks stacks(static_cast<std::byte*>(memory), bytes);
  for (int i = 0; i < count; ++i) {
    if (mprotect(stacks.Stack(i), page, PROT_NONE) != 0) {
      return absl::ResourceExhaustedError(
          fmt::format("cannot guard the stack of emulated thread {}: {}", i, strerror(errno)));
    }
  }
  return stacks;
}

FiberStacks::FiberStacks(FiberStacks&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

FiberStacks::~FiberStacks() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

namespace {

// Clears the AddressSanitizer red zones of the frames of a fiber that was left for good.
void ForgetFrames([[maybe_unused]] std::byte* stack) {
#ifdef TCC_FIBERS_UNDER_ASAN
  const size_t page = sysconf(_SC_PAGESIZE);
  __asan_unpoison_memory_region(stack + page, FiberStacks::kBytes - page);
#endif
}

}  // namespace

#if defined(__x86_64__)

// Saves the callee-saved registers and the stack pointer, and resumes where `to` was saved.
extern "C" void tcc_fiber_switch(void** from, void* to);
asm(R"(
.text
.globl tcc_fiber_switch
.hidden tcc_fiber_switch
.type tcc_fiber_switch, @function
tcc_fiber_switch:
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
.size tcc_fiber_switch, .-tcc_fiber_switch

.globl tcc_fiber_enter
.hidden tcc_fiber_enter
.type tcc_fiber_enter, @function
tcc_fiber_enter:
  movq %r12, %rdi
  call *%r13
  ud2
.size tcc_fiber_enter, .-tcc_fiber_enter
)");
extern "C" void tcc_fiber_enter();

void Fiber::Start(std::byte* stack, void (*entry)(void*), void* argument) {
  ForgetFrames(stack);
  // The registers that tcc_fiber_switch pops, then its return address. After the return the stack
  // pointer is 16 below the top: aligned, as a call expects.
  auto* saved = reinterpret_cast<uint64_t*>(stack + FiberStacks::kBytes) - 9;
  saved[0] = 0;                                     // r15
  saved[1] = 0;                                     // r14
  saved[2] = reinterpret_cast<uint64_t>(entry);     // r13
  saved[3] = reinterpret_cast<uint64_t>(argument);  // r12
  saved[4] = 0;                                     // rbx
  saved[5] = 0;                                     // rbp
  saved[6] = reinterpret_cast<uint64_t>(&tcc_fiber_enter);
  own_ = saved;
}

void Fiber::Resume() {
  tcc_fiber_switch(&resumer_, own_);
}

void Fiber::Suspend() {
  tcc_fiber_switch(&own_, resumer_);
}

#else

namespace {

// Enters a fiber. makecontext passes only ints, so each pointer comes in two halves.
void Enter(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  auto join = [](unsigned high, unsigned low) { return (uint64_t{high} << 32) | low; };
  reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low))(
      reinterpret_cast<void*>(join(argument_high, argument_low)));
}

}  // namespace

void Fiber::Start(std::byte* stack, void (*entry)(void*), void* argument) {
  ForgetFrames(stack);
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack;
  own_.uc_stack.ss_size = FiberStacks::kBytes;
  own_.uc_link = nullptr;
  const auto e = reinterpret_cast<uint64_t>(entry);
  const auto a = reinterpret_cast<uint64_t>(argument);
  makecontext(&own_, reinterpret_cast<void (*)()>(&Enter), 4, static_cast<unsigned>(e >> 32),
              static_cast<unsigned>(e), static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
}

void Fiber::Resume() {
  swapcontext(&resumer_, &own_);
}

void Fiber::Suspend() {
  swapcontext(&own_, &resumer_);
}

#endif

}  // namespace tcc::emulator
