#include "runtime/vdla/vdla_output.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

constexpr size_t kMaxSteps = 32;  // of the stage's pipeline

using Floats = std::array<float, kVdlaBlock>;

// Whether a step makes integers of floats.
bool Narrows(VdlaOutputOp op) {
  return op == VdlaOutputOp::kToInt8 || op == VdlaOutputOp::kToUint8;
}

template <typename Integer>
int32_t Saturated(float value) {
  if (std::isnan(value)) return 0;
  constexpr float kLow = std::numeric_limits<Integer>::min();
  constexpr float kHigh = std::numeric_limits<Integer>::max();
  return static_cast<int32_t>(std::clamp(value, kLow, kHigh));
}

float Combine(VdlaOutputOp op, float a, float b) {
  switch (op) {
    case VdlaOutputOp::kAdd:
      return a + b;
    case VdlaOutputOp::kSubtract:
      return a - b;
    case VdlaOutputOp::kMultiply:
      return a * b;
    case VdlaOutputOp::kDivide:
      return a / b;
    case VdlaOutputOp::kMaximum:
      return std::isnan(a) || a > b ? a : b;
    case VdlaOutputOp::kMinimum:
      return std::isnan(a) || a < b ? a : b;
    default:
      TCC_UNREACHABLE();
  }
}

// Returns the second operand of a step for 16 channels.
Floats OperandOf(const VdlaOutputStep& step, int64_t channel,
                 std::span<const std::span<uint8_t>> operands) {
  Floats floats;
  floats.fill(step.number);
  if (step.is_by_channel) {
    std::memcpy(floats.data(), operands[step.buffer].data() + channel * sizeof(float),
                sizeof(floats));
  }
  return floats;
}

Status CheckStep(const VdlaOutputStep& step, bool is_float, uint32_t buffers) {
  if (is_float == (step.op == VdlaOutputOp::kToFloat)) {
    return InvalidInput("{} of {}", NameOf(step.op), is_float ? "a float" : "an integer");
  }
  if (!step.is_by_channel) return OkStatus();
  if (!HasOperand(step.op)) return InvalidInput("{} has no operand by channel", NameOf(step.op));
  if (step.buffer < buffers) return OkStatus();
  return InvalidInput("buffer {}; the program has {} buffers", step.buffer, buffers);
}

}  // namespace

bool HasOperand(VdlaOutputOp op) {
  return op >= VdlaOutputOp::kAdd;
}

const char* NameOf(VdlaOutputOp op) {
  constexpr std::array<const char*, kVdlaOutputOps> kNames = {
      "to_float", "to_int8",  "to_uint8", "round",   "add",
      "subtract", "multiply", "divide",   "maximum", "minimum"};
  return kNames.at(static_cast<size_t>(op));
}

Status VerifyOutput(const VdlaOutput& output, uint32_t buffers) {
  const std::vector<VdlaOutputStep>& steps = output.steps;
  if (steps.size() > kMaxSteps) {
    return InvalidInput("{} steps; expected at most {}", steps.size(), kMaxSteps);
  }
  if (output.channels == 0 || output.channels % kVdlaBlock != 0) {
    return InvalidInput("{} channels; expected a multiple of {}", output.channels, kVdlaBlock);
  }
  bool is_float = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    TCC_RETURN_IF_ERROR(
        Annotate(CheckStep(steps[i], is_float, buffers), fmt::format("step {}", i)));
    is_float = !Narrows(steps[i].op);
  }
  if (!steps.empty() && Narrows(steps.back().op)) return OkStatus();
  return InvalidInput("the last step makes no bytes");
}

VdlaBytes RunOutput(const VdlaOutput& output, const VdlaSums& sums, int64_t channel,
                    std::span<const std::span<uint8_t>> operands) {
  VdlaSums integers = sums;
  Floats floats = {};
  for (const VdlaOutputStep& step : output.steps) {
    const Floats operand = OperandOf(step, channel, operands);
    for (size_t i = 0; i < floats.size(); ++i) {
      switch (step.op) {
        case VdlaOutputOp::kToFloat:
          floats[i] = static_cast<float>(integers[i]);
          break;
        case VdlaOutputOp::kToInt8:
          integers[i] = Saturated<int8_t>(floats[i]);
          break;
        case VdlaOutputOp::kToUint8:
          integers[i] = Saturated<uint8_t>(floats[i]);
          break;
        case VdlaOutputOp::kRound:
          floats[i] = std::nearbyint(floats[i]);
          break;
        default:
          floats[i] = Combine(step.op, floats[i], operand[i]);
      }
    }
  }
  VdlaBytes bytes;
  std::ranges::transform(integers, bytes.begin(),
                         [](int32_t n) { return static_cast<uint8_t>(n); });
  return bytes;
}

}  // namespace tcc
