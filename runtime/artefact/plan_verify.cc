#include "runtime/artefact/plan.h"

#include <algorithm>

#include "support/printable.h"
#include "support/tensor.h"

namespace tcc {
namespace {

// Bytes of a static tensor; nothing if a dimension depends on a variable.
StatusOr<std::optional<int64_t>> StaticBytes(const TensorInfo& info) {
  std::optional<std::vector<int64_t>> shape = StaticShape(info);
  if (!shape) return std::optional<int64_t>();
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(info.dtype, *shape));
  return std::optional(bytes);
}

class PlanVerifier {
 public:
  PlanVerifier(const Plan& plan, const Metadata& metadata, int64_t weights_bytes)
      : plan_(plan), metadata_(metadata), weights_bytes_(weights_bytes) {}

  Status Verify() {
    if (plan_.shape_variables != metadata_.shape_variables.size()) {
      return InvalidInput("plan has {} shape variables; the metadata has {}", plan_.shape_variables,
                          metadata_.shape_variables.size());
    }
    if (plan_.counters > static_cast<uint32_t>(kMaxPlanDepth)) {
      return InvalidInput("plan has {} loop counters; at most {} can be in use", plan_.counters,
                          kMaxPlanDepth);
    }
    in_scope_.assign(plan_.counters, false);
    TCC_RETURN_IF_ERROR(CheckFixed());
    TCC_RETURN_IF_ERROR(Annotate(CheckArena(), "plan: arena"));
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      TCC_RETURN_IF_ERROR(
          Annotate(CheckBuffer(plan_.buffers[i]), fmt::format("plan: buffer {}", i)));
    }
    TCC_RETURN_IF_ERROR(CheckWholes(BufferKind::kInput, metadata_.inputs));
    TCC_RETURN_IF_ERROR(CheckWholes(BufferKind::kOutput, metadata_.outputs));
    return CheckBody(plan_.body, 0);
  }

  Status operator()(const PlanCall& call) {
    if (call.kernel >= metadata_.kernels.size()) {
      return InvalidInput("plan calls kernel {}; there are {}", call.kernel,
                          metadata_.kernels.size());
    }
    for (BufferId buffer : call.buffers) TCC_RETURN_IF_ERROR(CheckUse(buffer));
    const KernelInfo& kernel = metadata_.kernels[call.kernel];
    if (call.shape_args.size() != kernel.shape_args.size()) {
      return InvalidInput("plan calls kernel {} with {} sizes; it takes {}", call.kernel,
                          call.shape_args.size(), kernel.shape_args.size());
    }
    for (const SizeExpr& arg : call.shape_args) TCC_RETURN_IF_ERROR(CheckInScope(arg));
    return OkStatus();
  }

  Status operator()(const PlanCopy& copy) {
    TCC_RETURN_IF_ERROR(CheckUse(copy.from));
    TCC_RETURN_IF_ERROR(CheckUse(copy.to));
    const PlanBuffer &from = plan_.buffers[copy.from], &to = plan_.buffers[copy.to];
    if (to.kind == BufferKind::kInput || to.kind == BufferKind::kWeight) {
      return InvalidInput("plan copies to buffer {}, which is read-only", copy.to);
    }
    std::optional<int64_t> have = from.bytes.AsConstant(), need = to.bytes.AsConstant();
    if (have && need && *have != *need) {
      return InvalidInput("plan copies buffer {} of {} bytes to buffer {} of {}", copy.from, *have,
                          copy.to, *need);
    }
    return OkStatus();
  }

  Status operator()(const PlanLoop& loop) {
    if (loop.counter >= plan_.counters || in_scope_[loop.counter]) {
      return InvalidInput(
          "plan has a loop over counter {}; expected one below {} that no loop around"
          " it uses",
          loop.counter, plan_.counters);
    }
    TCC_RETURN_IF_ERROR(CheckInScope(loop.extent));
    if (loop.trip_count) TCC_RETURN_IF_ERROR(CheckScalar(*loop.trip_count, sizeof(int64_t)));
    if (loop.condition) TCC_RETURN_IF_ERROR(CheckScalar(*loop.condition, 1));
    for (const auto& [first, second] : loop.swaps) TCC_RETURN_IF_ERROR(CheckSwap(first, second));
    in_scope_[loop.counter] = true;
    Status status = CheckBody(loop.body, depth_ + 1);
    in_scope_[loop.counter] = false;
    return status;
  }

