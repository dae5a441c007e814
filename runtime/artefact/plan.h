#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/artefact/bytes.h"
#include "runtime/artefact/metadata.h"
#include "runtime/artefact/size_expr.h"
#include "support/status.h"

// The plan that an executor runs: instructions in order over buffers whose places are known
// beforehand.
//
// Variables of every SizeExpr: 0 .. shape_variables-1 are the model's shape variables (bound from
// the inputs' shapes, metadata.h). Then come the plan's lets, each of which is a formula over the
// variables before it. Then come `counters` loop counters, each of which has a value only in the
// body of the loop that names it. A static model has constants throughout.
//
// The encoding begins with a set of bits, one for each part that a plan may have beyond those
// below. No part has a bit today. A reader refuses a plan with a bit that it does not know, so that
// a version of the format can gain parts: older files stay readable, newer ones are refused by
// name.
namespace tcc {

using BufferId = uint32_t;

enum class BufferKind : uint8_t { kInput, kOutput, kWeight, kArena };

// A piece of memory. Buffers of one kind may overlap: views, reuse over time.
struct PlanBuffer {
  BufferKind kind = BufferKind::kArena;
  uint32_t index = 0;  // kInput, kOutput: position among the model's inputs or outputs; else 0
  // The offset and size in bytes; the offset counts from the start of the input, the output, the
  // weights section or the arena.
  SizeExpr offset;
  SizeExpr bytes;
};

struct Instruction;

// Runs a kernel of the metadata's list on the buffers.
struct PlanCall {
  uint32_t kernel = 0;
  std::vector<BufferId> buffers;
  std::vector<SizeExpr> shape_args;
};

// Copies the whole of `from` over `to`; both have the same size and may overlap.
struct PlanCopy {
  BufferId from = 0;
  BufferId to = 0;
};

// A loop: for counter in 0..extent, while the condition holds: body.
//
// `trip_count`, a buffer of one int64, lowers the extent (ONNX's M); below 0 it counts as 0.
// `condition`, a buffer of one bool, is read before each iteration. After each iteration the two
// arena buffers of every pair in `swaps` trade places, for all later instructions too: a carried
// value is read from one and written to the other (ping-pong).
struct PlanLoop {
  uint32_t counter = 0;  // variable shape_variables + counter
  SizeExpr extent;
  std::optional<BufferId> trip_count;
  std::optional<BufferId> condition;
  std::vector<std::pair<BufferId, BufferId>> swaps;
  std::vector<Instruction> body;
};

// A branch. `condition` is a buffer of one bool.
struct PlanIf {
  BufferId condition = 0;
  std::vector<Instruction> then_body;
  std::vector<Instruction> else_body;
};

// Runs one of several bodies, number `which`, a formula over shape variables and lets. A number
// without a body is an error.
struct PlanSwitch {
  SizeExpr which;
  std::vector<std::vector<Instruction>> bodies;
};

struct Instruction {
  std::variant<PlanCall, PlanCopy, PlanLoop, PlanIf, PlanSwitch> op;
};

// A condition on shape variables and lets that was assumed when the plan was made. Where it is 0 a
// run is refused, with the message, before anything is computed.
struct PlanCheck {
  SizeExpr holds;
  std::string message;
};

struct Plan {
  uint32_t shape_variables = 0;
  std::vector<SizeExpr> lets;
  uint32_t counters = 0;
  std::vector<PlanCheck> checks;
  SizeExpr arena_bytes;
  std::vector<PlanBuffer> buffers;
  std::vector<Instruction> body;

  // Returns how many variables have the same value throughout a run: shape variables and lets.
  size_t fixed_variables() const { return shape_variables + lets.size(); }
};

// The deepest nesting of Loop, If and Switch.
inline constexpr int kMaxPlanDepth = 64;

// Returns all calls in order; the calls of a body come at the place of its instruction.
std::vector<const PlanCall*> CallsIn(const std::vector<Instruction>& body);

// Calls `visit` with each instruction; the bodies of a loop, branch or switch follow after it.
void ForEachInstruction(const std::vector<Instruction>& body,
                        const std::function<void(const Instruction&)>& visit);

std::vector<uint8_t> PlanBytes(const Plan& plan);
// Decodes a plan. The caller still has to call VerifyPlan.
StatusOr<Plan> ParsePlan(std::span<const uint8_t> bytes);

// Returns the plan as text: one line per buffer and per instruction. Kernels have names where they
// are given.
std::string ToString(const Plan& plan, std::span<const std::string> kernel_names = {});

// Checks that every index names something, that every size expression is well formed and reads only
// variables that have a value where it is used, and that every constant extent lies within its
// input, output, weights section or arena. Checks as well that each input and output that the plan
// names has a buffer with all of it, that copies fit, and that no Copy writes to inputs or weights.
// Extents that depend on variables are checked with CheckExtent when they are known. Expects
// VerifyMetadata to have agreed.
Status VerifyPlan(const Plan& plan, const Metadata& metadata, int64_t weights_bytes);

// Returns whether offset and bytes are not negative and offset + bytes <= limit.
bool IsWithin(int64_t offset, int64_t bytes, int64_t limit);
// Checks the same.
Status CheckExtent(int64_t offset, int64_t bytes, int64_t limit);

}  // namespace tcc
