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

// Reads the numbers of 16 channels.
template <typename Number>
std::array<Number, kVdlaBlock> NumbersAt(const VdlaOutputStep& step, int64_t channel,
                                         std::span<const std::span<uint8_t>> operands) {
  std::array<Number, kVdlaBlock> numbers;
  std::memcpy(numbers.data(), operands[step.buffer].data() + channel * sizeof(Number),
              sizeof(numbers));
  return numbers;
}

int32_t CombineIntegers(VdlaOutputOp op, int32_t a, int32_t b) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  return static_cast<int32_t>(op == VdlaOutputOp::kAddInteger ? x + y : x - y);
}

// Returns the second operand of a step of floats for 16 channels.
Floats OperandOf(const VdlaOutputStep& step, int64_t channel,
                 std::span<const std::span<uint8_t>> operands) {
  if (step.is_by_channel) return NumbersAt<float>(step, channel, operands);
  Floats floats;
  floats.fill(step.number);
  return floats;
}

bool AddsOrSubtracts(VdlaOutputOp op) {
  return op == VdlaOutputOp::kAdd || op == VdlaOutputOp::kSubtract;
}

// Whether a sum or difference is behind the step.
bool IsSumNext(const VdlaOutput& output, size_t step) {
  return step + 1 < output.steps.size() && AddsOrSubtracts(output.steps[step + 1].op);
}

// Returns a * factor + b or a * factor - b, rounded once.
float MultiplyAdd(VdlaOutputOp op, float a, float factor, float b) {
  return std::fma(a, factor, op == VdlaOutputOp::kAdd ? b : -b);
}

Status CheckStep(const VdlaOutputStep& step, bool is_float, uint32_t buffers) {
  const bool needs_integer = step.op == VdlaOutputOp::kToFloat || IsOfIntegers(step.op);
  if (is_float == needs_integer) {
    return InvalidInput("{} of {}", NameOf(step.op), is_float ? "a float" : "an integer");
  }
  if (step.is_by_channel && !HasOperand(step.op)) {
    return InvalidInput("{} has no operand by channel", NameOf(step.op));
  }
  if (!step.is_by_channel && IsOfIntegers(step.op)) {
    return InvalidInput("{} needs an operand by channel", NameOf(step.op));
  }
  if (!step.is_by_channel || step.buffer < buffers) return OkStatus();
  return InvalidInput("buffer {}; the program has {} buffers", step.buffer, buffers);
}

}  // namespace

bool HasOperand(VdlaOutputOp op) {
  return op >= VdlaOutputOp::kAdd || IsOfIntegers(op);
}

bool IsOfIntegers(VdlaOutputOp op) {
  return op == VdlaOutputOp::kAddInteger || op == VdlaOutputOp::kSubtractInteger;
}

bool MakesBytes(const VdlaOutput& output) {
  return !output.steps.empty() && Narrows(output.steps.back().op);
}

const char* NameOf(VdlaOutputOp op) {
  constexpr std::array<const char*, kVdlaOutputOps> kNames = {
      "add_integer", "subtract_integer", "to_float", "to_int8", "to_uint8", "round",
      "add",         "subtract",         "multiply", "divide",  "maximum",  "minimum"};
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
    is_float = !Narrows(steps[i].op) && !IsOfIntegers(steps[i].op);
  }
  return is_float ? InvalidInput("the last step makes a float; expected an integer") : OkStatus();
}

void RunOutput(const VdlaOutput& output, int64_t channel,
               std::span<const std::span<uint8_t>> operands, VdlaSums& sums) {
  Floats floats = {}, factors = {};
  bool multiplies = false;  // by `factors`, when it is known what is behind the product
  for (size_t s = 0; s < output.steps.size(); ++s) {
    const VdlaOutputStep& step = output.steps[s];
    switch (step.op) {
      case VdlaOutputOp::kAddInteger:
      case VdlaOutputOp::kSubtractInteger: {
        const VdlaSums operand = NumbersAt<int32_t>(step, channel, operands);
        std::ranges::transform(sums, operand, sums.begin(), [&](int32_t a, int32_t b) {
          return CombineIntegers(step.op, a, b);
        });
        break;
      }
      case VdlaOutputOp::kToFloat:
        std::ranges::transform(sums, floats.begin(),
                               [](int32_t sum) { return static_cast<float>(sum); });
        break;
      case VdlaOutputOp::kToInt8:
        std::ranges::transform(floats, sums.begin(), Saturated<int8_t>);
        break;
      case VdlaOutputOp::kToUint8:
        std::ranges::transform(floats, sums.begin(), Saturated<uint8_t>);
        break;
      case VdlaOutputOp::kRound:
        for (float& number : floats) number = std::nearbyint(number);
        break;
      default: {
        const Floats operand = OperandOf(step, channel, operands);
        if (step.op == VdlaOutputOp::kMultiply && IsSumNext(output, s)) {
          factors = operand;
          multiplies = true;
          break;
        }
        for (size_t i = 0; i < floats.size(); ++i) {
          floats[i] = multiplies ? MultiplyAdd(step.op, floats[i], factors[i], operand[i])
                                 : Combine(step.op, floats[i], operand[i]);
        }
        multiplies = false;
      }
    }
  }
}

}  // namespace tcc
