#include <algorithm>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/analysis/cross_thread.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "schedule/space/trace.h"
#include "support/check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random/ordered_functions.h"
#include "tests/fuzz/random/task_functions.h"
#include "tests/programs/satisfies.h"

// Which sketches the operators get of the built-in networks and of OrderedTaskFunctions: a row for
// each block of each variant of each task on each kind of target. Every contraction and window is
// tiled by one of them at least, on a GPU nothing that has an axis for threads is left without, and
// every sketch starts from a point of its own space.
namespace tcc {
namespace {

bool IsLong(const IterVar& iter) {
  return !IsConstant(iter.domain, 1);
}

// The value of an index at the origin, but where `at` says otherwise.
int64_t IndexAt(const Expr& index, const Block& block, const Assignment& at) {
  Assignment values = at;
  for (const IterVar& iter : block.iters) values.try_emplace(iter.var, 0);
  return EvaluateInt(index, values).value_or(0);
}

// Whether some index slides: the last step of the reduction is at or beyond where a neighbour's
// first is.
bool IsWindow(const Block& block) {
  for (const Access& read : ReadsOf(block)) {
    for (const Expr& index : read.indices) {
      Assignment last;
      for (const IterVar& iter : block.iters) {
        if (iter.kind == IterKind::kReduce) last[iter.var] = *AsConstant(iter.domain) - 1;
      }
      int64_t first = IndexAt(index, block, {}), reach = IndexAt(index, block, last);
      for (const IterVar& iter : block.iters) {
        if (iter.kind != IterKind::kSpatial || !IsLong(iter)) continue;
        int64_t next = IndexAt(index, block, {{iter.var, 1}});
        if (first < next && next <= reach) return true;
      }
    }
  }
  return false;
}

const char* KindOf(const Block& block) {
  if (IsOrdered(block)) return "ordered";
  if (!IsReduction(block)) return "map";
  if (IsWindow(block)) return "window";
  return HasReuse(block) ? "contraction" : "reduction";
}

bool HasInstances(const Block& block) {
  return std::ranges::none_of(block.iters,
                              [](const IterVar& iter) { return IsConstant(iter.domain, 0); });
}

// Whether several loops make up an axis of the block: one of the results, or of the reduction
// where there is a single result.
bool IsTiled(const Function& fn, const Block& block) {
  std::vector<Ref<For>> loops = LoopsOn(FindBlock(fn, block.name).value());
  bool single = std::ranges::none_of(block.iters, [](const IterVar& iter) {
    return iter.kind == IterKind::kSpatial && IsLong(iter);
  });
  for (const IterVar& iter : block.iters) {
    if (iter.kind != IterKind::kSpatial && !single) continue;
    int levels = 0;
    for (const Ref<For>& loop : loops) {
      levels += UsesVar(iter.binding, loop->var) && !IsConstant(loop->extent, 1);
    }
    if (levels > 1) return true;
  }
  return false;
}

// The reduction `name`, or what RFactor has made of it.
bool TilesReduction(const Function& scheduled, const std::string& name) {
  for (const Ref<Block>& block : BlocksOf(scheduled.body)) {
    bool same = block->name == name || block->name.starts_with(name + ".");
    if (same && IsReduction(*block) && IsTiled(scheduled, *block)) return true;
  }
  return false;
}

// The blocks that a GPU would run in one go though they have axes for more: one thread of a thread
// block may combine what the others did, but there are many such.
std::vector<std::string> Unbound(const Function& scheduled) {
  std::vector<std::string> names;
  for (const Ref<Block>& block : BlocksOf(scheduled.body)) {
    bool bound = false;
    for (const Ref<For>& loop : LoopsOn(FindBlock(scheduled, block->name).value())) {
      bound = bound || IsThreadIdx(loop->for_kind) || IsBlockIdx(loop->for_kind);
    }
    bool has_axis = std::ranges::any_of(block->iters, [](const IterVar& iter) {
      return iter.kind == IterKind::kSpatial && IsLong(iter);
    });
    if (!bound && has_axis && HasInstances(*block)) names.push_back(block->name);
  }
  return names;
}

// The first constraint of the sketch's own space that its start breaks; "" where there is none.
std::string BrokenAtStart(const Function& fn, const Target& target, const Sketch& sketch) {
  SymbolicProgram program = ProgramOf(fn, target, sketch);
  StatusOr<SearchSpace> space = SearchSpace::Create(program);
  if (!space.ok()) return Message(space.status());
  const Constraint* broken = FirstBroken(program, space->ToDecisions(space->ToPoint(sketch.start)));
  return broken == nullptr ? "" : broken->why;
}

struct Sketched {
  std::string name;
  Function fn;
};

class Table {
 public:
  explicit Table(FuzzResult& result) : result_(result) {}

  void Add(const TaskFunction& task, const Target& target) {
    std::vector<Sketched> sketches;
    for (const Sketch& sketch : GenerateSketches(task.fn, target)) {
      StatusOr<SymbolicProgram> program = Instantiate(task.fn, sketch.trace);
      if (!program.ok()) return Fail(task, target, "", Message(program.status()));
      if (std::string broken = BrokenAtStart(task.fn, target, sketch); !broken.empty()) {
        return Fail(task, target, "", sketch.name + " starts outside its space: " + broken);
      }
      sketches.push_back({sketch.name, program->fn});
    }
    if (sketches.empty()) return Fail(task, target, "", "no sketch");
    for (const Sketched& sketch : sketches) {
      if (target.kind != TargetKind::kGpu) break;
      for (const std::string& name : Unbound(sketch.fn)) {
        Fail(task, target, name, "left unbound by sketch '" + sketch.name + "'");
      }
    }
    for (const Ref<Block>& block : BlocksOf(task.fn.body)) {
      if (HasInstances(*block)) AddBlock(task, target, *block, sketches);
    }
  }

 private:
  void AddBlock(const TaskFunction& task, const Target& target, const Block& block,
                const std::vector<Sketched>& sketches) {
    std::string kind = KindOf(block);
    size_t tiled = 0;
    for (const Sketched& sketch : sketches) tiled += TilesReduction(sketch.fn, block.name);
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", task.network, task.nodes, task.variant,
               target.name, block.name, kind, sketches.size(), tiled, sketches[0].name);
    std::string on = " on " + target.name;
    ++result_.histogram[kind + "s" + on];
    bool must = kind == "window" || kind == "contraction";
    if (must && tiled > 0) ++result_.histogram["tiled " + kind + "s" + on];
    if (must && tiled == 0) return Fail(task, target, block.name, "in no tiled sketch");
    ++result_.passed;
  }

  void Fail(const TaskFunction& task, const Target& target, const std::string& block,
            const std::string& what) {
    fmt::print(stderr, "{} '{}' variant {} on {}: {} {}\n", task.network, task.nodes, task.variant,
               target.name, block, what);
    ++result_.failed;
  }

  FuzzResult& result_;
};

}  // namespace

FuzzResult ListSketches(const FuzzOptions& options) {
  FuzzResult result;
  Table table(result);
  fmt::print("network\ttask\tvariant\ttarget\tblock\tkind\tsketches\ttiled\tfirst sketch\n");
  std::vector<TaskFunction> tasks = ZooTaskFunctions(options.zoo);
  for (TaskFunction& task : OrderedTaskFunctions()) tasks.push_back(std::move(task));
  for (TaskFunction& task : tasks) {
    for (const char* name : {"native", "sm_86", "opencl"}) {
      const Target target = FindTarget(name).value();
      NoteWarps(task.fn, target);
      table.Add(task, target);
    }
  }
  return result;
}

}  // namespace tcc
