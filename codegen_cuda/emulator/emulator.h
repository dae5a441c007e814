#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/block_runner.h"
#include "codegen_cuda/emulator/device_memory.h"
#include "codegen_cuda/emulator/host_compiler.h"
#include "codegen_cuda/emulator/host_interface.h"
#include "support/status.h"

// An emulator that runs CUDA C text on the CPU to find its mistakes: the very text that NVRTC gets,
// with the machine part of its prelude (codegen_cuda/text/prelude.h) replaced.
//
// It finds, and names with thread, line and element: accesses outside of a buffer or shared array;
// misaligned vector accesses; races on shared memory; elements that one block writes and another of
// the same launch reads or writes; barriers that not all threads reach, or reach in different
// lines; warp operations without all lanes; asynchronous copies, of boxes too, that are used before
// they are waited for; barriers that boxes of other bytes than expected arrive at; results that
// depend on the order of threads or are never written (poison); tickets that a block takes before
// its writes are fenced, or that are not zero after the launch; products of warp groups that not
// all threads of the group issue alike, whose matrices are written without a proxy fence or before
// the wait, or whose sums are touched before it.
//
// It does not model the device's memory order, its register limits, and time. It does not find
// mistakes that only show in a block that does not run in all orders of threads (LaunchOptions);
// reads by one block of an element that another block writes, if the blocks run in that order or
// access it through different arguments, a tensor map among them; races on global memory between
// threads of one block that no order of threads shows.
namespace tcc::emulator {

// A compiled text. Launches of one Program must not overlap; those of different ones may.
class Program {
 public:
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // Compiles a text. Unavailable without a host compiler; InvalidArgument with the complaints of
  // the host compiler if it refuses the text.
  static StatusOr<std::unique_ptr<Program>> Compile(
      const std::string& text, HostOptimization optimization = HostOptimization::kSome);

  // Returns null if the text has no such kernel.
  const TccKernel* Find(const std::string& kernel) const;

  // Returns line `line` of the text, counted from 1, without its indentation.
  std::string Line(int line) const;

  TccHost& host() const { return *host_; }

 private:
  Program() = default;

  std::string text_;
  void* object_ = nullptr;
  mutable std::unique_ptr<TccHost> host_;
};

// A program and the lock of its launches, which must not overlap.
struct SharedProgram {
  std::unique_ptr<Program> program;
  std::mutex running;
};

// Compiles a text as Program::Compile does; a text that was compiled recently is not compiled
// again.
StatusOr<std::shared_ptr<SharedProgram>> CompiledProgram(const std::string& text);

// The order in which the blocks of a launch run, one after the other.
enum class BlockOrder : uint8_t { kForward, kReverse };

struct LaunchOptions {
  std::string kernel = {};
  Dim3 grid = {};
  Dim3 block = {};
  int64_t dynamic_shared_bytes = 0;
  // The arguments as cuLaunchKernel takes them, in the order of the kernel's parameters: each
  // points to 8 bytes, which are an address in device memory or a shape, or to a TccMap.
  std::vector<const void*> arguments = {};
  // The bytes of each argument's buffer, beyond which accesses fail; empty: up to the end of its
  // allocation. A map has its own bounds.
  std::vector<int64_t> argument_bytes = {};
  // The number of blocks that run in every ThreadOrder, evenly spaced from the first to the last.
  // Each other block runs in one order; the orders alternate.
  int64_t blocks_in_all_orders = INT64_MAX;
  BlockOrder block_order = BlockOrder::kForward;
  // Whether the launch may begin while the one before it still writes: then it is a mistake if a
  // thread accesses a buffer, or ends, and has not waited.
  bool dependent = false;
};

// Runs each block; all ThreadOrders that a block runs in must write the same bytes. InvalidArgument
// if the launch does not fit the kernel; DataLoss with the block, the thread, the element and the
// line for a mistake of the kernel.
Status Launch(const Program& program, const DeviceMemory& memory, const LaunchOptions& options);

}  // namespace tcc::emulator
