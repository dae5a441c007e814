#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "support/random.h"
#include "support/target.h"
#include "support/tensor.h"

namespace tcc::test {

// A kernel in the words of the prelude, its operands and the exact result. The emulator and a
// device run the same text and are held against the same result.
struct Twin {
  std::string name = {};
  // The first target that has the instructions; one with a suffix is the only one.
  std::string target = "sm_75";
  std::string text = {};              // the whole program
  GpuKernel kernel = {};              // of image 0; its last buffer is the result
  std::vector<Tensor> operands = {};  // the buffers before
  Tensor expected = {};
  double tolerance = 0;  // relative to what is expected
};

// Makes a kernel that is launched once, on operands and the result.
GpuKernel OneLaunch(const std::string& symbol, std::array<int64_t, 2> grid,
                    std::array<uint32_t, 2> block, uint32_t buffers,
                    int64_t dynamic_shared_bytes = 0);

// Checks whether the target has the twin's instructions.
bool HasInstructions(const Target& target, const Twin& twin);

// Gives twins of the same target one program, which has all their kernels. Their symbols differ.
void ShareTexts(std::vector<Twin>& twins);

// Runs a kernel of one launch without tickets and returns the result.
StatusOr<Tensor> RunOnEmulator(const Twin& twin);

// Describes the first element that is not the expected number, within the tolerance, or NaN: "row
// 3, column 2: got 5, expected 6, and 7 of 128 differ". Returns "" if there is none.
std::string Difference(const Twin& twin, const Tensor& got);

// Draws small integers: every order of summing gives the same in every type.
Tensor Integers(DType dtype, std::vector<int64_t> shape, Random& random);
// Makes a tensor of f32.
Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values);

}  // namespace tcc::test
