#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/expr/scalar_op.h"
#include "support/dtype.h"
#include "support/intrusive.h"

// Scalar expressions. An Expr is an 8-byte handle to an immutable node, used as a value; nodes may
// be shared, so an expression is a DAG. Building never simplifies: Simplify does, when asked, so
// that a schedule step gives the same shape of expression whether its sizes are known or free.
//
// Integers: index arithmetic is i64 and must not overflow; tensor arithmetic on narrower or
// unsigned types wraps modulo 2^bits. Floats: IEEE, rounded to the dtype where code is generated;
// the interpreter keeps doubles. Nothing reassociates floats. There are no side effects, so the
// order of evaluation shows only in Select, which evaluates one arm, and in And / Or, which stop at
// the first operand that decides: a Load in the other arm or operand is not performed.
namespace tcc {

#define TCC_EXPR_KINDS(X) \
  X(IntImm)               \
  X(FloatImm)             \
  X(VarNode)              \
  X(Cast)                 \
  X(Add)                  \
  X(Sub)                  \
  X(Mul)                  \
  X(Div)                  \
  X(FloorDiv)             \
  X(FloorMod)             \
  X(CeilDiv)              \
  X(Min)                  \
  X(Max)                  \
  X(Eq)                   \
  X(Ne)                   \
  X(Lt)                   \
  X(Le)                   \
  X(And)                  \
  X(Or)                   \
  X(Not)                  \
  X(Select)               \
  X(Load)                 \
  X(Call)                 \
  X(Ramp)                 \
  X(Broadcast)

enum class ExprKind : uint8_t {
#define TCC_EXPR_KIND(node) k##node,
  TCC_EXPR_KINDS(TCC_EXPR_KIND)
#undef TCC_EXPR_KIND
};

struct ExprNode : RefCounted {
  ExprNode(ExprKind kind, DType dtype) : kind(kind), dtype(dtype) {}
  const ExprKind kind;
  const DType dtype;
  // The structural hash, set by Make. Expressions that differ only in their variables have the same
  // hash.
  uint64_t hash = 0;
};

class Expr : public Ref<ExprNode> {
 public:
  Expr() = default;
  explicit Expr(const ExprNode* node) : Ref(node) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a node is a value; passes return one for another.
  Expr(const ExprNode& node) : Ref(&node) {}
  // NOLINTBEGIN(google-explicit-constructor): sizes and indices read as algebra.
  template <typename Integer>
    requires(std::is_same_v<Integer, int> || std::is_same_v<Integer, int64_t>)
  Expr(Integer value) : Expr(Index(value)) {}
  // NOLINTEND(google-explicit-constructor)

  DType dtype() const { return get()->dtype; }
  ExprKind kind() const { return get()->kind; }

  // Returns the node, or nullptr if it is of another kind.
  template <typename Node>
  const Node* as() const {
    return get() && get()->kind == Node::kKind ? static_cast<const Node*>(get()) : nullptr;
  }
  bool same_as(const Expr& other) const { return get() == other.get(); }

 private:
  static Expr Index(int64_t value);
};

// Builds a node and its hash. Arguments are the node's fields in order; the constructor checks
// types.
template <typename Node, typename... Args>
Expr Make(Args&&... args);

struct IntImm final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kIntImm;
  // The type is an integer type or bool; unsigned values beyond int64 are stored modulo 2^64.
  IntImm(DType type, int64_t value);
  const int64_t value;
  auto Fields() const { return std::tie(dtype, value); }
};

struct FloatImm final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kFloatImm;
  FloatImm(DType type, double value);
  const double value;
  auto Fields() const { return std::tie(dtype, value); }
};

enum class VarRole : uint8_t {
  kLoop,    // bound by a For or a Let
  kIter,    // iteration variable of a Block, axis of a TensorExpr, parameter of a Combiner
  kTile,    // free size of a symbolic program
  kShape,   // free extent of a tensor: an argument of the kernel
  kBuffer,  // names a buffer; its dtype is the element's. Occurs in Load, Store and declarations
            // only
};

struct VarNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kVarNode;
  VarNode(std::string name, VarRole role, DType type, int64_t low, int64_t high, int64_t usual);
  const std::string name;  // a hint: a Var equals only itself
  const VarRole role;
  // The inclusive range of Tile and Shape variables.
  const int64_t low;
  const int64_t high;
  // The value of a Shape variable that schedules and costs are made for; `low` in other roles. No
  // result depends on it.
  const int64_t usual;
  // Identity and names take no part in the structural hash.
  auto Fields() const { return std::tie(dtype, role); }
};

// A handle to a VarNode.
class Var : public Expr {
 public:
  Var() = default;
  explicit Var(const VarNode* node) : Expr(node) {}
  explicit Var(const VarNode& node) : Expr(&node) {}
  const VarNode* operator->() const { return static_cast<const VarNode*>(get()); }
  const VarNode& operator*() const { return *operator->(); }
  friend bool operator==(const Var& a, const Var& b) { return a.get() == b.get(); }
};

Var LoopVar(std::string name);
Var IterationVar(std::string name, DType dtype = kInt64);
Var TileVar(std::string name, int64_t low, int64_t high);
Var ShapeVar(std::string name, int64_t low, int64_t high, int64_t usual);
// Returns a Shape variable whose usual value is the one in the range that is nearest to
// kUsualExtent.
Var ShapeVar(std::string name, int64_t low, int64_t high);
inline constexpr int64_t kUsualExtent = 128;
Var BufferVar(std::string name, DType element);

