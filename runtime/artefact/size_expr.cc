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
    case SizeOp::kCeilDiv: {
      if (rhs < 1) return false;
      // Quotients cannot overflow: the divisor is positive and corrections go toward the exact one.
      int64_t remainder = lhs % rhs;
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
    case SizeOp::kConst:
    case SizeOp::kVar:
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
    case SizeOp::kConst:
    case SizeOp::kVar:
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
  TCC_CHECK(!HasValue(op)) << static_cast<int>(op);
  SizeExpr result = lhs;
  result.code.insert(result.code.end(), rhs.code.begin(), rhs.code.end());
  result.code.push_back({op, 0});
  if (std::optional<int64_t> constant = result.AsConstant()) return SizeExpr(*constant);
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
    if (HasValue(instruction.op)) {
      if (++depth > kMaxDepth) return InvalidInput("size expression is deeper than {}", kMaxDepth);
    } else {
      if (depth < 2) return InvalidInput("size expression lacks an operand");
      --depth;
    }
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
    --depth;
    if (!Apply(instruction.op, stack[depth - 1], stack[depth], &stack[depth - 1])) {
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
      std::string rhs = std::move(stack.back());
      stack.pop_back();
      stack.back() = OpText(instruction.op, stack.back(), rhs);
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
    if (op > static_cast<uint8_t>(SizeOp::kMax)) {
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
