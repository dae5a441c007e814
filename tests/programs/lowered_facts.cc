#include "tests/programs/lowered_facts.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

int64_t BytesOf(int64_t cells, DType dtype) {
  return (cells * dtype.bits() + 7) / 8;
}

int64_t StoresIn(const Stmt& stmt);

// A launch begins below sequences and global buffers.
void CollectNests(const Stmt& stmt, std::vector<Stmt>& nests) {
  const auto* allocate = stmt.as<Allocate>();
  if (allocate && allocate->buffer.scope != Scope::kShared &&
      allocate->buffer.scope != Scope::kLocal) {
    CollectNests(allocate->body, nests);
  } else if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) CollectNests(child, nests);
  } else if (StoresIn(stmt) > 0) {
    // What is left round blocks that never exist is none.
    nests.push_back(stmt);
  }
}

std::vector<Stmt> NestsOf(const Function& fn) {
  std::vector<Stmt> nests;
  CollectNests(fn.body, nests);
  return nests;
}

int64_t BytesOf(const Buffer& flat) {
  int64_t versions = flat.versions ? AsConstant(flat.versions).value() : 1;
  return BytesOf(AsConstant(flat.shape[0]).value() * versions, flat.dtype());
}

int64_t LocalBytes(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  if (loop && IsConstant(loop->extent, 0)) return 0;
  int64_t inner = 0;
  ForEachChild(stmt, [&](const Stmt& child) { inner = std::max(inner, LocalBytes(child)); });
  const auto* allocate = stmt.as<Allocate>();
  if (!allocate || allocate->buffer.scope != Scope::kLocal) return inner;
  return inner + BytesOf(allocate->buffer);
}

// Adds the shared buffers of `stmt`. Each of its `copies`, in loops that are still to be unrolled,
// has buffers of its own.
void AddShared(const Stmt& stmt, int64_t copies,
               std::unordered_map<Var, int64_t, VarHash>& bytes_of, NestFacts& facts) {
  const auto* loop = stmt.as<For>();
  if (loop && loop->for_kind == ForKind::kUnrolled) copies *= AsConstant(loop->extent).value();
  const auto* allocate = stmt.as<Allocate>();
  if (allocate && allocate->buffer.scope == Scope::kShared) {
    int64_t bytes = (BytesOf(allocate->buffer) + 15) / 16 * 16;
    bytes_of[allocate->buffer.var] = bytes;
    facts.shared_bytes += bytes * copies;
  }
  ForEachChild(stmt, [&](const Stmt& child) { AddShared(child, copies, bytes_of, facts); });
}

void MeasureShared(const Stmt& nest, NestFacts& facts) {
  std::unordered_map<Var, int64_t, VarHash> bytes_of;
  AddShared(nest, 1, bytes_of, facts);
  if (bytes_of.empty()) return;
  PreOrder(nest, [&](const Stmt& stmt) {
    const auto* store = stmt.as<Store>();
    if (!store) return;
    std::unordered_set<Var, VarHash> accessed = {store->buffer};
    ForEachExpr(stmt, [&](const Expr& expr) {
      PreOrder(expr, [&](const Expr& node) {
        if (const auto* load = node.as<Load>()) accessed.insert(load->buffer);
      });
    });
    int64_t at_once = 0;
    for (const auto& [buffer, bytes] : bytes_of) at_once += accessed.contains(buffer) ? bytes : 0;
    facts.shared_bytes_at_once = std::max(facts.shared_bytes_at_once, at_once);
  });
}

int64_t StoresIn(const Stmt& stmt) {
  if (const auto* store = stmt.as<Store>()) {
    return std::max<int64_t>(store->indices[0].dtype().lanes(), 1);
  }
  if (const auto* test = stmt.as<If>()) {
    int64_t other = test->else_body ? StoresIn(test->else_body) : 0;
    return std::max(StoresIn(test->then_body), other);
  }
  int64_t count = 0;
  ForEachChild(stmt, [&](const Stmt& child) { count += StoresIn(child); });
  return count;
}

int64_t MarkedStores(const Stmt& stmt) {
  if (stmt.as<Store>() || stmt.as<PrefetchLine>()) return 1;
  int64_t count = 0;
  ForEachChild(stmt, [&](const Stmt& child) { count += MarkedStores(child); });
  const auto* loop = stmt.as<For>();
  bool marked =
      loop && (loop->for_kind == ForKind::kUnrolled || loop->for_kind == ForKind::kVectorized);
  return marked ? count * AsConstant(loop->extent).value() : count;
}

int64_t VthreadsIn(const Stmt& stmt) {
  int64_t most = 1;
  ForEachChild(stmt, [&](const Stmt& child) { most = std::max(most, VthreadsIn(child)); });
  const auto* loop = stmt.as<For>();
  bool vthread = loop && loop->for_kind == ForKind::kVthread;
  return vthread ? most * AsConstant(loop->extent).value() : most;
}

