#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/space/trace.h"
#include "schedule/steps/pad.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/re_index.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/transform_layout.h"
#include "support/random.h"

namespace tcc {

// The kinds of steps, numbered as TCC_STEPS lists them.
std::span<const std::string_view> StepNames();

// Proposes steps over the loops, blocks and buffers that a function has at the moment. Most are not
// legal. The fields of a kind are filled by their names and types, so that kinds that are new are
// proposed as well.
class StepProposer {
 public:
  // Free sizes that a proposal brings are appended to `sizes`. `hardware`: loops may be bound to
  // threads, and buffers be in shared memory.
  StepProposer(const Function& fn, std::vector<FreeSize>& sizes, Random& random, bool hardware);

  // Of the kind with this number.
  Step Propose(size_t kind);
  // Of any kind, those that others build on more often.
  Step ProposeAny();

 private:
  template <typename S>
  Step Make();
  // What fields of one kind have to do with each other.
  template <typename S>
  void Refine(S& step);
  void RefineLayout(TransformLayout& step);
  void RefinePad(Pad& step);
  void RefineReIndex(ReIndex& step);
  void RefineReduction(std::string& block, std::string& loop);
  void RefinePipeline(SoftwarePipeline& step);
  std::vector<std::string> SomeReaders(const std::string& buffer);

  void Fill(std::string& field);
  void Fill(std::vector<std::string>& field);
  void Fill(int64_t& field);
  void Fill(std::vector<int64_t>& field);
  void Fill(Expr& field);
  void Fill(std::vector<Expr>& field);
  void Fill(BlockFactor& field);
  void Fill(std::vector<BlockFactor>& field);
  void Fill(Scope& field);
  void Fill(ForKind& field);
  void Fill(TileForm& field);
  void Fill(PrefetchPace& field);

  const std::string& Pick(const std::vector<std::string>& list);
  // A loop and the next one in the text, which is often its only child.
  void PickPair(std::string& outer, std::string& inner);
  std::string NewName();
  // 1 to 4, or free up to `high` and sometimes a little beyond.
  Expr Factor(int64_t high);

  struct Loop {
    std::string key;
    int64_t extent;  // 0 where it is a formula
  };
  struct Declared {
    std::string name;
    size_t rank;
  };

  std::vector<FreeSize>& sizes_;
  Random& random_;
  bool hardware_;
  std::vector<Loop> loops_;
  std::vector<Declared> buffers_;
  std::vector<Ref<Block>> nodes_;
  std::vector<std::string> blocks_, reductions_, placed_, holders_;
  std::vector<std::string> axes_;  // iteration variables of all blocks
};

}  // namespace tcc
