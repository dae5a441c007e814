#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Returns a message for each Resize, in bodies too, on whose meaning tcc and other runtimes differ:
// `align_corners` or `tf_crop_and_resize` by scales, of which one times its extent is no whole
// number. tcc divides by scale x extent - 1, as ONNX's tests do, ONNX Runtime and others by the
// output's extent - 1. Expects inferred shapes.
std::vector<std::string> FractionalResizes(const Graph& graph);

}  // namespace tcc
