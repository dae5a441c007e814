#include "schedule/analysis/partial_results.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/region.h"

namespace tcc {
namespace {

Stmt AllocateRound(const std::vector<Buffer>& buffers, Stmt body) {
  for (size_t i = buffers.size(); i-- > 0;) body = MakeStmt<Allocate>(buffers[i], body);
  return body;
}

}  // namespace

std::string PartialName(const std::string& name, const Reduce& reduce, size_t e) {
  return reduce.outputs.size() == 1 ? name : name + "." + std::to_string(e);
}

Expr MakeLoad(const Var& buffer, const std::vector<Expr>& indices) {
  return Make<Load>(buffer, indices);
}

Status ExpectFixedExtent(const char* step, const For& loop, const ReductionNest& found) {
  for (const auto* loops : {&found.above, &found.loops}) {
    for (const Ref<For>& other : *loops) {
      if (!UsesVar(loop.extent, other->var)) continue;
      return InvalidInput("{}: the extent of loop '{}' depends on loop '{}'", step, loop.key,
                          other->key);
    }
  }
  return OkStatus();
}

Path PathAbove(const ReductionNest& found) {
  auto nest = std::find_if(found.path.begin(), found.path.end(),
                           [&](const Stmt& stmt) { return stmt.same_as(found.nest); });
  return Path(found.path.begin(), nest);
}

std::vector<Ref<For>> MovingWithThreads(const std::vector<Ref<For>>& moving,
                                        const ReductionNest& found,
                                        const std::vector<Ref<For>>& outer, Scope scope) {
  std::vector<Ref<For>> all;
  for (const auto* loops : {&found.above, &outer}) {
    for (const Ref<For>& loop : *loops) {
      bool thread = IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread;
      if (scope == Scope::kShared && thread) all.push_back(loop);
    }
  }
  all.insert(all.end(), moving.begin(), moving.end());
  return all;
}

Status PlaceBuffers(const Block& block, const ReductionNest& found,
                    const std::vector<Ref<For>>& moving, std::vector<Buffer>& buffers) {
  bool at_root = found.above.empty() && moving.size() == found.loops.size();
  if (at_root) return OkStatus();
  std::vector<Access> writes = WritesOf(block);
  for (size_t e = 0; e < buffers.size(); ++e) {
    TCC_ASSIGN_OR_RETURN(Box box, RegionOf(block, writes[e],
                                           MovingWithThreads(moving, found, {}, buffers[e].scope)));
    buffers[e].window = {box.origin, box.size};
  }
  return OkStatus();
}

Stmt WithNests(const Stmt& root, const ReductionNest& found, const std::vector<Buffer>& buffers,
               const Stmt& nests) {
  if (found.above.empty()) {
    return AllocateRound(buffers, Replace(root, found.nest.get(), nests));
  }
  return Replace(root, found.nest.get(), AllocateRound(buffers, nests));
}

}  // namespace tcc
