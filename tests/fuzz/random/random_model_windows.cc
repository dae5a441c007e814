#include <algorithm>

#include "tests/fuzz/random/random_model.h"

namespace tcc {
namespace {

using namespace onnx_bytes;

constexpr int64_t kMaxCount = 20000;
// Multiplications of one node: the interpreter runs them all.
constexpr int64_t kMaxWork = 2'000'000;

std::optional<ModelValue> AnImage(ModelBuilder& model, double bound) {
  return model.Pick([&](const ModelValue& value) {
    return value.type == DTypeCode::kFloat32 && value.rank() >= 3 && value.rank() <= 5 &&
           value.count() > 0 && value.bound <= bound;
  });
}

// A window on one dimension.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
};

// As many as `x` has spatial dimensions; each fits its own.
std::vector<Window> AnyWindows(ModelBuilder& model, const ModelValue& x, bool dilated) {
  std::vector<Window> windows;
  for (size_t d = 2; d < x.shape.size(); ++d) {
    Window window;
    window.kernel = model.random.Between(1, std::min<int64_t>(3, x.shape[d]));
    window.stride = model.random.Between(1, 2);
    if (dilated && model.Chance(30) && (window.kernel - 1) * 2 + 1 <= x.shape[d]) {
      window.dilation = 2;
    }
    window.begin = model.random.Between(0, window.kernel - 1);
    window.end = model.random.Between(0, window.kernel - 1);
    windows.push_back(window);
  }
  return windows;
}

int64_t OutputExtent(int64_t input, const Window& window) {
  int64_t reach = (window.kernel - 1) * window.dilation + 1;
  return (input + window.begin + window.end - reach) / window.stride + 1;
}

std::vector<Wire> AttributesOf(const std::vector<Window>& windows, bool dilated) {
  std::vector<int64_t> kernel, strides, dilations, begins, ends;
  for (const Window& window : windows) {
    kernel.push_back(window.kernel);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    begins.push_back(window.begin);
    ends.push_back(window.end);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  std::vector<Wire> attributes = {IntsAttr("kernel_shape", kernel), IntsAttr("strides", strides),
                                  IntsAttr("pads", begins)};
  if (dilated) attributes.push_back(IntsAttr("dilations", dilations));
  return attributes;
}

bool AddConv(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnImage(model, 100);
  if (!x || model.Varies(x->shape[1])) return false;
  std::vector<Window> windows = AnyWindows(model, *x, true);
  int64_t channels = x->shape[1];
  int64_t group = model.Chance(30) ? channels : 1;
  int64_t per_group = model.random.Between(1, 5);
  std::vector<int64_t> weight = {per_group * group, channels / group};
  ModelValue result = *x;
  result.shape[1] = weight[0];
  for (size_t d = 0; d < windows.size(); ++d) {
    weight.push_back(windows[d].kernel);
    result.shape[d + 2] = OutputExtent(x->shape[d + 2], windows[d]);
  }
  int64_t taps = ElementCount(weight).value() / weight[0];
  if (result.count() > kMaxCount || result.count() * taps > kMaxWork) return false;
  std::vector<std::string> inputs = {x->name, model.AddConstant(x->type, weight, 1).name};
  if (model.Chance(60)) inputs.push_back(model.AddConstant(x->type, {weight[0]}, 1).name);
  result.bound = x->bound * static_cast<double>(taps) + 1;
  result.exact = false;
  std::vector<Wire> attributes = AttributesOf(windows, true);
  attributes.push_back(IntAttr("group", group));
  model.Add(op, inputs, result, attributes);
  return true;
}

bool AddConvTranspose(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnImage(model, 100);
  if (!x || model.Varies(x->shape[1])) return false;
  int64_t channels = x->shape[1];
  int64_t outputs = model.random.Between(1, 4);
  std::vector<int64_t> weight = {channels, outputs};
  ModelValue result = *x;
  result.shape[1] = outputs;
  std::vector<Window> windows;
  for (size_t d = 2; d < x->shape.size(); ++d) {
    Window window;
    window.kernel = model.random.Between(1, 3);
    window.stride = model.random.Between(1, 2);
    windows.push_back(window);
    weight.push_back(window.kernel);
    result.shape[d] = (x->shape[d] - 1) * window.stride + window.kernel;
  }
  int64_t taps = ElementCount(weight).value() / outputs;
  if (result.count() > kMaxCount || result.count() * taps > kMaxWork) return false;
  result.bound = x->bound * static_cast<double>(taps);
  result.exact = false;
  model.Add(op, {x->name, model.AddConstant(x->type, weight, 1).name}, result,
            AttributesOf(windows, false));
  return true;
}

bool AddPool(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnImage(model, 1e4);
  if (!x) return false;
  std::vector<Window> windows = AnyWindows(model, *x, op == "MaxPool");
  ModelValue result = *x;
  for (size_t d = 0; d < windows.size(); ++d) {
    result.shape[d + 2] = OutputExtent(x->shape[d + 2], windows[d]);
  }
  result.exact = op == "MaxPool" && x->exact;
  std::vector<Wire> attributes = AttributesOf(windows, op == "MaxPool");
  if (op == "AveragePool" && model.Chance(50))
    attributes.push_back(IntAttr("count_include_pad", 1));
  model.Add(op, {x->name}, result, attributes);
  return true;
}

bool AddGlobalPool(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnImage(model, 1e4);
  if (!x) return false;
  ModelValue result = *x;
  std::fill(result.shape.begin() + 2, result.shape.end(), 1);
  result.exact = op == "GlobalMaxPool" && x->exact;
  model.Add(op, {x->name}, result);
  return true;
}

bool AddMatMul(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return (value.type == DTypeCode::kFloat32 || value.type == DTypeCode::kFloat64) &&
           value.rank() >= 1 && value.count() > 0 && value.bound <= 100;
  });
  if (!x) return false;
  int64_t depth = x->shape.back();
  ModelValue result = *x;
  result.exact = false;
  // Another value that fits, or a matrix, or a vector.
  std::optional<ModelValue> y = model.Pick([&](const ModelValue& value) {
    return value.type == x->type && value.rank() == x->rank() && value.rank() >= 2 &&
           value.bound <= 100 && value.shape[value.shape.size() - 2] == depth &&
           std::equal(value.shape.begin(), value.shape.end() - 2, x->shape.begin());
  });
  if (y && model.Chance(70)) {
    result.shape.back() = y->shape.back();
  } else if (model.Varies(depth)) {
    return false;
  } else if (model.Chance(85)) {
    y = model.AddConstant(x->type, {depth, model.random.Between(1, 20)}, 1);
    result.shape.back() = y->shape.back();
  } else {
    y = model.AddConstant(x->type, {depth}, 1);
    result.shape.pop_back();
  }
  if (result.count() > kMaxCount || result.count() * depth > kMaxWork) return false;
  result.bound = x->bound * y->bound * static_cast<double>(depth);
  model.Add(op, {x->name, y->name}, result);
  return true;
}

