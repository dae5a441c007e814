#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Puts loops of one perfectly nested chain in the order of the list; the chain's other loops stay
// where they are.
//
//   for i { for j { for k S } }   --reorder k, i-->   for k { for j { for i S } }
struct Reorder {
  std::vector<LoopRef> loops;  // the new order, outermost first
  auto Fields() { return std::tie(loops); }
};

// Refused: fewer than two loops, a loop twice, a bound loop, a chain with something between its
// loops, and a loop that feeds a reduction while the chain holds several blocks (an initialisation
// would move into or out of it); a loop that feeds both spatial and reduce variables (after a
// fusion), since the order of such loops decides which instance of a reduction comes first; moving
// a loop of an axis that some outputs of a tuple lack inside the reduction (RFactorTile).
StatusOr<Constraints> CheckReorder(const Function& fn, const Reorder& step);
Function ApplyReorder(const Function& fn, const Reorder& step);

}  // namespace tcc
