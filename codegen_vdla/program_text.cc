#include "codegen_vdla/program_text.h"

#include <fmt/ranges.h>

#include <vector>

#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_output.h"

namespace tcc {
namespace {

std::string TokensText(VdlaUnit unit, const VdlaTokens& tokens) {
  constexpr char kLetters[] = "lcs";
  const auto at = static_cast<size_t>(unit);
  const auto before = [&] { return at > 0 ? kLetters[at - 1] : '?'; };
  const auto behind = [&] { return at + 1 < kVdlaUnits ? kLetters[at + 1] : '?'; };
  std::vector<std::string> words;
  if (tokens.pop_previous) words.push_back(fmt::format("<{}", before()));
  if (tokens.pop_next) words.push_back(fmt::format("<{}", behind()));
  if (tokens.push_previous) words.push_back(fmt::format(">{}", before()));
  if (tokens.push_next) words.push_back(fmt::format(">{}", behind()));
  return words.empty() ? "" : fmt::format(" [{}]", fmt::join(words, " "));
}

std::string WorkText(const VdlaCopy& copy) {
  std::string text =
      fmt::format("{}[{}] buffer {}[{}] size {} stride {} pad {}", NameOf(copy.on_chip),
                  copy.on_chip_at, copy.buffer, copy.memory_at, fmt::join(copy.size, "x"),
                  fmt::join(copy.stride, ","), fmt::join(copy.pad, ","));
  if (copy.fill != 0) text += fmt::format(" fill {}", copy.fill);
  if (copy.flips) text += " flip";
  if (copy.output != kVdlaNoOutput) {
    text += fmt::format(" output {} channel {}", copy.output, copy.channel_at);
  }
  return text;
}

std::string OutputText(const VdlaOutput& output) {
  std::vector<std::string> steps;
  for (const VdlaOutputStep& step : output.steps) {
    const std::string operand = step.is_by_channel ? fmt::format(" buffer {}", step.buffer)
                                                   : fmt::format(" {}", step.number);
    steps.push_back(NameOf(step.op) + (HasOperand(step.op) ? operand : ""));
  }
  return fmt::format("{} channels: {}", output.channels, fmt::join(steps, ", "));
}

std::string WorkText(const VdlaGemm& gemm) {
  return fmt::format("{} micro-ops {}..{} loops {} steps {} {} {}", gemm.reset ? "reset" : "gemm",
                     gemm.first, gemm.last, fmt::join(gemm.loops, "x"),
                     fmt::join(gemm.steps[0], ","), fmt::join(gemm.steps[1], ","),
                     fmt::join(gemm.steps[2], ","));
}

}  // namespace

std::string ProgramText(const std::string& name, const VdlaProgram& program) {
  std::string text =
      fmt::format("; vdla program {}: {} buffers, {} micro-ops, {} instructions\n", name,
                  program.buffers, program.micro_ops.size(), program.instructions.size());
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    text += fmt::format("; output {}: {}\n", i, OutputText(program.outputs[i]));
  }
  for (const VdlaInstruction& instruction : program.instructions) {
    const VdlaUnit unit = UnitOf(instruction);
    text +=
        fmt::format("{:<8}{}{}\n", NameOf(unit),
                    std::visit([](const auto& work) { return WorkText(work); }, instruction.work),
                    TokensText(unit, instruction.tokens));
  }
  return text;
}

}  // namespace tcc
