#pragma once

#include <string>

#include "tests/fuzz/random/random_model.h"

namespace tcc {

// Writes what judge_models.py reads: model.onnx, tolerance.txt, input_N.npy and output_N.npy.
Status WriteCase(const std::string& folder, const RandomModel& model,
                 const std::vector<Tensor>& outputs);

}  // namespace tcc
