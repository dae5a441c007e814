#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/expr/function.h"

// The code that the interpreter runs: a function compiled once, variables resolved to slots,
// buffers to numbers, expressions to a list of nodes with common subexpressions merged.
//
// Every expression is evaluated over lanes. In a Nest, lanes are consecutive points of the loops
// chosen for it (one lane where none can be chosen) or, at kLowered, the lanes of a vector; a node
// that is the same in all lanes is computed once. There is no second, scalar evaluator.
namespace tcc::interpret {

enum class Op : uint8_t {
  kInt,         // `integer`
  kReal,        // `real`
  kSlot,        // the variable in slot `index` of the context
  kLaneVar,     // loop variable `index` of the chunk, one value per lane
  kLaneNumber,  // 0, 1, ..., from which a Ramp is made
  kCast,
  kBinary,  // `kind`
  kLogic,   // And, Or
  kNot,
  kSelect,
  kLoad,        // by access `index`
  kCall,        // `call`
  kAffineTest,  // (a + b) `kind` 0, with a (or -1) the same in all lanes and b fixed in a chunk
};

// A node of an expression. Operands are numbers of earlier nodes, -1 for none.
struct Node {
  Op op = Op::kInt;
  ExprKind kind = ExprKind::kIntImm;
  ScalarOp call = ScalarOp::kExp;
  DType dtype;  // per lane
  int a = -1;
  int b = -1;
  int c = -1;
  int index = -1;
  int64_t integer = 0;
  double real = 0;
  // The value stays valid until a loop of the nest up to this depth advances (0: no loop ends it).
  int depth = 0;
  uint64_t loops = 0;    // bit d: depends on the loop of depth d (depths from 63 on share a bit)
  bool varying = false;  // may differ between lanes
  bool total = true;     // defined for every lane, masked-out ones included
};

// An index as a sum of three nodes: one uniform over lanes, one fixed in a chunk, and the rest.
struct IndexCode {
  int uniform = -1;
  int chunk = -1;
  int mixed = -1;
  friend bool operator==(const IndexCode&, const IndexCode&) = default;
};

struct AccessCode {
  int buffer = 0;
  std::vector<IndexCode> indices;
  bool mixed = false;  // some index has a mixed part
  bool varying = false;
  friend bool operator==(const AccessCode&, const AccessCode&) = default;
};

struct ExprCode {
  std::vector<Node> nodes;
  std::vector<AccessCode> accesses;
  int lane_depth = 0;
  int max_depth = 0;
};

// A loop that a nest runs. `extent` is an expression of Program::scalars.
struct NestLoop {
  std::string name;
  int extent = 0;
  int slot = -1;
};

// A node of the nest that must be true for an instance to exist, tested at `depth`.
struct Condition {
  int node = 0;
  int depth = 0;
};

struct OutputCode {
  int access = 0;
  int value = 0;
  int identity = -1;
};

// A condition for a leaf to run under thread loops: the thread's index along `axis` is below
// `extent` (an expression of Program::scalars, -1 for any), and 0 if `only_first` because the leaf
// ignores the axis.
struct AxisGuard {
  int axis = 0;
  int extent = -1;
  bool only_first = false;
};

struct LeafGuard {
  std::vector<AxisGuard> axes;
  std::vector<int> first_slots;  // vthread variables that must be 0
  bool first_lane = false;       // only the first lane of each warp runs the leaf
};

// Perfectly nested loops round one leaf. The `outer` loops run one by one, then `lanes` together in
// chunks, then `inner` one by one for all lanes of a chunk. Depth d is the d-th loop in that order;
// all lane loops count as one.
struct Nest {
  ExprCode code;
  std::vector<NestLoop> outer;
  std::vector<NestLoop> lanes;
  std::vector<NestLoop> inner;
  int vector_lanes = 1;
  std::vector<Condition> conditions;
  int predicate = -1;
  bool init = false;               // set outputs to their identities at the first instance
  std::vector<int> reduce_values;  // all 0 at the first instance
  std::vector<int> inputs;         // evaluated before the values
  std::vector<OutputCode> outputs;
  bool independent = false;  // iterations of `outer` and `lanes` touch different cells
  LeafGuard guard;
  std::string leaf;                    // block or buffer, for messages
  std::vector<NestLoop> surroundings;  // loops further out, for messages
};

struct BufferCode {
  std::string name;
  DType dtype;
  Scope scope = Scope::kGlobal;
  std::vector<int> origin;  // expressions of Program::scalars
  std::vector<int> size;
  int circular = -1;
};

enum class CodeKind : uint8_t {
  kSeq,
  kNest,
  kLoop,
  kBlock,
  kIf,
  kLet,
  kAllocate,
  kBarrier,
  kAsyncCopy,
  kAsyncCommit,
  kAsyncWait,
  kPrefetch,
  kWarpCall,  // an intrinsic that a warp runs together
};

// A statement. Numbers named *_expr are expressions of Program::scalars.
struct Code {
  CodeKind kind = CodeKind::kSeq;
  std::vector<std::unique_ptr<Code>> children;
  int slot = -1;                        // kLoop, kLet
  int expr = -1;                        // extent, condition (kAsyncCopy: -1 if always kept), value
  int lanes = 1;                        // kLet
  DType dtype;                          // kLet
  std::string name;                     // kLoop, kBlock
  ForKind for_kind = ForKind::kSerial;  // kLoop
  Scope scope = Scope::kShared;         // kBarrier
  int nest = -1;                        // kNest: index into Program::nests
  int buffer = -1;                      // kAllocate
  int pending = 0;                      // kAsyncWait
  int count = 0;                        // kAsyncCopy
  std::vector<int> slots;               // kBlock: slots of the iteration variables
  std::vector<int> exprs;               // kBlock: their bindings; kPrefetch: indices
  std::vector<int> conditions;          // kBlock: all must hold, the predicate last
  LeafGuard guard;                      // kBlock, kAsyncCopy
  int destination = -1;                 // kAsyncCopy: accesses of Program::scalars
  int source = -1;
  bool lockstep = false;  // holds a barrier or a buffer that threads share
  // Uses a warp's fragments: all threads finish a leaf before any starts the next.
  bool in_order = false;
  bool launch = false;                              // a nest of thread loops begins here
  std::vector<std::pair<int, int>> thread_extents;  // of a launch: axis, expression (-1: unknown)
};

struct Program {
  ExprCode scalars;
  std::vector<BufferCode> buffers;
  std::vector<std::unique_ptr<Nest>> nests;
  std::unique_ptr<Code> body;
  int slot_count = 0;
  int param_count = 0;
  std::vector<bool> written;  // by parameter: whether the body stores to it
  int widest_vector = 1;
  bool flat = false;  // kLowered: one index per access
};

// The options: `lanes` is the largest chunk, `var_values` are the values of fn.vars. Parallel loops
// join nests only with `merge_parallel`.
struct CompileOptions {
  int lanes = 256;
  bool merge_parallel = true;
  const std::vector<int64_t>* var_values = nullptr;
};
std::unique_ptr<Program> Compile(const Function& fn, const CompileOptions& options);

}  // namespace tcc::interpret
