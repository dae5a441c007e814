#include <algorithm>
#include <numeric>

#include "tests/fuzz/random/random_model.h"

namespace tcc {
namespace {

using namespace onnx_bytes;

constexpr int64_t kMaxCount = 20000;

std::optional<ModelValue> AnyOfRank(ModelBuilder& model, int64_t least, int64_t most = 7) {
  return model.Pick(
      [&](const ModelValue& value) { return value.rank() >= least && value.rank() <= most; });
}

// The same number of elements in other dimensions.
std::vector<int64_t> Regrouped(Random& random, const std::vector<int64_t>& shape) {
  std::vector<int64_t> factors;
  for (int64_t extent : shape) {
    for (int64_t p = 2; p <= extent; ++p) {
      for (; extent % p == 0; extent /= p) factors.push_back(p);
    }
  }
  std::vector<int64_t> result(1 + random.Below(5), 1);
  for (int64_t factor : factors) result[random.Below(result.size())] *= factor;
  return result;
}

// Joins neighbours. What a free extent is part of is written as 0 or, once, as -1.
bool AddJoiningReshape(ModelBuilder& model, const ModelValue& x, const std::string& op) {
  ModelValue result = x;
  result.shape.clear();
  std::vector<int64_t> written;
  for (size_t d = 0; d < x.shape.size();) {
    size_t end = d + 1 + model.random.Below(std::min<size_t>(3, x.shape.size() - d));
    std::span<const int64_t> axes = std::span(x.shape).subspan(d, end - d);
    int64_t extent = 1;
    for (int64_t axis : axes) extent *= axis;
    bool stays = axes.size() == 1 && written.size() == d;
    written.push_back(!model.AnyVaries(axes) ? extent : stays && !model.Chance(30) ? 0 : -1);
    result.shape.push_back(extent);
    d = end;
  }
  if (std::ranges::count(written, -1) > 1) return false;
  model.Add(op, {x.name, model.AddInts(written)}, result);
  return true;
}

bool AddReshape(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 0);
  if (!x || x->count() == 0) return false;
  if (model.AnyVaries(x->shape)) return AddJoiningReshape(model, *x, op);
  ModelValue result = *x;
  result.shape = Regrouped(model.random, x->shape);
  std::vector<int64_t> written = result.shape;
  size_t at = model.random.Below(written.size());
  if (model.Chance(40)) written[at] = -1;
  if (at < x->shape.size() && x->shape[at] == result.shape[at]) written[at] = 0;
  model.Add(op, {x->name, model.AddInts(written)}, result);
  return true;
}

// The way exporters write it: Shape, Slice or Gather, Concat, Reshape.
bool AddComputedReshape(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 2);
  if (!x || x->count() == 0) return false;
  std::string shape = model.FreshName(), first = model.FreshName(), whole = model.FreshName();
  model.AddNode("Shape", {x->name}, {shape});
  model.AddNode("Slice", {shape, model.AddInts({0}), model.AddInts({1})}, {first});
  model.AddNode("Concat", {first, model.AddInts({-1})}, {whole}, {IntAttr("axis", 0)});
  ModelValue result = *x;
  result.shape = {x->shape[0], x->count() / x->shape[0]};
  model.Add(op, {x->name, whole}, result);
  return true;
}

bool AddFlatten(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1);
  if (!x) return false;
  int64_t axis = model.random.Between(0, x->rank());
  ModelValue result = *x;
  result.shape = {1, 1};
  for (int64_t d = 0; d < x->rank(); ++d) result.shape[d < axis ? 0 : 1] *= x->shape[d];
  model.Add(op, {x->name}, result, {IntAttr("axis", axis)});
  return true;
}

bool AddTranspose(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 2);
  if (!x) return false;
  std::vector<int64_t> perm(x->shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[model.random.Below(i)]);
  ModelValue result = *x;
  for (size_t d = 0; d < perm.size(); ++d) result.shape[d] = x->shape[perm[d]];
  model.Add(op, {x->name}, result, {IntsAttr("perm", perm)});
  return true;
}

bool AddUnsqueeze(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 0, 5);
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank() + 1, &written);
  ModelValue result = *x;
  result.shape.insert(result.shape.begin() + axis, 1);
  model.Add(op, {x->name, model.AddInts({written})}, result);
  return true;
}

