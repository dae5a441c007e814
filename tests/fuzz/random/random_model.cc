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

constexpr FreeDim kFreeDims[] = {{"dim_n", 13}, {"dim_m", 11}, {"dim_k", 17}};

// One or two of the free dimensions, the first one mostly in front; the others are known.
std::vector<int64_t> FreeShape(ModelBuilder& model) {
  constexpr int64_t kKnown[] = {1, 2, 3, 4, 8, 16};
  Random& random = model.random;
  size_t rank = random.OneIn(12) ? 1 : 2 + random.Below(4);
  std::vector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) shape.push_back(kKnown[random.Below(rank <= 3 ? 6 : 4)]);
  if (model.Chance(80)) shape[0] = model.free[0].extent;
  for (size_t n = random.Below(2); n > 0; --n) {
    shape[random.Below(rank)] = model.free[random.Below(model.free.size())].extent;
  }
  return shape;
}

RandomModel MakeModel(ModelBuilder& model) {
  Random& random = model.random;
  std::vector<ModelOpRow> rows = RowsOf(model.opset);
  auto shape = [&] { return model.free.empty() ? RandomShape(random) : FreeShape(model); };
  for (uint64_t n = 1 + random.Below(3); n > 0; --n) {
    DTypeCode type = RandomType(random);
    model.AddInput(type, shape(), random.Between(1, 4));
  }
  model.AddInput(DTypeCode::kFloat32, shape(), 3);
  int wanted = static_cast<int>(random.Between(5, 40));
  for (int tries = 0; model.nodes() < wanted && tries < 400; ++tries) {
    const ModelOpRow& row = rows[random.Below(rows.size())];
    row.add(model, row.op);
  }
  double tolerance = model.has_half() ? 3e-2 : 1e-3;
  std::string bytes = model.Finish();
  return {std::move(bytes), model.inputs(),    model.ops(),        tolerance,
          model.shapes(),   model.free_dims(), model.input_infos()};
}

}  // namespace

RandomModel MakeRandomModel(Random& random) {
  ModelBuilder model(random, kOpsets[random.Below(std::size(kOpsets))]);
  return MakeModel(model);
}

RandomModel MakeFreeModel(Random& random) {
  ModelBuilder model(random, kOpsets[random.Below(std::size(kOpsets))]);
  size_t dims = 1 + random.Below(std::size(kFreeDims));
  model.free.assign(kFreeDims, kFreeDims + dims);
  return MakeModel(model);
}

std::vector<Tensor> InputsAt(const RandomModel& model, const std::map<std::string, int64_t>& dims,
                             Random& random) {
  std::vector<Tensor> inputs;
  for (const ModelInput& input : model.input_infos) {
    std::vector<int64_t> shape = input.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (auto free = dims.find(input.dims[d]); free != dims.end()) shape[d] = free->second;
    }
    inputs.push_back(RandomTensor(input.type, shape, input.bound, random));
  }
  return inputs;
}

}  // namespace tcc
