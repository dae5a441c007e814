#include "tests/fuzz/random/operator_models.h"

#include <algorithm>

namespace tcc {
namespace {

using namespace onnx_bytes;

constexpr int64_t kExtents[] = {1, 2, 3, 7, 13, 31, 64, 197, 224};
// Multiplications of one node. Schedules issue several times as many instances.
constexpr int64_t kMaxWork = 50'000;
constexpr int64_t kMaxElements = 20'000;
constexpr int kOpset = 18;
constexpr float kEpsilon = 0.01f;  // so large that no difference of nearly equal numbers decides

// Extents with a product of at most `most`.
std::vector<int64_t> Extents(Random& random, size_t rank, int64_t most) {
  std::vector<size_t> chosen;
  for (size_t d = 0; d < rank; ++d) chosen.push_back(random.Below(std::size(kExtents)));
  for (;;) {
    int64_t product = 1;
    for (size_t c : chosen) product *= kExtents[c];
    if (product <= most) break;
    size_t& c = chosen[random.Below(rank)];
    c -= c > 0;
  }
  std::vector<int64_t> extents;
  for (size_t c : chosen) extents.push_back(kExtents[c]);
  return extents;
}

// Weights are constants of the model as often as they are inputs.
ModelValue Operand(ModelBuilder& model, const std::vector<int64_t>& shape) {
  return model.random.OneIn(2) ? model.AddConstant(model.real, shape, 1)
                               : model.AddInput(model.real, shape, 1);
}

ModelValue Input(ModelBuilder& model, const std::vector<int64_t>& shape) {
  return model.AddInput(model.real, shape, 3);
}

ModelValue Result(ModelBuilder& model, const std::vector<int64_t>& shape) {
  return {.name = "", .type = model.real, .shape = shape};
}

// Rows, columns and depth of a product, sometimes such that whole outer products of 8 by 16 fit.
std::vector<int64_t> ProductExtents(Random& random) {
  if (!random.OneIn(3)) return Extents(random, 3, kMaxWork);
  std::vector<int64_t> extents = {random.OneIn(2) ? 64 : 224, 64};
  extents.push_back(Extents(random, 1, kMaxWork / (extents[0] * extents[1]))[0]);
  return extents;
}

void AddMatMul(ModelBuilder& model) {
  std::vector<int64_t> e = ProductExtents(model.random);
  std::vector<int64_t> a = {e[0], e[2]}, b = {e[2], e[1]}, c = {e[0], e[1]};
  if (model.random.OneIn(3)) {
    int64_t batch = Extents(model.random, 1, kMaxWork / (e[0] * e[1] * e[2]))[0];
    for (std::vector<int64_t>* shape : {&a, &b, &c}) shape->insert(shape->begin(), batch);
  }
  ModelValue left = Input(model, a);
  model.Add("MatMul", {left.name, Operand(model, b).name}, Result(model, c));
}

void AddGemm(ModelBuilder& model) {
  std::vector<int64_t> e = ProductExtents(model.random);
  bool turn_a = model.random.OneIn(2), turn_b = model.random.OneIn(2);
  ModelValue a = Input(model, turn_a ? std::vector{e[2], e[0]} : std::vector{e[0], e[2]});
  ModelValue b = Operand(model, turn_b ? std::vector{e[1], e[2]} : std::vector{e[2], e[1]});
  std::vector<std::string> inputs = {a.name, b.name};
  if (model.random.OneIn(2)) inputs.push_back(Operand(model, {e[1]}).name);
  model.Add("Gemm", inputs, Result(model, {e[0], e[1]}),
            {IntAttr("transA", turn_a ? 1 : 0), IntAttr("transB", turn_b ? 1 : 0)});
}

enum class Channels : uint8_t { kAll, kGroups, kOne };

// A window of each spatial dimension.
struct Windows {
  std::vector<int64_t> kernel, strides, dilations, begins, ends;

