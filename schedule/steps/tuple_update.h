#pragma once

#include "schedule/analysis/reduction_nest.h"

// The parts of the update of a tuple whose elements differ in their axes. The update has a block
// per group of elements with the same axes; groups with fewer axes come first and save the old
// values that the others read.
namespace tcc {

struct TupleGroup {
  std::string name;              // the block's name: the last group has the reduction's
  std::vector<size_t> elements;  // of the combiner, rising
  std::vector<Var> lacking;      // spatial variables that its outputs do not have
};

// Returns the groups of a reduction, from the fewest axes to all axes; one group if all elements
// have the same axes. Error: axes of one group that are not among those of the next; an element
// whose input, or whose predicate, depends on an axis that it lacks, or whose new value depends on
// an element with more axes.
StatusOr<std::vector<TupleGroup>> GroupsOf(const char* step, const ReductionNest& found);

// Returns whether the loop feeds a variable that the group lacks. CheckLoops refuses a loop that
// feeds both such a variable and another.
bool IsLacking(const For& loop, const Block& block, const TupleGroup& group);
Status CheckLoops(const char* step, const ReductionNest& found,
                  const std::vector<TupleGroup>& groups);

// Returns the loops that enclose the group's block.
std::vector<Ref<For>> LoopsOfGroup(const std::vector<Ref<For>>& loops, const Block& block,
                                   const TupleGroup& group);

// Returns the variables of the block that the group has.
std::vector<IterVar> ItersOfGroup(const Block& block, const TupleGroup& group);

// Returns the guards that use no loop which feeds a variable that the group lacks.
std::vector<LoopGuard> GuardsOfGroup(const ReductionNest& found, const TupleGroup& group);

// Returns a nest, "name.init", that stores the identities of the group's outputs, under copies of
// the `loops` that feed its spatial variables.
Stmt InitOfGroup(const ReductionNest& found, const TupleGroup& group,
                 const std::vector<Ref<For>>& loops);

// The buffers for old values that are read after they change; element e's is null if nobody reads
// it. They are named after the block, "core.old0", and have the scope of the output.
struct OldValues {
  std::vector<Var> of_element;
  std::vector<Buffer> buffers;
};
OldValues OldValuesOf(const Function& fn, const ReductionNest& found,
                      const std::vector<TupleGroup>& groups);

// Returns the body of the group's block: the copies of old values, then the new values computed
// from the outputs' old ones and `inputs`.
Stmt UpdateOfGroup(const Reduce& reduce, const TupleGroup& group, const OldValues& old,
                   const std::vector<Expr>& inputs);

}  // namespace tcc
