#pragma once

#include <string>

#include "runtime/artefact/artefact.h"
#include "support/check.h"
#include "support/file.h"

// Candidates whose kernels are those of programs/measured_kernels.c.
namespace tcc {

inline constexpr int64_t kMeasuredCount = 1024;  // elements of each operand

// An artefact of a kernel from (input p0, constant p1, output p2), as a search builds them.
inline Artefact MeasuredArtefact(const std::string& kernel, DType dtype = kFloat32) {
  StatusOr<SharedBytes> object = MapFile(TCC_MEASURED_KERNELS);
  TCC_CHECK(object.ok()) << Message(object.status());
  Artefact artefact;
  artefact.target = "x86-64-v3";
  artefact.device = "cpu";
  artefact.kernels = *object;
  artefact.metadata.model = "measured";
  artefact.metadata.kernels = {{kernel, {}, 0}};
  artefact.metadata.inputs = {StaticTensor("p0", dtype, {kMeasuredCount}),
                              StaticTensor("p1", dtype, {kMeasuredCount})};
  artefact.metadata.outputs = {StaticTensor("p2", dtype, {kMeasuredCount})};
  int64_t bytes = kMeasuredCount * dtype.bytes();
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = bytes},
                           {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = bytes},
                           {.kind = BufferKind::kOutput, .index = 0, .offset = 0, .bytes = bytes}};
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

// The same with a prepare kernel that makes of p1 what the kernel reads.
inline Artefact PreparedArtefact(const std::string& prepare, const std::string& kernel) {
  Artefact artefact = MeasuredArtefact(kernel);
  artefact.metadata.kernels = {{prepare, {}, 0}, {kernel, {}, 0}};
  artefact.plan.arena_bytes = kMeasuredCount * 4;
  artefact.plan.buffers.push_back(
      {.kind = BufferKind::kArena, .index = 0, .offset = 0, .bytes = kMeasuredCount * 4});
  artefact.plan.body = {{PlanCall{0, {1, 3}, {}}}, {PlanCall{1, {0, 3, 2}, {}}}};
  return artefact;
}

}  // namespace tcc