bool AddSqueeze(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x =
      model.Pick([](const ModelValue& value) { return std::ranges::count(value.shape, 1) > 0; });
  if (!x) return false;
  auto found = std::ranges::find(x->shape, 1) - x->shape.begin();
  ModelValue result = *x;
  std::vector<std::string> inputs = {x->name};
  if (model.Chance(60)) {
    result.shape.erase(result.shape.begin() + found);
    inputs.push_back(model.AddInts({found}));
  } else {
    std::erase(result.shape, 1);
  }
  model.Add(op, inputs, result);
  return true;
}

bool AddConcat(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1);
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  std::vector<std::string> inputs = {x->name};
  ModelValue result = *x;
  for (uint64_t n = 1 + model.random.Below(3); n > 0; --n) {
    std::optional<ModelValue> other = model.Pick([&](const ModelValue& value) {
      if (value.type != x->type || value.rank() != x->rank()) return false;
      for (int64_t d = 0; d < x->rank(); ++d) {
        if (d != axis && value.shape[d] != x->shape[d]) return false;
      }
      return true;
    });
    if (result.count() + other->count() > kMaxCount) break;
    inputs.push_back(other->name);
    result.shape[axis] += other->shape[axis];
    result.bound = std::max(result.bound, other->bound);
    result.exact = result.exact && other->exact;
  }
  model.Add(op, inputs, result, {IntAttr("axis", written)});
  return true;
}

bool AddSplit(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1);
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  if (x->shape[axis] < 2 || (model.Varies(x->shape[axis]) && model.Chance(80))) return false;
  int64_t first = model.random.Between(1, x->shape[axis] - 1);
  ModelValue a = *x, b = *x;
  a.shape[axis] = first;
  b.shape[axis] -= first;
  a.name = model.FreshName();
  b.name = model.FreshName();
  model.AddNode(op, {x->name, model.AddInts({first, x->shape[axis] - first})}, {a.name, b.name},
                {IntAttr("axis", written)});
  model.Keep(a);
  model.Keep(b);
  return true;
}

bool AddSlice(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1);
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  int64_t extent = x->shape[axis];
  if (extent == 0) return false;
  int64_t step = model.random.Between(1, 3);
  int64_t start = model.random.Between(0, extent - 1);
  int64_t count = model.random.Between(1, (extent - 1 - start) / step + 1);
  int64_t end = start + (count - 1) * step + 1;
  if (end == extent && model.Chance(50)) end = INT64_MAX;
  ModelValue result = *x;
  result.shape[axis] = count;
  if (model.Chance(30)) {  // the same, backwards
    int64_t last = start + (count - 1) * step;
    end = start == 0 ? -extent - 1 : start - 1;
    start = last;
    step = -step;
  }
  if (model.Chance(30) && start >= 0) start -= extent;
  model.Add(op,
            {x->name, model.AddInts({start}), model.AddInts({end}), model.AddInts({written}),
             model.AddInts({step})},
            result);
  return true;
}

bool AddExpand(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 0, 4);
  if (!x) return false;
  ModelValue result = *x;
  for (int64_t& extent : result.shape) {
    if (extent == 1) extent = model.random.Between(1, 5);
  }
  if (model.Chance(30)) result.shape.insert(result.shape.begin(), 3);
  if (result.count() > kMaxCount) return false;
  std::vector<int64_t> written = result.shape;
  for (int64_t& extent : written) extent = model.Varies(extent) || model.Chance(10) ? 1 : extent;
  ModelValue shaped = result;
  for (size_t d = 0; d < written.size(); ++d) {
    size_t skipped = written.size() - x->shape.size();
    int64_t own = d < skipped ? 1 : x->shape[d - skipped];
    shaped.shape[d] = own == 1 ? written[d] : own;
  }
  model.Add(op, {x->name, model.AddInts(written)}, shaped);
  return true;
}

bool AddTile(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1, 5);
  if (!x) return false;
  ModelValue result = *x;
  std::vector<int64_t> repeats;
  for (int64_t& extent : result.shape) {
    repeats.push_back(model.Chance(60) ? 1 : model.random.Between(1, 3));
    extent *= repeats.back();
  }
  if (result.count() > kMaxCount) return false;
  model.Add(op, {x->name, model.AddInts(repeats)}, result);
  return true;
}

