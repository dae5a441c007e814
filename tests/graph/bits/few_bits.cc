#include "tests/graph/bits/few_bits.h"

#include <algorithm>
#include <numeric>

#include "support/random.h"

namespace tcc {

FewNumbers NumbersFrom(int64_t low, int64_t high, int64_t zero) {
  FewNumbers numbers{DType(low < 0 ? DTypeCode::kInt8 : DTypeCode::kUInt8), {}, zero};
  numbers.values.resize(high - low + 1);
  std::iota(numbers.values.begin(), numbers.values.end(), low);
  return numbers;
}

FewNumbers NumbersOf(int bits, bool is_signed) {
  const int64_t count = int64_t{1} << bits;
  return is_signed ? NumbersFrom(-count / 2, count / 2 - 1) : NumbersFrom(0, count - 1);
}

Tensor Picked(const FewNumbers& numbers, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(numbers.type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, numbers.values[random.Below(numbers.values.size())]);
  }
  return tensor;
}

Graph GraphOf(const FewBitsProduct& product) {
  TestGraph test;
  auto number = [&](const char* name, const FewNumbers& numbers, int64_t value) {
    return test.Constant(name, Of(numbers.type, {}, {static_cast<double>(value)}));
  };
  const auto& [op, x_shape, w_shape, data, weight, attributes] = product;
  const ValueId x = test.Input("x", data.type, x_shape);
  const auto [low, high] = std::ranges::minmax(data.values);
  const ValueId clipped =
      test.Add("clipped", OpKind::kClip, {x, number("low", data, low), number("high", data, high)});
  const ValueId w = test.Constant("w", Picked(weight, w_shape, 3));
  const ValueId y = test.Add(
      "y", op,
      {clipped, w, number("x_zero", data, data.zero), number("w_zero", weight, weight.zero)},
      attributes);
  test.Output(test.Add("real", OpKind::kCast, {y}, {{"to", ToString(kFloat32)}}));
  return test.Build();
}

}  // namespace tcc
