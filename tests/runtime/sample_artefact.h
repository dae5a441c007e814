#pragma once

#include "runtime/artefact/artefact.h"

namespace tcc {

// y = kernel(x, w) with f32[4]: one weight, one arena buffer, a Call and a Copy to the output.
inline Artefact SampleArtefact() {
  Artefact artefact;
  artefact.target = "x86-64-v3";
  artefact.device = "cpu";
  artefact.environment = Sha256("environment");
  artefact.kernels = OwnBytes({'c', 'o', 'd', 'e'});
  Tensor weight = MakeZeroTensor(kFloat32, {4});
  for (int i = 0; i < 4; ++i) SetElement(weight, i, i + 1);
  artefact.weights = PackWeights({&weight, 1}).bytes;
  artefact.notes = OwnBytes({'n', 'o', 't', 'e'});
  artefact.metadata.model = "sample";
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {4})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {4})};
  artefact.metadata.kernels = {{.name = "add",
                                .nodes = {"node_add"},
                                .flops = 4,
                                .statistics = {{"code_bytes", 48}},
                                .ratios = {{"waves", 1.5}}}};
  artefact.metadata.properties = {{"numeric", "strict"}};
  artefact.plan.arena_bytes = 64;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kWeight, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 16}};
  artefact.plan.body = {{PlanCall{.kernel = 0, .buffers = {0, 1, 2}, .shape_args = {}}},
                        {PlanCopy{.from = 2, .to = 3}}};
  return artefact;
}

}  // namespace tcc
