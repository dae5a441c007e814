#include <algorithm>
#include <cmath>

#include "tests/fuzz/random/random_model.h"

namespace tcc {
namespace {

using namespace onnx_bytes;

bool IsFloat32Or64(const ModelValue& value) {
  return value.type == DTypeCode::kFloat32 || value.type == DTypeCode::kFloat64;
}

// Axes to reduce, ascending; all of them now and then.
std::vector<int64_t> AnyAxes(ModelBuilder& model, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (model.Chance(50)) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(model.random.Between(0, rank - 1));
  return axes;
}

bool AddReduce(ModelBuilder& model, const std::string& op) {
  bool power = op == "ReduceSumSquare" || op == "ReduceL2" || op == "ReduceProd";
  bool selects = op == "ReduceMax" || op == "ReduceMin";
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    return value.is_float() && value.rank() >= 1 && value.count() > 0 &&
           value.bound <= (power ? 30 : 1e3) && (selects || IsFloat32Or64(value));
  });
  if (!x) return false;
  std::vector<int64_t> axes = AnyAxes(model, x->rank());
  // Products of more than a few grow out of hand.
  if (op == "ReduceProd") axes.resize(1);
  bool keep = model.Chance(50);
  double count = 1;
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < x->rank(); ++d) {
    bool reduced = std::ranges::count(axes, d) > 0;
    if (reduced) count *= static_cast<double>(x->shape[d]);
    if (!reduced || keep) shape.push_back(reduced ? 1 : x->shape[d]);
  }
  if (op == "ReduceProd" && (count > 6 || x->bound > 4)) return false;
  ModelValue result = *x;
  result.shape = shape;
  result.exact = selects && x->exact;
  if (op == "ReduceSum" || op == "ReduceL1") result.bound *= count;
  if (op == "ReduceSumSquare" || op == "ReduceL2") result.bound = x->bound * x->bound * count;
  if (op == "ReduceProd") result.bound = std::pow(std::max(1.0, x->bound), count);
  if (op == "ReduceLogSumExp") result.bound = x->bound + std::log(count) + 1;
  for (int64_t& axis : axes) axis = model.Chance(20) ? axis - x->rank() : axis;
  std::vector<std::string> inputs = {x->name};
  std::vector<Wire> attributes = {IntAttr("keepdims", keep ? 1 : 0)};
  if (model.opset >= 18 || op == "ReduceSum") {
    inputs.push_back(model.AddInts(axes));
  } else {
    attributes.push_back(IntsAttr("axes", axes));
  }
  model.Add(op, inputs, result, attributes);
  return true;
}

bool AddArg(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.exact && value.type == DTypeCode::kFloat32 && value.rank() >= 1 &&
           value.count() > 0;
  });
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  bool keep = model.Chance(50);
  ModelValue result{"", DTypeCode::kInt64, x->shape, static_cast<double>(x->shape[axis]), true};
  result.shape[axis] = 1;
  if (!keep) result.shape.erase(result.shape.begin() + axis);
  model.Add(op, {x->name}, result,
            {IntAttr("axis", written), IntAttr("keepdims", keep ? 1 : 0),
             IntAttr("select_last_index", model.Chance(30) ? 1 : 0)});
  return true;
}

bool AddTopK(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.exact && value.type == DTypeCode::kFloat32 && value.rank() >= 1 &&
           value.count() > 0;
  });
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  int64_t k = model.random.Between(
      1, std::min<int64_t>(model.Varies(x->shape[axis]) ? 1 : x->shape[axis], 5));
  ModelValue values = *x, indices = *x;
  values.shape[axis] = indices.shape[axis] = k;
  values.name = model.FreshName();
  indices.name = model.FreshName();
  indices.type = DTypeCode::kInt64;
  indices.bound = static_cast<double>(x->shape[axis]);
  model.AddNode(op, {x->name, model.AddInts({k})}, {values.name, indices.name},
                {IntAttr("axis", written), IntAttr("largest", model.Chance(50) ? 1 : 0)});
  model.Keep(values);
  model.Keep(indices);
  return true;
}