  Status operator()(const PlanIf& branch) {
    TCC_RETURN_IF_ERROR(CheckScalar(branch.condition, 1));
    int depth = depth_ + 1;
    TCC_RETURN_IF_ERROR(CheckBody(branch.then_body, depth));
    return CheckBody(branch.else_body, depth);
  }

  Status operator()(const PlanSwitch& choice) {
    TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(choice.which, fixed_variables()), "plan: switch"));
    std::optional<int64_t> which = choice.which.AsConstant();
    if (which && (*which < 0 || static_cast<size_t>(*which) >= choice.bodies.size())) {
      return InvalidInput("plan switches to body {}; there are {}", *which, choice.bodies.size());
    }
    int depth = depth_ + 1;
    for (const std::vector<Instruction>& body : choice.bodies) {
      TCC_RETURN_IF_ERROR(CheckBody(body, depth));
    }
    return OkStatus();
  }

 private:
  int64_t fixed_variables() const { return static_cast<int64_t>(plan_.fixed_variables()); }
  int64_t variables() const { return fixed_variables() + plan_.counters; }

  Status CheckFixed() {
    for (size_t i = 0; i < plan_.lets.size(); ++i) {
      auto before = static_cast<int64_t>(plan_.shape_variables + i);
      TCC_RETURN_IF_ERROR(
          Annotate(CheckSizeExpr(plan_.lets[i], before), fmt::format("plan: let {}", i)));
    }
    for (const PlanCheck& check : plan_.checks) {
      TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(check.holds, fixed_variables()), "plan: check"));
      if (IsPlainText(check.message)) continue;
      return InvalidInput("plan has a message that is not UTF-8 or holds control characters");
    }
    return OkStatus();
  }

  Status CheckArena() {
    TCC_RETURN_IF_ERROR(CheckSizeExpr(plan_.arena_bytes, fixed_variables()));
    if (!VariablesOf(plan_.arena_bytes).empty()) return OkStatus();
    TCC_ASSIGN_OR_RETURN(int64_t bytes, Evaluate(plan_.arena_bytes, {}));
    return CheckExtent(0, bytes, INT64_MAX);
  }

  // How many bytes a buffer's memory has, where that is known.
  StatusOr<std::optional<int64_t>> LimitOf(const PlanBuffer& buffer) {
    switch (buffer.kind) {
      case BufferKind::kInput:
      case BufferKind::kOutput: {
        bool input = buffer.kind == BufferKind::kInput;
        const std::vector<TensorInfo>& list = input ? metadata_.inputs : metadata_.outputs;
        if (buffer.index < list.size()) return StaticBytes(list[buffer.index]);
        return InvalidInput("names {} {}; there are {}", input ? "input" : "output", buffer.index,
                            list.size());
      }
      case BufferKind::kWeight:
        return std::optional(weights_bytes_);
      case BufferKind::kArena:
        return plan_.arena_bytes.AsConstant();
    }
    __builtin_unreachable();
  }

  Status CheckBuffer(const PlanBuffer& buffer) {
    TCC_RETURN_IF_ERROR(CheckSizeExpr(buffer.offset, variables()));
    TCC_RETURN_IF_ERROR(CheckSizeExpr(buffer.bytes, variables()));
    TCC_ASSIGN_OR_RETURN(std::optional<int64_t> limit, LimitOf(buffer));
    if (!VariablesOf(buffer.offset).empty() || !VariablesOf(buffer.bytes).empty()) {
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(int64_t offset, Evaluate(buffer.offset, {}));
    TCC_ASSIGN_OR_RETURN(int64_t bytes, Evaluate(buffer.bytes, {}));
    return CheckExtent(offset, bytes, limit.value_or(INT64_MAX));
  }

  // Kernels made for smaller tensors would see parts of these.
  Status CheckWholes(BufferKind kind, const std::vector<TensorInfo>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(std::optional<int64_t> bytes, StaticBytes(tensors[i]));
      int64_t most = -1;
      for (const PlanBuffer& buffer : plan_.buffers) {
        if (buffer.kind != kind || buffer.index != i) continue;
        most = std::max(most, buffer.bytes.AsConstant().value_or(INT64_MAX));
      }
      if (!bytes || most < 0 || most >= *bytes) continue;
      return InvalidInput("plan was made for {} bytes of '{}'; the metadata says {} bytes", most,
                          tensors[i].name, *bytes);
    }
    return OkStatus();
  }

  // The counters that an expression reads belong to loops around.
  Status CheckInScope(const SizeExpr& expr) {
    TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(expr, variables()), "plan"));
    for (int64_t variable : VariablesOf(expr)) {
      int64_t counter = variable - fixed_variables();
      if (counter >= 0 && !in_scope_[static_cast<size_t>(counter)]) {
        return InvalidInput("plan reads loop counter {} outside its loop", counter);
      }
    }
    return OkStatus();
  }

  Status CheckUse(BufferId id) {
    if (id >= plan_.buffers.size()) {
      return InvalidInput("plan uses buffer {}; there are {}", id, plan_.buffers.size());
    }
    TCC_RETURN_IF_ERROR(CheckInScope(plan_.buffers[id].offset));
    return CheckInScope(plan_.buffers[id].bytes);
  }

  Status CheckScalar(BufferId id, int64_t bytes) {
    TCC_RETURN_IF_ERROR(CheckUse(id));
    if (plan_.buffers[id].bytes.AsConstant() == bytes) return OkStatus();
    return InvalidInput("plan reads buffer {} of {} bytes as a scalar of {}", id,
                        ToString(plan_.buffers[id].bytes), bytes);
  }

  // Either buffer may stand for the other afterwards, anywhere.
  Status CheckSwap(BufferId first, BufferId second) {
    for (BufferId id : {first, second}) {
      TCC_RETURN_IF_ERROR(CheckUse(id));
      const PlanBuffer& buffer = plan_.buffers[id];
      auto is_counter = [&](int64_t variable) { return variable >= fixed_variables(); };
      std::vector<int64_t> offset = VariablesOf(buffer.offset), bytes = VariablesOf(buffer.bytes);
      if (buffer.kind != BufferKind::kArena || std::ranges::any_of(offset, is_counter) ||
          std::ranges::any_of(bytes, is_counter)) {
        return InvalidInput("plan swaps buffer {}; expected a fixed place in the arena", id);
      }
    }
    if (plan_.buffers[first].bytes == plan_.buffers[second].bytes) return OkStatus();
    return InvalidInput("plan swaps buffer {} of {} bytes with buffer {} of {}", first,
                        ToString(plan_.buffers[first].bytes), second,
                        ToString(plan_.buffers[second].bytes));
  }

  Status CheckBody(const std::vector<Instruction>& body, int depth) {
    if (depth > kMaxPlanDepth) {
      return InvalidInput("plan nests Loop, If and Switch deeper than {}", kMaxPlanDepth);
    }
    for (const Instruction& instruction : body) {
      depth_ = depth;
      TCC_RETURN_IF_ERROR(std::visit(*this, instruction.op));
    }
    return OkStatus();
  }

  const Plan& plan_;
  const Metadata& metadata_;
  int64_t weights_bytes_;
  std::vector<bool> in_scope_;  // by counter
  int depth_ = 0;               // of the instruction at hand
};

}  // namespace

