#include "schedule/sketch_parts.h"

#include "schedule/block_pattern.h"

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

ResultReader KeepResultLocal(SketchState& state, const Block& reduction) {
  std::string output = WritesOf(reduction)[0].buffer->name;
  ResultReader reader;
  if (const Block* epilogue = EpilogueOf(state.fn(), reduction)) {
    reader.block = epilogue->name;
    for (const IterVar& iter : epilogue->iters) reader.loops.push_back(BaseKey(reader.block, iter));
    state.Do(SetScope{output, Scope::kLocal});
  } else {
    reader.block = reduction.name + ".out";
    size_t rank = ItersOf(reduction, IterKind::kSpatial).size();
    state.Do(CacheWrite{reduction.name, output, Scope::kLocal, reader.block});
    for (size_t d = 0; d < rank; ++d) {
      reader.loops.push_back(reader.block + "/ax" + std::to_string(d));
    }
  }
  state.MarkDone(reader.block);
  state.MarkDone(reduction.name + ".init");
  return reader;
}

}  // namespace tcc
