#include "codegen_cuda/text/expr_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "codegen_cuda/text/c_types.h"
#include "codegen_cuda/text/divisor.h"
#include "codegen_cuda/text/scalar_text.h"
#include "codegen_cuda/text/warp_call.h"
#include "ir/expr/compare.h"
#include "ir/expr/lane_of.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/lane_index.h"
#include "support/check.h"
#include "support/storage_types.h"
#include "support/target.h"

namespace tcc {
namespace {

using P = Precedence;

bool IsLeaf(const Expr& expr) {
  return expr.as<IntImm>() || expr.as<FloatImm>() || expr.as<VarNode>();
}

std::vector<Expr> OperandsOf(const Expr& expr) {
  std::vector<Expr> operands;
  ForEachChild(expr, [&](const Expr& child) { operands.push_back(child); });
  return operands;
}

// Returns the type of a constant or variable: a narrow float stays in its memory type, so that a
// store need not convert it again.
std::string TypeText(const Dialect& dialect, DType dtype, bool wide) {
  if (dtype == kInt64 && !wide) return "int";
  return IsNarrowFloat(dtype) ? MemoryTypeText(dialect, dtype) : RegisterTypeText(dialect, dtype);
}

// Returns the value of a constant or variable.
Piece Named(const Dialect& dialect, const std::string& name, DType dtype, bool wide) {
  Piece piece = FromMemory(dialect, name, dtype);
  piece.wide = wide;
  return piece;
}

}  // namespace

void ExprText::Start(const std::vector<Expr>& roots) {
  uses_.clear();
  memo_.assign(1, {});
  shared_.clear();
  for (const Expr& root : roots) {
    if (root) CountUses(root);
  }
}

void ExprText::CountUses(const Expr& expr) {
  if (IsLeaf(expr) || ++uses_[expr.get()] > 1) return;
  for (const Expr& operand : OperandsOf(expr)) CountUses(operand);
}

// Uses are counted, and values remembered, by the address of a node.
Expr ExprText::Shared(const Expr& expr) {
  return RewriteBottomUp(expr, [&](const Expr& node) { return *shared_.insert(node).first; });
}

const ExprText::Pieces* ExprText::Find(const Expr& expr) const {
  for (const auto& layer : memo_) {
    auto found = layer.find(expr.get());
    if (found != layer.end()) return &found->second.second;
  }
  return nullptr;
}

const ExprText::Pieces& ExprText::Remember(const Expr& expr, Pieces pieces) {
  return memo_.back()
      .insert_or_assign(expr.get(), std::pair(expr, std::move(pieces)))
      .first->second.second;
}

void ExprText::Declare(const std::string& name, DType dtype, const Piece& value) {
  kernel_.Line(fmt::format("const {} {} = {};", TypeText(dialect(), dtype, value.wide), name,
                           MemoryText(value, dtype)));
}

ExprText::Pieces ExprText::Name(const Expr& expr, Pieces pieces) {
  DType dtype = expr.dtype().element();
  for (Piece& piece : pieces) {
    std::string name = kernel_.Fresh("t");
    Declare(name, dtype, piece);
    piece = Named(dialect(), name, dtype, piece.wide);
  }
  return pieces;
}

Piece ExprText::Emit(const Expr& expr) {
  TCC_CHECK(expr.dtype().lanes() == 1) << "a vector where a scalar is due";
  return EmitLanes(expr)[0];
}

std::vector<Piece> ExprText::EmitLanes(const Expr& expr) {
  if (const Pieces* found = Find(expr)) return *found;
  Pieces pieces = Node(expr);
  auto uses = uses_.find(expr.get());
  if (uses == uses_.end() || uses->second < 2) return pieces;
  return Remember(expr, Name(expr, std::move(pieces)));
}

ExprText::Pieces ExprText::Node(const Expr& expr) {
  if (const auto* select = expr.as<Select>()) {
    // ptxas converts neighbouring floats in pairs, but takes halves apart to select them.
    Expr value = SelectBeforeRounding(*select);
    return value ? Node(Make<Cast>(expr.dtype(), value)) : SelectNode(*select);
  }
  if (expr.dtype().lanes() > 1) return VectorNode(expr);
  Piece piece = ScalarNode(expr);
  return {NeedsRounding(expr) ? Rounded(dialect(), piece, expr.dtype()) : piece};
}

Expr ExprText::BeforeRounding(const Expr& expr) const {
  if (const auto* imm = expr.as<FloatImm>()) return Make<FloatImm>(kFloat32, imm->value);
  auto uses = uses_.find(expr.get());
  if (uses != uses_.end() && uses->second > 1) return {};
  if (const auto* cast = expr.as<Cast>()) {
    return cast->value.dtype().element() == kFloat32 ? cast->value : Expr();
  }
  if (const auto* splat = expr.as<Broadcast>()) {
    Expr value = BeforeRounding(splat->value);
    return value ? Make<Broadcast>(value, splat->lanes) : Expr();
  }
  const auto* select = expr.as<Select>();
  return select ? SelectBeforeRounding(*select) : Expr();
}

Expr ExprText::SelectBeforeRounding(const Select& select) const {
  DTypeCode code = select.dtype.code();
  if (code != DTypeCode::kFloat16 && code != DTypeCode::kBFloat16) return {};
  Expr a = BeforeRounding(select.then_value);
  Expr b = a ? BeforeRounding(select.else_value) : Expr();
  return b ? Make<Select>(select.condition, a, b) : Expr();
}

Piece ExprText::ScalarNode(const Expr& expr) {
  return VisitExpr(expr, Overloaded{
                             [&](const IntImm& imm) { return LiteralOf(dialect(), imm); },
                             [&](const FloatImm& imm) { return LiteralOf(dialect(), imm); },
                             [&](const VarNode& var) { return Variable(var); },
                             [&](const And& node) { return Logical(true, node.a, node.b); },
                             [&](const Or& node) { return Logical(false, node.a, node.b); },
                             [&](const Load& node) {
                               TCC_CHECK(node.indices.size() == 1)
                                   << node.buffer->name << " is not flat";
                               return LoadScalar(node.buffer, node.indices[0]);
                             },
                             [](const Ramp&) -> Piece { TCC_UNREACHABLE(); },
                             [](const Broadcast&) -> Piece { TCC_UNREACHABLE(); },
                             [](const Select&) -> Piece { TCC_UNREACHABLE(); },
                             [&](const auto&) { return Operation(expr, OperandsOf(expr))[0]; },
                         });
}

Piece ExprText::Variable(const VarNode& var) {
  return Named(dialect(), kernel_.NameOf(Var(&var)), var.dtype.element(),
               kernel_.wide.contains(&var));
}

bool ExprText::FitsInt(const Expr& expr) const {
  Interval bounds = BoundsOf(expr, kernel_.bounds);
  return bounds.low >= -INT32_MAX && bounds.high <= INT32_MAX;
}

// Emits arithmetic, comparisons, negation, calls and casts, which are the same for every lane.
ExprText::Pieces ExprText::Operation(const Expr& expr, const std::vector<Expr>& operands) {
  std::vector<Pieces> args;
  size_t lanes = 1;
  for (const Expr& operand : operands) {
    args.push_back(EmitLanes(operand));
    lanes = std::max(lanes, args.back().size());
  }
  DType from = operands[0].dtype().element();
  DType to = expr.dtype().element();
  IndexFacts facts;
  if (from == kInt64 && lanes == 1) {
    facts.fits_int = to != kInt64 || FitsInt(expr);
    facts.non_negative = BoundsOf(operands[0], kernel_.bounds).low >= 0;
  }
  Pieces result;
  for (size_t l = 0; l < lanes; ++l) {
    auto at = [&](size_t i) { return args[i].size() == 1 ? args[i][0] : args[i][l]; };
    if (expr.as<Cast>()) {
      result.push_back(CastText(dialect(), at(0), from, to));
    } else if (const auto* call = expr.as<Call>()) {
      std::vector<Piece> of_lane;
      for (size_t i = 0; i < args.size(); ++i) of_lane.push_back(at(i));
      result.push_back(CallText(dialect(), call->op, from, of_lane));
    } else if (expr.as<Not>()) {
      // "(!a) == b", which warns without the parentheses.
      P precedence = dialect().is_pedantic ? P::kBits : P::kUnary;
      result.push_back({"!" + In(at(0), P::kUnary), precedence});
    } else if (to.is_bool()) {
      result.push_back(ComparisonText(expr.kind(), from, at(0), at(1)));
    } else {
      result.push_back(BinaryText(dialect(), expr.kind(), to, at(0), at(1), operands[1], facts));
    }
  }
  return result;
}

ExprText::Arm ExprText::InArm(const Expr& expr) {
  Arm arm;
  std::vector<std::string> before = kernel_.TakeLines();
  memo_.emplace_back();
  arm.pieces = EmitLanes(expr);
  memo_.pop_back();
  arm.lines = kernel_.TakeLines();
  kernel_.Append(std::move(before));
  return arm;
}

Piece ExprText::Logical(bool is_and, const Expr& a, const Expr& b) {
  Piece first = Emit(a);
  Arm second = InArm(b);
  P precedence = is_and ? P::kAnd : P::kOr;
  if (second.lines.empty()) {
    const bool shows_all = !is_and && dialect().is_pedantic;  // "(a && b) || c"
    return {
        fmt::format("{} {} {}", In(first, shows_all ? P::kBits : precedence), is_and ? "&&" : "||",
                    In(second.pieces[0], is_and || shows_all ? P::kBits : P::kAnd)),
        precedence};
  }
  std::string name = kernel_.Fresh("t");
  kernel_.Line(fmt::format("bool {} = {};", name, first.text));
  kernel_.Open(fmt::format("if ({}{})", is_and ? "" : "!", name));
  kernel_.Append(std::move(second.lines));
  kernel_.Line(fmt::format("{} = {};", name, second.pieces[0].text));
  kernel_.Close();
  return {name};
}

ExprText::Pieces ExprText::SelectNode(const Select& select) {
  const auto* splat = select.condition.as<Broadcast>();
  const Expr& condition = splat ? splat->value : select.condition;
  if (condition.dtype().lanes() > 1) return LaneByLane(Expr(&select));

  Piece test = Emit(condition);
  Arm then_arm = InArm(select.then_value);
  Arm else_arm = InArm(select.else_value);
  size_t lanes = std::max(then_arm.pieces.size(), else_arm.pieces.size());
  auto lane = [](const Arm& arm, size_t l) {
    return arm.pieces.size() == 1 ? arm.pieces[0] : arm.pieces[l];
  };
  DType dtype = select.dtype.element();
  Pieces result;
  if (lanes == 1 && then_arm.lines.empty() && else_arm.lines.empty()) {
    Piece a = lane(then_arm, 0);
    Piece b = lane(else_arm, 0);
    if (IsNarrowFloat(dtype)) {
      // The emulator's cells of two buffers have no type in common until one is converted.
      std::string cast = a.stored.empty() ? "" : "(" + MemoryTypeText(dialect(), dtype) + ")";
      return {FromMemory(dialect(),
                         fmt::format("({} ? {}{} : {})", In(test, P::kOr), cast,
                                     MemoryText(a, dtype), MemoryText(b, dtype)),
                         dtype)};
    }
    bool wide = dtype == kInt64 && (a.wide || b.wide);
    return {{fmt::format("{} ? {} : {}", In(test, P::kOr), In(a, P::kOr), In(b, P::kTernary)),
             P::kTernary, wide}};
  }
  std::vector<std::string> names;
  for (size_t l = 0; l < lanes; ++l) {
    names.push_back(kernel_.Fresh("t"));
    kernel_.Line(fmt::format("{} {};", TypeText(dialect(), dtype, true), names[l]));
    result.push_back(Named(dialect(), names[l], dtype, true));
  }
  auto assign = [&](Arm& arm) {
    kernel_.Append(std::move(arm.lines));
    for (size_t l = 0; l < lanes; ++l) {
      kernel_.Line(fmt::format("{} = {};", names[l], MemoryText(lane(arm, l), dtype)));
    }
  };
  kernel_.Open(fmt::format("if ({})", test.text));
  assign(then_arm);
  kernel_.Else();
  assign(else_arm);
  kernel_.Close();
  return result;
}

const Buffer& ExprText::BufferOf(const Var& var) const {
  auto found = kernel_.buffers.find(var.get());
  TCC_CHECK(found != kernel_.buffers.end()) << var->name << " is not declared here";
  return found->second;
}

bool ExprText::IsShuffled(const Var& buffer) const {
  auto found = kernel_.buffers.find(buffer.get());
  return found != kernel_.buffers.end() && found->second.scope == Scope::kWarp &&
         !kernel_.tile_words.contains(buffer.get());
}

bool ExprText::IsOwnLane(const Expr& index) const {
  Bounds bounds = kernel_.bounds;
  std::array<Var, 3> threads;
  Expr number(0);
  for (size_t axis = 3; axis-- > 0;) {
    int64_t along = kernel_.threads[axis];
    threads[axis] = LoopVar("t");
    bounds[threads[axis]] = {0, along - 1};
    number = number * Expr(along) + threads[axis];
  }
  Substitution as_threads;
  for (const Var& var : VarsOf(index)) {
    auto axis = kernel_.thread_axes.find(var.get());
    if (axis != kernel_.thread_axes.end()) as_threads.emplace(var, threads[axis->second]);
  }
  auto lane_of = [&](const Expr& thread) {
    return Simplify(FloorModulo(thread, Expr(Target::kWarp)), bounds);
  };
  return Equal(lane_of(Substitute(index, as_threads)), lane_of(number));
}

Piece ExprText::LoadFromLane(const Var& buffer, const Expr& lane) {
  DType dtype = buffer.dtype().element();
  const auto* partner = lane.as<Call>();
  if (!partner || partner->op != ScalarOp::kBitXor || !IsOwnLane(partner->args[0])) {
    kernel_.Refuse(Unsupported(
        "'{}', which a warp holds, is read at {}, which is no exclusive or of the thread's lane",
        buffer->name, Print(lane)));
    return {"0"};
  }
  std::string cell = kernel_.NameOf(buffer) + "[0]";
  cell = FromMemory(dialect(), cell, dtype).text;
  std::string mask = Emit(partner->args[1]).text;
  // Narrower integers are shuffled as int.
  bool whole = IsNarrowFloat(dtype) || dtype.bits() >= 32;
  std::string type = RegisterTypeText(dialect(), dtype);
  if (whole) return {fmt::format("tcc_shuffle_xor<{}>({}, (int)({}))", type, cell, mask)};
  return {fmt::format("({})tcc_shuffle_xor<int>({}, (int)({}))", type, cell, mask), P::kUnary};
}

Piece ExprText::LoadScalar(const Var& buffer, const Expr& index) {
  if (IsShuffled(buffer)) return LoadFromLane(buffer, index);
  std::string name = kernel_.NameOf(buffer);
  DType dtype = buffer.dtype().element();
  if (IsPacked(dtype)) {
    Piece place = Emit(index);
    return {fmt::format("tcc_{}({}[{} >> {}] >> tcc_packed_shift({}, {}))", ToString(dtype), name,
                        In(place, P::kUnary), PackedPerByte(dtype) / 2, place.text, dtype.bits())};
  }
  return FromMemory(dialect(), CellText(BufferOf(buffer), index), dtype);
}

std::string ExprText::CellText(const Buffer& buffer, const Expr& index) {
  const std::string& name = kernel_.NameOf(buffer.var);
  if (buffer.scope != Scope::kWarp) return fmt::format("{}[{}]", name, EmitIndex(index));
  if (IsShuffled(buffer.var)) {
    if (!IsOwnLane(index)) {
      kernel_.Refuse(
          Unsupported("'{}', which a warp holds, is written at {}, which is no lane of "
                      "the thread's own",
                      buffer.var->name, Print(index)));
    }
    return name + "[0]";
  }
  std::optional<int64_t> reg = OwnRegister(index);
  if (!reg || buffer.dtype().bits() != 32) {
    kernel_.Refuse(
        Unsupported("'{}', which a warp holds, is used at {}, which is no {} of the thread",
                    buffer.var->name, Print(index), reg ? "whole register" : "register"));
    return "0";
  }
  return WordText(buffer.var, *reg);
}

std::optional<int64_t> ExprText::OwnRegister(const Expr& index) const {
  if (!IsOwnLane(index)) return std::nullopt;
  return AsConstant(Simplify(FloorDivide(index, Expr(Target::kWarp)), kernel_.bounds));
}

std::string ExprText::WordText(const Var& buffer, int64_t word) {
  int64_t words = kernel_.tile_words.at(buffer.get());
  return fmt::format("{}[{}].v[{}]", kernel_.NameOf(buffer), word / words, word % words);
}

Expr ExprText::Shifted(const Expr& base, int64_t offset) const {
  return offset == 0 ? base : Simplify(base + Expr(offset), kernel_.bounds);
}

int ExprText::AccessWidth(const Buffer& buffer, const Expr& base, int lanes) const {
  DType dtype = buffer.dtype().element();
  bool in_registers = buffer.scope == Scope::kLocal || buffer.scope == Scope::kWarp;
  if (in_registers || IsPacked(dtype)) return 1;
  int64_t divisor = DivisorOf(base);
  int width = static_cast<int>(Target::kWidestAccess / dtype.bytes());
  while (width > 1 && (lanes % width != 0 || divisor % width != 0)) width /= 2;
  return width;
}

ExprText::Pieces ExprText::LoadVectors(const Buffer& buffer, const Expr& base, int lanes,
                                       int width) {
  DType dtype = buffer.dtype().element();
  Pieces result;
  for (int l = 0; l < lanes; l += width) {
    std::string name = kernel_.Fresh("v");
    std::string vector =
        dialect().load_vector(kernel_.NameOf(buffer.var), EmitIndex(Shifted(base, l)), width);
    kernel_.Line(
        fmt::format("const {} {} = {};", dialect().VectorType(dtype, width), name, vector));
    for (int i = 0; i < width; ++i) {
      result.push_back(FromMemory(dialect(), dialect().lane(name, i), dtype));
    }
  }
  return result;
}

ExprText::Pieces ExprText::LoadLanes(const Load& load) {
  int lanes = load.dtype.lanes();
  std::optional<LaneIndex> index = MatchLaneIndex(load.indices[0]);
  const Buffer& buffer = BufferOf(load.buffer);
  if (index && index->stride == 0) {
    return Pieces(static_cast<size_t>(lanes),
                  Name(Expr(&load), {LoadScalar(load.buffer, index->base)})[0]);
  }
  if (index && index->stride == 1) {
    int width = AccessWidth(buffer, index->base, lanes);
    if (width > 1) return LoadVectors(buffer, index->base, lanes, width);
  }
  Pieces result;
  for (int l = 0; l < lanes; ++l) {
    Expr at = index ? Shifted(index->base, l * index->stride)
                    : Simplify(LaneOf(load.indices[0], l, kernel_.lanes), kernel_.bounds);
    result.push_back(LoadScalar(load.buffer, at));
  }
  return result;
}

ExprText::Pieces ExprText::LaneByLane(const Expr& expr) {
  std::vector<Expr> lanes;
  for (int l = 0; l < expr.dtype().lanes(); ++l) {
    lanes.push_back(Shared(LaneOf(expr, l, kernel_.lanes)));
    CountUses(lanes.back());
  }
  Pieces result;
  for (const Expr& lane : lanes) result.push_back(Remember(lane, {Emit(lane)})[0]);
  return result;
}

ExprText::Pieces ExprText::VectorNode(const Expr& expr) {
  auto lanes = static_cast<size_t>(expr.dtype().lanes());
  if (const auto* splat = expr.as<Broadcast>()) {
    Pieces value = {Emit(splat->value)};
    if (!IsLeaf(splat->value) && !Find(splat->value)) value = Name(splat->value, std::move(value));
    return Pieces(lanes, value[0]);
  }
  if (const auto* load = expr.as<Load>()) return LoadLanes(*load);
  if (const auto* var = expr.as<VarNode>()) {
    Pieces result;
    for (const Var& lane : kernel_.lanes.at(var))
      result.push_back(Variable(*Expr(lane).as<VarNode>()));
    return result;
  }
  bool lazy = expr.as<And>() || expr.as<Or>();
  bool index = expr.dtype().element() == kInt64;
  for (const Expr& operand : OperandsOf(expr)) {
    index = index || operand.dtype().element() == kInt64;
  }
  if (lazy || index) return LaneByLane(expr);
  Pieces result = Operation(expr, OperandsOf(expr));
  if (NeedsRounding(expr)) {
    for (Piece& piece : result) piece = Rounded(dialect(), piece, expr.dtype().element());
  }
  return result;
}

}  // namespace tcc
