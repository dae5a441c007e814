#include "tests/compiler/random_parts.h"

#include <fmt/format.h>

namespace tcc {

Tensor Ints(const std::vector<int64_t>& values) {
  Tensor tensor = MakeZeroTensor(kInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    SetElementInt(tensor, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

Tensor Weights(const std::vector<int64_t>& shape) {
  Random random(19);
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(tensor, i, static_cast<double>(random.Below(17)) / 16 - 0.5);
  }
  return tensor;
}

namespace {

class Builder {
 public:
  Builder(Random& random, const std::string& batch) : random_(random) {
    text_ = fmt::format("  input x: f32[{0}, 3, 2, 3]\n  input y: f32[{0}, 4, 2, 3]\n", batch);
    values_ = {{"x", 3}, {"y", 4}};
    given_ = {{"step", Ints({1})}, {"axis", Ints({1})}, {"rows", Ints({0, 0, 6})}};
    given_.emplace_back("image", Ints({0, 0, 2, 3}));
  }

  RandomParts Build(PartNodes nodes) && {
    for (int n = 0; n < 12; ++n) {
      std::string name = fmt::format("v{}", n);
      switch (random_.Below(nodes == PartNodes::kPlain ? 7 : 9)) {
        case 0:
        case 1:
          AddConcat(name);
          break;
        case 2:
          AddSlice(name);
          break;
        case 3:
          AddSplit(name);
          break;
        case 4:
          AddViews(name);
          break;
        case 5:
          AddMap(name);
          break;
        case 6:
          AddTransposes(name);
          break;
        default:
          AddConv(name);
          break;
      }
    }
    text_ += fmt::format("  last = Neg({}) : f32[]\n  return last, {}, {}\n", values_.back().first,
                         Any().first, values_[values_.size() - 2].first);
    return {std::move(text_), std::move(given_)};
  }

 private:
  const std::pair<std::string, int64_t>& Any() { return values_[random_.Below(values_.size())]; }

  void Add(const std::string& name, const std::string& call, int64_t channels) {
    text_ += fmt::format("  {} = {} : f32[]\n", name, call);
    values_.emplace_back(name, channels);
  }

  void AddConcat(const std::string& name) {
    auto [operands, channels] = Any();
    for (uint64_t i = 0; i < 1 + random_.Below(3); ++i) {
      const auto& [operand, more] = Any();
      operands += ", " + operand;
      channels += more;
    }
    if (channels <= 40) Add(name, fmt::format("Concat({}) {{axis: 1}}", operands), channels);
  }

  void AddSlice(const std::string& name) {
    auto [x, channels] = Any();
    auto from = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(channels)));
    int64_t to =
        from + 1 + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(channels - from)));
    given_.emplace_back(name + "_from", Ints({from}));
    given_.emplace_back(name + "_to", Ints({to}));
    Add(name, fmt::format("Slice({0}, {1}_from, {1}_to, axis)", x, name), to - from);
  }

  void AddSplit(const std::string& name) {
    auto [x, channels] = Any();
    int64_t first = channels / 2;
    given_.emplace_back(name + "_sizes", Ints({first, channels - first}));
    text_ += fmt::format("  {0}, {0}_rest = Split({1}, {0}_sizes) {{axis: 1}} : f32[], f32[]\n",
                         name, x);
    if (first > 0) values_.emplace_back(name, first);
    values_.emplace_back(name + "_rest", channels - first);
  }

  void AddMap(const std::string& name) {
    auto [x, channels] = Any();
    const char* ops[] = {"Tanh({})", "Neg({})", "Softmax({}) {{axis: 1}}", "Relu({})"};
    Add(name, fmt::format(fmt::runtime(ops[random_.Below(4)]), x), channels);
  }

  void AddConv(const std::string& name) {
    auto [x, channels] = Any();
    auto out = static_cast<int64_t>(1 + random_.Below(6));
    given_.emplace_back(name + "_w", Weights({out, channels, 1, 1}));
    Add(name, fmt::format("Conv({}, {}_w)", x, name), out);
  }

  void AddViews(const std::string& name) {
    auto [x, channels] = Any();
    text_ += fmt::format("  {0}_rows = Reshape({1}, rows) {{allowzero: 0}} : f32[]\n", name, x);
    text_ += fmt::format("  {0}_sums = Softmax({0}_rows) {{axis: -1}} : f32[]\n", name);
    Add(name, fmt::format("Reshape({}_sums, image) {{allowzero: 0}}", name), channels);
  }

  void AddTransposes(const std::string& name) {
    auto [x, channels] = Any();
    text_ += fmt::format("  {0}_turned = Transpose({1}) {{perm: [0, 2, 1, 3]}} : f32[]\n", name, x);
    text_ += fmt::format("  {0}_sums = Softmax({0}_turned) {{axis: 2}} : f32[]\n", name);
    Add(name, fmt::format("Transpose({}_sums) {{perm: [0, 2, 1, 3]}}", name), channels);
  }

  Random& random_;
  std::string text_;
  std::vector<std::pair<std::string, int64_t>> values_;  // and their channels
  std::vector<std::pair<std::string, Tensor>> given_;
};

}  // namespace

RandomParts MakeRandomParts(Random& random, const std::string& batch, PartNodes nodes) {
  return Builder(random, batch).Build(nodes);
}

}  // namespace tcc
