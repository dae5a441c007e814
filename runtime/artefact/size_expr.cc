#include "runtime/artefact/size_expr.h"

#include <algorithm>
#include <array>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

constexpr size_t kMaxDepth = 64;
// Bytes of one encoded instruction that has no value.
constexpr size_t kMinInstructionBytes = 1;

bool HasValue(SizeOp op) {
  return op == SizeOp::kConst || op == SizeOp::kVar;
}

// Returns how many values of the stack an operation takes; it leaves one.
size_t OperandsOf(SizeOp op) {
  if (HasValue(op)) return 0;
  return op == SizeOp::kSelect ? 3 : 2;
}

// False on overflow or a divisor below 1.
bool Apply(SizeOp op, int64_t lhs, int64_t rhs, int64_t* result) {
  switch (op) {
    case SizeOp::kAdd:
      return !__builtin_add_overflow(lhs, rhs, result);
    case SizeOp::kSub:
      return !__builtin_sub_overflow(lhs, rhs, result);
    case SizeOp::kMul:
      return !__builtin_mul_overflow(lhs, rhs, result);
    case SizeOp::kFloorDiv:
    case SizeOp::kCeilDiv:
    case SizeOp::kMod: {
      if (rhs < 1) return false;
      // Quotients cannot overflow: the divisor is positive and corrections go toward the exact one.
      int64_t remainder = lhs % rhs;
      if (op == SizeOp::kMod) {
        *result = remainder < 0 ? remainder + rhs : remainder;
        return true;
      }
      *result = lhs / rhs;
      if (op == SizeOp::kFloorDiv && remainder < 0) --*result;
      if (op == SizeOp::kCeilDiv && remainder > 0) ++*result;
      return true;
    }
    case SizeOp::kMin:
      *result = std::min(lhs, rhs);
      return true;
    case SizeOp::kMax:
      *result = std::max(lhs, rhs);
      return true;
    case SizeOp::kLess:
      *result = lhs < rhs ? 1 : 0;
      return true;
    case SizeOp::kEqual:
      *result = lhs == rhs ? 1 : 0;
      return true;
    case SizeOp::kConst:
    case SizeOp::kVar:
    case SizeOp::kSelect:
      break;
  }
  TCC_UNREACHABLE();
}

std::string OpText(SizeOp op, const std::string& lhs, const std::string& rhs) {
  switch (op) {
    case SizeOp::kAdd:
      return fmt::format("({} + {})", lhs, rhs);
    case SizeOp::kSub:
      return fmt::format("({} - {})", lhs, rhs);
    case SizeOp::kMul:
      return fmt::format("{} * {}", lhs, rhs);
    case SizeOp::kFloorDiv:
      return fmt::format("floordiv({}, {})", lhs, rhs);
    case SizeOp::kCeilDiv:
      return fmt::format("ceildiv({}, {})", lhs, rhs);
    case SizeOp::kMin:
      return fmt::format("min({}, {})", lhs, rhs);
    case SizeOp::kMax:
      return fmt::format("max({}, {})", lhs, rhs);
    case SizeOp::kMod:
      return fmt::format("mod({}, {})", lhs, rhs);
    case SizeOp::kLess:
      return fmt::format("({} < {})", lhs, rhs);
    case SizeOp::kEqual:
      return fmt::format("({} == {})", lhs, rhs);
    case SizeOp::kConst:
    case SizeOp::kVar:
    case SizeOp::kSelect:
      break;
  }
  TCC_UNREACHABLE();
}

}  // namespace

SizeExpr SizeExpr::Variable(int64_t index) {
  SizeExpr expr;
  expr.code = {{SizeOp::kVar, index}};
  return expr;
}

std::optional<int64_t> SizeExpr::AsConstant() const {
  for (const SizeInstruction& instruction : code) {
    if (instruction.op == SizeOp::kVar) return std::nullopt;
  }
  StatusOr<int64_t> value = Evaluate(*this, {});
  if (!value.ok()) return std::nullopt;
  return *value;
}

SizeExpr Combine(SizeOp op, const SizeExpr& lhs, const SizeExpr& rhs) {
  TCC_CHECK(OperandsOf(op) == 2) << static_cast<int>(op);
  SizeExpr result = lhs;
  result.code.insert(result.code.end(), rhs.code.begin(), rhs.code.end());
  result.code.push_back({op, 0});
  if (std::optional<int64_t> constant = result.AsConstant()) return SizeExpr(*constant);
  return result;
}

