#include "runtime/cpu/kernel_calls.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "runtime/artefact/memory_plan.h"
#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr size_t kAlignment = kArenaAlignment;
constexpr size_t kFirstBlockBytes = 256 << 10;

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};

struct Block {
  std::unique_ptr<uint8_t, FreeMemory> memory;
  size_t size = 0;
  size_t used = 0;
};

class Stack {
 public:
  void* Allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 4) return nullptr;
    // An empty allocation has an address of its own too, or it could not be freed in order.
    size_t size = std::max(kAlignment, RoundUp(bytes, kAlignment));
    if (!MakeRoom(size)) return nullptr;
    Block& block = blocks_[top_];
    uint8_t* memory = block.memory.get() + block.used;
    live_.push_back({memory, size, top_});
    block.used += size;
    return memory;
  }

  void Free(void* memory) {
    TCC_CHECK(!live_.empty() && live_.back().memory == memory)
        << "scratch memory is not freed in the reverse order of its allocation";
    blocks_[live_.back().block].used -= live_.back().size;
    live_.pop_back();
    top_ = live_.empty() ? 0 : live_.back().block;
  }

 private:
  struct Allocation {
    void* memory;
    size_t size;
    size_t block;
  };

  // Moves `top_` to a block with `size` bytes left; blocks above the top one are empty.
  bool MakeRoom(size_t size) {
    for (; top_ < blocks_.size(); ++top_) {
      if (blocks_[top_].size - blocks_[top_].used >= size) return true;
    }
    size_t last = blocks_.empty() ? kFirstBlockBytes / 2 : blocks_.back().size;
    size_t bytes = std::max(size, 2 * last);
    Block block;
    block.memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, bytes)));
    block.size = bytes;
    top_ = live_.empty() ? 0 : live_.back().block;
    if (block.memory == nullptr) return false;
    blocks_.push_back(std::move(block));
    top_ = blocks_.size() - 1;
    return true;
  }

  std::vector<Block> blocks_;
  std::vector<Allocation> live_;
  size_t top_ = 0;  // the block of the latest allocation
};

thread_local Stack t_stack;

}  // namespace

void* AllocateScratch(int64_t bytes) {
  if (bytes < 0) return nullptr;
  try {
    return t_stack.Allocate(static_cast<size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return nullptr;  // there is a kernel's code between here and who could catch it
  }
}

void FreeScratch(void* memory) {
  t_stack.Free(memory);
}

double TccMath(int32_t function, double x, double y) {
  switch (function) {
    case TCC_MATH_EXP:
      return std::exp(x);
    case TCC_MATH_LOG:
      return std::log(x);
    case TCC_MATH_LOG1P:
      return std::log1p(x);
    case TCC_MATH_SIN:
      return std::sin(x);
    case TCC_MATH_COS:
      return std::cos(x);
    case TCC_MATH_TAN:
      return std::tan(x);
    case TCC_MATH_ASIN:
      return std::asin(x);
    case TCC_MATH_ACOS:
      return std::acos(x);
    case TCC_MATH_ATAN:
      return std::atan(x);
    case TCC_MATH_SINH:
      return std::sinh(x);
    case TCC_MATH_COSH:
      return std::cosh(x);
    case TCC_MATH_ASINH:
      return std::asinh(x);
    case TCC_MATH_ACOSH:
      return std::acosh(x);
    case TCC_MATH_ATANH:
      return std::atanh(x);
    case TCC_MATH_TANH:
      return std::tanh(x);
    case TCC_MATH_ERF:
      return std::erf(x);
    case TCC_MATH_POW:
      return std::pow(x, y);
    case TCC_MATH_FMOD:
      return std::fmod(x, y);
    default:
      TCC_UNREACHABLE();
  }
}

}  // namespace tcc
