#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "support/check.h"
#include "support/file.h"

// Artefacts whose kernels are those of test_kernels.c.
namespace tcc {

inline SharedBytes TestKernels() {
  StatusOr<SharedBytes> object = MapFile(TCC_TEST_KERNELS);
  TCC_CHECK(object.ok()) << Message(object.status());
  return *object;
}

// The build whose FACTOR is 3.
inline SharedBytes OtherTestKernels() {
  StatusOr<SharedBytes> object = MapFile(TCC_OTHER_TEST_KERNELS);
  TCC_CHECK(object.ok()) << Message(object.status());
  return *object;
}

inline Tensor Floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) SetElement(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

inline std::vector<double> ValuesOf(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < *ElementCount(tensor.shape); ++i) {
    values.push_back(ElementAsDouble(tensor, i));
  }
  return values;
}

inline Artefact KernelArtefact(std::vector<std::string> kernels) {
  Artefact artefact;
  artefact.target = "x86-64-v3";
  artefact.device = "cpu";
  artefact.kernels = TestKernels();
  for (std::string& name : kernels) artefact.metadata.kernels.push_back({std::move(name), {}, 0});
  return artefact;
}

// y = (x + FACTOR * w) + FACTOR * w with w = {1, 2, 3, 4} and an arena buffer between; FACTOR is 2.
inline Artefact ScaleAddArtefact() {
  Artefact artefact = KernelArtefact({"scale_add"});
  Tensor weight = Floats({4}, {1, 2, 3, 4});
  artefact.weights = PackWeights({&weight, 1}).bytes;
  artefact.metadata.model = "scale_add";
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {4})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {4})};
  artefact.plan.arena_bytes = 64;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kWeight, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 16}};
  artefact.metadata.kernels[0].shape_args = {{0, 4}};
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {4}}}, {PlanCall{0, {2, 1, 3}, {4}}}};
  return artefact;
}

}  // namespace tcc
