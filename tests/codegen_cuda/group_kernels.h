#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/emulator.h"
#include "codegen_cuda/text/group_prelude.h"
#include "support/tensor.h"

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

// The bytes of an element, and the elements along K.
int BytesOf(const Form& form);
int DepthOf(const Form& form);

// The lines of the four products.
std::string ProductsOf(const Form& form);
// A text with a kernel for each form, named k0, k1, ...
std::string TextOf(std::span<const Form> forms);
std::string TextOf(const Form& form);

// A, B, C and the result, all of small integers: every order of summing gives the same in every
// type. Rows of A and columns of B follow each other.
std::vector<Tensor> OperandsOf(const Form& form);
emulator::LaunchOptions LaunchOf(const Form& form, const std::string& kernel = "k0");
bool IsRight(const Form& form, const std::vector<Tensor>& operands);

// Runs a kernel of one block; the last operand receives the result.
Status RunOnEmulator(const std::string& text, const emulator::LaunchOptions& options,
                     std::vector<Tensor>& operands);

// A kernel of 128 x 128 sums by two groups: four stages, copied two steps ahead, and the products
// of a step in flight during the next one.
inline constexpr int kLoopSteps = 6;
std::string LoopText();
// A, 128 rows of 64 a step, B, as many rows of 128, and the result.
std::vector<Tensor> LoopOperands();
Status RunLoop(const std::string& text, std::vector<Tensor>& operands);

}  // namespace tcc::test
