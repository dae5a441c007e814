#include "schedule/sketches/parts/attention_parts.h"

#include <algorithm>
#include <functional>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"

namespace tcc {
namespace {

// The one block that writes a buffer, or reads it; "" if there are several or none.
std::string OnlyBlock(const Function& fn, const std::function<bool(const Block&)>& wanted) {
  std::string name;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!wanted(*block)) continue;
    if (!name.empty()) return "";
    name = block->name;
  }
  return name;
}

// The variable of `block` at the same place of the buffer's indices as `like` is in `access`.
std::string SamePlace(const Block& block, const Access& own, const Access& like, const Var& var) {
  for (size_t d = 0; d < like.indices.size() && d < own.indices.size(); ++d) {
    if (!like.indices[d].same_as(var)) continue;
    for (const IterVar& iter : block.iters) {
      if (own.indices[d].same_as(iter.var)) return iter.var->name;
    }
  }
  return "";
}

const Access* AccessOf(const std::vector<Access>& accesses, const Var& buffer) {
  for (const Access& access : accesses) {
    if (access.buffer == buffer) return &access;
  }
  return nullptr;
}

// Fills in the block that makes what `reader` reads of `buffer`, and the names of its variables.
bool FindProducer(const Function& fn, const Block& reader, const Access& read, const Var& i,
                  const Var& t, std::string& name, std::string& name_i, std::string& name_t) {
  name = OnlyBlock(fn, [&](const Block& block) { return Writes(block.body, read.buffer); });
  if (name.empty() || IsParameter(fn, read.buffer)) return false;
  std::string user =
      OnlyBlock(fn, [&](const Block& block) { return Reads(block.body, read.buffer); });
  if (user != reader.name) return false;
  Ref<Block> block = BlockAt(FindBlock(fn, name).value());
  std::vector<Access> writes = WritesOf(*block);
  const Access* write = AccessOf(writes, read.buffer);
  name_i = SamePlace(*block, *write, read, i);
  name_t = SamePlace(*block, *write, read, t);
  return writes.size() == 1 && !name_i.empty() && !name_t.empty();
}

const Var& VarNamed(const Block& block, const std::string& name) {
  auto found = std::ranges::find_if(block.iters,
                                    [&](const IterVar& iter) { return iter.var->name == name; });
  return found->var;
}

}  // namespace

bool IsAttentionCore(const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce || reduce->init != ReduceInit::kFirstInstance || reduce->outputs.size() != 3 ||
      reduce->combiner->direct.empty()) {
    return false;
  }
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  std::vector<Var> unshared = UnsharedAxes(block);
  bool known = std::ranges::all_of(
      block.iters, [](const IterVar& iter) { return AsConstant(iter.domain).has_value(); });
  return known && spatial.size() >= 2 && ItersOf(block, IterKind::kReduce).size() == 1 &&
         unshared.size() == 1 && unshared[0] == block.iters[spatial.back()].var &&
         Indexes(reduce->outputs.back(), unshared[0]);
}

std::optional<AttentionParts> FindAttentionParts(const Function& fn, const Block& core) {
  AttentionParts parts;
  parts.core = core.name;
  std::vector<size_t> spatial = ItersOf(core, IterKind::kSpatial);
  size_t t = ItersOf(core, IterKind::kReduce)[0];
  size_t i = spatial[spatial.size() - 2];
  size_t d = spatial.back();
  parts.i = core.iters[i].var->name;
  parts.t = core.iters[t].var->name;
  parts.d = core.iters[d].var->name;
  parts.queries = ExtentOf(core, i);
  parts.keys = ExtentOf(core, t);
  parts.width = ExtentOf(core, d);

  const auto* reduce = core.body.as<Reduce>();
  const auto* logit = reduce->inputs[0].as<Load>();
  if (!logit) return std::nullopt;
  Access logits{logit->buffer, logit->indices};
  if (!FindProducer(fn, core, logits, core.iters[i].var, core.iters[t].var, parts.logits,
                    parts.logits_i, parts.logits_t)) {
    return std::nullopt;
  }
  Ref<Block> map = BlockAt(FindBlock(fn, parts.logits).value());
  if (!ItersOf(*map, IterKind::kReduce).empty()) return std::nullopt;
  for (const Access& read : ReadsOf(*map)) {
    Var map_i = VarNamed(*map, parts.logits_i);
    Var map_t = VarNamed(*map, parts.logits_t);
    std::string name, name_i, name_t;
    if (!FindProducer(fn, *map, read, map_i, map_t, name, name_i, name_t)) continue;
    Ref<Block> scores = BlockAt(FindBlock(fn, name).value());
    if (!WritesPlainly(*scores) || ItersOf(*scores, IterKind::kReduce).size() != 1) continue;
    parts.scores = name;
    parts.scores_i = name_i;
    parts.scores_t = name_t;
    parts.scores_e = scores->iters[ItersOf(*scores, IterKind::kReduce)[0]].var->name;
  }
  if (parts.scores.empty()) return std::nullopt;

  const Access& sum = reduce->outputs.back();
  parts.out = OnlyBlock(fn, [&](const Block& b) { return Reads(b.body, sum.buffer); });
  if (parts.out.empty()) return std::nullopt;
  Ref<Block> out = BlockAt(FindBlock(fn, parts.out).value());
  if (!ItersOf(*out, IterKind::kReduce).empty()) return std::nullopt;
  std::vector<Access> reads = ReadsOf(*out);
  const Access* read = AccessOf(reads, sum.buffer);
  parts.out_i = SamePlace(*out, *read, sum, core.iters[i].var);
  parts.out_d = SamePlace(*out, *read, sum, core.iters[d].var);
  for (const IterVar& iter : out->iters) {
    bool other = iter.var->name != parts.out_i && iter.var->name != parts.out_d;
    if (other) parts.out_others.push_back(BaseKey(out->name, iter));
  }
  return parts.out_i.empty() || parts.out_d.empty() ? std::nullopt
                                                    : std::optional<AttentionParts>(parts);
}

}  // namespace tcc
