#include "schedule/space/resources.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/cross_thread.h"
#include "ir/analysis/privatize.h"
#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/region.h"
#include "schedule/analysis/registers.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

bool IsOne(const Expr& expr) {
  return IsConstant(expr, 1);
}
bool IsZero(const Expr& expr) {
  return IsConstant(expr, 0);
}
Expr Times(const Expr& a, const Expr& b) {
  if (IsOne(a) || IsZero(b)) return b;
  return IsOne(b) || IsZero(a) ? a : a * b;
}
Expr Plus(const Expr& a, const Expr& b) {
  if (IsZero(a)) return b;
  return IsZero(b) ? a : a + b;
}
// Returns the larger of two expressions that are 0 or more.
Expr Larger(const Expr& a, const Expr& b) {
  if (IsZero(a) || Equal(a, b)) return b;
  return IsZero(b) ? a : MaxOf(a, b);
}
Expr InUnits(const Expr& bytes, int64_t unit) {
  return IsZero(bytes) ? bytes : CeilDivide(bytes, Expr(unit));
}

// Returns the number of statements that a block's body becomes, init included.
int64_t StatementsOf(const Block& block) {
  int64_t count = 0;
  PreOrder(block.body, [&](const Stmt& stmt) {
    if (stmt.as<Store>()) ++count;
    if (const auto* reduce = stmt.as<Reduce>()) {
      int64_t times = reduce->init == ReduceInit::kFirstInstance ? 2 : 1;
      count += static_cast<int64_t>(reduce->outputs.size()) * times;
    }
  });
  return count;
}

// Returns whether an extent is 0 at every size, as multiples and parts of 0 are.
bool IsNothing(const Expr& extent) {
  return BoundsOf(extent, {}).high <= 0;
}

// Returns whether the block may have an instance; otherwise no code is made for it.
bool MayExist(const Block& block) {
  return std::ranges::none_of(block.iters,
                              [](const IterVar& iter) { return IsNothing(iter.domain); });
}

bool HasWork(const Stmt& stmt) {
  std::vector<Ref<Block>> blocks = BlocksOf(stmt);
  return std::ranges::any_of(blocks, [](const Ref<Block>& block) { return MayExist(*block); });
}

class NestMeter {
 public:
  NestMeter(const Function& fn, const Target& target) : fn_(fn), target_(target) {}

  NestResources Measure(const RootNest& root) {
    Stmt nest = PrivatizeBuffers(root.stmt);
    NestResources result;
    result.name = root.name;
    result.grid = LaunchSize(nest, ForKind::kBlockIdxX);
    result.threads_by_axis = LaunchSize(nest, ForKind::kThreadIdxX);
    result.threads = Times(Times(result.threads_by_axis[0], result.threads_by_axis[1]),
                           result.threads_by_axis[2]);
    result.vthreads = Expr(1);
    threads_ = result.threads_by_axis;
    auto is_local = [](const Allocate& a) { return a.buffer.scope == Scope::kLocal; };
    auto bytes = [&](const Allocate& a) { return BytesOf(a.buffer); };
    auto registers = [&](const Allocate& a) { return RegistersOf(a.buffer); };
    auto is_registers = [](const Allocate& a) { return IsRegisters(a) || IsOfWarp(a); };
    result.shared_bytes = SharedBytes(nest);
    result.local_bytes = Peak(nest, Expr(1), is_local, bytes);
    result.register_bytes = Peak(nest, Expr(1), IsRegisters, bytes);
    result.lanes = result.vector_bytes = Expr(1);
    result.statements = operands_ = Expr(0);
    Scan(nest, Expr(1), Expr(1), result);
    int64_t others = target_.kind == TargetKind::kCpu ? 1 : kBookkeepingRegisters;
    result.registers =
        Plus(Plus(Peak(nest, Expr(1), is_registers, registers), operands_), Expr(others));
    return result;
  }

