#include "runtime/vdla/vdla_chip.h"

#include <algorithm>
#include <cstring>

#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_output.h"
#include "support/random.h"

namespace tcc {
namespace {

template <typename T>
void Fill(std::vector<T>& elements, int64_t vectors, Random& random) {
  elements.resize(vectors * kVdlaBlock);
  for (T& element : elements) element = static_cast<T>(random.Next());
}

}  // namespace

VdlaChip::VdlaChip(const VdlaConfig& config, uint64_t seed) {
  Random random(seed);
  Fill(activations_, VectorsOf(config, VdlaMemory::kActivations), random);
  Fill(weights_, VectorsOf(config, VdlaMemory::kWeights), random);
  Fill(sums_, VectorsOf(config, VdlaMemory::kSums), random);
}

void VdlaChip::Load(const VdlaCopy& copy, std::span<const uint8_t> operand) {
  std::vector<int8_t>& memory = copy.on_chip == VdlaMemory::kActivations ? activations_ : weights_;
  ForEachVector(copy, [&](int64_t vector, int64_t element) {
    int8_t* to = memory.data() + vector * kVdlaBlock;
    if (element < 0) {
      std::fill_n(to, kVdlaBlock, copy.fill);
      return;
    }
    std::memcpy(to, operand.data() + element, kVdlaBlock);
    if (!copy.flips) return;
    for (int64_t i = 0; i < kVdlaBlock; ++i) to[i] = static_cast<int8_t>(to[i] ^ -128);
  });
}

void VdlaChip::Store(const VdlaProgram& program, const VdlaCopy& copy,
                     std::span<const std::span<uint8_t>> operands) const {
  uint8_t* memory = operands[copy.buffer].data();
  static const VdlaOutput kUnchanged = {.channels = kVdlaBlock, .steps = {}};
  const bool has_output = copy.output != kVdlaNoOutput;
  const VdlaOutput& output = has_output ? program.outputs[copy.output] : kUnchanged;
  const bool narrows = MakesBytes(output);
  ForEachChannels(copy, output.channels, [&](int64_t vector, int64_t element, int64_t channel) {
    VdlaSums sums;
    std::memcpy(sums.data(), sums_.data() + vector * kVdlaBlock, sizeof(sums));
    RunOutput(output, channel, operands, sums);
    if (narrows) {
      std::ranges::transform(sums, memory + element,
                             [](int32_t byte) { return static_cast<uint8_t>(byte); });
    } else {
      std::memcpy(memory + element * sizeof(int32_t), sums.data(), sizeof(sums));
    }
  });
}

void VdlaChip::Reset(const VdlaMicroOp& op) {
  std::fill_n(sums_.data() + op.sum * kVdlaBlock, kVdlaBlock, 0u);
}

void VdlaChip::Multiply(const VdlaMicroOp& op) {
  uint32_t* sums = sums_.data() + op.sum * kVdlaBlock;
  const int8_t* activations = activations_.data() + op.activation * kVdlaBlock;
  const int8_t* weights = weights_.data() + op.weight * kVdlaBlock * kVdlaBlock;
  for (int64_t o = 0; o < kVdlaBlock; ++o) {
    int32_t dot = 0;
    for (int64_t i = 0; i < kVdlaBlock; ++i) {
      dot += int32_t{activations[i]} * int32_t{weights[o * kVdlaBlock + i]};
    }
    sums[o] += static_cast<uint32_t>(dot);
  }
}

void VdlaChip::Run(const VdlaProgram& program, const VdlaInstruction& instruction,
                   std::span<const std::span<uint8_t>> operands) {
  if (const auto* gemm = std::get_if<VdlaGemm>(&instruction.work)) {
    if (gemm->reset) {
      ForEachStep(program, *gemm, [&](const VdlaMicroOp& op) { Reset(op); });
    } else {
      ForEachStep(program, *gemm, [&](const VdlaMicroOp& op) { Multiply(op); });
    }
    return;
  }
  const auto& copy = std::get<VdlaCopy>(instruction.work);
  if (copy.on_chip == VdlaMemory::kSums) {
    Store(program, copy, operands);
  } else {
    Load(copy, operands[copy.buffer]);
  }
}

}  // namespace tcc