bool IsWithin(int64_t offset, int64_t bytes, int64_t limit) {
  // Written without offset + bytes, which may overflow.
  return offset >= 0 && bytes >= 0 && bytes <= limit && offset <= limit - bytes;
}

Status CheckExtent(int64_t offset, int64_t bytes, int64_t limit) {
  if (IsWithin(offset, bytes, limit)) return OkStatus();
  return InvalidInput("{} bytes at {} do not lie within {} bytes", bytes, offset, limit);
}

void ForEachInstruction(const std::vector<Instruction>& body,
                        const std::function<void(const Instruction&)>& visit) {
  for (const Instruction& instruction : body) {
    visit(instruction);
    if (const auto* loop = std::get_if<PlanLoop>(&instruction.op)) {
      ForEachInstruction(loop->body, visit);
    }
    if (const auto* branch = std::get_if<PlanIf>(&instruction.op)) {
      ForEachInstruction(branch->then_body, visit);
      ForEachInstruction(branch->else_body, visit);
    }
    if (const auto* choice = std::get_if<PlanSwitch>(&instruction.op)) {
      for (const std::vector<Instruction>& one : choice->bodies) ForEachInstruction(one, visit);
    }
  }
}

std::vector<const PlanCall*> CallsIn(const std::vector<Instruction>& body) {
  std::vector<const PlanCall*> calls;
  ForEachInstruction(body, [&](const Instruction& instruction) {
    if (const auto* call = std::get_if<PlanCall>(&instruction.op)) calls.push_back(call);
  });
  return calls;
}

Status VerifyPlan(const Plan& plan, const Metadata& metadata, int64_t weights_bytes) {
  return PlanVerifier(plan, metadata, weights_bytes).Verify();
}

}  // namespace tcc
