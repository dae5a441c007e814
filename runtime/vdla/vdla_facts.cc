#include "runtime/vdla/vdla_facts.h"

#include <algorithm>
#include <set>

#include "runtime/vdla/vdla_output.h"
#include "support/check.h"

namespace tcc {

VdlaUnit UnitOf(const VdlaInstruction& instruction) {
  const auto* copy = std::get_if<VdlaCopy>(&instruction.work);
  if (copy == nullptr) return VdlaUnit::kCompute;
  return copy->on_chip == VdlaMemory::kSums ? VdlaUnit::kStore : VdlaUnit::kLoad;
}

const char* NameOf(VdlaUnit unit) {
  constexpr std::array<const char*, kVdlaUnits> kNames = {"load", "compute", "store"};
  return kNames.at(static_cast<size_t>(unit));
}

const char* NameOf(VdlaMemory memory) {
  constexpr std::array<const char*, kVdlaMemories> kNames = {"activations", "weights", "sums"};
  return kNames.at(static_cast<size_t>(memory));
}

int64_t VectorsOf(const VdlaConfig& config, VdlaMemory memory) {
  switch (memory) {
    case VdlaMemory::kActivations:
      return config.activation_bytes / kVdlaBlock;
    case VdlaMemory::kWeights:
      return config.weight_bytes / (kVdlaBlock * kVdlaBlock) * kVdlaBlock;
    case VdlaMemory::kSums:
      return config.sum_bytes / (kVdlaBlock * static_cast<int64_t>(sizeof(int32_t)));
  }
  TCC_UNREACHABLE();
}

int64_t ElementBytes(const VdlaProgram& program, const VdlaCopy& copy) {
  if (copy.on_chip != VdlaMemory::kSums) return sizeof(int8_t);
  const bool narrows = copy.output != kVdlaNoOutput && MakesBytes(program.outputs[copy.output]);
  return narrows ? sizeof(int8_t) : sizeof(int32_t);
}

int64_t OnChipVectors(const VdlaCopy& copy) {
  const auto& [x, y, z] = copy.size;
  return int64_t{x} * (int64_t{y} + copy.pad[0] + copy.pad[1]) *
         (int64_t{z} + copy.pad[2] + copy.pad[3]);
}

int64_t MemoryBytes(const VdlaProgram& program, const VdlaCopy& copy) {
  const auto& [x, y, z] = copy.size;
  return int64_t{x} * y * z * kVdlaBlock * ElementBytes(program, copy);
}

int64_t OutputBytes(const VdlaProgram& program, const VdlaCopy& copy) {
  if (copy.output == kVdlaNoOutput) return 0;
  const VdlaOutput& output = program.outputs[copy.output];
  const int64_t operands = std::ranges::count_if(output.steps, &VdlaOutputStep::is_by_channel);
  if (operands == 0) return 0;
  std::set<int64_t> touched;
  ForEachChannels(copy, output.channels,
                  [&](int64_t, int64_t, int64_t channel) { touched.insert(channel); });
  const auto blocks = static_cast<int64_t>(touched.size());
  return blocks * operands * kVdlaBlock * static_cast<int64_t>(sizeof(int32_t));
}

int64_t MemoryEnd(const VdlaCopy& copy) {
  const auto& [x, y, z] = copy.size;
  if (y == 0 || z == 0) return 0;
  return copy.memory_at + (int64_t{z} - 1) * copy.stride[1] + (int64_t{y} - 1) * copy.stride[0] +
         x * kVdlaBlock;
}

int64_t StepsOf(const VdlaGemm& gemm) {
  return int64_t{gemm.loops[0]} * gemm.loops[1] * (gemm.last - gemm.first);
}

}  // namespace tcc
