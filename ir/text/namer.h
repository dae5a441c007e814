#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// Gives the variables of one text their names: the hint, or the hint with the first free suffix _1,
// _2, ... in order of definition. Names are distinct over the whole text, except that an iteration
// variable of a block may be called like anything that the block's body does not use: blocks read
// `block mm(i: spatial 13 = i)`. Printing what was parsed from such names gives them again.
class Namer {
 public:
  // At the definition of anything but an iteration variable.
  const std::string& Define(const Var& var);

  // Between these two the iteration variables of `block` have names.
  void EnterBlock(const Block& block);
  void LeaveBlock(const Block& block);

  // A variable that was never defined is defined by its first use.
  const std::string& NameOf(const Var& var);

 private:
  std::unordered_map<const ExprNode*, std::string> names_;
  std::unordered_set<std::string> taken_;               // by Define
  std::unordered_map<std::string, int> next_suffix_;    // of Define
  std::unordered_map<std::string, int> visible_iters_;  // how often
};

}  // namespace tcc
