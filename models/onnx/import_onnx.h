#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "models/onnx/external_data.h"
#include "models/onnx/onnx_survey.h"

namespace tcc {

struct ImportOptions {
  // Values for dimensions by the model's name for them (`--dim N=1`). A dimension without a name is
  // called INPUT_AXIS, say x_0.
  std::map<std::string, int64_t> dims = {};
  // Whole shapes of inputs (`--shape x=1x3x224x224`); they set the named dimensions in them too.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  // Inputs that become constants (`--bind mask=file.npy`).
  std::map<std::string, Tensor> binds = {};
  // Those of `binds` whose tensors come without a shape of their own and get the one that the model
  // declares, with `dims` and `shapes` for what it leaves open.
  std::set<std::string> binds_as_declared = {};
  // Where files with large tensors are sought; "" for the model's own folder.
  std::string external_data_folder = {};
  Links external_data_links = Links::kRefused;
  int64_t max_tensor_bytes = int64_t{1} << 36;
  // Gets a line for each thing that is odd about the model and was settled.
  std::function<void(const std::string& message)> warn = {};
};

// A dimension left free is a Shape variable of this range.
inline constexpr int64_t kMinFreeDim = 1;
inline constexpr int64_t kGreatestFreeDim = int64_t{1} << 24;

// Reads a model into the form that ir/graph/graph.h describes. Initializers and Constant nodes
// become constants, as does an Identity of one; large tensors stay mapped in their files. Every
// value has its dtype; inputs, constants and, where the model states them, outputs have their
// shapes. Nodes come in topological order: the file's own where that is one. Nodes and initializers
// that no output needs are left out, supported or not. An input that nothing reads stays; where its
// shape is not known its free dimensions are 1, with a warning.
//
// Fails with Unimplemented and the whole list of what is not supported, before any tensor is read;
// with FailedPrecondition for options that do not fit the model; with InvalidArgument, naming the
// node or tensor, for a model that is not valid.
StatusOr<Graph> ImportOnnx(const std::string& path, const ImportOptions& options = {});
// Without a folder of its own; bytes are not needed afterwards.
StatusOr<Graph> ImportOnnxBytes(std::span<const uint8_t> bytes, const ImportOptions& options = {});

// What the model is made of, supported or not. No tensor is read.
StatusOr<OnnxSurvey> SurveyOnnx(const std::string& path);

}  // namespace tcc
