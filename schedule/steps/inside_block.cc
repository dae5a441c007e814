#include "schedule/steps/inside_block.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/nested_blocks.h"
#include "schedule/steps/all_steps.h"

namespace tcc {
namespace {

template <typename S, typename... Kinds>
constexpr bool kIsOneOf = (std::is_same_v<S, Kinds> || ...);

// Whether a step changes the order or the kind of loops and nothing else.
template <typename S>
constexpr bool kStaysAmongLoops =
    kIsOneOf<S, Split, Fuse, Reorder, Unroll, Partition, Vectorize, Tensorize>;

// Whether a step leaves how blocks access a buffer as it is, or sees into nests.
template <typename S>
constexpr bool kSeesNests =
    kStaysAmongLoops<S> ||
    kIsOneOf<S, Rasterize, Parallel, Bind, CacheRead, SetScope, ComputeAt, TransformLayout,
             StorageAlign, Swizzle, SoftwarePipeline, Blockize>;

// The names in a step.
struct Names {
  std::vector<std::string> loops, blocks, buffers;
};

template <typename S>
Names NamesOf(const S& step) {
  Names names;
  if constexpr (requires { step.loop; }) names.loops.push_back(step.loop);
  if constexpr (requires { step.loops; }) names.loops = step.loops;
  if constexpr (requires { step.outer; }) names.loops = {step.outer, step.inner};
  if constexpr (requires { step.over; }) names.loops = {step.over, step.at};
  if constexpr (requires { step.block; }) names.blocks.push_back(step.block);
  if constexpr (requires { step.readers; }) names.blocks = step.readers;
  if constexpr (requires { step.buffer; }) names.buffers.push_back(step.buffer);
  if constexpr (requires { step.operand; }) names.buffers.push_back(step.operand);
  return names;
}

// Returns the outermost block above the end of the path, or nullptr.
const Block* BlockRound(const Path& path) {
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (const auto* block = path[i].as<Block>()) return block;
  }
  return nullptr;
}

class Gate {
 public:
  Gate(const Function& fn, std::string step) : fn_(fn), step_(std::move(step)) {
    for (const Ref<Block>& block : OutermostBlocksOf(fn.body)) {
      if (HoldsBlocks(*block)) nests_.push_back(block);
    }
  }

  template <typename S>
  Status Pass(const S& step) const {
    Names names = NamesOf(step);
    for (const std::string& loop : names.loops) {
      StatusOr<Path> path = FindLoop(fn_, loop);
      const Block* round = path.ok() ? BlockRound(*path) : nullptr;
      if (!round || kStaysAmongLoops<S>) continue;
      return InvalidInput("{}: loop '{}' is inside block '{}'", step_, loop, round->name);
    }
    for (const std::string& block : names.blocks) {
      StatusOr<Path> path = FindBlock(fn_, block);
      if (!path.ok()) continue;
      if (const Block* round = BlockRound(*path)) {
        return InvalidInput("{}: block '{}' is inside block '{}'", step_, block, round->name);
      }
      if (std::is_same_v<S, CacheRead> || !HoldsBlocks(*BlockAt(*path))) continue;
      return InvalidInput("{}: block '{}' holds a nest; expected a block that stores by itself",
                          step_, block);
    }
    if constexpr (std::is_same_v<S, CacheRead>) return PassBuffers(names, &Writes);
    if constexpr (kSeesNests<S>) return OkStatus();
    return PassBuffers(names, &Accesses);
  }

 private:
  // Checks that no nest `does` that to a buffer that the step names or, for Accesses, that a named
  // block accesses.
  Status PassBuffers(const Names& names, bool (*does)(const Stmt&, const Var&)) const {
    for (const Buffer& buffer : DeclaredBuffers(fn_)) {
      bool named = std::find(names.buffers.begin(), names.buffers.end(), buffer.var->name) !=
                   names.buffers.end();
      for (const std::string& block : names.blocks) {
        StatusOr<Path> path = FindBlock(fn_, block);
        bool changes = does == &Accesses && path.ok();
        named = named || (changes && Accesses(path->back(), buffer.var));
      }
      for (const Ref<Block>& nest : nests_) {
        if (!named || !does(Stmt(*nest), buffer.var)) continue;
        return InvalidInput("{}: buffer '{}' is used in the nest of block '{}'; do it before",
                            step_, buffer.var->name, nest->name);
      }
    }
    return OkStatus();
  }

  const Function& fn_;
  std::string step_;
  std::vector<Ref<Block>> nests_;
};

}  // namespace

Status ExpectWholeBlocks(const Function& fn, const Step& step) {
  std::string text = Print(step);
  Gate gate(fn, text.substr(0, text.find(' ')));
  return VisitStep(step, [&](const auto& s) { return gate.Pass(s); });
}

Step UnnestedStep(const Function& fn, const Step& step) {
  auto rename = [&](std::string& name) {
    StatusOr<Path> path = FindBlock(fn, name);
    if (!path.ok() || !HoldsBlocks(*BlockAt(*path))) return;
    name = BlocksOf(path->back()).back()->name;
  };
  if (const auto* read = step.as<CacheRead>()) {
    CacheRead renamed = *read;
    for (std::string& reader : renamed.readers) rename(reader);
    return renamed;
  }
  return step;
}

}  // namespace tcc