void MeasureLaunch(const For& loop, NestFacts& facts) {
  int kind = static_cast<int>(loop.for_kind);
  int block = kind - static_cast<int>(ForKind::kBlockIdxX);
  int thread = kind - static_cast<int>(ForKind::kThreadIdxX);
  int64_t extent = AsConstant(loop.extent).value_or(1);
  if (IsBlockIdx(loop.for_kind)) facts.grid[block] = std::max(facts.grid[block], extent);
  if (IsThreadIdx(loop.for_kind)) {
    facts.threads_by_axis[thread] = std::max(facts.threads_by_axis[thread], extent);
  }
}

void MeasureAccess(const Var& buffer, const std::vector<Expr>& indices, NestFacts& facts) {
  int64_t lanes = indices[0].dtype().lanes();
  if (lanes == 1) return;
  facts.vector_bytes = std::max(facts.vector_bytes, BytesOf(lanes, buffer.dtype()));
}

// Of a function whose vectorized loops are still marked.
void MeasureMarkedVector(const For& loop, NestFacts& facts) {
  int64_t lanes = AsConstant(loop.extent).value();
  facts.lanes = std::max(facts.lanes, lanes);
  auto measure = [&](const Var& buffer, const std::vector<Expr>& indices) {
    if (!UsesVar(indices[0], loop.var)) return;
    facts.vector_bytes = std::max(facts.vector_bytes, BytesOf(lanes, buffer.dtype()));
  };
  PreOrder(loop.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) measure(store->buffer, store->indices);
  });
  PreOrderExprs(loop.body, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) measure(load->buffer, load->indices);
  });
}

NestFacts FactsOfNest(const Stmt& nest) {
  NestFacts facts;
  MeasureShared(nest, facts);
  facts.local_bytes = LocalBytes(nest);
  facts.statements = StoresIn(nest);
  facts.vthreads = VthreadsIn(nest);
  PreOrder(nest, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      MeasureLaunch(*loop, facts);
      if (loop->for_kind == ForKind::kVectorized) MeasureMarkedVector(*loop, facts);
    }
    if (const auto* store = stmt.as<Store>()) MeasureAccess(store->buffer, store->indices, facts);
  });
  PreOrderExprs(nest, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) MeasureAccess(load->buffer, load->indices, facts);
    facts.lanes = std::max<int64_t>(facts.lanes, expr.dtype().lanes());
  });
  return facts;
}

bool HasLoop(const Function& fn, std::initializer_list<ForKind> kinds) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && std::ranges::find(kinds, loop->for_kind) != kinds.end();
  });
}

}  // namespace

std::vector<NestFacts> FactsOf(const Function& lowered) {
  std::vector<NestFacts> facts;
  for (const Stmt& nest : NestsOf(lowered)) facts.push_back(FactsOfNest(nest));
  return facts;
}

std::vector<int64_t> StatementsToUnroll(const Function& marked) {
  std::vector<int64_t> counts;
  for (const Stmt& nest : NestsOf(marked)) counts.push_back(MarkedStores(nest));
  return counts;
}

namespace {

class AlignmentProbe {
 public:
  explicit AlignmentProbe(const Function& marked) {
    for (const Buffer& buffer : DeclaredBuffers(marked)) {
      if (buffer.scope == Scope::kLocal) local_.push_back(buffer.var);
    }
  }

  void Walk(const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (loop) loops_.push_back(loop);
    if (const auto* store = stmt.as<Store>()) {
      Probe(store->buffer, store->indices[0]);
      PreOrderExprs(stmt, [&](const Expr& expr) {
        if (const auto* load = expr.as<Load>()) Probe(load->buffer, load->indices[0]);
      });
    }
    if (const auto* copy = stmt.as<AsyncCopy>()) {
      ProbeStart(copy->destination.indices[0], copy->count);
      ProbeStart(copy->source.indices[0], copy->count);
    }
    ForEachChild(stmt, [&](const Stmt& child) { Walk(child); });
    if (loop) loops_.pop_back();
  }

  bool aligned() const { return aligned_; }

 private:
  void Probe(const Var& buffer, const Expr& index) {
    const For* vector = nullptr;
    for (const For* loop : loops_) {
      if (loop->for_kind == ForKind::kVectorized) vector = loop;
    }
    if (!vector || std::ranges::find(local_, buffer) != local_.end()) return;
    // Only what is affine in the lanes becomes one access: others are gathered.
    if (!ToAffine(index, {vector->var})) return;
    int64_t lanes = AsConstant(vector->extent).value();
    Assignment at;
    for (const For* loop : loops_) at[loop->var] = 0;
    std::optional<int64_t> first = EvaluateInt(index, at);
    at[vector->var] = 1;
    std::optional<int64_t> second = EvaluateInt(index, at);
    if (lanes < 2 || !first || !second || *second - *first != 1) return;
    ProbeStart(index, lanes, vector);
  }

