#include "autodiff_features/gpu/gpu_work.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/behind_blocks.h"
#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/registers.h"

namespace tcc {
namespace {

// Instructions that are not operations of the program.
constexpr double kOfDivision = 8;  // of IEEE divisions and roots, beside the reciprocal
constexpr double kOfSpecial = 4;   // of an exponential, beside its core
constexpr double kOfIndex = 3;     // of a division or remainder by a known number
// Instructions of an iteration. Chosen by three main loops: counted 75.3, 84.6 and 58.7 % of
// multiply-adds, machine code 79.0, 86.5 and 60.4 %. It does not carry over: products that were not
// used for the choice have 87.7 % counted and 77.1 to 79.0 % in machine code, 8 instructions of 81.
constexpr double kOfLoop = 1;
constexpr double kOfCopy = 4;  // of a copy's addresses and conditions

bool IsBound(const For& loop) {
  return IsBlockIdx(loop.for_kind) || IsThreadIdx(loop.for_kind);
}
bool IsInThread(const For& loop) {
  return !IsBound(loop) && loop.for_kind != ForKind::kVthread;
}

// The loops of tensor instructions, which a warp runs together.
struct Collectives {
  std::unordered_map<const For*, WarpInstruction::Kind> loops;

  void Find(const Stmt& nest) {
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* call = stmt.as<IntrinsicCall>();
      const WarpInstruction* known = call ? FindWarpInstruction(call->intrinsic) : nullptr;
      if (!known) return;
      PreOrder(call->body, [&](const Stmt& inner) {
        if (const auto* loop = inner.as<For>()) loops.emplace(loop, known->kind);
      });
    });
  }
  std::optional<WarpInstruction::Kind> KindAt(const Site& site) const {
    for (const Ref<For>& loop : site.loops) {
      if (auto found = loops.find(loop.get()); found != loops.end()) return found->second;
    }
    return std::nullopt;
  }
};

// Divisions and remainders in the bindings that change with a loop inside the thread.
double IndexDivisions(const Site& site) {
  double count = 0;
  std::unordered_set<Expr, ExprHash, ExprEqual> seen;
  for (const IterVar& iter : site.block->iters) {
    PreOrder(iter.binding, [&](const Expr& expr) {
      if (!expr.as<FloorDiv>() && !expr.as<FloorMod>()) return;
      bool moves = false;
      for (size_t l = 0; l < site.FirstSpreadLoop(); ++l) {
        moves = moves || (IsInThread(*site.loops[l]) && UsesVar(expr, site.loops[l]->var));
      }
      if (moves && seen.insert(expr).second) ++count;
    });
  }
  return count;
}

// Returns the share of the instances that exist where the predicate cuts axes short (c < 3 for a c
// of 4). Such an axis is unrolled, so that nothing is left of the other instances.
double ShareThatExists(const Block& block) {
  double share = 1;
  for (const Expr& term : ConjunctsOf(block.predicate)) {
    const auto* less = term.as<Lt>();
    std::optional<int64_t> end = less ? AsConstant(less->b) : std::nullopt;
    if (!end) continue;
    for (const IterVar& iter : block.iters) {
      std::optional<int64_t> domain = AsConstant(iter.domain);
      if (!less->a.same_as(iter.var) || !domain || *end >= *domain) continue;
      share *= static_cast<double>(*end) / static_cast<double>(*domain);
    }
  }
  return share;
}

// The cells of the buffer that all instances of the block touch: at most the whole buffer, and one
// for each instance.
Expr CellsOfAll(const Block& block, const Access& access, const Buffer& buffer) {
  std::vector<Var> iters;
  std::vector<Expr> zeros, domains;
  for (const IterVar& iter : block.iters) {
    iters.push_back(iter.var);
    zeros.emplace_back(0);
    domains.push_back(iter.domain);
  }
  Expr cells = Real(1);
  for (size_t d = 0; d < access.indices.size(); ++d) {
    std::optional<IndexBox> box = BoxOf(access.indices[d], iters, zeros, domains);
    Expr size = box ? Simplify(MinOf(box->size, buffer.shape[d])) : buffer.shape[d];
    cells = RealProduct(cells, Real(size));
  }
  // An index that is itself data may be any: each instance touches one cell.
  Expr instances = Real(1);
  for (const Expr& domain : domains) instances = RealProduct(instances, Real(domain));
  return MinOf(cells, instances);
}

