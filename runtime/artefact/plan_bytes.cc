#include "runtime/artefact/plan.h"

namespace tcc {
namespace {

enum class OpCode : uint8_t { kCall, kCopy, kLoop, kIf, kSwitch };

// The smallest encodings, which bound how many items a list can have.
constexpr size_t kMinExprBytes = 4;
constexpr size_t kMinBufferBytes = 5 + 2 * kMinExprBytes;
constexpr size_t kMinBodyBytes = 4;
constexpr size_t kMinInstructionBytes = 9;

// The bits of the parts that this runtime knows (plan.h).
constexpr uint32_t kKnownParts = 0;

// Stands for "no buffer".
constexpr BufferId kNone = 0xffffffff;

void WriteBody(ByteWriter& writer, const std::vector<Instruction>& body);

struct InstructionWriter {
  ByteWriter& writer;

  void operator()(const PlanCall& call) {
    writer.U8(static_cast<uint8_t>(OpCode::kCall));
    writer.U32(call.kernel);
    writer.Count(call.buffers.size());
    for (BufferId buffer : call.buffers) writer.U32(buffer);
    writer.Count(call.shape_args.size());
    for (const SizeExpr& arg : call.shape_args) Write(writer, arg);
  }
  void operator()(const PlanCopy& copy) {
    writer.U8(static_cast<uint8_t>(OpCode::kCopy));
    writer.U32(copy.from);
    writer.U32(copy.to);
  }
  void operator()(const PlanLoop& loop) {
    writer.U8(static_cast<uint8_t>(OpCode::kLoop));
    writer.U32(loop.counter);
    Write(writer, loop.extent);
    writer.U32(loop.trip_count.value_or(kNone));
    writer.U32(loop.condition.value_or(kNone));
    writer.Count(loop.swaps.size());
    for (const auto& [first, second] : loop.swaps) {
      writer.U32(first);
      writer.U32(second);
    }
    WriteBody(writer, loop.body);
  }
  void operator()(const PlanIf& branch) {
    writer.U8(static_cast<uint8_t>(OpCode::kIf));
    writer.U32(branch.condition);
    WriteBody(writer, branch.then_body);
    WriteBody(writer, branch.else_body);
  }
  void operator()(const PlanSwitch& choice) {
    writer.U8(static_cast<uint8_t>(OpCode::kSwitch));
    Write(writer, choice.which);
    writer.Count(choice.bodies.size());
    for (const std::vector<Instruction>& body : choice.bodies) WriteBody(writer, body);
  }
};

void WriteBody(ByteWriter& writer, const std::vector<Instruction>& body) {
  writer.Count(body.size());
  for (const Instruction& instruction : body) std::visit(InstructionWriter{writer}, instruction.op);
}

std::vector<Instruction> ReadBody(ByteReader& reader, int depth);

PlanCall ReadCall(ByteReader& reader) {
  PlanCall call;
  call.kernel = reader.U32();
  size_t buffers = reader.Count(sizeof(BufferId));
  for (size_t i = 0; i < buffers; ++i) call.buffers.push_back(reader.U32());
  size_t args = reader.Count(kMinExprBytes);
  for (size_t i = 0; i < args && reader.ok(); ++i) call.shape_args.push_back(ReadSizeExpr(reader));
  return call;
}

std::optional<BufferId> ReadOptionalBuffer(ByteReader& reader) {
  BufferId buffer = reader.U32();
  return buffer == kNone ? std::nullopt : std::optional(buffer);
}

PlanLoop ReadLoop(ByteReader& reader, int depth) {
  PlanLoop loop;
  loop.counter = reader.U32();
  loop.extent = ReadSizeExpr(reader);
  loop.trip_count = ReadOptionalBuffer(reader);
  loop.condition = ReadOptionalBuffer(reader);
  size_t swaps = reader.Count(2 * sizeof(BufferId));
  for (size_t i = 0; i < swaps; ++i) {
    BufferId first = reader.U32();
    loop.swaps.emplace_back(first, reader.U32());
  }
  loop.body = ReadBody(reader, depth + 1);
  return loop;
}

PlanIf ReadIf(ByteReader& reader, int depth) {
  PlanIf branch;
  branch.condition = reader.U32();
  branch.then_body = ReadBody(reader, depth + 1);
  branch.else_body = ReadBody(reader, depth + 1);
  return branch;
}

PlanSwitch ReadSwitch(ByteReader& reader, int depth) {
  PlanSwitch choice;
  choice.which = ReadSizeExpr(reader);
  size_t count = reader.Count(kMinBodyBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    choice.bodies.push_back(ReadBody(reader, depth + 1));
  }
  return choice;
}

Instruction ReadInstruction(ByteReader& reader, int depth) {
  size_t position = reader.position();
  uint8_t code = reader.U8();
  if (!reader.ok()) return {};
  switch (static_cast<OpCode>(code)) {
    case OpCode::kCall:
      return {ReadCall(reader)};
    case OpCode::kCopy: {
      BufferId from = reader.U32();
      return {PlanCopy{from, reader.U32()}};
    }
    case OpCode::kLoop:
      return {ReadLoop(reader, depth)};
    case OpCode::kIf:
      return {ReadIf(reader, depth)};
    case OpCode::kSwitch:
      return {ReadSwitch(reader, depth)};
  }
  reader.Fail(InvalidInput("plan has unknown instruction {} at byte {}", code, position));
  return {};
}

std::vector<Instruction> ReadBody(ByteReader& reader, int depth) {
  std::vector<Instruction> body;
  if (depth > kMaxPlanDepth) {
    reader.Fail(InvalidInput("plan nests Loop, If and Switch deeper than {}", kMaxPlanDepth));
    return body;
  }
  size_t count = reader.Count(kMinInstructionBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) body.push_back(ReadInstruction(reader, depth));
  return body;
}

PlanBuffer ReadBuffer(ByteReader& reader) {
  PlanBuffer buffer;
  uint8_t kind = reader.U8();
  if (kind > static_cast<uint8_t>(BufferKind::kArena)) {
    reader.Fail(InvalidInput("plan has a buffer of unknown kind {}", kind));
    return buffer;
  }
  buffer.kind = static_cast<BufferKind>(kind);
  buffer.index = reader.U32();
  buffer.offset = ReadSizeExpr(reader);
  buffer.bytes = ReadSizeExpr(reader);
  return buffer;
}

}  // namespace

std::vector<uint8_t> PlanBytes(const Plan& plan) {
  ByteWriter writer;
  writer.U32(kKnownParts);
  writer.U32(plan.shape_variables);
  writer.Count(plan.lets.size());
  for (const SizeExpr& let : plan.lets) Write(writer, let);
  writer.U32(plan.counters);
  writer.Count(plan.checks.size());
  for (const PlanCheck& check : plan.checks) {
    Write(writer, check.holds);
    writer.Text(check.message);
  }
  Write(writer, plan.arena_bytes);
  writer.Count(plan.buffers.size());
  for (const PlanBuffer& buffer : plan.buffers) {
    writer.U8(static_cast<uint8_t>(buffer.kind));
    writer.U32(buffer.index);
    Write(writer, buffer.offset);
    Write(writer, buffer.bytes);
  }
  WriteBody(writer, plan.body);
  return writer.Take();
}

StatusOr<Plan> ParsePlan(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes, "plan section");
  uint32_t parts = reader.U32();
  if ((parts & ~kKnownParts) != 0) {
    return InvalidInput("plan has parts {:#x}, this runtime knows {:#x}; it needs a newer runtime",
                        parts, kKnownParts);
  }
  Plan plan;
  plan.shape_variables = reader.U32();
  size_t lets = reader.Count(kMinExprBytes);
  for (size_t i = 0; i < lets && reader.ok(); ++i) plan.lets.push_back(ReadSizeExpr(reader));
  plan.counters = reader.U32();
  size_t checks = reader.Count(2 * kMinExprBytes);
  for (size_t i = 0; i < checks && reader.ok(); ++i) {
    SizeExpr holds = ReadSizeExpr(reader);
    plan.checks.push_back({std::move(holds), reader.Text()});
  }
  plan.arena_bytes = ReadSizeExpr(reader);
  size_t buffers = reader.Count(kMinBufferBytes);
  for (size_t i = 0; i < buffers && reader.ok(); ++i) plan.buffers.push_back(ReadBuffer(reader));
  plan.body = ReadBody(reader, 0);
  TCC_RETURN_IF_ERROR(reader.Finish());
  return plan;
}

}  // namespace tcc