  // `vector`: the loop over the lanes, which stands at the first. An index that memory decides
  // counts as aligned.
  void ProbeStart(const Expr& index, int64_t lanes, const For* vector = nullptr) {
    Assignment at;
    for (const For* loop : loops_) at[loop->var] = 0;
    for (const For* loop : loops_) {
      if (loop == vector) continue;
      int64_t extent = AsConstant(loop->extent).value_or(1);
      for (int64_t value : {int64_t{0}, std::min<int64_t>(1, extent - 1), extent / 2, extent - 1}) {
        at[loop->var] = value;
        aligned_ = aligned_ && EvaluateInt(index, at).value_or(0) % lanes == 0;
      }
      at[loop->var] = 0;
    }
  }

  std::vector<Var> local_;
  std::vector<const For*> loops_;
  bool aligned_ = true;
};

}  // namespace

namespace {

// The vectors that straight-line code works on, each from its first to its last use.
class LiveVectors {
 public:
  LiveVectors(const std::set<const ExprNode*>& local, const Target& target)
      : local_(local), target_(target) {}

  void Add(const Store& store) {
    ++place_;
    if (IsLocal(store.buffer)) Use(store.buffer, store.indices[0]);
    auto use = [&](const Expr& expr) {
      const auto* load = expr.as<Load>();
      bool vector = load && load->indices[0].dtype().lanes() > 1;
      if (load && (vector || IsLocal(load->buffer))) Use(load->buffer, load->indices[0]);
    };
    PreOrder(store.value, use);
  }

  int64_t Most() const {
    int64_t most = 0, kept = 0;
    for (const Vector& vector : vectors_) {
      if (IsLocal(vector.buffer)) kept += vector.registers;
    }
    for (int at = 1; at <= place_; ++at) {
      int64_t alive = 0;
      for (const Vector& vector : vectors_) {
        bool used = vector.first <= at && at <= vector.last;
        if (used && !IsLocal(vector.buffer)) alive += vector.registers;
      }
      most = std::max(most, alive);
    }
    return kept == 0 ? 0 : kept + most + 1;
  }

 private:
  struct Vector {
    Var buffer;
    Expr index;
    int64_t registers;
    int first, last;
  };

  bool IsLocal(const Var& buffer) const { return local_.contains(buffer.get()); }

  void Use(const Var& buffer, const Expr& index) {
    for (Vector& known : vectors_) {
      if (!(known.buffer == buffer) || !Equal(known.index, index)) continue;
      known.last = place_;
      return;
    }
    int64_t bytes = BytesOf(index.dtype().lanes(), buffer.dtype());
    int64_t registers = (bytes + target_.vector_bytes - 1) / target_.vector_bytes;
    vectors_.push_back({buffer, index, registers, place_, place_});
  }

  const std::set<const ExprNode*>& local_;
  const Target& target_;
  std::vector<Vector> vectors_;
  int place_ = 0;
};

void CollectStores(const Stmt& stmt, LiveVectors& vectors) {
  if (const auto* store = stmt.as<Store>()) vectors.Add(*store);
  ForEachChild(stmt, [&](const Stmt& child) { CollectStores(child, vectors); });
}

}  // namespace

int64_t VectorsAlive(const Function& lowered, const Target& target) {
  std::set<const ExprNode*> local;
  for (const Buffer& buffer : DeclaredBuffers(lowered)) {
    if (buffer.scope == Scope::kLocal) local.insert(buffer.var.get());
  }
  int64_t most = 0;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    bool innermost = loop != nullptr;
    if (loop) PreOrder(loop->body, [&](const Stmt& s) { innermost = innermost && !s.as<For>(); });
    if (!innermost) return;
    LiveVectors vectors(local, target);
    CollectStores(loop->body, vectors);
    most = std::max(most, vectors.Most());
  });
  return most;
}

bool HasPipeline(const Function& marked) {
  return HasLoop(marked, {ForKind::kPipelined, ForKind::kPipelinedAsync});
}

bool HasRepeatedLoops(const Function& marked) {
  return HasLoop(marked, {ForKind::kPartitioned, ForKind::kVthread});
}

bool VectorsAreAligned(const Function& marked) {
  AlignmentProbe probe(marked);
  probe.Walk(marked.body);
  return probe.aligned();
}

bool Fits(const NestFacts& facts, const Target& target) {
  if (target.kind != TargetKind::kGpu) return true;
  int64_t threads = facts.threads();
  return threads <= target.limits.max_threads &&
         facts.threads_by_axis[2] <= target.limits.max_threads_in_z &&
         (threads <= Target::kWarp || threads % Target::kWarp == 0) &&
         facts.grid[0] <= target.limits.max_blocks[0] &&
         facts.grid[1] <= target.limits.max_blocks[1] &&
         facts.grid[2] <= target.limits.max_blocks[2] &&
         facts.shared_bytes <= target.shared_bytes &&
         Target::kWidestAccess % facts.vector_bytes == 0;
}

}  // namespace tcc