SizeExpr SelectSize(const SizeExpr& condition, const SizeExpr& taken, const SizeExpr& other) {
  if (std::optional<int64_t> decided = condition.AsConstant()) {
    return *decided != 0 ? taken : other;
  }
  SizeExpr result = condition;
  for (const SizeExpr* value : {&taken, &other}) {
    result.code.insert(result.code.end(), value->code.begin(), value->code.end());
  }
  result.code.push_back({SizeOp::kSelect, 0});
  return result;
}

Status CheckSizeExpr(const SizeExpr& expr, int64_t variables) {
  size_t depth = 0;
  for (const SizeInstruction& instruction : expr.code) {
    if (instruction.op == SizeOp::kVar &&
        (instruction.value < 0 || instruction.value >= variables)) {
      return InvalidInput("size expression reads variable {}; there are {}", instruction.value,
                          variables);
    }
    const size_t operands = OperandsOf(instruction.op);
    if (depth < operands) return InvalidInput("size expression lacks an operand");
    depth = depth - operands + 1;
    if (depth > kMaxDepth) return InvalidInput("size expression is deeper than {}", kMaxDepth);
  }
  if (depth != 1) return InvalidInput("size expression leaves {} values; expected 1", depth);
  return OkStatus();
}

StatusOr<int64_t> Evaluate(const SizeExpr& expr, std::span<const int64_t> variables) {
  std::array<int64_t, kMaxDepth> stack;
  size_t depth = 0;
  for (const SizeInstruction& instruction : expr.code) {
    if (HasValue(instruction.op)) {
      bool constant = instruction.op == SizeOp::kConst;
      stack[depth++] =
          constant ? instruction.value : variables[static_cast<size_t>(instruction.value)];
      continue;
    }
    depth -= OperandsOf(instruction.op) - 1;
    int64_t* values = &stack[depth - 1];
    if (instruction.op == SizeOp::kSelect) {
      values[0] = values[0] != 0 ? values[1] : values[2];
    } else if (!Apply(instruction.op, values[0], values[1], values)) {
      return InvalidInput("size {} overflows or divides by less than 1", ToString(expr));
    }
  }
  return stack[0];
}

std::vector<int64_t> VariablesOf(const SizeExpr& expr) {
  std::vector<int64_t> found;
  for (const SizeInstruction& instruction : expr.code) {
    if (instruction.op != SizeOp::kVar) continue;
    if (std::ranges::find(found, instruction.value) != found.end()) continue;
    found.push_back(instruction.value);
  }
  return found;
}

std::string ToString(const SizeExpr& expr, std::span<const std::string> names) {
  std::vector<std::string> stack;
  for (const SizeInstruction& instruction : expr.code) {
    if (instruction.op == SizeOp::kConst) {
      stack.push_back(fmt::format("{}", instruction.value));
    } else if (instruction.op == SizeOp::kVar) {
      size_t index = static_cast<size_t>(instruction.value);
      stack.push_back(index < names.size() ? names[index] : fmt::format("v{}", index));
    } else {
      std::string last = std::move(stack.back());
      stack.pop_back();
      if (instruction.op == SizeOp::kSelect) {
        std::string taken = std::move(stack.back());
        stack.pop_back();
        stack.back() = fmt::format("select({}, {}, {})", stack.back(), taken, last);
      } else {
        stack.back() = OpText(instruction.op, stack.back(), last);
      }
    }
  }
  return stack.back();
}

void Write(ByteWriter& writer, const SizeExpr& expr) {
  writer.Count(expr.code.size());
  for (const SizeInstruction& instruction : expr.code) {
    writer.U8(static_cast<uint8_t>(instruction.op));
    if (HasValue(instruction.op)) writer.I64(instruction.value);
  }
}

SizeExpr ReadSizeExpr(ByteReader& reader) {
  SizeExpr expr;
  expr.code.clear();
  size_t count = reader.Count(kMinInstructionBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    uint8_t op = reader.U8();
    if (op > static_cast<uint8_t>(SizeOp::kSelect)) {
      reader.Fail(InvalidInput("size expression has unknown operation {}", op));
      break;
    }
    SizeInstruction instruction{static_cast<SizeOp>(op), 0};
    if (HasValue(instruction.op)) instruction.value = reader.I64();
    expr.code.push_back(instruction);
  }
  return expr;
}

}  // namespace tcc
