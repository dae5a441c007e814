#include "tests/fuzz/random/model_builder.h"

#include <algorithm>
#include <set>

namespace tcc {

using namespace onnx_bytes;

namespace {

// Extents of models with free dimensions that depend on none.
constexpr int64_t kKnownExtents[] = {0, 1, 2, 3, 4, 6, 8, 16, 20};

std::vector<std::string> DimsOf(const std::vector<int64_t>& shape,
                                const std::vector<FreeDim>& free) {
  std::vector<std::string> dims;
  for (int64_t extent : shape) {
    auto dim = std::ranges::find(free, extent, &FreeDim::extent);
    dims.push_back(dim == free.end() ? std::to_string(extent) : dim->name);
  }
  return dims;
}

}  // namespace

int64_t ModelValue::count() const {
  return ElementCount(shape).value();
}

int OnnxTypeOf(DTypeCode type) {
  switch (type) {
    case DTypeCode::kBool:
      return kOnnxBool;
    case DTypeCode::kInt8:
      return kOnnxInt8;
    case DTypeCode::kUInt8:
      return kOnnxUInt8;
    case DTypeCode::kInt32:
      return kOnnxInt32;
    case DTypeCode::kInt64:
      return kOnnxInt64;
    case DTypeCode::kFloat16:
      return kOnnxFloat16;
    case DTypeCode::kFloat64:
      return kOnnxDouble;
    case DTypeCode::kBFloat16:
      return kOnnxBFloat16;
    case DTypeCode::kInt16:
    case DTypeCode::kUInt16:
    case DTypeCode::kUInt32:
    case DTypeCode::kUInt64:
    case DTypeCode::kFloat8E4M3:
    case DTypeCode::kFloat8E5M2:
    case DTypeCode::kInt4:
    case DTypeCode::kUInt4:
    case DTypeCode::kInt2:
    case DTypeCode::kUInt2:
    case DTypeCode::kTFloat32:
    case DTypeCode::kFloat32:
      break;
  }
  return kOnnxFloat;
}

Tensor RandomTensor(DTypeCode type, const std::vector<int64_t>& shape, double bound,
                    Random& random) {
  Tensor tensor = MakeZeroTensor(type, shape);
  int64_t count = ElementCount(shape).value();
  auto steps = static_cast<int64_t>(bound * 8);
  auto whole = static_cast<int64_t>(bound);
  for (int64_t i = 0; i < count; ++i) {
    if (tensor.dtype.is_float()) {
      SetElement(tensor, i, static_cast<double>(random.Between(-steps, steps)) / 8);
    } else if (tensor.dtype.is_bool()) {
      SetElementInt(tensor, i, random.Between(0, 1));
    } else {
      SetElementInt(tensor, i, random.Between(-whole, whole));
    }
  }
  return tensor;
}

std::string ModelBuilder::FreshName() {
  return fmt::format("v{}", names_++);
}

ModelValue ModelBuilder::AddInput(DTypeCode type, const std::vector<int64_t>& shape, double bound) {
  ModelValue value{FreshName(), type, shape, bound, true};
  std::vector<std::string> dims = DimsOf(shape, free);
  spec_.inputs.push_back(InputOf(value.name, OnnxTypeOf(type), dims));
  inputs_.push_back(RandomTensor(type, shape, bound, random));
  input_infos_.push_back({type, shape, std::move(dims), bound});
  if (free.empty()) shapes_.emplace(value.name, shape);
  has_half_ = has_half_ || type == DTypeCode::kFloat16;
  Keep(value);
  return value;
}

std::string ModelBuilder::AddTensor(const Tensor& tensor) {
  std::string name = FreshName();
  std::string raw(tensor.bytes.begin(), tensor.bytes.end());
  int type = OnnxTypeOf(tensor.dtype.code());
  if (Chance(80)) {
    spec_.initializers.push_back(RawTensor(name, type, tensor.shape, raw));
  } else {
    spec_.nodes.push_back(
        {.op = "Constant",
         .outputs = {name},
         .attributes = {TensorAttr("value", RawTensor("", type, tensor.shape, raw))}});
  }
  return name;
}

ModelValue ModelBuilder::AddConstant(DTypeCode type, const std::vector<int64_t>& shape,
                                     double bound) {
  return {AddTensor(RandomTensor(type, shape, bound, random)), type, shape, bound, true};
}

std::string ModelBuilder::AddInts(const std::vector<int64_t>& values) {
  Tensor tensor = MakeZeroTensor(DTypeCode::kInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    SetElementInt(tensor, static_cast<int64_t>(i), values[i]);
  }
  return AddTensor(tensor);
}

std::string ModelBuilder::AddInt(int64_t value) {
  Tensor tensor = MakeZeroTensor(DTypeCode::kInt64, {});
  SetElementInt(tensor, 0, value);
  return AddTensor(tensor);
}

void ModelBuilder::AddNode(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs,
                           const std::vector<Wire>& attributes) {
  spec_.nodes.push_back({.op = op,
                         .inputs = inputs,
                         .outputs = outputs,
                         .attributes = attributes,
                         .name = fmt::format("{}_{}", op, spec_.nodes.size())});
  ops_.push_back(op);
}

ModelValue ModelBuilder::Add(const std::string& op, const std::vector<std::string>& inputs,
                             ModelValue result, const std::vector<Wire>& attributes) {
  result.name = FreshName();
  AddNode(op, inputs, {result.name}, attributes);
  has_half_ = has_half_ || result.type == DTypeCode::kFloat16;
  Keep(result);
  return result;
}

std::optional<ModelValue> ModelBuilder::PickFloat(double bound, int64_t least_rank) {
  return Pick([&](const ModelValue& value) {
    return value.is_float() && value.bound <= bound && value.rank() >= least_rank;
  });
}

bool ModelBuilder::Varies(int64_t extent) const {
  return !free.empty() && std::ranges::count(kKnownExtents, extent) == 0;
}

bool ModelBuilder::AnyVaries(std::span<const int64_t> extents) const {
  return std::ranges::any_of(extents, [&](int64_t extent) { return Varies(extent); });
}

int64_t ModelBuilder::AnyAxis(int64_t rank, int64_t* written) {
  int64_t axis = random.Between(0, rank - 1);
  *written = Chance(30) ? axis - rank : axis;
  return axis;
}

std::vector<FreeDim> ModelBuilder::free_dims() const {
  std::vector<FreeDim> dims = free;
  std::erase_if(dims, [&](const FreeDim& dim) {
    return std::ranges::none_of(input_infos_, [&](const ModelInput& input) {
      return std::ranges::count(input.shape, dim.extent) > 0;
    });
  });
  return dims;
}

std::string ModelBuilder::Finish() {
  constexpr size_t kMaxOutputs = 5;
  std::set<std::string> read;
  std::set<std::string> given;
  Wire graph = Wire().Bytes(2, "random");
  for (const NodeSpec& node : spec_.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    given.insert(node.outputs.begin(), node.outputs.end());
    graph.Sub(1, NodeOf(node));
  }
  for (const Wire& tensor : spec_.initializers) graph.Sub(5, tensor);
  for (const Wire& input : spec_.inputs) graph.Sub(11, input);
  size_t outputs = 0;
  for (size_t i = values_.size(); i-- > 0 && outputs < kMaxOutputs;) {
    const ModelValue& value = values_[i];
    if (!given.contains(value.name) || read.contains(value.name)) continue;
    std::vector<std::string> dims = DimsOf(value.shape, {});
    if (!free.empty()) std::ranges::fill(dims, "");  // any may depend on free ones
    graph.Sub(12, InputOf(value.name, OnnxTypeOf(value.type), dims));
    ++outputs;
  }
  Wire import = Wire().Bytes(1, "").Varint(2, static_cast<uint64_t>(opset));
  return Wire().Varint(1, 8).Sub(7, graph).Sub(8, import).bytes;
}

}  // namespace tcc
