#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "codegen_llvm/jit.h"
#include "codegen_llvm/llvm_backend.h"
#include "ir/expr/function.h"
#include "runtime/artefact/kernel_abi.h"
#include "support/random.h"

namespace tcc::test {

// A runtime table for tests: parallel loops on two threads in small ranges, memory that is counted.
struct TestRuntime {
  TestRuntime();
  TccRuntime table;
  int64_t live_allocations = 0;
  int64_t allocations = 0;
  int64_t allocations_left = -1;  // alloc gives NULL once this many were given; -1: no limit
  int64_t parallel_loops = 0;
};

// A compiled module, called by name through a loaded shared object or the JIT.
class LoadedModule {
 public:
  explicit LoadedModule(const std::vector<uint8_t>& image);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  TccKernel Find(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

Target NativeTarget();
std::unique_ptr<JitModule> JitOf(const Function& fn, const Target& target = NativeTarget());
std::vector<uint8_t> ImageOf(const std::vector<Function>& kernels, int threads = 1,
                             const Target& target = NativeTarget());

// Runs `fn` over the buffers by the JIT and then, on copies, through a shared object; the results
// must agree to the bit and the kernel must return 0 and free what it allocated.
void Run(const Function& fn, const std::vector<void*>& buffers,
         const std::vector<size_t>& buffer_bytes, const std::vector<int64_t>& shape_args = {});

template <typename... Ts>
void RunOn(const Function& fn, std::vector<Ts>&... buffers) {
  Run(fn, {static_cast<void*>(buffers.data())...}, {buffers.size() * sizeof(Ts)...});
}

// Building kLowered functions.
Buffer FlatBuffer(const std::string& name, DType dtype, Expr elements,
                  Scope scope = Scope::kGlobal);
Function LoweredFunction(std::string name, std::vector<Buffer> params, Stmt body,
                         std::vector<Var> vars = {});
Stmt Loop(const Var& var, Expr extent, Stmt body, ForKind kind = ForKind::kSerial);
Expr LoadOf(const Buffer& buffer, Expr index);
Stmt StoreTo(const Buffer& buffer, Expr index, Expr value, Expr mask = {});
Expr Lanes(Expr base, int lanes, Expr stride = 1);
Expr Splatted(Expr value, int lanes);

// `count` values that end at a page which may not be touched, and or begin behind one.
enum class Fence { kAtEnd, kAtStart };
class FencedFloats {
 public:
  FencedFloats(const std::vector<float>& values, Fence fence = Fence::kAtEnd);
  ~FencedFloats();
  FencedFloats(const FencedFloats&) = delete;
  FencedFloats& operator=(const FencedFloats&) = delete;
  float* data() const { return data_; }

 private:
  char* pages_ = nullptr;
  size_t bytes_ = 0;
  float* data_ = nullptr;
};

std::vector<float> RandomFloats(size_t count, uint64_t seed);

}  // namespace tcc::test
