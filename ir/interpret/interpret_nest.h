#pragma once

#include "ir/interpret/interpret_eval.h"

namespace tcc::interpret {

// Returns whether the leaf runs in this thread.
bool RunsHere(const LeafGuard& guard, const Context& context, Evaluator& scalars);

// A share of a nest's iterations: number `part` of `parts` equal shares of one of its loops.
struct Share {
  int part = 0;
  int parts = 1;
};

// A runner of one Nest, used repeatedly by one real thread.
class NestRunner {
 public:
  NestRunner(const Nest& nest, Monitor& monitor, int max_lanes);

  // Runs the nest; the surrounding variables determine the extents. `share` divides the first loop
  // that has more than one iteration.
  void Run(Context& context, Evaluator& scalars, Share share = {});
  // Returns the number of instances that Run would issue.
  int64_t CountInstances(Evaluator& scalars);

 private:
  void Outer(size_t i, const Mask& mask);
  void Lanes(const Mask& mask);
  void Inner(size_t i, const Mask& mask);
  void Step(const Mask& mask);
  void Init(const Mask& mask);
  const Mask* Predicate(const Mask& mask);
  void PlacePredicates();
  // Returns `mask` reduced by the conditions of this depth; nullptr where no lane is left.
  const Mask* Hold(int depth, const Mask& mask);
  std::pair<int64_t, int64_t> ShareOf(int depth, int64_t extent) const;
  void FillLaneVars(int64_t start, int n);
  int ActiveCount(const Mask& mask) const;
  std::string Describe(int lane) const;

  const Nest& nest_;
  Monitor& monitor_;
  int max_lanes_;
  Evaluator eval_;
  Context* context_ = nullptr;
  std::vector<int64_t> outer_extents_, lane_extents_, inner_extents_;
  int64_t lane_count_ = 1;
  int64_t inner_count_ = 1;
  Share share_;
  int share_depth_ = -1;
  std::vector<Mask> condition_masks_;
  std::vector<size_t> first_condition_;  // by depth
  // A mask reduced by the predicate, kept per combination of the inner loops that the predicate
  // reads: a convolution needs the same mask for every input channel.
  struct Held {
    Mask mask;
    uint64_t stamp = 0;
    uint64_t parent = 0;
    bool any = false;
  };
  std::vector<Held> held_;
  std::vector<std::pair<int, int64_t>> held_strides_;  // slot, stride of the index into held_
  int held_depth_ = 0;  // entries stay until a loop up to this depth advances
};

}  // namespace tcc::interpret
