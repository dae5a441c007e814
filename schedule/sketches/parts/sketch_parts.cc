#include "schedule/sketches/parts/sketch_parts.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/reorder.h"

namespace tcc {

LoopRef LevelKey(const LoopRef& loop, size_t level) {
  return loop + "." + std::to_string(level);
}

std::vector<LoopRef> KeysOf(const Block& block, const std::vector<size_t>& iters) {
  std::vector<LoopRef> keys;
  for (size_t i : iters) keys.push_back(BaseKey(block.name, block.iters[i]));
  return keys;
}

LoopRef FuseAll(SketchState& state, const std::vector<LoopRef>& loops) {
  LoopRef fused = loops[0];
  for (size_t i = 1; i < loops.size(); ++i) {
    state.Do(Fuse{fused, loops[i]});
    fused = FusedKey(fused, loops[i]);
  }
  return fused;
}

std::vector<LoopRef> SpatialLoopsOutside(SketchState& state, const Block& block) {
  std::vector<LoopRef> leading, spatial, others;
  for (const IterVar& iter : block.iters) {
    LoopRef loop = BaseKey(block.name, iter);
    // Values of an axis that some outputs lack repeat what is inside.
    bool moves = iter.kind == IterKind::kSpatial && !IsUnshared(block, iter);
    if (moves && others.empty()) leading.push_back(loop);
    (moves ? spatial : others).push_back(loop);
  }
  if (spatial.size() == leading.size()) return leading;
  std::vector<LoopRef> order = spatial;
  order.insert(order.end(), others.begin(), others.end());
  return state.Try(Reorder{order}) ? spatial : leading;
}

Domain PowersOfTwo(int64_t least, int64_t most) {
  Domain domain{DomainKind::kChoice, {}};
  for (int64_t value = least; value <= most; value *= 2) domain.numbers.push_back(value);
  return domain;
}

Expr LanesOf(SketchState& state, const LoopRef& loop, int64_t extent, int64_t widest,
             int64_t start) {
  extent = std::max<int64_t>(extent, 1);
  Domain lanes = PowersOfTwo(1, std::min(extent, widest));
  if (extent < widest && lanes.numbers.back() != extent) lanes.numbers.push_back(extent);
  return state.Size(loop, std::max(extent, widest), lanes, start);
}

ResultReader KeepResult(SketchState& state, const Block& reduction, Scope scope) {
  std::string output = WritesOf(reduction)[0].buffer->name;
  ResultReader reader;
  if (const Block* epilogue = EpilogueOf(state.fn(), reduction)) {
    reader.block = epilogue->name;
    for (const IterVar& iter : epilogue->iters) reader.loops.push_back(BaseKey(reader.block, iter));
    state.Do(SetScope{output, scope});
  } else {
    reader.block = reduction.name + ".out";
    size_t rank = ItersOf(reduction, IterKind::kSpatial).size();
    state.Do(CacheWrite{reduction.name, output, scope, reader.block});
    for (size_t d = 0; d < rank; ++d) {
      reader.loops.push_back(reader.block + "/ax" + std::to_string(d));
    }
  }
  state.MarkDone(reader.block);
  state.MarkDone(reduction.name + ".init");
  return reader;
}

ResultReader KeepResultLocal(SketchState& state, const Block& reduction) {
  return KeepResult(state, reduction, Scope::kLocal);
}

namespace {

bool IsReadBy(const Block& reader, const Var& buffer) {
  std::vector<Access> reads = ReadsOf(reader);
  return std::ranges::any_of(reads, [&](const Access& read) { return read.buffer == buffer; });
}

// The element that alone is read, by a map that can go where it is made (ReverseComputeAt has one
// operand there).
std::optional<size_t> ElementOf(const Block* epilogue, const std::vector<Access>& outputs) {
  std::optional<size_t> element;
  for (size_t e = 0; epilogue && e < outputs.size(); ++e) {
    if (!IsReadBy(*epilogue, outputs[e].buffer)) continue;
    if (element) return std::nullopt;
    element = e;
  }
  return element;
}

}  // namespace

std::optional<std::vector<ResultReader>> KeepResults(SketchState& state, const Block& reduction) {
  std::vector<ResultReader> readers;
  std::vector<Access> outputs = WritesOf(reduction);
  const Block* epilogue = TupleEpilogueOf(state.fn(), reduction);
  std::optional<size_t> taken_over = ElementOf(epilogue, outputs);
  if (taken_over) {
    readers.push_back({epilogue->name, {}});
    for (const IterVar& iter : epilogue->iters) {
      readers[0].loops.push_back(BaseKey(epilogue->name, iter));
    }
  }
  for (size_t e = 0; e < outputs.size(); ++e) {
    const std::string& output = outputs[e].buffer->name;
    if (e == taken_over) {
      if (!state.Try(SetScope{output, Scope::kLocal})) return std::nullopt;
      continue;
    }
    ResultReader copy{reduction.name + ".out", {}};
    if (outputs.size() > 1) copy.block += std::to_string(e);
    if (!state.Try(CacheWrite{reduction.name, output, Scope::kLocal, copy.block})) {
      return std::nullopt;
    }
    for (size_t d = 0; d < outputs[e].indices.size(); ++d) {
      copy.loops.push_back(copy.block + "/ax" + std::to_string(d));
    }
    readers.push_back(std::move(copy));
  }
  for (const ResultReader& reader : readers) state.MarkDone(reader.block);
  state.MarkDone(reduction.name + ".init");
  return readers;
}

}  // namespace tcc
