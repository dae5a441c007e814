#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/combiner.h"
#include "ir/expr/expr.h"

// Statements. A Stmt is a handle to an immutable node, like Expr.
//
// Which statements may occur depends on the level (function.h): kTensor and kScheduled have Blocks
// with logical indices; at kLowered no Block, Reduce or window is left.
namespace tcc {

#define TCC_STMT_KINDS(X) \
  X(Store)                \
  X(Reduce)               \
  X(Seq)                  \
  X(For)                  \
  X(Block)                \
  X(If)                   \
  X(Let)                  \
  X(Allocate)             \
  X(Barrier)              \
  X(AsyncCopy)            \
  X(AsyncCommit)          \
  X(AsyncWait)            \
  X(PrefetchLine)         \
  X(IntrinsicCall)

enum class StmtKind : uint8_t {
#define TCC_STMT_KIND(node) k##node,
  TCC_STMT_KINDS(TCC_STMT_KIND)
#undef TCC_STMT_KIND
};

struct StmtNode : RefCounted {
  explicit StmtNode(StmtKind kind) : kind(kind) {}
  const StmtKind kind;
  uint64_t hash = 0;
};

class Stmt : public Ref<StmtNode> {
 public:
  Stmt() = default;
  explicit Stmt(const StmtNode* node) : Ref(node) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a node is a value; passes return one for another.
  Stmt(const StmtNode& node) : Ref(&node) {}

  StmtKind kind() const { return get()->kind; }
  template <typename Node>
  const Node* as() const {
    return get() && get()->kind == Node::kKind ? static_cast<const Node*>(get()) : nullptr;
  }
  bool same_as(const Stmt& other) const { return get() == other.get(); }
};

template <typename Node, typename... Args>
Stmt MakeStmt(Args&&... args);

// A cell of a buffer, by logical indices.
struct Access {
  Var buffer;
  std::vector<Expr> indices;
  auto Fields() const { return std::tie(buffer, indices); }
};

// The statement buffer[indices] = value. The index may be a vector at kLowered; then lanes whose
// `mask` is false are neither computed nor written. A null mask means every lane.
struct Store final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kStore;
  Store(Var buffer, std::vector<Expr> indices, Expr value, Expr mask = {});
  const Var buffer;
  const std::vector<Expr> indices;
  const Expr value;
  const Expr mask;
  auto Fields() const { return std::tie(buffer, indices, value, mask); }
};

// The leaf of a reduction: outputs = combine(outputs, inputs), all elements at once. It occurs only
// as the body of a Block. With kFirstInstance the outputs are set to the identities at the instance
// whose reduce variables are all 0, before the block's predicate is evaluated; the reduce domain
// must not be empty there. With kDecomposed another block has done that.
enum class ReduceInit : uint8_t { kFirstInstance, kDecomposed };

struct Reduce final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kReduce;
  Reduce(Combiner combiner, std::vector<Access> outputs, std::vector<Expr> inputs, ReduceInit init);
  const Combiner combiner;
  const std::vector<Access> outputs;
  const std::vector<Expr> inputs;
  const ReduceInit init;
  auto Fields() const { return std::tie(combiner, outputs, inputs, init); }
};

// Statements that run in order. A Seq built by SeqOf is never nested and never has one statement;
// an empty one does nothing.
struct Seq final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kSeq;
  explicit Seq(std::vector<Stmt> stmts);
  const std::vector<Stmt> stmts;
  auto Fields() const { return std::tie(stmts); }
};

// The columns: text, enumerator. The iterations of partitioned and pipelined loops run in order,
// like a serial loop's. The kind tells a pass to split them into interior and edges, or to start
// the copies of later iterations early (with "pipelined_async" by AsyncCopy).
#define TCC_FOR_KINDS(X)                \
  X("serial", kSerial)                  \
  X("parallel", kParallel)              \
  X("vectorized", kVectorized)          \
  X("unrolled", kUnrolled)              \
  X("partitioned", kPartitioned)        \
  X("pipelined", kPipelined)            \
  X("pipelined_async", kPipelinedAsync) \
  X("blockIdx.x", kBlockIdxX)           \
  X("blockIdx.y", kBlockIdxY)           \
  X("blockIdx.z", kBlockIdxZ)           \
  X("threadIdx.x", kThreadIdxX)         \
  X("threadIdx.y", kThreadIdxY)         \
  X("threadIdx.z", kThreadIdxZ)         \
  X("vthread", kVthread)

