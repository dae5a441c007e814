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
#include "models/onnx/value_facts.h"
#include "support/dim_range.h"
#include "support/tensor.h"

namespace tcc {

// The least and greatest extent of a dimension that is left free.
inline constexpr int64_t kMinFreeDim = 1;
inline constexpr int64_t kMaxFreeDim = int64_t{1} << 24;

struct ImportOptions {
  // Values for dimensions by the model's name for them (`--dim N=1`). A dimension without a name is
  // called INPUT_AXIS, say x_0.
  std::map<std::string, int64_t> dims = {};
  // Ranges for dimensions that stay free (`--dim N=1..32:8`), by the same names. What is left out
  // is [1, 2^24], or from 0 for a name that begins with "past", and as usual extent 8 for axis 0 of
  // an input, else 128, within the range. One warning names the dimensions that are free and
  // neither here nor a kOpenExtent in `shapes`.
  std::map<std::string, DimRange> ranges = {};
  // Whole shapes of inputs (`--shape x=1x3x224x224`); they set the named dimensions in them too. A
  // kOpenExtent stays as the model has it; in an input without a declared shape it is free and
  // called INPUT_AXIS.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  // Inputs that become constants (`--bind mask=file.npy`).
  std::map<std::string, Tensor> binds = {};
  // The names in `binds` whose tensors have no shape of their own. They get the shape that the
  // model declares; `dims` and `shapes` set the dimensions that it leaves open.
  std::set<std::string> binds_as_declared = {};
  // The folder of files with large tensors; "" for the model's own folder.
  std::string external_data_folder = {};
  Links external_data_links = Links::kRefused;
  int64_t max_tensor_bytes = int64_t{1} << 36;
  // Tells what computed conditions, positions and extents are (PartialEvaluator in compiler/).
  // Without it only constants are known.
  ValueFactsFunction facts_of = {};
  // Receives each dimension of an input that `dims` gives: the input, the axis, and its key there.
  std::function<void(const std::string& input, size_t axis, const std::string& dim)> given_dim = {};
  // Receives a line per oddity of the model that the import resolved.
  std::function<void(const std::string& message)> warn = {};
};

// Reads a model into the form that ir/graph/graph.h describes. Initializers and Constant nodes
// become constants, as does an Identity of one; large tensors stay mapped in their files. Every
// value has its dtype; inputs, constants and, where the model states them, outputs have their
// shapes. Nodes come in topological order: the file's own order if that is one. Nodes and
// initializers that no output needs are left out, supported or not. An If whose condition is known
// becomes the branch that it takes; the other one may hold anything. Sequences and optionals are
// resolved to tensors. The model's metadata become the graph's properties
// (models/onnx/onnx_properties.h). An input that nothing reads stays; if its shape is not known,
// its free dimensions are 1, with a warning, but for those in `ranges` and kOpenExtents.
//
// Fails with Unimplemented and the whole list of unsupported operators, before any tensor is read
// unless all of them stand in branches of Ifs;
// likewise for a sequence whose structure only a run knows;
// with FailedPrecondition for options that do not fit the model; with InvalidArgument, naming the
// node or tensor, for a model that is not valid.
StatusOr<Graph> ImportOnnx(const std::string& path, const ImportOptions& options = {});
// Reads a model that has no folder of its own; `bytes` are not needed afterwards.
StatusOr<Graph> ImportOnnxBytes(std::span<const uint8_t> bytes, const ImportOptions& options = {});

// Lists the operators of a model, supported or not. No tensor is read.
StatusOr<OnnxSurvey> SurveyOnnx(const std::string& path);

// Reads the tensor of a file that holds one ONNX TensorProto and nothing else (input_0.pb of ONNX's
// own tests). External data is refused. Errors name the path.
StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path);
// Parses the content of such a file; `name` begins the messages.
StatusOr<Tensor> ParseOnnxTensor(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace tcc