Expr BlocksOf(const NestResources& resources) {
  Expr blocks(1);
  for (const Expr& extent : resources.grid) {
    if (!IsConstant(extent, 1)) blocks = IsConstant(blocks, 1) ? extent : blocks * extent;
  }
  return blocks;
}

// Counts the sites of one launch.
class LaunchCounter {
 public:
  LaunchCounter(const Function& fn, const Stmt& nest, LaunchWork& launch)
      : fn_(fn), launch_(launch), goes_on_(GoesOnBehindBlocks(nest)) {
    collectives_.Find(nest);
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* allocate = stmt.as<Allocate>();
      if (!allocate) return;
      Scope scope = allocate->buffer.scope;
      bool in_registers = scope == Scope::kWarp || IsRegisters(*allocate);
      if (in_registers) registers_.insert(allocate->buffer.var);
    });
    launch_.steps = launch_.ahead = launch_.memory_bytes = launch_.constant_bytes = Real(0);
    FindSteps(nest, Real(1));
  }

  WarpSite Count(Site site) {
    WarpSite work;
    std::optional<WarpInstruction::Kind> collective = collectives_.KindAt(site);
    CountRuns(site, collective.has_value(), work);
    work.exact = site.exact;
    work.multiply_adds = work.special = work.mma = work.passes = work.sectors = Real(0);
    work.instructions = work.exchanges = Real(0);
    if (collective) {
      CountCollective(site, *collective, work);
    } else {
      CountOperations(site, work);
      CountAccesses(site, work);
      const Expr share = Real(ShareThatExists(*site.block));
      for (Expr* count : {&work.multiply_adds, &work.special, &work.instructions, &work.passes}) {
        if (!IsConstant(share, 1)) *count = RealProduct(*count, share);
      }
    }
    work.site = std::move(site);
    return work;
  }

 private:
  // Adds how often shared buffers are filled, each sequence of loops once.
  void FindSteps(const Stmt& stmt, const Expr& times) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.scope == Scope::kShared) {
      bool known =
          std::ranges::any_of(fills_, [&](const Expr& fill) { return Equal(fill, times); });
      if (!known) {
        fills_.push_back(times);
        launch_.steps = RealSum(launch_.steps, times);
      }
      const Expr& versions = allocate->buffer.versions;
      if (versions) launch_.ahead = Real(versions) - Real(1);
    }
    const auto* loop = stmt.as<For>();
    Expr inside = loop && IsInThread(*loop) ? RealProduct(times, Real(loop->extent)) : times;
    ForEachChild(stmt, [&](const Stmt& child) { FindSteps(child, inside); });
  }

  void CountRuns(const Site& site, bool collective, WarpSite& work) const {
    std::vector<Expr> runs, threads;
    for (size_t l : ThreadLoopsOf(site)) threads.push_back(site.loops[l]->extent);
    for (size_t l = 0; l < site.loops.size(); ++l) {
      const For& loop = *site.loops[l];
      if (collectives_.loops.contains(&loop)) continue;
      if (IsInThread(loop) && l < site.FirstSpreadLoop()) runs.push_back(loop.extent);
    }
    work.runs = ProductOf(runs);
    work.warps = RealQuotient(WarpsOf(threads, collective), BlocksToOne(site));
  }

  Expr WarpsOf(const std::vector<Expr>& threads, bool collective) const {
    if (collective) return ProductOf(threads);
    if (threads.empty()) return launch_.warps;
    Expr product = threads[0];
    for (size_t t = 1; t < threads.size(); ++t) product = product * threads[t];
    return Real(CeilDivide(product, Expr(Target::kWarp)));
  }

  // Returns the number of blocks to each one that runs the site: of those that it stands behind,
  // the last one does.
  Expr BlocksToOne(const Site& site) const {
    if (!goes_on_) return Real(1);
    std::vector<Expr> others;
    for (size_t axis = 0; axis < 3; ++axis) {
      auto kind =
          static_cast<ForKind>(static_cast<int>(ForKind::kBlockIdxX) + static_cast<int>(axis));
      bool inside = std::ranges::any_of(
          site.loops, [&](const Ref<For>& loop) { return loop->for_kind == kind; });
      if (!inside) others.push_back(launch_.resources.grid[axis]);
    }
    return ProductOf(others);
  }

  static void CountCollective(const Site& site, WarpInstruction::Kind kind, WarpSite& work) {
    work.instructions = Real(1);
    if (kind != WarpInstruction::Kind::kLoadMatrices) {
      std::vector<Expr> domains;
      for (size_t l = site.loops.size() - std::min<size_t>(site.loops.size(), 3);
           l < site.loops.size(); ++l) {
        domains.push_back(site.loops[l]->extent);
      }
      work.mma = ProductOf(domains);
      if (kind == WarpInstruction::Kind::kGroupMma) CountGroup(work);
    } else {
      work.passes = Real(4);
      work.waits_for_shared = true;
    }
  }

  // One instruction does what tens of calls stand for. It reads B from shared memory once for all
  // four warps, and A once for all columns.
  static void CountGroup(WarpSite& work) {
    work.by_group = true;
    work.instructions = Real(1.0 / 16);
    work.passes = Real(0.5);
  }

  // Copies of the straight-line code's statement in a thread.
  static Expr CopiesOf(const Site& site) {
    std::vector<Expr> copies;
    for (size_t l = 0; l < site.loops.size(); ++l) {
      const For& loop = *site.loops[l];
      bool spread = l >= site.FirstSpreadLoop();
      if (spread || loop.for_kind == ForKind::kVthread) copies.push_back(loop.extent);
    }
    return ProductOf(copies);
  }

  void CountOperations(const Site& site, WarpSite& work) const {
    OperationCounts ops = OperationsOf(site);
    Expr copies = CopiesOf(site);
    work.multiply_adds = RealProduct(copies, Real(ops.fma));
    work.special = RealProduct(copies, Real(ops.special + ops.divide + ops.root));
    double each =
        ops.Arithmetic() + kOfDivision * (ops.divide + ops.root) + kOfSpecial * ops.special;
    double others = kOfLoop + kOfIndex * IndexDivisions(site);
    work.instructions = RealSum(RealProduct(copies, Real(each)), Real(others));
    for (const Ref<For>& loop : site.loops) {
      if (loop->for_kind == ForKind::kThreadIdxX && Reduces(site, *loop)) {
        work.exchanges = ExchangesOf(site);
      }
    }
  }

  static bool Reduces(const Site& site, const For& loop) {
    return std::ranges::any_of(site.block->iters, [&](const IterVar& iter) {
      return iter.kind == IterKind::kReduce && UsesVar(iter.binding, loop.var);
    });
  }

  // One for each result of a thread.
  static Expr ExchangesOf(const Site& site) {
    std::vector<Expr> results;
    for (const Ref<For>& loop : site.loops) {
      if (!IsBound(*loop) && !Reduces(site, *loop)) results.push_back(loop->extent);
    }
    return ProductOf(results);
  }

  // Virtual threads that the access depends on.
  static Expr VthreadsThatUse(const Site& site, const Access& access) {
    std::vector<Expr> extents;
    for (const Ref<For>& loop : site.loops) {
      if (loop->for_kind == ForKind::kVthread &&
          BindingsUse(*site.block, VarsOf(access), loop->var)) {
        extents.push_back(loop->extent);
      }
    }
    return ProductOf(extents);
  }

  bool IsCopyAhead(const Site& site) const {
    bool pipelined = std::ranges::any_of(site.loops, [](const Ref<For>& loop) {
      return loop->for_kind == ForKind::kPipelinedAsync;
    });
    return pipelined && FillsShared(site);
  }

  bool FillsShared(const Site& site) const {
    std::vector<Access> writes = WritesOf(*site.block);
    return std::ranges::any_of(writes, [&](const Access& write) {
      return FindBuffer(fn_, write.buffer)->scope == Scope::kShared;
    });
  }

  void CountAccesses(const Site& site, WarpSite& work) {
    WarpParts warp = WarpPartsOf(site);
    bool fills = FillsShared(site), ahead = IsCopyAhead(site);
    if (fills) work.instructions = RealSum(work.instructions, Real(kOfCopy));
    std::vector<Access> seen;
    for (const Access& read : ReadsOf(*site.block)) AddAccess(site, warp, read, fills, seen, work);
    for (const Access& write : WritesOf(*site.block)) {
      // An asynchronous copy is one instruction, which the read counts.
      if (ahead) continue;
      AddAccess(site, warp, write, fills, seen, work);
    }
  }

  void AddAccess(const Site& site, const WarpParts& warp, const Access& access, bool fills,
                 std::vector<Access>& seen, WarpSite& work) {
    if (registers_.contains(access.buffer)) return;
    bool is_known = std::ranges::any_of(seen, [&](const Access& other) {
      return other.buffer == access.buffer &&
             std::ranges::equal(other.indices, access.indices,
                                [](const Expr& a, const Expr& b) { return Equal(a, b); });
    });
    if (is_known) return;
    seen.push_back(access);
    const Buffer& buffer = *FindBuffer(fn_, access.buffer);
    WarpMoves moved = WarpMovesOf(site, warp, access, buffer);
    Expr times = VthreadsThatUse(site, access);
    work.instructions = RealSum(work.instructions, RealProduct(times, moved.instructions));
    work.passes = RealSum(work.passes, RealProduct(times, moved.passes));
    bool of_memory = buffer.scope == Scope::kGlobal || buffer.scope == Scope::kConstant;
    if (of_memory) {
      work.sectors = RealSum(work.sectors, RealProduct(times, moved.sectors));
      AddMemory(site, access, buffer);
    }
    ++launch_.accesses;
    if (!moved.exact) {
      launch_.without_box.push_back(site.block->name + " of " + buffer.var->name);
    }
    std::vector<Access> writes = WritesOf(*site.block);
    bool is_write = std::ranges::any_of(
        writes, [&](const Access& write) { return write.buffer == access.buffer; });
    if (is_write) return;
    if (of_memory) (fills ? work.fills_from_memory : work.waits_for_memory) = true;
    if (buffer.scope == Scope::kShared) work.waits_for_shared = true;
  }

  // Counts each buffer once, by its first access.
  void AddMemory(const Site& site, const Access& access, const Buffer& buffer) {
    if (!touched_.insert(buffer.var).second) return;
    Expr bytes = RealProduct(CellsOfAll(*site.block, access, buffer),
                             Real(static_cast<double>(buffer.dtype().bits()) / 8));
    launch_.memory_bytes = RealSum(launch_.memory_bytes, bytes);
    if (buffer.scope == Scope::kConstant) {
      launch_.constant_bytes = RealSum(launch_.constant_bytes, bytes);
    }
  }

  const Function& fn_;
  LaunchWork& launch_;
  bool goes_on_;  // behind blocks
  Collectives collectives_;
  std::vector<Expr> fills_;
  std::unordered_set<Var, VarHash> registers_;
  std::unordered_set<Var, VarHash> touched_;
};

}  // namespace

std::vector<LaunchWork> LaunchesOf(const Function& fn, const Target& target) {
  return LaunchesOf(fn, ResourcesOf(fn, target));
}

std::vector<LaunchWork> LaunchesOf(const Function& fn, std::span<const NestResources> resources) {
  std::vector<NestSites> nests = SitesOf(fn);
  std::vector<LaunchWork> launches;
  for (size_t n = 0; n < nests.size(); ++n) {
    if (nests[n].runs_when_linked) continue;
    LaunchWork& launch = launches.emplace_back();
    launch.name = nests[n].name;
    launch.resources = resources[n];
    launch.blocks = BlocksOf(resources[n]);
    launch.warps = Real(CeilDivide(resources[n].threads, Expr(Target::kWarp)));
    LaunchCounter counter(fn, nests[n].stmt, launch);
    for (Site& site : nests[n].sites) launch.sites.push_back(counter.Count(std::move(site)));
  }
  return launches;
}

}  // namespace tcc
