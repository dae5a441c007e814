#include "tests/lower/onnx_node_tests/known_unsupported.h"

namespace tcc {
namespace {

struct Row {
  std::string_view test;  // folder name
  const char* reason;
};

constexpr Row kRows[] = {
    {"test_identity_opt", "optional values are not supported"},
    {"test_identity_sequence", "sequences are not supported"},
    {"test_training_dropout", "training mode is not supported"},
    {"test_training_dropout_default", "training mode is not supported"},
    {"test_training_dropout_default_mask", "training mode is not supported"},
    {"test_training_dropout_mask", "training mode is not supported"},
    {"test_training_dropout_zero_ratio", "training mode is not supported"},
    {"test_training_dropout_zero_ratio_mask", "training mode is not supported"},
};

}  // namespace

const char* ReasonNotToRun(std::string_view test) {
  for (const Row& row : kRows) {
    if (row.test == test) return row.reason;
  }
  return nullptr;
}

}  // namespace tcc
