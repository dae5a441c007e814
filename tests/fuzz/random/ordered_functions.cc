#include "tests/fuzz/random/ordered_functions.h"

#include "support/check.h"
#include "tests/fuzz/random/random_model.h"

namespace tcc {
namespace {

using namespace onnx_bytes;

constexpr int kOpset = 18;

using Shape = std::vector<int64_t>;

ModelValue Floats(ModelBuilder& model, const Shape& shape) {
  return model.AddInput(DTypeCode::kFloat32, shape, 3);
}

std::string Places(ModelBuilder& model, const Shape& shape, int64_t extent) {
  Tensor indices = MakeZeroTensor(DTypeCode::kInt64, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(indices, i, model.random.Between(-extent, extent - 1));
  }
  return model.AddTensor(indices);
}

void AddCumSum(ModelBuilder& model, const Shape& shape, int64_t axis) {
  model.Add("CumSum", {Floats(model, shape).name, model.AddInt(axis)},
            {.name = "", .shape = shape});
}

void AddScatterElements(ModelBuilder& model, const Shape& shape, int64_t axis) {
  std::string places = Places(model, shape, shape[axis]);
  model.Add("ScatterElements", {Floats(model, shape).name, places, Floats(model, shape).name},
            {.name = "", .shape = shape}, {IntAttr("axis", axis)});
}

// Rows of the first dimension, their sums where they meet.
void AddScatterNd(ModelBuilder& model, const Shape& shape, int64_t count) {
  std::string places = Places(model, {count, 1}, shape[0]);
  Shape updates = shape;
  updates[0] = count;
  model.Add("ScatterND", {Floats(model, shape).name, places, Floats(model, updates).name},
            {.name = "", .shape = shape}, {StringAttr("reduction", "add")});
}

void AddArgMax(ModelBuilder& model, const Shape& shape, int64_t axis) {
  Shape places = shape;
  places[axis] = 1;
  model.Add("ArgMax", {Floats(model, shape).name},
            {.name = "", .type = DTypeCode::kInt64, .shape = places}, {IntAttr("axis", axis)});
}

struct OrderedRow {
  const char* name;
  void (*add)(ModelBuilder& model, const Shape& shape, int64_t number);
  Shape shape;
  int64_t number;  // the axis, or of how many
};

const OrderedRow kRows[] = {
    {"cumsum along the only axis", AddCumSum, {197}, 0},
    {"cumsum along the first axis", AddCumSum, {64, 197}, 0},
    {"cumsum along the last axis", AddCumSum, {197, 64}, 1},
    {"cumsum between axes", AddCumSum, {7, 31, 64}, 1},
    {"cumsum before axes", AddCumSum, {31, 64, 7}, 0},
    {"scatter_elements along the first axis", AddScatterElements, {31, 64}, 0},
    {"scatter_elements along the last axis", AddScatterElements, {31, 64}, 1},
    {"scatter_elements along the only axis", AddScatterElements, {197}, 0},
    {"scatter_nd of rows", AddScatterNd, {64, 197}, 31},
    {"scatter_nd of images", AddScatterNd, {13, 7, 31}, 64},
    {"scatter_nd of elements", AddScatterNd, {197}, 31},
    {"arg_max along the first axis", AddArgMax, {64, 31}, 0},
    {"arg_max between axes", AddArgMax, {7, 64, 31}, 1},
    {"arg_max along the last axis", AddArgMax, {31, 64}, 1},
};

}  // namespace

std::vector<TaskFunction> OrderedTaskFunctions() {
  std::vector<TaskFunction> functions;
  for (const OrderedRow& row : kRows) {
    Random random(0);
    ModelBuilder model(random, kOpset);
    row.add(model, row.shape, row.number);
    StatusOr<std::vector<TaskFunction>> tasks = TasksOfModel(model.Finish());
    TCC_CHECK(tasks.ok()) << row.name << ": " << Message(tasks.status());
    for (TaskFunction& task : *tasks) {
      task.nodes = row.name;
      task.network = "ordered";
      functions.push_back(std::move(task));
    }
  }
  return functions;
}

}  // namespace tcc
