#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen_cuda/emulator/emulator.h"

// Kernels written by hand in the words of the prelude, each with a launch and its right result.
namespace tcc::test {

struct Kernel {
  std::string name = {};
  std::string text = {};
  emulator::Dim3 grid = {};
  emulator::Dim3 block = {};
  int64_t dynamic_shared_bytes = 0;
  // float32, small integers, so that every order of summing gives `expected` exactly.
  std::vector<std::vector<float>> inputs = {};
  std::vector<int64_t> shapes = {};
  int64_t tickets = 0;  // how many; an argument behind the output if there are any
  int64_t blocks_in_all_orders = INT64_MAX;
  emulator::BlockOrder block_order = emulator::BlockOrder::kForward;
  bool dependent = false;
  std::vector<float> expected = {};
};

Kernel VectorAdd();
Kernel Transpose();
Kernel TiledMatmul();
Kernel RowSums();
Kernel Histogram();
Kernel PipelinedMatmul();
Kernel VectorCopy();
// Two sums of three parts of 32 each, behind the parts: the last block of a sum adds them up.
Kernel PartSums();
// Rounds to half and to bfloat16 and back: float32 values of all magnitudes, NaN and infinities.
Kernel RoundTrip();

// The kernel's text without the emulator's header, to be put after a prelude.
std::string_view BodyOf(const Kernel& kernel);

// `text` with its one occurrence of `piece` replaced.
std::string Replaced(std::string text, std::string_view piece, std::string_view by);

// Compiles and launches with the inputs, the output and the shapes as arguments; `output` receives
// what was computed.
Status Run(const Kernel& kernel, std::vector<float>* output);

}  // namespace tcc::test
