#include "schedule/default_trace.h"

#include <algorithm>
#include <set>

#include "ir/visitor.h"
#include "schedule/attention_sketch.h"
#include "schedule/constant_panels.h"
#include "schedule/default_tiles.h"
#include "schedule/reduction_nest.h"
#include "schedule/row_reduction.h"

namespace tcc {
namespace {

// Below this many scalar steps a fork and join costs more than it saves.
constexpr int64_t kParallelWork = 1 << 15;

bool IsReduction(const Block& block) {
  return block.body.as<Reduce>() != nullptr;
}

// Its reduce variables have an order (IterKind): only loops round them may be touched.
bool IsOrdered(const Block& block) {
  return !IsReduction(block) &&
         std::any_of(block.iters.begin(), block.iters.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
}

// Builds the trace nest by nest.
class CpuTrace {
 public:
  CpuTrace(const Function& fn, const Target& target) : fn_(fn), target_(target) {}

  Trace Build() {
    for (const Ref<Block>& block : BlocksOf(fn_.body)) {
      std::optional<Prepack> prepack = PrepackOfStage(fn_, *block);
      if (!prepack) continue;
      fn_ = Apply(fn_, *prepack);
      Do(*prepack);
    }
    for (const Ref<Block>& block : BlocksOf(fn_.body)) {
      if (IsAttentionCore(*block)) Take(ScheduleAttention(SketchState(fn_), *block, target_));
    }
    for (const Ref<Block>& block : BlocksOf(fn_.body)) {
      if (consumed_.contains(block->name) || ScheduleRowsOf(*block)) continue;
      if (IsReduction(*block) && !block->name.ends_with(".init")) {
        ScheduleReduction(*block);
      } else if (IsOrdered(*block)) {
        ScheduleOuterLoop(*block);
      } else {
        ScheduleMap(*block);
      }
    }
    return std::move(trace_);
  }

 private:
  template <typename T>
  void Do(T step) {
    trace_.steps.push_back(std::move(step));
  }

  static LoopRef Key(const Block& block, size_t iter) {
    return BaseKey(block.name, block.iters[iter]);
  }

  bool ScheduleRowsOf(const Block& block) {
    return IsRowReduction(block) && Take(ScheduleRows(SketchState(fn_), block, target_));
  }

  // The steps of a schedule for some of the blocks, if there is one.
  bool Take(const std::optional<SketchState>& state) {
    if (!state) return false;
    const std::vector<Step>& steps = state->sketch().trace.steps;
    trace_.steps.insert(trace_.steps.end(), steps.begin(), steps.end());
    for (const Ref<Block>& block : BlocksOf(fn_.body)) {
      if (state->IsDone(block->name)) consumed_.insert(block->name);
    }
    return true;
  }

  // The block that alone reads what `block` alone writes, element by element, or nullptr.
  const Block* EpilogueOf(const Block& block) const {
    std::vector<Access> writes = WritesOf(block);
    if (writes.size() != 1) return nullptr;
    const Var& buffer = writes[0].buffer;
    for (const Buffer& param : fn_.params) {
      if (param.var == buffer) return nullptr;
    }
    const Block* reader = nullptr;
    for (const Ref<Block>& other : BlocksOf(fn_.body)) {
      if (!Accesses(*other, buffer) || other->name == block.name) continue;
      if (reader || IsReduction(*other) || IsOrdered(*other) || Writes(*other, buffer)) {
        return nullptr;
      }
      reader = other.get();
    }
    return reader && ReadsPlainly(*reader, buffer) ? reader : nullptr;
  }

  // Every load of `buffer` is at the reader's own spatial variables, in their order.
  static bool ReadsPlainly(const Block& reader, const Var& buffer) {
    for (const Access& read : ReadsOf(reader)) {
      if (!(read.buffer == buffer)) continue;
      if (read.indices.size() != reader.iters.size()) return false;
      for (size_t d = 0; d < read.indices.size(); ++d) {
        if (!read.indices[d].same_as(reader.iters[d].var)) return false;
      }
    }
    return true;
  }

  void ScheduleReduction(const Block& block) {
    std::vector<size_t> spatial, reduce;
    for (size_t i = 0; i < block.iters.size(); ++i) {
      (block.iters[i].kind == IterKind::kSpatial ? spatial : reduce).push_back(i);
    }
    std::vector<Access> writes = WritesOf(block);
    bool fresh = block.body.as<Reduce>()->init == ReduceInit::kFirstInstance;
    bool plain = writes.size() == 1 && writes[0].indices.size() == spatial.size();
    for (size_t d = 0; plain && d < spatial.size(); ++d) {
      plain = writes[0].indices[d].same_as(block.iters[spatial[d]].var);
    }
    if (spatial.empty() || reduce.empty() || !fresh || !plain) return ScheduleOuterLoop(block);
    TileReduction(block, spatial, reduce);
  }

  // Parallel over the outermost loop if it is spatial, nothing else: right for any reduction and
  // any ordered block.
  void ScheduleOuterLoop(const Block& block) {
    bool spatial = !block.iters.empty() && block.iters[0].kind == IterKind::kSpatial &&
                   !IsUnshared(block, block.iters[0]);
    if (spatial && WorkOf(block) >= kParallelWork) {
      Do(Parallel{Key(block, 0)});
    }
  }

  void TileReduction(const Block& block, const std::vector<size_t>& spatial,
                     const std::vector<size_t>& reduce) {
    // A reduced dimension that is kept has an extent of 1: the last one that has more.
    size_t vector_axis = spatial.back();
    for (size_t i : spatial) {
      if (ExtentOf(block, i) > 1) vector_axis = i;
    }
    std::optional<size_t> row_axis;
    for (size_t i : spatial) {
      if (i != vector_axis && ExtentOf(block, i) > 1) row_axis = i;
    }
    RegisterTile tile =
        ChooseRegisterTile(row_axis ? ExtentOf(block, *row_axis) : 1, ExtentOf(block, vector_axis),
                           target_, WritesOf(block)[0].buffer.dtype());
    PackConstants(block, vector_axis, tile);

    const Block* epilogue = EpilogueOf(block);
    std::string last = epilogue ? epilogue->name : block.name + ".out";
    std::string output = WritesOf(block)[0].buffer->name;
    if (epilogue) {
      Do(SetScope{output, Scope::kLocal});
      consumed_.insert(epilogue->name);
    } else {
      Do(CacheWrite{block.name, output, Scope::kLocal, last});
    }

    Do(Split{Key(block, vector_axis), {Expr(tile.registers), Expr(tile.lanes)}});
    if (row_axis) Do(Split{Key(block, *row_axis), {Expr(tile.rows)}});

    // Columns outermost: their panel of weights stays in the cache while rows stream past it.
    std::vector<LoopRef> outer = {Key(block, vector_axis) + ".0"};
    std::vector<LoopRef> inner;
    for (size_t i : spatial) {
      if (i == vector_axis) continue;
      outer.push_back(Key(block, i) + (row_axis == i ? ".0" : ""));
    }
    for (size_t i : reduce) inner.push_back(Key(block, i));
    LoopRef innermost_tile_loop = outer.back();
    LoopRef first_reduce_loop = inner.front();
    if (row_axis) inner.push_back(Key(block, *row_axis) + ".1");
    inner.push_back(Key(block, vector_axis) + ".1");
    inner.push_back(Key(block, vector_axis) + ".2");
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    Do(Reorder{order});
    Do(ReverseComputeAt{last, innermost_tile_loop});
    Do(DecomposeReduction{block.name, first_reduce_loop});

    for (const std::string& name : {block.name, block.name + ".init"}) {
      std::string suffix = Key(block, vector_axis).substr(block.name.size());
      Do(Vectorize{name + suffix + ".2"});
      Do(Unroll{name + suffix + ".1"});
      if (row_axis) Do(Unroll{name + Key(block, *row_axis).substr(block.name.size()) + ".1"});
    }
    FinishTileConsumer(epilogue, last, spatial, vector_axis, row_axis, tile.lanes);
    ParallelOuter(block, outer);
  }

  // Constants that the tile's columns index lie panel by panel, each as the reduction streams it.
  void PackConstants(const Block& block, size_t vector_axis, const RegisterTile& tile) {
    std::vector<std::string> copies;
    for (const ConstantOperand& operand : ConstantOperands(fn_, block, vector_axis)) {
      if (!IsWorthPacking(operand, tile.registers * tile.lanes)) continue;
      for (const Step& step :
           PackingSteps(operand, block.name, Expr(tile.registers), Expr(tile.lanes), copies)) {
        Do(step);
      }
    }
  }

  // The write-back's loops are named ax0, ax1, ... by CacheWrite; an epilogue keeps its own names.
  void FinishTileConsumer(const Block* epilogue, const std::string& last,
                          const std::vector<size_t>& spatial, size_t vector_axis,
                          std::optional<size_t> row_axis, int64_t lanes) {
    for (size_t d = 0; d < spatial.size(); ++d) {
      LoopRef loop = epilogue ? Key(*epilogue, d) : last + "/ax" + std::to_string(d);
      if (row_axis && spatial[d] == *row_axis) Do(Unroll{loop});
      if (spatial[d] != vector_axis) continue;
      Do(Split{loop, {Expr(lanes)}});
      Do(Unroll{loop + ".0"});
      Do(Vectorize{loop + ".1"});
    }
  }

  // The loops become one parallel loop but for the last, which stays inside as the stream of tiles.
  void ParallelOuter(const Block& block, const std::vector<LoopRef>& outer) {
    if (WorkOf(block) < kParallelWork) return;
    size_t fused = outer.size() > 1 ? outer.size() - 1 : 1;
    LoopRef loop = outer[0];
    for (size_t i = 1; i < fused; ++i) {
      Do(Fuse{loop, outer[i]});
      loop = FusedKey(loop, outer[i]);
    }
    Do(Parallel{loop});
  }

  void ScheduleMap(const Block& block) {
    if (block.iters.empty()) return;
    size_t last = block.iters.size() - 1;
    LoopRef inner = Key(block, last);
    std::vector<LoopRef> outer;
    for (size_t i = 0; i < last; ++i) outer.push_back(Key(block, i));
    int64_t lanes = MapLanes(ExtentOf(block, last), target_);
    if (lanes < ExtentOf(block, last)) {
      Do(Split{inner, {Expr(lanes)}});
      outer.push_back(inner + ".0");
      inner += ".1";
    }
    if (lanes > 1) Do(Vectorize{inner});
    if (outer.empty() || WorkOf(block) < kParallelWork) return;
    LoopRef loop = outer[0];
    for (size_t i = 1; i < outer.size(); ++i) {
      Do(Fuse{loop, outer[i]});
      loop = FusedKey(loop, outer[i]);
    }
    Do(Parallel{loop});
  }

  Function fn_;  // with what stages of constants compute marked
  const Target& target_;
  Trace trace_;
  std::set<std::string> consumed_;  // blocks that were scheduled with an earlier one
};

}  // namespace

Trace DefaultTrace(const Function& fn, const Target& target) {
  if (target.kind != TargetKind::kCpu) return {};
  return CpuTrace(fn, target).Build();
}

}  // namespace tcc
