#include "runtime/vdla/vdla_program.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <type_traits>

#include "runtime/artefact/bytes.h"
#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_output.h"

namespace tcc {
namespace {

// The bytes of items, which bound how many of them a list can have.
constexpr size_t kMicroOpBytes = 12, kMinInstructionBytes = 46;
constexpr size_t kOutputStepBytes = 10, kMinOutputBytes = 8;

// The limits of addresses in memory and of loops, in elements and iterations. They keep sums of
// offsets and cycles far from overflow.
constexpr int64_t kMaxElements = int64_t{1} << 48;
constexpr uint32_t kMaxLoop = 1 << 14;

// The fields of a record in the order of its bytes.
template <typename Record>
auto FieldsOf(Record& record) {
  using Type = std::remove_const_t<Record>;
  if constexpr (std::is_same_v<Type, VdlaMicroOp>) {
    return std::tie(record.sum, record.activation, record.weight);
  } else if constexpr (std::is_same_v<Type, VdlaTokens>) {
    return std::tie(record.pop_previous, record.pop_next, record.push_previous, record.push_next);
  } else if constexpr (std::is_same_v<Type, VdlaCopy>) {
    return std::tie(record.on_chip, record.on_chip_at, record.buffer, record.memory_at, record.size,
                    record.stride, record.pad, record.fill, record.flips, record.output,
                    record.channel_at);
  } else if constexpr (std::is_same_v<Type, VdlaOutputStep>) {
    return std::tie(record.op, record.number, record.is_by_channel, record.buffer);
  } else {
    static_assert(std::is_same_v<Type, VdlaGemm>);
    return std::tie(record.reset, record.first, record.last, record.loops, record.steps);
  }
}

// Integers take 4 bytes, or 8 if they have 64 bits; flags and enumerators take one.
template <typename Field>
void WriteField(ByteWriter& writer, const Field& field) {
  if constexpr (sizeof(Field) == 1) {
    writer.U8(static_cast<uint8_t>(field));
  } else if constexpr (std::is_same_v<Field, int64_t>) {
    writer.I64(field);
  } else if constexpr (std::is_same_v<Field, float>) {
    writer.U32(std::bit_cast<uint32_t>(field));
  } else if constexpr (std::is_integral_v<Field>) {
    writer.U32(field);
  } else {
    for (const auto& item : field) WriteField(writer, item);
  }
}

template <typename Record>
void Write(ByteWriter& writer, const Record& record) {
  std::apply([&](const auto&... field) { (WriteField(writer, field), ...); }, FieldsOf(record));
}

// Reads an integer of type Raw that is at most `last`.
template <typename Field, typename Raw>
Field UpTo(ByteReader& reader, Raw value, Raw last) {
  if (value <= last) return static_cast<Field>(value);
  reader.Fail(InvalidInput("vdla program has {} before byte {}; expected at most {}", value,
                           reader.position(), last));
  return Field();
}

template <typename Field>
void ReadField(ByteReader& reader, Field& field) {
  if constexpr (std::is_same_v<Field, bool>) {
    field = UpTo<bool>(reader, reader.U8(), uint8_t{1});
  } else if constexpr (std::is_same_v<Field, int8_t>) {
    field = static_cast<int8_t>(reader.U8());
  } else if constexpr (std::is_same_v<Field, VdlaMemory>) {
    field = UpTo<VdlaMemory>(reader, reader.U8(), static_cast<uint8_t>(VdlaMemory::kSums));
  } else if constexpr (std::is_same_v<Field, VdlaOutputOp>) {
    field = UpTo<VdlaOutputOp>(reader, reader.U8(), uint8_t{kVdlaOutputOps - 1});
  } else if constexpr (std::is_same_v<Field, int64_t>) {
    field = reader.I64();
  } else if constexpr (std::is_same_v<Field, float>) {
    field = std::bit_cast<float>(reader.U32());
  } else if constexpr (std::is_integral_v<Field>) {
    field = UpTo<Field>(reader, reader.U32(), uint32_t{std::numeric_limits<Field>::max()});
  } else {
    for (auto& item : field) ReadField(reader, item);
  }
}

template <typename Record>
Record Read(ByteReader& reader) {
  Record record;
  std::apply([&](auto&... field) { (ReadField(reader, field), ...); }, FieldsOf(record));
  return record;
}

void WriteOutput(ByteWriter& writer, const VdlaOutput& output) {
  writer.U32(output.channels);
  writer.Count(output.steps.size());
  for (const VdlaOutputStep& step : output.steps) Write(writer, step);
}

VdlaOutput ReadOutput(ByteReader& reader) {
  VdlaOutput output = {.channels = reader.U32()};
  const size_t steps = reader.Count(kOutputStepBytes);
  for (size_t i = 0; i < steps && reader.ok(); ++i) {
    output.steps.push_back(Read<VdlaOutputStep>(reader));
  }
  return output;
}

VdlaInstruction ReadInstruction(ByteReader& reader) {
  bool is_gemm = false;
  ReadField(reader, is_gemm);
  VdlaInstruction instruction = {.tokens = Read<VdlaTokens>(reader), .work = VdlaCopy()};
  if (is_gemm) {
    instruction.work = Read<VdlaGemm>(reader);
  } else {
    instruction.work = Read<VdlaCopy>(reader);
  }
  return instruction;
}

Status CheckTokens(const VdlaTokens& tokens, VdlaUnit unit) {
  if (unit == VdlaUnit::kLoad && (tokens.pop_previous || tokens.push_previous)) {
    return InvalidInput("tokens: pop or push previous; load has no unit before it");
  }
  if (unit == VdlaUnit::kStore && (tokens.pop_next || tokens.push_next)) {
    return InvalidInput("tokens: pop or push next; store has no unit behind it");
  }
  return OkStatus();
}

// Checks the box on the chip.
Status CheckBox(const VdlaCopy& copy, const VdlaConfig& config) {
  const int64_t vectors = VectorsOf(config, copy.on_chip);
  const std::array<int64_t, 3> box = {copy.size[0],
                                      int64_t{copy.size[1]} + copy.pad[0] + copy.pad[1],
                                      int64_t{copy.size[2]} + copy.pad[2] + copy.pad[3]};
  const bool fits = std::ranges::all_of(box, [&](int64_t n) { return n >= 1 && n <= vectors; });
  if (!fits || OnChipVectors(copy) > vectors) {
    return InvalidInput("size: a box of {} x {} x {} vectors; expected 1 to {}, which are all {}",
                        box[2], box[1], box[0], vectors, NameOf(copy.on_chip));
  }
  if (copy.on_chip_at + OnChipVectors(copy) <= vectors) return OkStatus();
  return InvalidInput("on_chip_at: {} vectors at {} of the {}; there are {}", OnChipVectors(copy),
                      copy.on_chip_at, NameOf(copy.on_chip), vectors);
}

// Checks the output stage of a copy.
Status CheckOutput(const VdlaCopy& copy, const VdlaProgram& program) {
  if (copy.output == kVdlaNoOutput) return OkStatus();
  if (copy.on_chip != VdlaMemory::kSums) {
    return InvalidInput("output: {}; a load has none", copy.output);
  }
  if (copy.output >= program.outputs.size()) {
    return InvalidInput("output: {}; the program has {}", copy.output, program.outputs.size());
  }
  const uint32_t channels = program.outputs[copy.output].channels;
  if (copy.channel_at % kVdlaBlock == 0 && copy.channel_at < channels) return OkStatus();
  return InvalidInput("channel_at: {}; expected a multiple of {} below {}", copy.channel_at,
                      kVdlaBlock, channels);
}

Status CheckCopy(const VdlaCopy& copy, const VdlaProgram& program, const VdlaConfig& config) {
  if (copy.buffer >= program.buffers) {
    return InvalidInput("buffer: {}; the program has {} buffers", copy.buffer, program.buffers);
  }
  TCC_RETURN_IF_ERROR(CheckBox(copy, config));
  const bool is_store = copy.on_chip == VdlaMemory::kSums;
  if (is_store && copy.pad != std::array<uint16_t, 4>{}) {
    return InvalidInput("pad: a store has none");
  }
  if (is_store && (copy.fill != 0 || copy.flips)) {
    return InvalidInput("fill, flips: a store has none");
  }
  if (copy.memory_at < 0 || copy.memory_at > kMaxElements) {
    return InvalidInput("memory_at: {}; expected 0 to {}", copy.memory_at, kMaxElements);
  }
  for (int64_t elements : copy.stride) {
    if (elements >= 0 && elements <= kMaxElements) continue;
    return InvalidInput("stride: {}; expected 0 to {}", elements, kMaxElements);
  }
  return CheckOutput(copy, program);
}

// Checks the numbers that micro-ops and steps give for one operand of a GEMM.
Status CheckReach(const VdlaProgram& program, const VdlaGemm& gemm, int operand,
                  uint32_t VdlaMicroOp::* field, int64_t limit, const char* name) {
  int64_t reach = 0;
  for (uint32_t m = gemm.first; m < gemm.last; ++m) {
    reach = std::max<int64_t>(reach, program.micro_ops[m].*field);
  }
  for (size_t loop = 0; loop < gemm.loops.size(); ++loop) {
    reach += (int64_t{gemm.loops[loop]} - 1) * gemm.steps[operand][loop];
  }
  if (reach < limit) return OkStatus();
  return InvalidInput("{}: the last is number {}; there are {}", name, reach, limit);
}

Status CheckGemm(const VdlaGemm& gemm, const VdlaProgram& program, const VdlaConfig& config) {
  if (gemm.first >= gemm.last || gemm.last > program.micro_ops.size()) {
    return InvalidInput("first, last: {}, {}; the program has {} micro-ops", gemm.first, gemm.last,
                        program.micro_ops.size());
  }
  for (uint32_t loop : gemm.loops) {
    if (loop >= 1 && loop <= kMaxLoop) continue;
    return InvalidInput("loops: {}; expected 1 to {}", loop, kMaxLoop);
  }
  TCC_RETURN_IF_ERROR(
      CheckReach(program, gemm, 0, &VdlaMicroOp::sum, VectorsOf(config, VdlaMemory::kSums), "sum"));
  if (gemm.reset) return OkStatus();
  TCC_RETURN_IF_ERROR(CheckReach(program, gemm, 1, &VdlaMicroOp::activation,
                                 VectorsOf(config, VdlaMemory::kActivations), "activation"));
  return CheckReach(program, gemm, 2, &VdlaMicroOp::weight,
                    VectorsOf(config, VdlaMemory::kWeights) / kVdlaBlock, "weight");
}

// The use of a buffer by the instructions so far.
struct BufferUse {
  bool is_written = false;  // else read
  int64_t bytes = 1;        // of an element
};
using BufferUses = std::map<uint32_t, BufferUse>;

// Checks that a buffer is read or written, never both: no tokens order a load after a store.
// Elements that are written have one size.
Status CheckUse(uint32_t buffer, const BufferUse& use, BufferUses& uses) {
  const BufferUse& known = uses.emplace(buffer, use).first->second;
  if (known.is_written != use.is_written) {
    return InvalidInput("buffer: {} is loaded and stored; expected one of both", buffer);
  }
  if (!use.is_written || known.bytes == use.bytes) return OkStatus();
  return InvalidInput("buffer: {} is stored as elements of {} and of {} bytes", buffer, known.bytes,
                      use.bytes);
}

Status CheckOutputs(const VdlaProgram& program, BufferUses& uses) {
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const VdlaOutput& output = program.outputs[i];
    const std::string name = fmt::format("output {}", i);
    TCC_RETURN_IF_ERROR(Annotate(VerifyOutput(output, program.buffers), name));
    for (const VdlaOutputStep& step : output.steps) {
      if (!step.is_by_channel) continue;
      TCC_RETURN_IF_ERROR(Annotate(CheckUse(step.buffer, {}, uses), name));
    }
  }
  return OkStatus();
}

Status CheckInstruction(const VdlaInstruction& instruction, const VdlaProgram& program,
                        const VdlaConfig& config, BufferUses& uses) {
  const VdlaUnit unit = UnitOf(instruction);
  TCC_RETURN_IF_ERROR(CheckTokens(instruction.tokens, unit));
  if (const auto* gemm = std::get_if<VdlaGemm>(&instruction.work)) {
    return CheckGemm(*gemm, program, config);
  }
  const auto& copy = std::get<VdlaCopy>(instruction.work);
  TCC_RETURN_IF_ERROR(CheckCopy(copy, program, config));
  const BufferUse use = {.is_written = unit == VdlaUnit::kStore,
                         .bytes = ElementBytes(program, copy)};
  return CheckUse(copy.buffer, use, uses);
}

}  // namespace