enum class ForKind : uint8_t {
#define TCC_FOR_KIND(text, kind) kind,
  TCC_FOR_KINDS(TCC_FOR_KIND)
#undef TCC_FOR_KIND
};

std::string_view ToString(ForKind kind);
std::optional<ForKind> ParseForKind(std::string_view text);
bool IsBlockIdx(ForKind kind);
bool IsThreadIdx(ForKind kind);
// Returns whether iterations run one after the other.
bool IsInOrder(ForKind kind);

// The loop for var in 0..extent. `key` names the loop for schedules: "block/axis.path", e.g.
// "mm/k.1.0"; it is unique in a function at kTensor and kScheduled and empty at kLowered.
//
// Iterations of a parallel, vectorized, blockIdx, threadIdx or vthread loop have no order. A
// threadIdx loop inside another of the same axis rebinds it: the inner one's variable and extent
// hold.
struct For final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kFor;
  For(Var var, Expr extent, ForKind for_kind, std::string key, Stmt body);
  const Var var;
  const Expr extent;
  const ForKind for_kind;
  const std::string key;
  const Stmt body;
  auto Fields() const { return std::tie(var, extent, for_kind, key, body); }
};

// The kind of an iteration variable. Where two instances differ in a spatial variable, neither
// writes a cell that the other accesses. Instances that differ in a reduce variable may meet in a
// cell. If the body is a Reduce they have no order either, since combiners are associative and
// commutative; any other body runs in the lexicographic order of its reduce variables (an ordered
// block).
enum class IterKind : uint8_t { kSpatial, kReduce };

// An iteration variable of a block. An instance sees `var` with the value of `binding`; instances
// outside 0 <= binding < domain do not exist.
struct IterVar {
  Var var;
  IterKind kind = IterKind::kSpatial;
  Expr binding;  // quasi-affine in the loop variables
  Expr domain;
  auto Fields() const { return std::tie(var, kind, binding, domain); }
};

// The condition value < extent, made by a split of the loop that `value` stands for.
struct LoopGuard {
  Expr value;
  Expr extent;
  auto Fields() const { return std::tie(value, extent); }
};

// A unit of work that schedules move. Its instance exists iff every iteration variable is in its
// domain and every guard holds; then a reduction's init happens (see Reduce), then, where
// `predicate` (a bool over the iteration variables) holds, the body. The body reads the iteration
// variables, no loop variable, and holds no block.
struct Block final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kBlock;
  Block(std::string name, std::vector<IterVar> iters, std::vector<LoopGuard> guards, Expr predicate,
        Stmt body);
  const std::string name;  // unique in the function
  const std::vector<IterVar> iters;
  const std::vector<LoopGuard> guards;
  const Expr predicate;  // never null; True() where there is none
  const Stmt body;
  auto Fields() const { return std::tie(name, iters, guards, predicate, body); }
};

// `else_body` may be null.
struct If final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kIf;
  If(Expr condition, Stmt then_body, Stmt else_body = {});
  const Expr condition;
  const Stmt then_body;
  const Stmt else_body;
  auto Fields() const { return std::tie(condition, then_body, else_body); }
};

struct Let final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kLet;
  Let(Var var, Expr value, Stmt body);
  const Var var;
  const Expr value;
  const Stmt body;
  auto Fields() const { return std::tie(var, value, body); }
};

// The columns: text, enumerator, where the buffer lives and who sees it.
#define TCC_SCOPES(X)                                                     \
  X("global", kGlobal, "device or host memory, seen by all")              \
  X("shared", kShared, "one a thread block")                              \
  X("local", kLocal, "one a thread: registers once indices are constant") \
  X("warp", kWarp, "one a warp, spread over its lanes")                   \
  X("constant", kConstant, "read only, known when the model is compiled")

enum class Scope : uint8_t {
#define TCC_SCOPE(text, scope, meaning) scope,
  TCC_SCOPES(TCC_SCOPE)
#undef TCC_SCOPE
};

std::string_view ToString(Scope scope);
std::optional<Scope> ParseScope(std::string_view text);

// The logical box that is stored: cell i of the tensor is kept iff origin <= i < origin + size in
// each dimension. The box is not clamped to the tensor's shape; an origin may be negative
// (padding).
struct Window {
  std::vector<Expr> origin;
  std::vector<Expr> size;
  auto Fields() const { return std::tie(origin, size); }
};

// A split of dimension `dim` by `factor`. The inner part becomes the last stored dimension, in
// order of the list: NCHW with {1, 16} is NCHW16c. A dimension that does not divide is padded up.
struct BlockFactor {
  int dim = 0;
  Expr factor;
  auto Fields() const { return std::tie(dim, factor); }
};

