#include "codegen_cuda/text/scalar_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "codegen_cuda/text/c_types.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using P = Precedence;

Piece Primary(std::string text, bool wide = true) {
  return {std::move(text), P::kPrimary, wide};
}

Piece Casted(const std::string& type, const Piece& value) {
  return {fmt::format("({}){}", type, In(value, P::kUnary)), P::kUnary, true};
}

Piece Infix(const Piece& a, const char* op, const Piece& b, P precedence, bool wide) {
  P right = static_cast<P>(static_cast<int>(precedence) - 1);
  return {fmt::format("{} {} {}", In(a, precedence), op, In(b, right)), precedence, wide};
}

// The type that integer tensor arithmetic is done in: unsigned, so that it wraps.
std::string WrappingType(const Dialect& dialect, DType dtype) {
  return RegisterTypeText(dialect,
                          DType(dtype.bits() == 64 ? DTypeCode::kUInt64 : DTypeCode::kUInt32));
}

struct InfixRow {
  ExprKind kind;
  const char* text;
  P precedence;
};

constexpr InfixRow kArithmetic[] = {
    {ExprKind::kAdd, "+", P::kSum},
    {ExprKind::kSub, "-", P::kSum},
    {ExprKind::kMul, "*", P::kProduct},
    {ExprKind::kDiv, "/", P::kProduct},
};
constexpr InfixRow kComparisons[] = {
    {ExprKind::kEq, "==", P::kEquality},
    {ExprKind::kNe, "!=", P::kEquality},
    {ExprKind::kLt, "<", P::kOrder},
    {ExprKind::kLe, "<=", P::kOrder},
};

