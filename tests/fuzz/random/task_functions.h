#pragma once

#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "models/onnx/import_onnx.h"
#include "support/random.h"
#include "support/status.h"

namespace tcc {

// A kTensor function of a task, and the operators that it came from.
struct TaskFunction {
  std::string nodes;
  Function fn;
  size_t variant = 0;   // of the task
  std::string network;  // "" for a random model
};

// The forms of the built-in networks.
enum class Zoo : uint8_t { kSmall, kFull };

// The tasks of all built-in networks in this form; equal ones once.
const std::vector<TaskFunction>& ZooTaskFunctions(Zoo zoo = Zoo::kSmall);

// Those of an ONNX file's bytes.
StatusOr<std::vector<TaskFunction>> TasksOfModel(const std::string& bytes,
                                                 const ImportOptions& options = {});

// Those of one random model (random_model.h).
StatusOr<std::vector<TaskFunction>> RandomTaskFunctions(Random& random);

}  // namespace tcc
