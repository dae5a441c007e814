#include "tests/fuzz/random/random_model.h"

#include "models/onnx/onnx_ops.h"

namespace tcc {
namespace {

constexpr int kOpsets[] = {13, 17, 18, 21, 23};

std::vector<ModelOpRow> RowsOf(int opset) {
  std::vector<ModelOpRow> rows;
  for (std::span<const ModelOpRow> family :
       {ElementwiseRows(), MovementRows(), ReductionRows(), WindowRows()}) {
    for (const ModelOpRow& row : family) {
      if (row.since <= opset && FindOnnxOp(row.op) != nullptr) rows.push_back(row);
    }
  }
  return rows;
}

// Ones, primes, even numbers; a zero now and then.
int64_t RandomExtent(Random& random, int64_t largest) {
  if (random.OneIn(150)) return 0;
  return random.OneIn(5) ? 1 : random.Between(1, largest);
}

std::vector<int64_t> RandomShape(Random& random) {
  constexpr int64_t kMaxExtents[] = {0, 40, 16, 10, 9, 6};
  auto rank = static_cast<size_t>(random.OneIn(12) ? random.Below(2) : 2 + random.Below(4));
  std::vector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) shape.push_back(RandomExtent(random, kMaxExtents[rank]));
  return shape;
}

DTypeCode RandomType(Random& random) {
  switch (random.Below(16)) {
    case 0:
      return DTypeCode::kFloat64;
    case 1:
      return DTypeCode::kFloat16;
    case 2:
      return DTypeCode::kInt32;
    case 3:
      return DTypeCode::kInt64;
    case 4:
      return DTypeCode::kBool;
    default:
      return DTypeCode::kFloat32;
  }
}

}  // namespace

RandomModel MakeRandomModel(Random& random) {
  ModelBuilder model(random, kOpsets[random.Below(std::size(kOpsets))]);
  std::vector<ModelOpRow> rows = RowsOf(model.opset);
  for (uint64_t n = 1 + random.Below(3); n > 0; --n) {
    model.AddInput(RandomType(random), RandomShape(random), random.Between(1, 4));
  }
  model.AddInput(DTypeCode::kFloat32, RandomShape(random), 3);
  int wanted = static_cast<int>(random.Between(5, 40));
  for (int tries = 0; model.nodes() < wanted && tries < 400; ++tries) {
    const ModelOpRow& row = rows[random.Below(rows.size())];
    row.add(model, row.op);
  }
  double tolerance = model.has_half() ? 3e-2 : 1e-3;
  std::string bytes = model.Finish();
  return {std::move(bytes), model.inputs(), model.ops(), tolerance, model.shapes()};
}

}  // namespace tcc