bool AddPad(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(1e5, 1);
  if (!x || x->count() == 0) return false;
  const char* mode = model.Chance(60) ? "constant" : model.Chance(50) ? "edge" : "reflect";
  ModelValue result = *x;
  std::vector<int64_t> pads(2 * x->shape.size(), 0);
  for (size_t d = 0; d < x->shape.size(); ++d) {
    int64_t most = std::string(mode) == "reflect" ? std::min<int64_t>(2, x->shape[d] - 1) : 2;
    pads[d] = model.random.Between(0, most);
    pads[d + x->shape.size()] = model.random.Between(0, most);
    result.shape[d] += pads[d] + pads[d + x->shape.size()];
  }
  if (result.count() > kMaxCount) return false;
  std::vector<std::string> inputs = {x->name, model.AddInts(pads)};
  if (std::string(mode) == "constant" && model.Chance(50)) {
    inputs.push_back(model.AddConstant(x->type, {}, 2).name);
    result.bound = std::max(result.bound, 2.0);
  }
  model.Add(op, inputs, result, {StringAttr("mode", mode)});
  return true;
}

Tensor RandomIndices(ModelBuilder& model, const std::vector<int64_t>& shape, int64_t extent) {
  Tensor tensor = MakeZeroTensor(DTypeCode::kInt64, shape);
  int64_t count = ElementCount(shape).value();
  for (int64_t i = 0; i < count; ++i) {
    SetElementInt(tensor, i, model.random.Between(-extent, extent - 1));
  }
  return tensor;
}

bool AddGather(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1, 5);
  if (!x) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  if (x->shape[axis] == 0) return false;
  int64_t extent = model.Varies(x->shape[axis]) ? 1 : x->shape[axis];
  std::vector<int64_t> picked;
  for (uint64_t n = model.random.Below(3); n > 0; --n) picked.push_back(model.random.Between(1, 4));
  ModelValue result = *x;
  result.shape.erase(result.shape.begin() + axis);
  result.shape.insert(result.shape.begin() + axis, picked.begin(), picked.end());
  if (result.count() > kMaxCount) return false;
  std::string indices = model.AddTensor(RandomIndices(model, picked, extent));
  model.Add(op, {x->name, indices}, result, {IntAttr("axis", written)});
  return true;
}

bool AddGatherElements(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1, 5);
  if (!x || x->count() == 0 || model.AnyVaries(x->shape)) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  ModelValue result = *x;
  result.shape[axis] = model.random.Between(1, 6);
  if (result.count() > kMaxCount) return false;
  std::string indices = model.AddTensor(RandomIndices(model, result.shape, x->shape[axis]));
  model.Add(op, {x->name, indices}, result, {IntAttr("axis", written)});
  return true;
}

bool AddGatherNd(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1, 5);
  if (!x || x->count() == 0) return false;
  int64_t depth = model.random.Between(1, x->rank());
  int64_t count = model.random.Between(1, 6);
  Tensor indices = MakeZeroTensor(DTypeCode::kInt64, {count, depth});
  for (int64_t i = 0; i < count * depth; ++i) {
    int64_t extent = model.Varies(x->shape[i % depth]) ? 1 : x->shape[i % depth];
    SetElementInt(indices, i, model.random.Between(-extent, extent - 1));
  }
  ModelValue result = *x;
  result.shape.erase(result.shape.begin(), result.shape.begin() + depth);
  result.shape.insert(result.shape.begin(), count);
  if (result.count() > kMaxCount) return false;
  model.Add(op, {x->name, model.AddTensor(indices)}, result);
  return true;
}

// Rows in another order, each once, so that no write meets another.
bool AddScatterNd(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 1, 4);
  if (!x || x->count() == 0 || x->type == DTypeCode::kBool) return false;
  if (model.AnyVaries(x->shape)) return false;
  std::vector<int64_t> rows(static_cast<size_t>(x->shape[0]));
  std::iota(rows.begin(), rows.end(), 0);
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[model.random.Below(i)]);
  rows.resize(1 + model.random.Below(rows.size()));
  auto count = static_cast<int64_t>(rows.size());
  Tensor indices = MakeZeroTensor(DTypeCode::kInt64, {count, 1});
  for (int64_t i = 0; i < count; ++i) SetElementInt(indices, i, rows[static_cast<size_t>(i)]);
  std::vector<int64_t> shape = x->shape;
  shape[0] = count;
  ModelValue updates = model.AddConstant(x->type, shape, 2);
  ModelValue result = *x;
  result.bound = std::max(result.bound, 2.0);
  model.Add(op, {x->name, model.AddTensor(indices), updates.name}, result);
  return true;
}

