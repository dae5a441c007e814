#include "runtime/vdla/vdla_accesses.h"

#include "runtime/vdla/vdla_facts.h"

namespace tcc {
namespace {

// Vectors that are tracked as one: a GEMM reads whole blocks of weights.
int64_t TrackedVectors(VdlaMemory memory) {
  return memory == VdlaMemory::kWeights ? kVdlaBlock : 1;
}

}  // namespace

VdlaAccesses::VdlaAccesses(const VdlaProgram& program, const VdlaConfig& config)
    : program_(program) {
  for (VdlaMemory memory : {VdlaMemory::kActivations, VdlaMemory::kWeights, VdlaMemory::kSums}) {
    accesses_[static_cast<size_t>(memory)].resize(VectorsOf(config, memory) /
                                                  TrackedVectors(memory));
  }
}

void VdlaAccesses::Touch(VdlaMemory memory, int64_t number, bool writes) {
  Accesses& accesses = accesses_[static_cast<size_t>(memory)][number];
  (writes ? accesses.written : accesses.read) = instruction_;
  const int64_t other = writes ? accesses.read : accesses.written;
  if (other < 0) return;
  const auto unit = static_cast<size_t>(UnitOf(program_.instructions[other]));
  const bool in_order = other < instruction_ && other <= known_[unit];
  if (!in_order && race_.ok()) race_ = Race(memory, number, writes, other);
}

void VdlaAccesses::TouchBox(const VdlaCopy& copy) {
  const int64_t tracked = TrackedVectors(copy.on_chip);
  const int64_t last = copy.on_chip_at + OnChipVectors(copy) - 1;
  for (int64_t number = copy.on_chip_at / tracked; number <= last / tracked; ++number) {
    Touch(copy.on_chip, number, /*writes=*/copy.on_chip != VdlaMemory::kSums);
  }
}

void VdlaAccesses::TouchSteps(const VdlaGemm& gemm) {
  ForEachStep(program_, gemm, [&](const VdlaMicroOp& op) {
    Touch(VdlaMemory::kSums, op.sum, /*writes=*/true);
    if (gemm.reset) return;
    Touch(VdlaMemory::kActivations, op.activation, /*writes=*/false);
    Touch(VdlaMemory::kWeights, op.weight, /*writes=*/false);
  });
}

Status VdlaAccesses::Race(VdlaMemory memory, int64_t number, bool writes, int64_t other) const {
  const auto name = [&](int64_t instruction) {
    return fmt::format("instruction {} ({})", instruction,
                       NameOf(UnitOf(program_.instructions[instruction])));
  };
  const std::string access = fmt::format("vdla race: {} {} number {} of the {}", name(instruction_),
                                         writes ? "writes" : "reads", number, NameOf(memory));
  const char* used = writes ? "read" : "written";
  if (other > instruction_) {
    return WrongResult("{} after it was {} by {}, which comes later in the program", access, used,
                       name(other));
  }
  return WrongResult("{}, which is {} by {}; no tokens order the two", access, used, name(other));
}

Status VdlaAccesses::Add(size_t instruction, const VdlaClock& known) {
  instruction_ = static_cast<int64_t>(instruction);
  known_ = known;
  const auto& work = program_.instructions[instruction].work;
  if (const auto* gemm = std::get_if<VdlaGemm>(&work)) {
    TouchSteps(*gemm);
  } else {
    TouchBox(std::get<VdlaCopy>(work));
  }
  return race_;
}

}  // namespace tcc
