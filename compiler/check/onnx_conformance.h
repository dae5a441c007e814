#pragma once

#include <string>

#include "compiler/devices/emulated_device.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

enum class Verdict : uint8_t { kPass, kFail, kSkip };

struct ConformanceResult {
  Verdict verdict;
  std::string reason = {};  // of a failure or a skip, in one line
};

// One folder of ONNX's backend tests: model.onnx and, in each test_data_set_<n>, input_<i>.pb and
// output_<i>.pb. The model is imported, compiled for `target` and run.
//
// Passes if all outputs are there, of the dtype and shape of their files, with every element within
// 1e-7 + 1e-3 * |expected|; NaN equals NaN. Skipped if tcc says that it does not support the model
// (Unimplemented: an operator, a type, an attribute, a sequence), the one thing that it does not
// claim to run. Everything else is a failure.
//
// Inputs whose values shapes depend on are bound to those of the files before shapes are inferred
// (ShapeInputs), as --bind does: the tests feed Reshape its shape at run time.
ConformanceResult RunConformanceTest(const std::string& folder, const Target& target,
                                     Execution execution = Execution::kDevice);

}  // namespace tcc
