#include "codegen_llvm/packed_bytes.h"

#include <vector>

#include "ir/simplify/simplify.h"
#include "lower/lane_index.h"

namespace tcc {
namespace {

constexpr int64_t kBytes = 4;

std::optional<int64_t> NumberOf(const Expr& expr) {
  const auto* broadcast = expr.as<Broadcast>();
  return AsConstant(broadcast ? broadcast->value : expr);
}

// Returns the operand of a call of `op` whose other operand is a number.
struct Operand {
  Expr value;
  int64_t number = 0;
};
std::optional<Operand> OperandOf(const Expr& expr, ScalarOp op) {
  const auto* call = expr.as<Call>();
  std::optional<int64_t> number = call && call->op == op ? NumberOf(call->args[1]) : std::nullopt;
  return number ? std::optional(Operand{call->args[0], *number}) : std::nullopt;
}

// Returns the load of a byte that the term places `shift` bits up.
const Load* ByteAt(const Expr& term, int64_t shift) {
  Expr byte = term;
  if (shift > 0) {
    std::optional<Operand> placed = OperandOf(term, ScalarOp::kShiftLeft);
    if (!placed || placed->number != shift) return nullptr;
    byte = placed->value;
  }
  std::optional<Operand> masked = OperandOf(byte, ScalarOp::kBitAnd);
  const auto* cast = masked && masked->number == 0xff ? masked->value.as<Cast>() : nullptr;
  const auto* load = cast ? cast->value.as<Load>() : nullptr;
  bool is_byte =
      load && load->indices.size() == 1 && load->dtype.is_integer() && load->dtype.bits() == 8;
  return is_byte ? load : nullptr;
}

// Returns the index of the byte in lane 0, if those of the other lanes are a word further each.
std::optional<Expr> FirstIndex(const Load& load) {
  if (load.dtype.lanes() == 1) return load.indices[0];
  std::optional<LaneIndex> lanes = MatchLaneIndex(load.indices[0]);
  return lanes && lanes->stride == kBytes ? std::optional(lanes->base) : std::nullopt;
}

}  // namespace

std::optional<PackedBytes> MatchPackedBytes(const Call& call) {
  if (call.op != ScalarOp::kBitOr || call.dtype.element() != kInt32) return std::nullopt;
  // The highest byte is the outermost operand.
  std::optional<PackedBytes> packed;
  Expr rest(&call);
  std::vector<Expr> indices;
  for (int64_t n = kBytes - 1; n >= 0; --n) {
    const auto* parts = n > 0 ? rest.as<Call>() : nullptr;
    if (n > 0 && (!parts || parts->op != ScalarOp::kBitOr)) return std::nullopt;
    const Load* load = ByteAt(n > 0 ? parts->args[1] : rest, 8 * n);
    std::optional<Expr> index = load ? FirstIndex(*load) : std::nullopt;
    if (!index || (packed && packed->buffer != load->buffer)) return std::nullopt;
    packed = PackedBytes{load->buffer, *index};
    indices.insert(indices.begin(), *index);
    if (n > 0) rest = Expr(parts->args[0]);
  }
  for (int64_t n = 1; n < kBytes; ++n) {
    if (!IsConstant(Simplify(indices[n] - indices[0]), n)) return std::nullopt;
  }
  return packed;
}

}  // namespace tcc
