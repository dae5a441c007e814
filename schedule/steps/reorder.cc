#include "schedule/steps/reorder.h"

#include <algorithm>
#include <set>

#include "schedule/analysis/guard.h"
#include "schedule/analysis/reduction_nest.h"
#include "support/check.h"

namespace tcc {
namespace {

// The chain from the first loop of the list that is met to the last one; empty if they are in no
// perfect chain.
std::vector<Ref<For>> ChainOf(const Function& fn, const std::vector<LoopRef>& loops) {
  std::vector<Ref<For>> chain;
  size_t longest = 0;
  for (const LoopRef& loop : loops) {
    Path path = FindLoop(fn, loop).value();
    std::vector<Ref<For>> above = LoopsOn(path);
    if (above.size() > longest) {
      longest = above.size();
      chain = above;
    }
  }
  std::set<LoopRef> wanted(loops.begin(), loops.end());
  auto first =
      std::ranges::find_if(chain, [&](const Ref<For>& loop) { return wanted.contains(loop->key); });
  chain.erase(chain.begin(), first);
  size_t found = 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    found += wanted.contains(chain[i]->key);
    bool perfect = i + 1 == chain.size() || chain[i]->body.get() == chain[i + 1].get();
    if (!perfect) return {};
  }
  return found == wanted.size() ? chain : std::vector<Ref<For>>{};
}

// The chain as it will be: moved loops in the listed order in the places of moved loops.
std::vector<Ref<For>> Reordered(const Function& fn, const std::vector<Ref<For>>& chain,
                                const std::vector<LoopRef>& loops) {
  std::set<LoopRef> moved(loops.begin(), loops.end());
  std::vector<Ref<For>> order = chain;
  size_t next = 0;
  for (Ref<For>& slot : order) {
    if (moved.contains(slot->key)) slot = LoopAt(FindLoop(fn, loops[next++]).value());
  }
  return order;
}

// An ordered block (IterKind) keeps the order of its reduce variables.
Status ExpectOrderKept(const std::vector<Ref<For>>& before, const std::vector<Ref<For>>& after) {
  for (const Ref<Block>& block : BlocksOf(before.back()->body)) {
    if (block->body.as<Reduce>()) continue;
    auto ordered = [&](const std::vector<Ref<For>>& chain) {
      std::vector<LoopRef> keys;
      for (const Ref<For>& loop : chain) {
        if (Feeds(*loop, *block, IterKind::kReduce)) keys.push_back(loop->key);
      }
      return keys;
    };
    if (ordered(before) == ordered(after)) continue;
    return InvalidInput("reorder: the loops of block '{}' that have an order would lose it",
                        block->name);
  }
  return OkStatus();
}

// Where outputs differ in their axes, every value of such an axis repeats the whole reduction.
Status ExpectTuplesRepeated(const std::vector<Ref<For>>& after, const Stmt& body) {
  for (const Ref<Block>& block : BlocksOf(body)) {
    bool reducing = false;
    for (const Ref<For>& loop : after) {
      reducing = reducing || Feeds(*loop, *block, IterKind::kReduce);
      if (!reducing || !FeedsUnsharedAxis(*loop, *block)) continue;
      return InvalidInput(
          "reorder: loop '{}' of an axis that some outputs of block '{}' lack "
          "would go inside its reduction; rfactor_tile it first",
          loop->key, block->name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckReorder(const Function& fn, const Reorder& step) {
  if (step.loops.size() < 2) {
    return InvalidInput("reorder: expected two or more different loops, {} given",
                        step.loops.size());
  }
  std::set<LoopRef> distinct;
  for (const LoopRef& loop : step.loops) {
    if (!distinct.insert(loop).second) {
      return InvalidInput("reorder: expected two or more different loops, '{}' is given twice",
                          loop);
    }
  }
  bool reduces = false;
  auto mixes = [](const For& loop) {
    for (const Ref<Block>& block : BlocksOf(loop.body)) {
      if (RoleOf(loop, *block) == LoopRole::kBoth) return true;
    }
    return false;
  };
  for (const LoopRef& loop : step.loops) {
    TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, loop));
    TCC_RETURN_IF_ERROR(ExpectSerial("reorder", LoopAt(path)));
    reduces = reduces || FeedsReduction(*LoopAt(path));
    if (mixes(*LoopAt(path))) {
      return InvalidInput(
          "reorder: loop '{}' feeds spatial and reduce variables; its order decides "
          "which instance of the reduction is the first",
          loop);
    }
  }
  std::vector<Ref<For>> chain = ChainOf(fn, step.loops);
  if (chain.empty()) {
    return InvalidInput("reorder: the loops from '{}' to '{}' are not one perfectly nested chain",
                        step.loops.front(), step.loops.back());
  }
  if (reduces && BlocksOf(chain.back()->body).size() > 1) {
    return InvalidInput(
        "reorder: a loop of a reduction would change places with loops round several "
        "blocks; expected one block below '{}'",
        chain.back()->key);
  }
  for (const Ref<For>& loop : chain) {
    TCC_RETURN_IF_ERROR(ExpectCarriesNothing("reorder", fn, *loop));
  }
  std::vector<Ref<For>> order = Reordered(fn, chain, step.loops);
  TCC_RETURN_IF_ERROR(ExpectOrderKept(chain, order));
  TCC_RETURN_IF_ERROR(ExpectTuplesRepeated(order, chain.back()->body));
  return Constraints{};
}

Function ApplyReorder(const Function& fn, const Reorder& step) {
  std::vector<Ref<For>> chain = ChainOf(fn, step.loops);
  std::vector<Ref<For>> order = Reordered(fn, chain, step.loops);
  Function result = fn;
  result.body = Replace(fn.body, chain.front().get(), InLoops(order, chain.back()->body));
  return result;
}

}  // namespace tcc
