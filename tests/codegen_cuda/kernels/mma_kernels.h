#pragma once

#include <span>
#include <vector>

#include "tests/codegen_cuda/kernels/twin.h"

// Kernels with a product of one warp (mma.sync), whose operands ldmatrix loads.
namespace tcc::test {

// An instruction D = A B + C of one warp. B has 8 columns.
struct Mma {
  const char* name;
  DType dtype;       // of A and B; f32 is rounded to tf32
  const char* type;  // as it is spelled
  int rows;
  int depth;
  int sm;  // the first that has it
};

std::span<const Mma> Mmas();

// How B lies in memory: a column after the other, or a row after the other (16-bit types only).
enum class Order { kColumns, kRows };

// Makes a product of small integers. Operands are A, B and C; the kernel is named after the
// instruction.
Twin TwinOf(const Mma& mma, Order order = Order::kColumns);

// Makes products of every instruction in every order, rounding to tf32, and products that show
// which bits tf32 and three products of tf32 keep.
std::vector<Twin> MmaTwins();

}  // namespace tcc::test