bool AddGemm(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.type == DTypeCode::kFloat32 && value.rank() == 2 && value.count() > 0 &&
           value.bound <= 100;
  });
  if (!x) return false;
  bool turn_x = model.Chance(30), turn_y = model.Chance(50);
  int64_t rows = x->shape[turn_x ? 1 : 0], depth = x->shape[turn_x ? 0 : 1];
  if (model.Varies(depth)) return false;
  int64_t columns = model.random.Between(1, 20);
  std::vector<int64_t> weight = {depth, columns};
  if (turn_y) std::swap(weight[0], weight[1]);
  std::vector<std::string> inputs = {x->name, model.AddConstant(x->type, weight, 1).name};
  if (model.Chance(60)) {
    std::vector<int64_t> bias = model.Chance(50) || model.Varies(rows)
                                    ? std::vector<int64_t>{columns}
                                    : std::vector<int64_t>{rows, 1};
    inputs.push_back(model.AddConstant(x->type, bias, 1).name);
  }
  ModelValue result = *x;
  result.shape = {rows, columns};
  result.exact = false;
  result.bound = x->bound * static_cast<double>(depth) + 1;
  if (rows * columns * depth > kMaxWork) return false;
  model.Add(op, inputs, result,
            {FloatAttr("alpha", 0.5f), FloatAttr("beta", 2.0f), IntAttr("transA", turn_x ? 1 : 0),
             IntAttr("transB", turn_y ? 1 : 0)});
  return true;
}

constexpr ModelOpRow kRows[] = {
    {"Conv", 13, AddConv},
    {"Conv", 13, AddConv},
    {"ConvTranspose", 13, AddConvTranspose},
    {"MaxPool", 13, AddPool},
    {"AveragePool", 13, AddPool},
    {"GlobalAveragePool", 13, AddGlobalPool},
    {"GlobalMaxPool", 13, AddGlobalPool},
    {"MatMul", 13, AddMatMul},
    {"MatMul", 13, AddMatMul},
    {"Gemm", 13, AddGemm},
};

}  // namespace

std::span<const ModelOpRow> WindowRows() {
  return kRows;
}

}  // namespace tcc
