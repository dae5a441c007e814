#pragma once

#include <string>

namespace tcc {

enum class Verdict { kPass, kFail, kSkip };

struct NodeTestResult {
  Verdict verdict;
  std::string reason;  // of a failure or a skip
};

// One folder of ONNX's backend tests: model.onnx and test_data_set_0/{input,output}_<i>.pb. The
// model is imported, taken through all graph passes and interpreted. Inputs that shapes depend on
// are bound as constants. Passes if every output has the dtype and shape of the file and each
// element is within 1e-7 + 1e-3 * |expected|. Skipped if the model has an unsupported operator.
NodeTestResult RunNodeTest(const std::string& folder);

}  // namespace tcc
