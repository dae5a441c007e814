#include <fmt/ranges.h>

#include <string_view>

#include "runtime/artefact/plan.h"

namespace tcc {
namespace {

std::string_view KindText(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput:
      return "input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kWeight:
      return "weights";
    case BufferKind::kArena:
      return "arena";
  }
  __builtin_unreachable();
}

std::string BufferText(const PlanBuffer& buffer) {
  bool numbered = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
  return fmt::format("{}{} at {}, {} bytes", KindText(buffer.kind),
                     numbered ? fmt::format(" {}", buffer.index) : "", ToString(buffer.offset),
                     ToString(buffer.bytes));
}

struct InstructionText {
  std::span<const std::string> kernel_names;
  std::string indent;
  std::string& out;

  void Body(const std::vector<Instruction>& body) {
    InstructionText inner{kernel_names, indent + "  ", out};
    for (const Instruction& instruction : body) std::visit(inner, instruction.op);
  }
  void Line(const std::string& text) { out += indent + text + "\n"; }

  void operator()(const PlanCall& call) {
    std::string name = call.kernel < kernel_names.size() ? kernel_names[call.kernel]
                                                         : fmt::format("kernel{}", call.kernel);
    std::vector<std::string> args;
    for (BufferId buffer : call.buffers) args.push_back(fmt::format("b{}", buffer));
    for (const SizeExpr& arg : call.shape_args) args.push_back(ToString(arg));
    Line(fmt::format("call {}({})", name, fmt::join(args, ", ")));
  }
  void operator()(const PlanCopy& copy) {
    Line(fmt::format("copy b{} -> b{}", copy.from, copy.to));
  }
  void operator()(const PlanLoop& loop) {
    std::string head = fmt::format("loop c{} in 0..{}", loop.counter, ToString(loop.extent));
    if (loop.trip_count) head += fmt::format(" at most b{}", *loop.trip_count);
    if (loop.condition) head += fmt::format(" while b{}", *loop.condition);
    for (const auto& [first, second] : loop.swaps) {
      head += fmt::format(" swap b{} b{}", first, second);
    }
    Line(head);
    Body(loop.body);
  }
  void operator()(const PlanIf& branch) {
    Line(fmt::format("if b{}", branch.condition));
    Body(branch.then_body);
    if (branch.else_body.empty()) return;
    Line("else");
    Body(branch.else_body);
  }
  void operator()(const PlanSwitch& choice) {
    Line(fmt::format("switch {}", ToString(choice.which)));
    for (size_t i = 0; i < choice.bodies.size(); ++i) {
      Line(fmt::format("case {}", i));
      Body(choice.bodies[i]);
    }
  }
};

}  // namespace

std::string ToString(const Plan& plan, std::span<const std::string> kernel_names) {
  std::string out;
  for (size_t i = 0; i < plan.lets.size(); ++i) {
    out += fmt::format("let v{} = {}\n", plan.shape_variables + i, ToString(plan.lets[i]));
  }
  for (const PlanCheck& check : plan.checks) {
    out += fmt::format("check {}: {}\n", ToString(check.holds), check.message);
  }
  out += fmt::format("arena {} bytes\n", ToString(plan.arena_bytes));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    out += fmt::format("b{} = {}\n", i, BufferText(plan.buffers[i]));
  }
  InstructionText text{kernel_names, "", out};
  for (const Instruction& instruction : plan.body) std::visit(text, instruction.op);
  return out;
}

}  // namespace tcc
