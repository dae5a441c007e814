#pragma once

#include <cstddef>
#include <functional>
#include <vector>

// Operators of other libraries for aarch64, whose instructions count_peer.cc counts.
namespace tcc::peers {

// A product of matrices, rows x depth by depth x columns.
struct Product {
  size_t rows, columns, depth;
};

// A convolution of a square image of one batch, padded by half its kernel.
struct Convolution {
  size_t size;  // of the image
  size_t channels, filters, kernel, stride, groups;

  size_t padding() const { return kernel / 2; }
  size_t output_size() const { return (size + 2 * padding() - kernel) / stride + 1; }
  bool is_depthwise() const { return groups == channels && groups > 1; }
};

// An operator whose operands are ones. Weights are packed before or by its first run.
struct Operator {
  std::function<void()> run;  // empty if the library has none
  std::function<std::vector<float>()> output;
};

// Defined by each library's file. An error of the library ends the process.
Operator MakeProduct(const Product& product);
Operator MakeConvolution(const Convolution& convolution);

// Ends the process with exit code 1 and the text.
[[noreturn]] void Fail(const char* what);

}  // namespace tcc::peers