bool AddDepthSpace(ModelBuilder& model, const std::string& op) {
  bool to_space = op == "DepthToSpace";
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    if (value.rank() != 4 || !value.is_float()) return false;
    return to_space ? value.shape[1] % 4 == 0 : value.shape[2] % 2 == 0 && value.shape[3] % 2 == 0;
  });
  if (!x || x->count() == 0) return false;
  ModelValue result = *x;
  result.shape =
      to_space
          ? std::vector<int64_t>{x->shape[0], x->shape[1] / 4, x->shape[2] * 2, x->shape[3] * 2}
          : std::vector<int64_t>{x->shape[0], x->shape[1] * 4, x->shape[2] / 2, x->shape[3] / 2};
  std::vector<Wire> attributes = {IntAttr("blocksize", 2)};
  if (to_space) attributes.push_back(StringAttr("mode", model.Chance(50) ? "DCR" : "CRD"));
  model.Add(op, {x->name}, result, attributes);
  return true;
}

bool AddTrilu(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = AnyOfRank(model, 2, 5);
  if (!x) return false;
  std::vector<std::string> inputs = {x->name};
  if (model.Chance(60)) inputs.push_back(model.AddInt(model.random.Between(-3, 3)));
  model.Add(op, inputs, *x, {IntAttr("upper", model.Chance(50) ? 1 : 0)});
  return true;
}

bool AddCumSum(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(100, 1);
  if (!x || x->type == DTypeCode::kFloat16) return false;
  int64_t written;
  int64_t axis = model.AnyAxis(x->rank(), &written);
  ModelValue result = *x;
  result.bound *= static_cast<double>(std::max<int64_t>(1, x->shape[axis]));
  result.exact = false;
  model.Add(op, {x->name, model.AddInt(written)}, result,
            {IntAttr("exclusive", model.Chance(30) ? 1 : 0),
             IntAttr("reverse", model.Chance(30) ? 1 : 0)});
  return true;
}

bool AddResize(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick([](const ModelValue& value) {
    return value.rank() == 4 && value.type == DTypeCode::kFloat32 && value.count() > 0;
  });
  if (!x) return false;
  ModelValue result = *x;
  bool nearest = model.Chance(50);
  for (size_t d : {2, 3}) {
    // A scale that floats hold, or rounding decides which element is nearest.
    int64_t extent = x->shape[d];
    result.shape[d] =
        nearest ? extent * model.random.Between(1, 3) : model.random.Between(1, 2 * extent + 1);
  }
  if (result.count() > kMaxCount) return false;
  result.exact = nearest && x->exact;
  const char* coordinates = nearest ? "asymmetric" : "half_pixel";
  model.Add(op, {x->name, "", "", model.AddInts(result.shape)}, result,
            {StringAttr("mode", nearest ? "nearest" : "linear"),
             StringAttr("coordinate_transformation_mode", coordinates),
             StringAttr("nearest_mode", "floor")});
  return true;
}

constexpr ModelOpRow kRows[] = {
    {"Reshape", 13, AddReshape},
    {"Reshape", 13, AddComputedReshape},
    {"Flatten", 13, AddFlatten},
    {"Transpose", 13, AddTranspose},
    {"Transpose", 13, AddTranspose},
    {"Unsqueeze", 13, AddUnsqueeze},
    {"Squeeze", 13, AddSqueeze},
    {"Concat", 13, AddConcat},
    {"Split", 13, AddSplit},
    {"Slice", 13, AddSlice},
    {"Expand", 13, AddExpand},
    {"Tile", 13, AddTile},
    {"Pad", 13, AddPad},
    {"Gather", 13, AddGather},
    {"GatherElements", 13, AddGatherElements},
    {"GatherND", 13, AddGatherNd},
    {"ScatterND", 16, AddScatterNd},
    {"DepthToSpace", 13, AddDepthSpace},
    {"SpaceToDepth", 13, AddDepthSpace},
    {"Trilu", 14, AddTrilu},
    {"CumSum", 14, AddCumSum},
    {"Resize", 13, AddResize},
};

}  // namespace

std::span<const ModelOpRow> MovementRows() {
  return kRows;
}

}  // namespace tcc
