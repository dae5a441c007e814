#pragma once

#include "runtime/artefact/artefact.h"

namespace tcc {

// Inputs, outputs and plan of
//
//   state = x; for i in 0..12, at most M times, while state < 1000: state = 2 * state + i; y =
//   state
//
// for an artefact whose kernel 0 is one iteration: (state, next state, condition) and i. Arena
// buffers lie `alignment` bytes apart.
inline void DescribeLoop(Artefact& artefact, int64_t alignment) {
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {1}), StaticTensor("m", kInt64, {}),
                              StaticTensor("go", kBool, {})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {1})};
  artefact.metadata.kernels[0].shape_args = {{0, 11}};
  artefact.plan.counters = 1;
  artefact.plan.arena_bytes = 3 * alignment;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = 4},
                           {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = 8},
                           {.kind = BufferKind::kInput, .index = 2, .offset = 0, .bytes = 1},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 4},
                           {.kind = BufferKind::kArena, .offset = alignment, .bytes = 4},
                           {.kind = BufferKind::kArena, .offset = 2 * alignment, .bytes = 1},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 4}};
  PlanLoop loop{.counter = 0,
                .extent = 12,
                .trip_count = 1,
                .condition = 5,
                .swaps = {{3, 4}},
                .body = {{PlanCall{0, {3, 4, 5}, {SizeExpr::Variable(0)}}}}};
  artefact.plan.body = {{PlanCopy{0, 3}}, {PlanCopy{2, 5}}, {loop}, {PlanCopy{3, 6}}};
}

}  // namespace tcc