std::vector<uint8_t> VdlaProgramBytes(const VdlaProgram& program) {
  ByteWriter writer;
  writer.U32(program.buffers);
  writer.Count(program.outputs.size());
  for (const VdlaOutput& output : program.outputs) WriteOutput(writer, output);
  writer.Count(program.micro_ops.size());
  for (const VdlaMicroOp& op : program.micro_ops) Write(writer, op);
  writer.Count(program.instructions.size());
  for (const VdlaInstruction& instruction : program.instructions) {
    WriteField(writer, std::holds_alternative<VdlaGemm>(instruction.work));
    Write(writer, instruction.tokens);
    std::visit([&](const auto& work) { Write(writer, work); }, instruction.work);
  }
  return writer.Take();
}

StatusOr<VdlaProgram> ParseVdlaProgram(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes, "vdla program");
  VdlaProgram program;
  program.buffers = reader.U32();
  const size_t outputs = reader.Count(kMinOutputBytes);
  for (size_t i = 0; i < outputs && reader.ok(); ++i) program.outputs.push_back(ReadOutput(reader));
  const size_t micro_ops = reader.Count(kMicroOpBytes);
  for (size_t m = 0; m < micro_ops; ++m) program.micro_ops.push_back(Read<VdlaMicroOp>(reader));
  const size_t instructions = reader.Count(kMinInstructionBytes);
  for (size_t i = 0; i < instructions && reader.ok(); ++i) {
    program.instructions.push_back(ReadInstruction(reader));
  }
  TCC_RETURN_IF_ERROR(reader.Finish());
  return program;
}

Status VerifyVdlaProgram(const VdlaProgram& program, const VdlaConfig& config) {
  if (static_cast<int64_t>(program.micro_ops.size()) > config.micro_ops) {
    return InvalidInput("vdla program has {} micro-ops; the machine has room for {}",
                        program.micro_ops.size(), config.micro_ops);
  }
  BufferUses uses;
  TCC_RETURN_IF_ERROR(CheckOutputs(program, uses));
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const VdlaInstruction& instruction = program.instructions[i];
    TCC_RETURN_IF_ERROR(
        Annotate(CheckInstruction(instruction, program, config, uses),
                 fmt::format("instruction {} ({})", i, NameOf(UnitOf(instruction)))));
  }
  return OkStatus();
}

}  // namespace tcc
