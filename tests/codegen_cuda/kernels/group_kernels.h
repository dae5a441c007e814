#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/text/group_prelude.h"
#include "tests/codegen_cuda/kernels/twin.h"

// Kernels with products of warp groups, written by hand in the words of the prelude.
namespace tcc::test {

// How an operand lies in shared memory.
struct Place {
  int mode;
  bool transposed = false;
};

// A kernel that adds the product of A, 64 rows a group, and B to C. K fills 128 bytes: four
// products.
struct Form {
  GroupType type;
  int columns;
  Place a;
  Place b;
  int groups = 1;
};

inline constexpr Place kAlongK = {1};
inline constexpr Place kTransposed = {1, true};

// Returns the forms that are tried: every type, number of columns, mode and order.
std::span<const Form> GroupForms();

// Returns the lines of the four products.
std::string ProductsOf(const Form& form);
// Returns a text with a kernel for each form, named k0, k1, ...
std::string TextOf(std::span<const Form> forms);

// Makes a product of small integers. Operands are A, B, whose rows and columns follow each other,
// and C; the kernel is k0.
Twin TwinOf(const Form& form);

// Makes a kernel of 128 x 128 sums by two groups: four stages, copied two steps ahead, and the
// products of a step in flight during the next one. Operands are A, 128 rows of 64 a step, and B,
// 64 rows of 128 a step.
Twin LoopTwin();

// Makes products of every form, of values that tf32 cuts off, s8 wraps and f16 knows, and the loop.
// The forms share a text.
std::vector<Twin> GroupTwins();

}  // namespace tcc::test
