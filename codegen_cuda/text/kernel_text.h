#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen_cuda/text/lane_of.h"
#include "ir/expr/function.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

namespace tcc {

// The text of one kernel in the making: its lines so far and what names stand for.
class KernelText {
 public:
  // A name that nothing else in the kernel has, nor the language, the headers and the prelude, made
  // of `hint`.
  std::string Fresh(const std::string& hint);

  // The C name of a variable or buffer, made at its first use.
  const std::string& NameOf(const Var& var);
  // A fresh name from here on: copies of statements define their variables again.
  const std::string& Define(const Var& var);
  void Alias(const Var& var, const std::string& name);

  // Indented, but for directives.
  void Line(const std::string& text);
  void Open(const std::string& text);  // "text {"
  void Else();                         // "} else {"
  void Close();                        // "}"

  // Exchanges the lines, so that what is written next can be looked at before it is kept.
  std::vector<std::string> TakeLines();
  void Append(std::vector<std::string> lines);

  std::string Text() const;

  Bounds bounds;  // of the variables in scope
  // Of the buffers in scope.
  std::unordered_map<const ExprNode*, Buffer> buffers;
  // The lanes of vector variables in scope.
  LaneVars lanes;
  // The axis of each of the kernel's loops over threads, and how many there are along each.
  std::unordered_map<const ExprNode*, int> thread_axes;
  std::array<int64_t, 3> threads = {1, 1, 1};
  // How many threads meet at each named barrier that is not of the whole block.
  std::map<int, int64_t> barriers;
  // A loop over threadIdx.x, for what needs a name of the lane.
  Var lane = LoopVar("lane");
  // Words of 32 bits that a tile of a warp's buffer has.
  std::unordered_map<const ExprNode*, int64_t> tile_words;
  // The most rows of a matrix that meet in a bank where it is loaded (RowsPerBank); 0: none is.
  int64_t rows_per_bank = 0;
  int sm = 0;
  // Why there can be no such text: the first reason.
  Status refused;
  void Refuse(const Status& status) { refused.Update(status); }
  // The shape variables among these are long long.
  std::unordered_set<const ExprNode*> wide;

 private:
  std::unordered_map<const ExprNode*, std::string> names_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> count_;  // of the names made of one
  std::vector<std::string> lines_;
  int depth_ = 1;
};

}  // namespace tcc