 private:
  // Returns the largest extent of each axis; `first` is the kind of the x axis.
  static std::array<Expr, 3> LaunchSize(const Stmt& nest, ForKind first) {
    std::array<Expr, 3> size = {Expr(1), Expr(1), Expr(1)};
    std::array<std::vector<Expr>, 3> extents;
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (!loop) return;
      int axis = static_cast<int>(loop->for_kind) - static_cast<int>(first);
      if (axis < 0 || axis > 2) return;
      for (const Expr& extent : extents[axis]) {
        if (EqualUpToAlgebra(extent, loop->extent)) return;
      }
      extents[axis].push_back(loop->extent);
      size[axis] = IsOne(size[axis]) ? loop->extent : MaxOf(size[axis], loop->extent);
    });
    return size;
  }

  static Expr BytesOf(const Expr& cells, DType dtype) {
    return IsPacked(dtype) ? CeilDivide(cells, Expr(PackedPerByte(dtype)))
                           : Times(cells, Expr(dtype.bytes()));
  }

  static Expr BytesOf(const Buffer& buffer) {
    Expr bytes = BytesOf(StoredElements(buffer), buffer.dtype());
    if (buffer.versions) bytes = Times(bytes, buffer.versions);
    if (buffer.scope != Scope::kShared) return bytes;
    return CeilDivide(bytes, Expr(kSharedAlignment)) * Expr(kSharedAlignment);
  }

  // Returns the number of target registers that hold the buffer: 32-bit registers, or on a CPU
  // vectors along the last dimension longer than 1.
  Expr RegistersOf(const Buffer& buffer) const {
    // Each lane has its share of a warp's buffer.
    int64_t shared_by = buffer.scope == Scope::kWarp ? Target::kWarp : 1;
    if (target_.kind != TargetKind::kCpu) return InUnits(BytesOf(buffer), 4 * shared_by);
    std::vector<Expr> extents = StoredExtents(buffer);
    bool plain = extents.size() == buffer.rank();
    size_t vectors = extents.size();
    while (vectors > 1 && plain && IsOne(buffer.shape[vectors - 1])) --vectors;
    Expr count(1);
    for (size_t d = 0; d < extents.size(); ++d) {
      if (d + 1 != vectors) count = Times(count, extents[d]);
    }
    Expr row = extents.empty() ? Expr(1) : extents[vectors - 1];
    return Times(count, InUnits(BytesOf(row, buffer.dtype()), target_.vector_bytes));
  }

  static bool HoldsWarpBuffers(const Stmt& stmt) {
    return Contains(stmt, [&](const Stmt& inner) {
      const auto* allocate = inner.as<Allocate>();
      return allocate && IsOfWarp(*allocate);
    });
  }
  static bool IsOfWarp(const Allocate& allocate) { return allocate.buffer.scope == Scope::kWarp; }
  // Returns whether threads wait for each other in `stmt`: a block there accesses a shared buffer.
  bool MeetsThreads(const Stmt& stmt) const {
    return Contains(stmt, [&](const Stmt& inner) {
      const auto* block = inner.as<Block>();
      return block && std::ranges::any_of(AccessesOf(*block), [&](const Access& access) {
               return FindBuffer(fn_, access.buffer)->scope == Scope::kShared;
             });
    });
  }

  // Returns the scratch buffers if `stmt` is the nest of a reduction across threads.
  std::optional<CrossThreadScratch> ScratchAt(const Stmt& stmt) const {
    const auto* loop = stmt.as<For>();
    std::optional<CrossThreadReduction> found = loop ? MatchCrossThread(*loop) : std::nullopt;
    return found ? std::optional(ScratchOf(fn_, *found, threads_)) : std::nullopt;
  }

  static std::vector<Buffer> BuffersOf(const CrossThreadScratch& scratch) {
    std::vector<Buffer> buffers = scratch.partial;
    bool has_lanes = !(scratch.total[0].var == scratch.partial[0].var);
    if (has_lanes) buffers.insert(buffers.end(), scratch.total.begin(), scratch.total.end());
    for (const auto* more : {&scratch.other, &scratch.shared}) {
      buffers.insert(buffers.end(), more->begin(), more->end());
    }
    return buffers;
  }

  // Returns how often the code of a loop's body is replicated; each copy has buffers of its own. A
  // partitioned loop has at most three parts: first, middle and last.
  static Expr CopiesOf(const For& loop) {
    if (loop.for_kind == ForKind::kUnrolled) return loop.extent;
    if (loop.for_kind == ForKind::kPartitioned) return MinOf(loop.extent, Expr(3));
    return Expr(1);
  }

  // Returns the bytes of all shared buffers together. A launch may let buffers share memory if a
  // barrier separates their uses, but no formula knows that.
  Expr SharedBytes(const Stmt& stmt) const {
    Expr bytes(0);
    auto add = [&](const Buffer& buffer) {
      if (buffer.scope == Scope::kShared) bytes = Plus(bytes, BytesOf(buffer));
    };
    if (std::optional<CrossThreadScratch> scratch = ScratchAt(stmt)) {
      for (const Buffer& buffer : BuffersOf(*scratch)) add(buffer);
      return bytes;
    }
    if (const auto* allocate = stmt.as<Allocate>()) add(allocate->buffer);
    ForEachChild(stmt, [&](const Stmt& child) { bytes = Plus(bytes, SharedBytes(child)); });
    const auto* loop = stmt.as<For>();
    return loop ? Times(CopiesOf(*loop), bytes) : bytes;
  }

  // Returns the peak of the simultaneously live allocations that count; buffers of consecutive
  // statements share their place. A local buffer that is live across a barrier exists once per
  // vthread. Fragments for the next iteration of an unrolled loop are loaded while the current ones
  // are used.
  Expr Peak(const Stmt& stmt, const Expr& versions,
            const std::function<bool(const Allocate&)>& counts,
            const std::function<Expr(const Allocate&)>& amount) const {
    Expr inner_versions = versions;
    Expr ahead(1);
    const auto* loop = stmt.as<For>();
    if (loop && IsNothing(loop->extent)) return Expr(0);
    if (loop && loop->for_kind == ForKind::kVthread) {
      inner_versions = Times(versions, loop->extent);
    } else if (loop && loop->for_kind == ForKind::kUnrolled && HoldsWarpBuffers(loop->body)) {
      ahead = MinOf(loop->extent, Expr(2));
    }
    Expr most(0);
    if (std::optional<CrossThreadScratch> scratch = ScratchAt(stmt)) {
      for (const Buffer& buffer : BuffersOf(*scratch)) {
        Allocate allocate(buffer, Nothing());
        if (counts(allocate)) most = Plus(most, amount(allocate));
      }
      return most;
    }
    ForEachChild(stmt, [&](const Stmt& child) {
      most = Larger(most, Peak(child, inner_versions, counts, amount));
    });
    most = Times(most, ahead);
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate || !counts(*allocate)) return most;
    bool spread = allocate->buffer.scope == Scope::kLocal && MeetsThreads(allocate->body);
    return Plus(spread ? Times(amount(*allocate), versions) : amount(*allocate), most);
  }

  // Adds up vectors, statements and operands. `copies` is the number of copies of each statement
  // here, once loops are unrolled.
  void Scan(const Stmt& stmt, const Expr& copies, const Expr& vthreads, NestResources& result) {
    if (const auto* block = stmt.as<Block>()) return ScanLeaf(*block, copies, vthreads, result);
    // Tensor cores read shared memory by themselves.
    if (IsGroupProduct(stmt)) {
      result.statements = Plus(result.statements, copies);
      return;
    }
    // Hints are beside blocks, not in them.
    if (stmt.as<PrefetchLine>()) result.statements = Plus(result.statements, copies);
    const auto* loop = stmt.as<For>();
    if (!loop) {
      ForEachChild(stmt, [&](const Stmt& child) { Scan(child, copies, vthreads, result); });
      return;
    }
    if (auto scratch = across_threads_ ? std::nullopt : ScratchAt(stmt)) {
      if (HasWork(stmt))
        result.statements = Plus(result.statements, Times(copies, scratch->stores));
      across_threads_ = true;
      Scan(stmt, copies, vthreads, result);
      across_threads_ = false;
      return;
    }
    if (loop->for_kind == ForKind::kVectorized && HasWork(loop->body)) {
      result.lanes = IsOne(result.lanes) ? loop->extent : MaxOf(result.lanes, loop->extent);
    }
    bool spread = IsSpread(loop->for_kind), vthread = loop->for_kind == ForKind::kVthread;
    std::vector<Ref<For>> outside = unrolled_;
    if (IsInOrder(loop->for_kind) && !spread) unrolled_.clear();
    if (spread) unrolled_.push_back(Ref<For>(loop));
    if (spread) spread_.push_back(loop);
    if (vthread) vthreads_.push_back(Ref<For>(loop));
    Scan(loop->body, spread ? Times(copies, loop->extent) : copies,
         vthread ? Times(vthreads, loop->extent) : vthreads, result);
    if (spread) spread_.pop_back();
    if (vthread) vthreads_.pop_back();
    unrolled_ = std::move(outside);
  }

  void ScanLeaf(const Block& block, const Expr& copies, const Expr& vthreads,
                NestResources& result) {
    if (!MayExist(block)) return;
    // A reduction across threads stores its results once, at the end.
    int64_t stores =
        across_threads_ ? std::ssize(block.body.as<Reduce>()->outputs) : StatementsOf(block);
    result.statements = Plus(result.statements, Times(copies, Expr(stores)));
    if (!IsOne(vthreads)) {
      result.vthreads = IsOne(result.vthreads) ? vthreads : MaxOf(result.vthreads, vthreads);
    }
    Expr operands(0);
    for (const Access& access : AccessesOf(block)) {
      for (const For* loop : spread_) {
        if (loop->for_kind != ForKind::kVectorized ||
            !BindingsUse(block, VarsOf(access), loop->var)) {
          continue;
        }
        Expr bytes = BytesOf(loop->extent, access.buffer.dtype());
        result.vector_bytes =
            IsOne(result.vector_bytes) ? bytes : Larger(result.vector_bytes, bytes);
      }
    }
    for (const Access& read : ReadsOf(block)) {
      if (block.body.as<Reduce>()) operands = Plus(operands, OperandRegisters(block, read));
    }
    operands_ = Larger(operands_, operands);
  }

  // Returns the registers for the cells that a reduction reads from memory and keeps for later
  // uses.
  Expr OperandRegisters(const Block& block, const Access& read) const {
    const Buffer* buffer = FindBuffer(fn_, read.buffer);
    if (buffer->scope == Scope::kLocal || buffer->scope == Scope::kWarp) return Expr(0);
    if (target_.kind == TargetKind::kCpu) return OperandVectors(block, read, *buffer);
    // The copies of virtual threads are adjacent, innermost.
    std::vector<Ref<For>> loops = unrolled_;
    loops.insert(loops.end(), vthreads_.begin(), vthreads_.end());
    std::vector<Ref<For>> spatial;
    for (const Ref<For>& loop : loops) {
      if (IsSpatial(block, loop->var)) spatial.push_back(loop);
    }
    Expr cells = Larger(CellsReached(block, read, spatial), CellsReadAgain(block, read, loops));
    return InUnits(BytesOf(cells, buffer->dtype()), 4);
  }

  // Returns the number of vectors that the unrolled spatial loops read in one step.
  Expr OperandVectors(const Block& block, const Access& read, const Buffer& buffer) const {
    std::vector<Var> iters = VarsOf(read);
    Expr count(1), row(1);
    for (const For* loop : spread_) {
      if (!IsSpatial(block, loop->var) || !BindingsUse(block, iters, loop->var)) continue;
      bool vector = loop->for_kind == ForKind::kVectorized;
      (vector ? row : count) = Times(vector ? row : count, loop->extent);
    }
    // A scalar operand is broadcast just before use.
    if (IsOne(row)) return Expr(0);
    Expr row_bytes = BytesOf(row, buffer.dtype());
    return Times(count, InUnits(row_bytes, target_.vector_bytes));
  }

  static bool IsSpatial(const Block& block, const Var& loop) {
    return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
      return iter.kind == IterKind::kSpatial && UsesVar(iter.binding, loop);
    });
  }

  // Returns the number of distinct cells of the access while `loops` run.
  Expr CellsReached(const Block& block, const Access& read,
                    const std::vector<Ref<For>>& loops) const {
    const Buffer* buffer = FindBuffer(fn_, read.buffer);
    StatusOr<Box> box = RegionOf(block, read, loops);
    Expr cells(1);
    if (!box.ok()) {
      std::vector<Var> iters = VarsOf(read);
      for (const Ref<For>& loop : loops) {
        if (BindingsUse(block, iters, loop->var)) cells = Times(cells, loop->extent);
      }
      return cells;
    }
    for (size_t d = 0; d < box->size.size(); ++d) {
      if (!IsOne(box->size[d])) cells = Times(cells, MinOf(box->size[d], buffer->shape[d]));
    }
    return cells;
  }

  // Returns the number of cells kept for a later read. The unrolled `loops` (outermost first) are
  // one run of statements, in which the compiler reads a cell once. Cells that all iterations of a
  // loop read, or that windows of its neighbouring iterations share, stay in registers during an
  // iteration.
  Expr CellsReadAgain(const Block& block, const Access& read,
                      const std::vector<Ref<For>>& loops) const {
    Expr result(1), inside(1);
    for (size_t i = loops.size(); i-- > 0;) {
      std::vector<Ref<For>> with(loops.begin() + static_cast<ptrdiff_t>(i), loops.end());
      Expr reached = CellsReached(block, read, with);
      Expr shared = reached < Times(loops[i]->extent, inside);
      if (!IsOne(inside)) result = SelectOf(shared, inside, result);
      inside = reached;
    }
    return result;
  }

  const Function& fn_;
  const Target& target_;
  std::vector<const For*> spread_;  // unrolled and vectorized loops around the current statement
  std::vector<Ref<For>> unrolled_;  // the unrolled loops inside all rolled loops
  std::vector<Ref<For>> vthreads_;
  Expr operands_;
  std::array<Expr, 3> threads_;  // of the launch
  bool across_threads_ = false;  // inside a reduction across threads
};