  std::vector<Wire> Attributes() const {
    std::vector<int64_t> pads = begins;
    pads.insert(pads.end(), ends.begin(), ends.end());
    return {IntsAttr("kernel_shape", kernel), IntsAttr("strides", strides), IntsAttr("pads", pads)};
  }
  int64_t taps() const {
    int64_t product = 1;
    for (int64_t k : kernel) product *= k;
    return product;
  }
};

Windows AnyWindows(Random& random, size_t dims, int64_t stride, int64_t dilation) {
  constexpr int64_t kKernels[] = {1, 2, 3, 3, 7};
  Windows windows;
  for (size_t d = 0; d < dims; ++d) {
    int64_t kernel = dims == 3 ? random.Between(1, 3) : kKernels[random.Below(5)];
    windows.kernel.push_back(kernel);
    windows.strides.push_back(stride);
    windows.dilations.push_back(dilation);
    windows.begins.push_back(random.Between(0, kernel - 1));
    windows.ends.push_back(random.Between(0, kernel - 1));
  }
  return windows;
}

// Kernels become as small as the images of these extents ask for.
void Shrink(Windows& windows, const std::vector<int64_t>& extents) {
  for (size_t d = 0; d < extents.size(); ++d) {
    int64_t& kernel = windows.kernel[d];
    while ((kernel - 1) * windows.dilations[d] + 1 > extents[d]) --kernel;
    windows.begins[d] = std::min(windows.begins[d], kernel - 1);
    windows.ends[d] = std::min(windows.ends[d], kernel - 1);
  }
}

std::vector<int64_t> OutputShape(const std::vector<int64_t>& image, int64_t channels,
                                 const Windows& windows) {
  std::vector<int64_t> shape = {image[0], channels};
  for (size_t d = 0; d < windows.kernel.size(); ++d) {
    int64_t reach = (windows.kernel[d] - 1) * windows.dilations[d] + 1;
    int64_t padded = image[d + 2] + windows.begins[d] + windows.ends[d];
    shape.push_back((padded - reach) / windows.strides[d] + 1);
  }
  return shape;
}

// Batch, `channels`, and spatial extents.
std::vector<int64_t> ImageOf(int64_t channels, const std::vector<int64_t>& extents,
                             Random& random) {
  std::vector<int64_t> image = {random.OneIn(4) ? 2 : 1, channels};
  image.insert(image.end(), extents.begin(), extents.end());
  return image;
}

// Windows that are no windows: a convolution of them is a product, which may be made of whole outer
// products of 8 places by 16 channels if there are ProductPlaces, and as many channels as the last
// of them.
void MakeOneTap(Windows& windows) {
  std::ranges::fill(windows.kernel, 1);
  std::ranges::fill(windows.begins, 0);
  std::ranges::fill(windows.ends, 0);
}

std::vector<int64_t> ProductPlaces(size_t dims) {
  std::vector<int64_t> extents(dims, dims == 2 ? 3 : 1);
  extents.back() = 64;
  return extents;
}

void AddConv(ModelBuilder& model, size_t dims, int64_t stride, int64_t dilation, Channels kind) {
  Random& random = model.random;
  Windows windows = AnyWindows(random, dims, stride, dilation);
  int64_t most = std::max<int64_t>(1, kMaxWork / windows.taps());
  std::vector<int64_t> e = Extents(random, dims + 2, most);
  std::vector<int64_t> extents(e.begin() + 2, e.end());
  Shrink(windows, extents);
  int64_t inputs = e[0], outputs = e[1], groups = 1;
  if (kind == Channels::kAll && random.OneIn(6)) {
    MakeOneTap(windows);
    extents = ProductPlaces(dims);
    outputs = extents.back();
    inputs = random.Between(1, 3);
  }
  if (kind == Channels::kGroups) {
    inputs = std::min<int64_t>(inputs, 7);
    outputs = std::min<int64_t>(outputs, 7);
    groups = random.Between(2, 3);
  } else if (kind == Channels::kOne) {
    groups = inputs;
    inputs = 1;
    outputs = random.OneIn(3) ? 2 : 1;
  }
  std::vector<int64_t> image = ImageOf(inputs * groups, extents, random);
  std::vector<int64_t> weight = {outputs * groups, inputs};
  weight.insert(weight.end(), windows.kernel.begin(), windows.kernel.end());
  std::vector<Wire> attributes = windows.Attributes();
  attributes.push_back(IntsAttr("dilations", windows.dilations));
  attributes.push_back(IntAttr("group", groups));
  ModelValue x = Input(model, image);
  std::vector<std::string> operands = {x.name, Operand(model, weight).name};
  if (random.OneIn(3)) operands.push_back(Operand(model, {weight[0]}).name);
  model.Add("Conv", operands, Result(model, OutputShape(image, weight[0], windows)), attributes);
}

template <size_t dims>
void AddPlainConv(ModelBuilder& model) {
  AddConv(model, dims, 1, 1, Channels::kAll);
}
void AddStridedConv(ModelBuilder& model) {
  int64_t stride = model.random.Between(2, 3);
  AddConv(model, 1 + model.random.Below(3), stride, 1, Channels::kAll);
}
void AddDilatedConv(ModelBuilder& model) {
  int64_t dilation = model.random.Between(2, 3);
  AddConv(model, 1 + model.random.Below(3), 1, dilation, Channels::kAll);
}
void AddGroupedConv(ModelBuilder& model) {
  AddConv(model, 1 + model.random.Below(2), model.random.Between(1, 2), 1, Channels::kGroups);
}
void AddDepthwiseConv(ModelBuilder& model) {
  AddConv(model, 1 + model.random.Below(2), model.random.Between(1, 2), 1, Channels::kOne);
}

void AddConvTranspose(ModelBuilder& model) {
  Random& random = model.random;
  // Of one dimension, so that the channels stand next to the places.
  bool is_product = random.OneIn(5);
  size_t dims = is_product ? 1 : 1 + random.Below(3);
  Windows windows = AnyWindows(random, dims, random.Between(1, 3), random.Between(1, 2));
  std::vector<int64_t> e = Extents(random, dims + 2, std::max<int64_t>(1, 10'000 / windows.taps()));
  std::vector<int64_t> extents(e.begin() + 2, e.end());
  int64_t inputs = e[0], outputs = e[1];
  if (is_product) {
    MakeOneTap(windows);
    windows.strides = {1};  // else there were places that no tap reaches
    extents = ProductPlaces(dims);
    outputs = extents.back();
    inputs = random.Between(2, 3);
  }
  std::vector<int64_t> image = ImageOf(inputs, extents, random);
  std::vector<int64_t> weight = {inputs, outputs}, shape = {image[0], outputs};
  for (size_t d = 0; d < dims; ++d) {
    weight.push_back(windows.kernel[d]);
    int64_t reach = (windows.kernel[d] - 1) * windows.dilations[d] + 1;
    int64_t whole = (image[d + 2] - 1) * windows.strides[d] + reach;
    windows.begins[d] = std::min(windows.begins[d], (whole - 1) / 2);
    windows.ends[d] = std::min(windows.ends[d], (whole - 1) / 2);
    shape.push_back(whole - windows.begins[d] - windows.ends[d]);
  }
  ModelValue x = Input(model, image);
  std::vector<Wire> attributes = windows.Attributes();
  attributes.push_back(IntsAttr("dilations", windows.dilations));
  model.Add("ConvTranspose", {x.name, Operand(model, weight).name}, Result(model, shape),
            attributes);
}

void AddPool(ModelBuilder& model, const std::string& op) {
  Random& random = model.random;
  size_t dims = 1 + random.Below(3);
  Windows windows = AnyWindows(random, dims, random.Between(1, 3), 1);
  std::vector<int64_t> e = Extents(random, dims + 1, std::max<int64_t>(1, 20'000 / windows.taps()));
  std::vector<int64_t> extents(e.begin() + 1, e.end());
  Shrink(windows, extents);
  std::vector<int64_t> image = ImageOf(e[0], extents, random);
  std::vector<Wire> attributes = windows.Attributes();
  if (op == "AveragePool") attributes.push_back(IntAttr("count_include_pad", random.OneIn(2)));
  model.Add(op, {Input(model, image).name}, Result(model, OutputShape(image, e[0], windows)),
            attributes);
}

void AddMaxPool(ModelBuilder& model) {
  AddPool(model, "MaxPool");
}
void AddAveragePool(ModelBuilder& model) {
  AddPool(model, "AveragePool");
}

std::vector<int64_t> AnyShape(Random& random, size_t least_rank) {
  return Extents(random, least_rank + random.Below(3), kMaxElements);
}

void AddSoftmax(ModelBuilder& model) {
  std::vector<int64_t> shape = AnyShape(model.random, 1);
  int64_t written;
  model.AnyAxis(std::ssize(shape), &written);
  model.Add(model.random.OneIn(3) ? "LogSoftmax" : "Softmax", {Input(model, shape).name},
            Result(model, shape), {IntAttr("axis", written)});
}

void AddLayerNorm(ModelBuilder& model) {
  std::vector<int64_t> shape = AnyShape(model.random, 1);
  int64_t written;
  int64_t axis = model.AnyAxis(std::ssize(shape), &written);
  std::vector<int64_t> inner(shape.begin() + axis, shape.end());
  ModelValue x = Input(model, shape);
  model.Add("LayerNormalization", {x.name, Operand(model, inner).name, Operand(model, inner).name},
            Result(model, shape), {IntAttr("axis", written), FloatAttr("epsilon", kEpsilon)});
}

void AddInstanceNorm(ModelBuilder& model) {
  std::vector<int64_t> shape = AnyShape(model.random, 3);
  ModelValue x = Input(model, shape);
  std::vector<int64_t> channels = {shape[1]};
  model.Add("InstanceNormalization",
            {x.name, Operand(model, channels).name, Operand(model, channels).name},
            Result(model, shape), {FloatAttr("epsilon", kEpsilon)});
}

// Axes in order, at least one.
std::vector<int64_t> AnyAxes(Random& random, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (random.OneIn(2)) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(random.Between(0, rank - 1));
  return axes;
}

void AddReduction(ModelBuilder& model) {
  constexpr const char* kOps[] = {"ReduceSum", "ReduceMean", "ReduceMax",
                                  "ReduceMin", "ReduceL1",   "ReduceSumSquare"};
  std::string op = kOps[model.random.Below(std::size(kOps))];
  std::vector<int64_t> shape = AnyShape(model.random, 1), kept;
  std::vector<int64_t> axes = AnyAxes(model.random, std::ssize(shape));
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    if (std::ranges::count(axes, d) == 0) kept.push_back(shape[d]);
  }
  std::vector<std::string> inputs = {Input(model, shape).name};
  std::vector<Wire> attributes = {IntAttr("keepdims", 0)};
  inputs.push_back(model.AddInts(axes));
  model.Add(op, inputs, Result(model, kept), attributes);
}

void AddArgMax(ModelBuilder& model) {
  std::vector<int64_t> shape = AnyShape(model.random, 1);
  int64_t written;
  int64_t axis = model.AnyAxis(std::ssize(shape), &written);
  ModelValue result = Result(model, shape);
  result.type = DTypeCode::kInt64;
  result.shape[axis] = 1;
  model.Add(model.random.OneIn(2) ? "ArgMax" : "ArgMin", {Input(model, shape).name}, result,
            {IntAttr("axis", written)});
}

void AddTranspose(ModelBuilder& model) {
  Random& random = model.random;
  std::vector<int64_t> shape = AnyShape(random, 2), order, turned;
  for (int64_t d = 0; d < std::ssize(shape); ++d) order.push_back(d);
  for (size_t d = order.size(); d > 1; --d) std::swap(order[d - 1], order[random.Below(d)]);
  for (int64_t d : order) turned.push_back(shape[d]);
  model.Add("Transpose", {Input(model, shape).name}, Result(model, turned),
            {IntsAttr("perm", order)});
}

std::string AnyIndices(ModelBuilder& model, const std::vector<int64_t>& shape, int64_t extent) {
  Tensor indices = MakeZeroTensor(DTypeCode::kInt64, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(indices, i, model.random.Between(-extent, extent - 1));
  }
  return model.AddTensor(indices);
}

void AddGather(ModelBuilder& model) {
  std::vector<int64_t> shape = Extents(model.random, 1 + model.random.Below(3), 5000);
  int64_t written;
  int64_t axis = model.AnyAxis(std::ssize(shape), &written);
  std::vector<int64_t> picked = Extents(model.random, model.random.Below(3), 30);
  std::vector<int64_t> result = shape;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, picked.begin(), picked.end());
  ModelValue x = Input(model, shape);
  model.Add("Gather", {x.name, AnyIndices(model, picked, shape[axis])}, Result(model, result),
            {IntAttr("axis", written)});
}

void AddGatherElements(ModelBuilder& model) {
  std::vector<int64_t> shape = Extents(model.random, 1 + model.random.Below(3), 5000);
  int64_t written;
  int64_t axis = model.AnyAxis(std::ssize(shape), &written);
  std::vector<int64_t> result = shape;
  result[axis] = Extents(model.random, 1, 31)[0];
  ModelValue x = Input(model, shape);
  model.Add("GatherElements", {x.name, AnyIndices(model, result, shape[axis])},
            Result(model, result), {IntAttr("axis", written)});
}

constexpr OperatorRow kRows[] = {
    {"matmul", AddMatMul},           {"gemm", AddGemm},
    {"conv1d", AddPlainConv<1>},     {"conv2d", AddPlainConv<2>},
    {"conv3d", AddPlainConv<3>},     {"strided", AddStridedConv},
    {"dilated", AddDilatedConv},     {"grouped", AddGroupedConv},
    {"depthwise", AddDepthwiseConv}, {"transposed", AddConvTranspose},
    {"max_pool", AddMaxPool},        {"avg_pool", AddAveragePool},
    {"softmax", AddSoftmax},         {"layer_norm", AddLayerNorm},
    {"inst_norm", AddInstanceNorm},  {"reduction", AddReduction},
    {"arg_max", AddArgMax},          {"transpose", AddTranspose},
    {"gather", AddGather},           {"gather_el", AddGatherElements},
};

}  // namespace

std::span<const OperatorRow> OperatorRows() {
  return kRows;
}

RandomModel MakeOperatorModel(const OperatorRow& row, Random& random, DTypeCode real) {
  ModelBuilder model(random, kOpset);
  model.real = real;
  row.add(model);
  std::string bytes = model.Finish();
  return {std::move(bytes), model.inputs(), model.ops(), 1e-3, model.shapes()};
}

RandomModel MakeFreeOperatorModel(const OperatorRow& row, Random& random) {
  constexpr int64_t kFree[] = {2, 7, 13, 31, 64, 197};
  ModelBuilder model(random, kOpset);
  size_t first = random.Below(std::size(kFree)), second = random.Below(std::size(kFree));
  model.free.push_back({"dim_n", kFree[first]});
  if (second != first) model.free.push_back({"dim_m", kFree[second]});
  row.add(model);
  std::string bytes = model.Finish();
  return {std::move(bytes), model.inputs(), model.ops(), 1e-3, {}, model.free_dims()};
}

}  // namespace tcc
