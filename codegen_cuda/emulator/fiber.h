#pragma once

#include <cstddef>

#include "support/status.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tcc::emulator {

// The stacks of up to `count` fibers, each above a guard page. A stack has room for the 512 KiB of
// local memory that a CUDA thread may have, and for calls. Pages cost memory only once they are
// used.
class FiberStacks {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;

  static StatusOr<FiberStacks> Make(int count);
  FiberStacks(FiberStacks&& other) noexcept;
  FiberStacks& operator=(FiberStacks&&) = delete;
  ~FiberStacks();

  std::byte* Stack(int index) const { return memory_ + index * kBytes; }

 private:
  FiberStacks(std::byte* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* memory_;
  size_t bytes_;
};

// A call that can be suspended and resumed: the CUDA threads of a block take turns. On x86-64 a
// switch is ten instructions; ucontext, used elsewhere, makes a system call each time.
class Fiber {
 public:
  // Makes the next Resume call entry(argument) on `stack` (FiberStacks::kBytes long). entry must
  // not return: it ends in a Suspend that nobody resumes.
  void Start(std::byte* stack, void (*entry)(void*), void* argument);

  // Runs the fiber until it suspends itself.
  void Resume();

  // Returns to the caller of Resume; the fiber itself calls this.
  void Suspend();

 private:
#if defined(__x86_64__)
  void* own_ = nullptr;
  void* resumer_ = nullptr;
#else
  ucontext_t own_;
  ucontext_t resumer_;
#endif
};

}  // namespace tcc::emulator