// Returns the name of the block whose loop is outermost: initialisations and copies may precede it
// inside.
std::string NameOf(const Stmt& nest) {
  std::string name;
  PreOrder(nest, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (name.empty() && loop) name = loop->key.substr(0, loop->key.find('/'));
  });
  return name.empty() ? BlocksOf(nest)[0]->name : name;
}

// Returns whether all launches see the buffer: a launch begins below sequences and such buffers.
bool IsSeenByAll(const Allocate& allocate) {
  return allocate.buffer.scope == Scope::kGlobal || allocate.buffer.scope == Scope::kConstant;
}

void FindNests(const Stmt& stmt, std::vector<RootNest>& nests) {
  const auto* allocate = stmt.as<Allocate>();
  if (allocate && IsSeenByAll(*allocate)) {
    FindNests(allocate->body, nests);
  } else if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) FindNests(child, nests);
  } else if (HasWork(stmt)) {
    nests.push_back({NameOf(stmt), stmt});
  }
}

}  // namespace

std::vector<RootNest> RootNestsOf(const Function& fn) {
  std::vector<RootNest> nests;
  FindNests(fn.body, nests);
  return nests;
}

std::vector<NestResources> ResourcesOf(const Function& fn, const Target& target) {
  std::vector<NestResources> results;
  for (const RootNest& nest : RootNestsOf(fn)) {
    results.push_back(NestMeter(fn, target).Measure(nest));
  }
  return results;
}

}  // namespace tcc
