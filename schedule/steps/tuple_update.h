#pragma once

#include "schedule/analysis/partial_results.h"

// The update of a tuple whose elements differ in their axes, as blocks of its own for each group of
// elements with the same axes: those with fewer axes come first and save the old values that the
// others read.
namespace tcc {

struct TupleGroup {
  std::string name;              // of its block: the last group has the reduction's
  std::vector<size_t> elements;  // of the combiner, rising
  std::vector<Var> lacking;      // spatial variables that its outputs do not have
};

// The groups of a reduction, from those with the fewest axes to those with all; one if all elements
// have the same. Error: axes of one group that are not among those of the next; an element whose
// input, or whose predicate, depends on an axis that it lacks, or whose new value depends on an
// element with more axes.
StatusOr<std::vector<TupleGroup>> GroupsOf(const char* step, const ReductionNest& found);

// Whether the loop feeds a variable that the group lacks. Error in CheckLoops: one that feeds such
// a variable and another.
bool IsLacking(const For& loop, const Block& block, const TupleGroup& group);
Status CheckLoops(const char* step, const ReductionNest& found,
                  const std::vector<TupleGroup>& groups);

// Of the loops, those that go round the group's block.
std::vector<Ref<For>> LoopsOfGroup(const std::vector<Ref<For>>& loops, const Block& block,
                                   const TupleGroup& group);

// The variables of the block that the group has.
std::vector<IterVar> ItersOfGroup(const Block& block, const TupleGroup& group);

// The guards that use no loop which feeds a variable that the group lacks.
std::vector<LoopGuard> GuardsOfGroup(const ReductionNest& found, const TupleGroup& group);

// A nest that stores the identities of the group's outputs, under copies of those of `loops` that
// feed its spatial variables; called "name.init".
Stmt InitOfGroup(const ReductionNest& found, const TupleGroup& group,
                 const std::vector<Ref<For>>& loops);

// Buffers for the old values that are read after they change; element e's is null if nobody reads
// it. Named after the block, "core.old0", in the scope of the output.
struct OldValues {
  std::vector<Var> of_element;
  std::vector<Buffer> buffers;
};
OldValues OldValuesOf(const Function& fn, const ReductionNest& found,
                      const std::vector<TupleGroup>& groups);

// The group's new values from the outputs' old ones and `inputs`, and before that the copies of old
// values: the body of its block.
Stmt UpdateOfGroup(const Reduce& reduce, const TupleGroup& group, const OldValues& old,
                   const std::vector<Expr>& inputs);

}  // namespace tcc