template <size_t n>
const InfixRow* FindRow(const InfixRow (&rows)[n], ExprKind kind) {
  for (const InfixRow& row : rows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

Piece Wrapped(const Dialect& dialect, const Piece& a, const InfixRow& row, const Piece& b,
              DType dtype) {
  std::string type = WrappingType(dialect, dtype);
  Piece sum = Infix(Casted(type, a), row.text, Casted(type, b), row.precedence, true);
  return Casted(RegisterTypeText(dialect, dtype), sum);
}

// Returns the prelude's function for an integer operation, one for each type.
const char* FunctionName(ExprKind kind) {
  if (kind == ExprKind::kMin) return "tcc_integer_min";
  if (kind == ExprKind::kMax) return "tcc_integer_max";
  if (kind == ExprKind::kFloorDiv) return "tcc_floor_div";
  if (kind == ExprKind::kFloorMod) return "tcc_floor_mod";
  TCC_CHECK(kind == ExprKind::kCeilDiv) << static_cast<int>(kind);
  return "tcc_ceil_div";
}

// An arithmetic shift rounds toward minus infinity, and a mask of a negative number is its residue.
std::optional<Piece> ByShift(ExprKind kind, const Piece& a, const Expr& divisor, bool wide) {
  std::optional<int64_t> constant = divisor ? AsConstant(divisor) : std::nullopt;
  if (!constant || *constant < 1 || !std::has_single_bit(static_cast<uint64_t>(*constant)))
    return std::nullopt;
  if (kind == ExprKind::kFloorDiv) {
    Piece count = Primary(std::to_string(std::countr_zero(static_cast<uint64_t>(*constant))));
    return Infix({In(a, P::kUnary)}, ">>", count, P::kShift, wide);
  }
  if (kind == ExprKind::kFloorMod) {
    return Infix({In(a, P::kUnary)}, "&", Primary(std::to_string(*constant - 1)), P::kBits, wide);
  }
  return std::nullopt;
}

Piece IndexBinary(const Dialect& dialect, ExprKind kind, Piece a, Piece b, const Expr& divisor,
                  IndexFacts facts) {
  bool wide = !facts.fits_int || a.wide || b.wide;
  if (wide) {
    a = Widened(dialect, a);
    b = Widened(dialect, b);
  }
  if (const InfixRow* row = FindRow(kArithmetic, kind))
    return Infix(a, row->text, b, row->precedence, wide);
  if (std::optional<Piece> shift = ByShift(kind, a, divisor, wide)) return *shift;
  if (facts.non_negative && kind == ExprKind::kFloorDiv) return Infix(a, "/", b, P::kProduct, wide);
  if (facts.non_negative && kind == ExprKind::kFloorMod) return Infix(a, "%", b, P::kProduct, wide);
  const std::string type = RegisterTypeText(dialect, wide ? kInt64 : kInt32);
  return Primary(
      fmt::format("{}({}, {})", dialect.Generic(FunctionName(kind), {type}), a.text, b.text), wide);
}

// Returns the name of C's function for f32 and f64; nullptr if the operation is written otherwise.
const char* MathName(ScalarOp op) {
  using enum ScalarOp;
  constexpr ScalarOp kNamedLikeC[] = {kExp,  kLog,   kLog1p, kSqrt,  kSin,   kCos,   kTan,   kAsin,
                                      kAcos, kAtan,  kSinh,  kCosh,  kAsinh, kAcosh, kAtanh, kTanh,
                                      kErf,  kFloor, kCeil,  kTrunc, kPow,   kFMod};
  if (std::ranges::find(kNamedLikeC, op) != std::end(kNamedLikeC)) return RowOf(op).text.data();
  if (op == kRound) return "rint";
  return op == kAbs ? "fabs" : nullptr;
}

std::string Arguments(const std::vector<Piece>& args) {
  return fmt::format("{}", fmt::join(std::views::transform(args, &Piece::text), ", "));
}

Piece FloatCall(const Dialect& dialect, ScalarOp op, DType dtype, const std::vector<Piece>& args) {
  bool is_double = dtype.code() == DTypeCode::kFloat64;
  std::string_view suffix = is_double || !dialect.has_float_suffix ? "" : "f";
  if (const char* name = MathName(op)) {
    return Primary(fmt::format("{}{}({})", name, suffix, Arguments(args)));
  }
  if (op == ScalarOp::kRsqrt) {
    return {fmt::format("{} / sqrt{}({})", is_double ? "1.0" : "1.0f", suffix, args[0].text),
            P::kProduct};
  }
  const std::string name = fmt::format("tcc_{}", RowOf(op).text);
  return Primary(fmt::format("{}({})", dialect.Overload(name, RegisterTypeText(dialect, dtype)),
                             Arguments(args)));
}

const char* BitOperator(ScalarOp op) {
  if (op == ScalarOp::kBitAnd) return "&";
  if (op == ScalarOp::kBitOr) return "|";
  return op == ScalarOp::kBitXor ? "^" : nullptr;
}

Piece IntegerCall(const Dialect& dialect, ScalarOp op, DType dtype, std::vector<Piece> args) {
  std::string type = RegisterTypeText(dialect, dtype);
  bool wide = std::ranges::any_of(args, [](const Piece& arg) { return arg.wide; });
  if (dtype.element() == kInt64 && !wide && BitOperator(op)) {
    return {
        fmt::format("{} {} {}", In(args[0], P::kUnary), BitOperator(op), In(args[1], P::kUnary)),
        P::kBits, false};
  }
  if (dtype.element() == kInt64) {
    for (Piece& arg : args) arg = Widened(dialect, arg);
  }
  if (const char* bits = BitOperator(op)) {
    // The precedences of & ^ | differ, so both operands get parentheses.
    std::string text =
        fmt::format("{} {} {}", In(args[0], P::kUnary), bits, In(args[1], P::kUnary));
    return Casted(type, {text, P::kBits});
  }
  if (op == ScalarOp::kBitNot) return Casted(type, {"~" + In(args[0], P::kUnary), P::kUnary});
  std::string name = fmt::format("tcc_{}", RowOf(op).text);
  if (op == ScalarOp::kSign) name = "tcc_integer_sign";
  if (op == ScalarOp::kAbs) name = "tcc_integer_abs";
  return Primary(fmt::format("{}({})", dialect.Generic(name, {type}), Arguments(args)));
}

// 2^bits as a literal of the floating type.
std::string PowerOfTwo(const Dialect& dialect, DType from, int bits) {
  return FloatLiteral(dialect, from, std::ldexp(1.0, bits));
}

Piece FloatToInteger(const Dialect& dialect, const Piece& value, DType from, DType to) {
  bool is_signed = MinValue(to) < 0;
  int magnitude = to.bits() - (is_signed ? 1 : 0);
  DType held = from.code() == DTypeCode::kFloat64 ? kFloat64 : kFloat32;
  std::string high = PowerOfTwo(dialect, held, magnitude);
  std::string low = is_signed ? "-" + high : FloatLiteral(dialect, held, 0);
  std::string function = dialect.Generic(
      "tcc_to_integer", {RegisterTypeText(dialect, to), RegisterTypeText(dialect, held)});
  return Primary(fmt::format("{}({}, {}, {}, {}, {})", function, value.text, low, high,
                             IntegerLiteral(dialect, to, MinValue(to)),
                             IntegerLiteral(dialect, to, MaxValue(to))));
}

Piece ToPacked(const Piece& value, DType to) {
  return Primary(fmt::format("tcc_{}({})", ToString(to.element()), Casted("int", value).text));
}

// Converts an integer to a float that rounds to the same narrow one as the integer itself would.
Piece IntegerToOdd(const Dialect& dialect, const Piece& value, DType from) {
  if (dialect.has_double) {
    return Primary(fmt::format("{}({})", dialect.Overload("tcc_to_odd", "double"),
                               Casted("double", value).text));
  }
  if (from.bits() <= 16) return Casted("float", value);  // exact
  const std::string type = RegisterTypeText(dialect, from);
  return Primary(fmt::format("{}({})", dialect.Overload("tcc_to_odd", type), value.text));
}

// Converts to f32, f64, or a float that Rounded then rounds to the narrow type.
Piece ToUnrounded(const Dialect& dialect, const Piece& value, DType from, DType to) {
  if (to.code() == DTypeCode::kFloat64) {
    return from.code() == DTypeCode::kFloat64 ? value : Casted("double", value);
  }
  if (to.code() == DTypeCode::kFloat32) {
    bool is_float = IsNarrowFloat(from) || from.code() == DTypeCode::kFloat32;
    return is_float ? value : Casted("float", value);
  }
  if (from.code() == DTypeCode::kFloat64) {
    return Primary(fmt::format("{}({})", dialect.Overload("tcc_to_odd", "double"), value.text));
  }
  return HoldsFloats(from) ? value : IntegerToOdd(dialect, value, from);
}

Piece ToFloat(const Dialect& dialect, const Piece& value, DType from, DType to) {
  Piece unrounded = ToUnrounded(dialect, value, from, to);
  unrounded.stored.clear();  // in the type `from`
  if (to.code() != DTypeCode::kFloat8E5M2) return unrounded;
  return Primary(fmt::format("tcc_finite_e5m2({})", unrounded.text));
}

}  // namespace

Piece Widened(const Dialect& dialect, const Piece& piece) {
  return piece.wide ? piece : Casted(RegisterTypeText(dialect, kInt64), piece);
}

Piece LiteralOf(const Dialect& dialect, const IntImm& imm) {
  bool is_index = imm.dtype.element() == kInt64;
  bool fits = is_index && imm.value >= -INT32_MAX && imm.value <= INT32_MAX;
  std::string text =
      fits ? std::to_string(imm.value) : IntegerLiteral(dialect, imm.dtype, imm.value);
  bool negative = text.starts_with("-");
  return {std::move(text), negative ? P::kUnary : P::kPrimary, !fits};
}

Piece LiteralOf(const Dialect& dialect, const FloatImm& imm) {
  std::string text = FloatLiteral(dialect, imm.dtype, imm.value);
  P precedence = text.starts_with("-") ? P::kUnary : P::kPrimary;
  Piece literal = {std::move(text), precedence};
  if (IsNarrowFloat(imm.dtype))
    literal.stored = NarrowLiteral(dialect, imm.dtype, static_cast<float>(imm.value));
  return literal;
}

Piece BinaryText(const Dialect& dialect, ExprKind kind, DType dtype, Piece a, Piece b,
                 const Expr& divisor, IndexFacts facts) {
  if (dtype.element() == kInt64)
    return IndexBinary(dialect, kind, std::move(a), std::move(b), divisor, facts);
  const InfixRow* row = FindRow(kArithmetic, kind);
  if (row && dtype.is_float()) return Infix(a, row->text, b, row->precedence, true);
  if (row) return Wrapped(dialect, a, *row, b, dtype);
  const std::string type = RegisterTypeText(dialect, dtype);
  if (dtype.is_float()) {
    const char* name = kind == ExprKind::kMin ? "tcc_min" : "tcc_max";
    return Primary(fmt::format("{}({}, {})", dialect.Overload(name, type), a.text, b.text));
  }
  return Primary(
      fmt::format("{}({}, {})", dialect.Generic(FunctionName(kind), {type}), a.text, b.text));
}

Piece ComparisonText(ExprKind kind, DType dtype, const Piece& a, const Piece& b) {
  const InfixRow* row = FindRow(kComparisons, kind);
  TCC_CHECK(row) << ToString(dtype);
  return Infix(a, row->text, b, row->precedence, true);
}

Piece CallText(const Dialect& dialect, ScalarOp op, DType dtype, const std::vector<Piece>& args) {
  return dtype.is_float() ? FloatCall(dialect, op, dtype, args)
                          : IntegerCall(dialect, op, dtype, args);
}

Piece CastText(const Dialect& dialect, const Piece& value, DType from, DType to) {
  if (from.element() == to.element()) return value;
  if (to.is_bool()) return {In(value, P::kEquality) + " != 0", P::kEquality};
  if (HoldsFloats(to)) return ToFloat(dialect, value, from, to);
  if (HoldsFloats(from)) return FloatToInteger(dialect, value, from, to);
  if (IsPacked(to)) return ToPacked(value, to);
  return Casted(RegisterTypeText(dialect, to), value);
}

bool NeedsRounding(const Expr& expr) {
  DType dtype = expr.dtype();
  if (!IsNarrowFloat(dtype)) return false;
  if (const auto* cast = expr.as<Cast>()) return cast->value.dtype().element() != dtype.element();
  return expr.as<Call>() || FindRow(kArithmetic, expr.kind());
}

Piece FromMemory(const Dialect& dialect, std::string cell, DType dtype) {
  if (!IsNarrowFloat(dtype)) return {std::move(cell)};
  Piece value = {
      fmt::format("{}({})", dialect.Overload("tcc_widen", ToString(dtype.element())), cell)};
  value.stored = std::move(cell);
  return value;
}

std::string MemoryText(const Piece& value, DType dtype) {
  if (!IsNarrowFloat(dtype)) return value.text;
  return value.stored.empty() ? NarrowingFunction(dtype) + "(" + value.text + ")" : value.stored;
}

Piece Rounded(const Dialect& dialect, const Piece& value, DType dtype) {
  return FromMemory(dialect, MemoryText(value, dtype), dtype);
}

}  // namespace tcc