// A numeric conversion. Float to integer truncates toward zero (out of range saturates, NaN becomes
// 0); to bool is x != 0; to a narrower float rounds to nearest even; integers wrap.
struct Cast final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCast;
  Cast(DType type, Expr value);
  const Expr value;
  auto Fields() const { return std::tie(dtype, value); }
};

// A node with two operands of one type.
template <ExprKind K>
struct Binary : ExprNode {
  static constexpr ExprKind kKind = K;
  Binary(Expr a, Expr b);
  const Expr a;
  const Expr b;
  auto Fields() const { return std::tie(a, b); }
};

struct Add final : Binary<ExprKind::kAdd> {
  using Binary::Binary;
};
struct Sub final : Binary<ExprKind::kSub> {
  using Binary::Binary;
};
struct Mul final : Binary<ExprKind::kMul> {
  using Binary::Binary;
};
// The quotient of floats.
struct Div final : Binary<ExprKind::kDiv> {
  using Binary::Binary;
};
// Division that rounds toward minus infinity, so that (x div y) * y + (x mod y) == x with 0 <= x
// mod y < y for y > 0. Integers only; y <= 0 is a bug in tcc. ONNX's truncating Div is
// ScalarOp::kTruncDiv.
struct FloorDiv final : Binary<ExprKind::kFloorDiv> {
  using Binary::Binary;
};
struct FloorMod final : Binary<ExprKind::kFloorMod> {
  using Binary::Binary;
};
// Division that rounds toward plus infinity; y >= 1. It has its own node because split extents use
// it.
struct CeilDiv final : Binary<ExprKind::kCeilDiv> {
  using Binary::Binary;
};
// The minimum or maximum; NaN if either operand is NaN.
struct Min final : Binary<ExprKind::kMin> {
  using Binary::Binary;
};
struct Max final : Binary<ExprKind::kMax> {
  using Binary::Binary;
};
// Comparisons give bool; with a NaN all are false but Ne.
struct Eq final : Binary<ExprKind::kEq> {
  using Binary::Binary;
};
struct Ne final : Binary<ExprKind::kNe> {
  using Binary::Binary;
};
struct Lt final : Binary<ExprKind::kLt> {
  using Binary::Binary;
};
struct Le final : Binary<ExprKind::kLe> {
  using Binary::Binary;
};
// Logic on bools; the second operand is evaluated only where the first does not decide.
struct And final : Binary<ExprKind::kAnd> {
  using Binary::Binary;
};
struct Or final : Binary<ExprKind::kOr> {
  using Binary::Binary;
};

struct Not final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kNot;
  explicit Not(Expr a);
  const Expr a;
  auto Fields() const { return std::tie(a); }
};

// The arm that the condition picks; the other is not evaluated (its loads are not performed).
// Vectors are selected lane by lane; a scalar condition may pick between vectors.
struct Select final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kSelect;
  Select(Expr condition, Expr then_value, Expr else_value);
  const Expr condition;
  const Expr then_value;
  const Expr else_value;
  auto Fields() const { return std::tie(condition, then_value, else_value); }
};

// A read of buffer[indices]. Indices are logical, one per dimension of the buffer; at kLowered
// there is one index, into the flat buffer, and it may be a vector. An index outside the buffer's
// window is a bug.
struct Load final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kLoad;
  Load(Var buffer, std::vector<Expr> indices);
  const Var buffer;
  const std::vector<Expr> indices;
  auto Fields() const { return std::tie(buffer, indices); }
};

// A scalar function of the table in scalar_op.h.
struct Call final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCall;
  Call(ScalarOp op, std::vector<Expr> args);
  const ScalarOp op;
  const std::vector<Expr> args;
  auto Fields() const { return std::tie(op, args); }
};

// The i64 vector base, base + stride, ...; kLowered only. `lanes` >= 2.
struct Ramp final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kRamp;
  Ramp(Expr base, Expr stride, int lanes);
  const Expr base;
  const Expr stride;
  const int lanes;
  auto Fields() const { return std::tie(base, stride, lanes); }
};

// A vector with a scalar in every lane; kLowered only. `lanes` >= 2.
struct Broadcast final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kBroadcast;
  Broadcast(Expr value, int lanes);
  const Expr value;
  const int lanes;
  auto Fields() const { return std::tie(value, lanes); }
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
// Build And and Or. They are functions because && and || would suggest that something is evaluated
// here.
Expr BothOf(const Expr& a, const Expr& b);
Expr EitherOf(const Expr& a, const Expr& b);
Expr MinOf(const Expr& a, const Expr& b);
Expr MaxOf(const Expr& a, const Expr& b);
Expr FloorDivide(const Expr& a, const Expr& b);
Expr FloorModulo(const Expr& a, const Expr& b);
Expr CeilDivide(const Expr& a, const Expr& b);
Expr SelectOf(const Expr& condition, const Expr& then_value, const Expr& else_value);
Expr CallOf(ScalarOp op, std::vector<Expr> args);
// Returns the value itself where it has the type already.
Expr CastTo(DType dtype, const Expr& value);

Expr IntConst(DType dtype, int64_t value);
Expr FloatConst(DType dtype, double value);
// Returns the constant `value` of any numeric type or bool.
Expr Const(DType dtype, double value);
inline Expr True() {
  return IntConst(kBool, 1);
}

// Returns the value of an integer or bool constant, nullopt for everything else.
std::optional<int64_t> AsConstant(const Expr& expr);
bool IsConstant(const Expr& expr, int64_t value);

}  // namespace tcc

#include "ir/expr/expr_make.inc"
