#pragma once

#include <array>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen_cuda/text/dialect.h"
#include "codegen_cuda/text/group_prelude.h"
#include "ir/expr/function.h"
#include "ir/expr/lane_of.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

namespace tcc {

// The text of one kernel while it is written: its lines so far and the names of its variables.
class KernelText {
 public:
  explicit KernelText(const Dialect& language) : dialect(language) {}

  // Returns a name made from `hint` that is unused in the kernel, the language, the headers and the
  // prelude.
  std::string Fresh(const std::string& hint);

  // Returns the C name of a variable or buffer; the first call makes it.
  const std::string& NameOf(const Var& var);
  // Gives `var` a fresh name from here on: copies of statements define their variables again.
  const std::string& Define(const Var& var);
  void Alias(const Var& var, const std::string& name);

  // Appends a line, indented unless it is a directive.
  void Line(const std::string& text);
  void Open(const std::string& text);  // "text {"
  void Else();                         // "} else {"
  void Close();                        // "}"

  // Removes and returns all lines, so that the caller can inspect later ones before it keeps them.
  std::vector<std::string> TakeLines();
  void Append(std::vector<std::string> lines);

  // Removes constants, variables and the thread's own arrays that nothing reads.
  void DropUnused();

  std::string Text() const;

  const Dialect& dialect;
  Bounds bounds;  // of the variables in scope
  // The buffers in scope.
  std::unordered_map<const ExprNode*, Buffer> buffers;
  // The lanes of vector variables in scope.
  LaneVars lanes;
  // The axis of each of the kernel's thread loops, and the number of threads along each axis.
  std::unordered_map<const ExprNode*, int> thread_axes;
  std::array<int64_t, 3> threads = {1, 1, 1};
  // The variable that stands for the lane: the index along threadIdx.x if there are 32 of them.
  Var lane = LoopVar("lane");
  // The name of the launch's tickets, if it has any.
  std::string tickets;
  // The number of 32-bit words per tile of each warp buffer that holds fragments.
  std::unordered_map<const ExprNode*, int64_t> tile_words;
  // The maximum of RowsPerBank over the ldmatrix calls; 0 if there is none.
  int64_t rows_per_bank = 0;
  // Whether threads of a block hand each other values in global memory.
  bool meets_in_global = false;
  // Whether the kernel holds products of groups of warps; which ones its text calls.
  bool has_groups = false;
  std::set<GroupMma> groups;
  int sm = 0;
  // The first reason why the kernel has no text, if there is one.
  Status refused;
  void Refuse(const Status& status) { refused.Update(status); }
  // The shape variables that have 64 bits in the text.
  std::unordered_set<const ExprNode*> wide;

 private:
  std::unordered_map<const ExprNode*, std::string> names_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> count_;  // how many names were made from each base
  std::vector<std::string> lines_;
  int depth_ = 1;
};

}  // namespace tcc
