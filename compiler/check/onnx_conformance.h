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

// Runs one folder of ONNX's backend tests: model.onnx and, in each test_data_set_<n>, input_<i>.pb
// and output_<i>.pb. The model is imported, compiled for `target` and run.
//
// The test passes if all outputs have the dtype and shape of their files and every element is
// within 1e-7 + 1e-3 * |expected|; NaN equals NaN. It is skipped only if tcc reports that it does
// not support the model (Unimplemented: an operator, a type, an attribute, a sequence). Everything
// else is a failure.
//
// Inputs whose values determine shapes (ShapeInputs) are bound to the files' values before shapes
// are inferred, like with --bind: the tests feed Reshape its shape at run time.
ConformanceResult RunConformanceTest(const std::string& folder, const Target& target,
                                     Execution execution = Execution::kDevice);

}  // namespace tcc