bool AddSoftmax(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    return value.is_float() && value.rank() >= 1 && value.bound <= 1e3 && value.count() > 0 &&
           (op != "Hardmax" || value.exact);
  });
  if (!x) return false;
  int64_t written;
  model.AnyAxis(x->rank(), &written);
  ModelValue result = *x;
  result.bound = op == "LogSoftmax" ? 2 * x->bound + 10 : 1;
  result.exact = op == "Hardmax";
  model.Add(op, {x->name}, result, {IntAttr("axis", written)});
  return true;
}

double NormBound(const ModelValue& x) {
  return 3 * std::sqrt(static_cast<double>(std::max<int64_t>(1, x.count()))) + 3;
}

// With a large epsilon, or differences of nearly equal numbers decide.
bool AddLayerNormalization(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.type == DTypeCode::kFloat32 && value.rank() >= 1 && value.count() > 0 &&
           value.bound <= 1e3;
  });
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  std::vector<int64_t> inner(x->shape.begin() + axis, x->shape.end());
  if (model.AnyVaries(inner)) return false;
  std::vector<std::string> inputs = {x->name, model.AddConstant(x->type, inner, 2).name};
  if (op == "LayerNormalization" && model.Chance(60)) {
    inputs.push_back(model.AddConstant(x->type, inner, 2).name);
  }
  ModelValue result = *x;
  result.bound = NormBound(*x);
  result.exact = false;
  model.Add(op, inputs, result, {IntAttr("axis", written), FloatAttr("epsilon", 0.01f)});
  return true;
}

bool AddChannelNormalization(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.type == DTypeCode::kFloat32 && value.rank() >= 3 && value.count() > 0 &&
           value.bound <= 1e3;
  });
  if (!x) return false;
  std::vector<int64_t> channels = {x->shape[1]};
  if (model.Varies(channels[0])) return false;
  ModelValue result = *x;
  result.bound = NormBound(*x);
  result.exact = false;
  std::vector<std::string> inputs = {x->name, model.AddConstant(x->type, channels, 2).name,
                                     model.AddConstant(x->type, channels, 2).name};
  std::vector<Wire> attributes = {FloatAttr("epsilon", 0.01f)};
  if (op == "BatchNormalization") {
    Tensor variance = MakeZeroTensor(x->type, channels);
    for (int64_t c = 0; c < channels[0]; ++c) SetElement(variance, c, 0.5 + model.random.Unit());
    inputs.push_back(model.AddConstant(x->type, channels, 2).name);
    inputs.push_back(model.AddTensor(variance));
    result.bound = 3 * x->bound + 10;
  }
  if (op == "GroupNormalization") {
    int64_t groups = channels[0] % 2 == 0 && model.Chance(50) ? channels[0] / 2 : 1;
    attributes.push_back(IntAttr("num_groups", groups));
  }
  model.Add(op, inputs, result, attributes);
  return true;
}

constexpr ModelOpRow kRows[] = {
    {"ReduceSum", 13, AddReduce},
    {"ReduceMean", 13, AddReduce},
    {"ReduceMax", 13, AddReduce},
    {"ReduceMin", 13, AddReduce},
    {"ReduceProd", 13, AddReduce},
    {"ReduceL1", 13, AddReduce},
    {"ReduceL2", 13, AddReduce},
    {"ReduceSumSquare", 13, AddReduce},
    {"ReduceLogSumExp", 13, AddReduce},
    {"ArgMax", 13, AddArg},
    {"ArgMin", 13, AddArg},
    {"TopK", 13, AddTopK},
    {"Softmax", 13, AddSoftmax},
    {"LogSoftmax", 13, AddSoftmax},
    {"Hardmax", 13, AddSoftmax},
    {"LayerNormalization", 17, AddLayerNormalization},
    {"RMSNormalization", 23, AddLayerNormalization},
    {"InstanceNormalization", 13, AddChannelNormalization},
    {"BatchNormalization", 15, AddChannelNormalization},
    {"GroupNormalization", 21, AddChannelNormalization},
};

}  // namespace

std::span<const ModelOpRow> ReductionRows() {
  return kRows;
}

}  // namespace tcc