// A swizzle that XORs bits [base, base + bits) of the element offset with bits [base + shift, base
// + shift + bits).
struct XorSwizzle {
  int bits = 0;  // 0: none
  int base = 0;
  int shift = 0;
  auto Fields() const { return std::tie(bits, base, shift); }
};

// The offset of cell i of a buffer, in elements: take w = i - window.origin (modulo the window's
// size in the circular dimension), apply the block factors, then offset + sum strides[d] * w[d]
// over the stored dimensions, then the swizzle. Empty strides mean row-major and compact.
struct Layout {
  std::vector<Expr> strides;
  Expr offset;  // null: 0
  std::vector<BlockFactor> blocks;
  XorSwizzle swizzle;
  auto Fields() const { return std::tie(strides, offset, blocks, swizzle); }
};

// The declaration of a buffer, as a parameter of a function or in an Allocate. Loads and stores
// name only `var`.
struct Buffer {
  Var var;
  std::vector<Expr> shape;  // the logical extents that bound the indices
  Scope scope = Scope::kGlobal;
  Window window;      // empty vectors: the whole shape, from 0
  Expr versions;      // null: 1; the lifetimes that an outer pipelined loop keeps at a time
  int circular = -1;  // dimension stored modulo its window's size, -1: none
  Layout layout;
  DType dtype() const { return var.dtype(); }
  size_t rank() const { return shape.size(); }
  auto Fields() const { return std::tie(var, shape, scope, window, versions, circular, layout); }
};

// A buffer whose lifetime is `body`. Its cells are undefined on entry.
struct Allocate final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAllocate;
  Allocate(Buffer buffer, Stmt body);
  const Buffer buffer;
  const Stmt body;
  auto Fields() const { return std::tie(buffer, body); }
};

// A point that every thread of a thread block reaches before any leaves it; earlier writes to
// `scope` are then visible. It must not be under a condition that differs between threads.
struct Barrier final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kBarrier;
  explicit Barrier(Scope scope);
  const Scope scope;
  auto Fields() const { return std::tie(scope); }
};

// The start of a copy of `count` consecutive elements; the data arrives some time before the
// AsyncWait that covers its group returns. Source and destination must not be accessed in between.
// Where `keep` fails, zeros arrive instead, and the source may lie outside its buffer.
struct AsyncCopy final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAsyncCopy;
  AsyncCopy(Access destination, Access source, int count, Expr keep = {});
  const Access destination;
  const Access source;
  const int count;
  const Expr keep;  // null: always
  auto Fields() const { return std::tie(destination, source, count, keep); }
};

// Work that goes on while the thread does other things: AsyncCopies, or the products of a group of
// warps (warp_instruction.h), which may read their operands and add to their results as late as at
// the wait that covers them. An interpreter computes a product where it stands.
enum class AsyncKind : uint8_t { kCopies, kProducts };

// The end of a group of all of that kind that this thread has begun since the last commit.
struct AsyncCommit final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAsyncCommit;
  explicit AsyncCommit(AsyncKind what);
  const AsyncKind what;
  auto Fields() const { return std::tie(what); }
};

// A wait until at most `pending` of this thread's newest groups of that kind are in flight.
struct AsyncWait final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAsyncWait;
  AsyncWait(AsyncKind what, int pending);
  const AsyncKind what;
  const int pending;
  auto Fields() const { return std::tie(what, pending); }
};

// A hint that the cell will soon be read: brings its cache line near. Changes no value and never
// fails; the indices may lie outside the buffer.
struct PrefetchLine final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kPrefetchLine;
  explicit PrefetchLine(Access cell);
  const Access cell;
  auto Fields() const { return std::tie(cell); }
};

// A body that a backend with the intrinsic of this name emits as its instructions; other backends
// emit the body itself. The outermost loops of the body are the intrinsic's axes. A body that
// stores to a warp's buffer runs once per warp.
struct IntrinsicCall final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kIntrinsicCall;
  IntrinsicCall(std::string intrinsic, Stmt body);
  const std::string intrinsic;
  const Stmt body;
  auto Fields() const { return std::tie(intrinsic, body); }
};

// Flattens nested Seqs and drops empty ones; a single statement is returned as itself.
Stmt SeqOf(const std::vector<Stmt>& stmts);
inline Stmt Nothing() {
  return SeqOf({});
}
bool IsNothing(const Stmt& stmt);

}  // namespace tcc

#include "ir/expr/stmt_make.inc"
