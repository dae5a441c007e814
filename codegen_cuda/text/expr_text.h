#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen_cuda/text/kernel_text.h"
#include "codegen_cuda/text/piece.h"
#include "ir/expr/compare.h"

namespace tcc {

// Writes expressions of one kernel. What an expression uses more than once, and vectors that are
// loaded, become constants on lines before it; an arm of a select whose text needs such lines
// becomes an if, so that what must not be evaluated is not.
class ExprText {
 public:
  explicit ExprText(KernelText& kernel) : kernel_(kernel) {}

  // To be called before the expressions of each statement: earlier values may be out of scope, or
  // memory may have changed. `roots` are what will be asked for; null ones are skipped.
  void Start(const std::vector<Expr>& roots);

  // Scalars.
  Piece Emit(const Expr& expr);
  // The value of a narrow float before it is rounded: for what rounds it itself.
  Piece EmitUnrounded(const Expr& expr);
  // A piece a lane of `expr`, or one for a scalar.
  std::vector<Piece> EmitLanes(const Expr& expr);
  // Text of one subscript.
  std::string EmitIndex(const Expr& index) { return Emit(index).text; }

  // The widest vectors that elements [base, base + lanes) of `buffer` may be accessed by, in
  // elements; 1 where nothing is known of their alignment.
  int AccessWidth(const Buffer& buffer, const Expr& base, int lanes) const;
  const Buffer& BufferOf(const Var& var) const;
  // A cell of any buffer but of nibbles; of a warp's buffer, the thread's own.
  std::string CellText(const Buffer& buffer, const Expr& index);
  // Whether it is declared, and has a cell for each lane of a warp rather than fragments: a load is
  // from the lane whose number differs by an exclusive or, a shuffle.
  bool IsShuffled(const Var& buffer) const;
  // base + offset, simplified.
  Expr Shifted(const Expr& base, int64_t offset) const;

 private:
  using Pieces = std::vector<Piece>;

  void CountUses(const Expr& expr);
  // The same, of nodes that stand once: equal ones, as the lanes of a vector have, are one.
  Expr Shared(const Expr& expr);
  const Pieces* Find(const Expr& expr) const;
  const Pieces& Remember(const Expr& expr, Pieces pieces);
  Pieces Name(const Expr& expr, Pieces pieces);

  Pieces Node(const Expr& expr);
  Piece ScalarNode(const Expr& expr);
  Piece Variable(const VarNode& var);
  Piece Binary(const Expr& expr, const Expr& a, const Expr& b);
  Piece Logical(bool is_and, const Expr& a, const Expr& b);
  Pieces SelectNode(const Select& select);
  Piece LoadScalar(const Var& buffer, const Expr& index);
  // Whether it is the number of the thread in its warp.
  bool IsOwnLane(const Expr& index) const;
  Piece LoadFromLane(const Var& buffer, const Expr& lane);
  Pieces LoadLanes(const Load& load);
  Pieces LoadVectors(const Buffer& buffer, const Expr& base, int lanes, int width);
  Pieces VectorNode(const Expr& expr);
  Pieces LaneByLane(const Expr& expr);
  Pieces Operation(const Expr& expr, const std::vector<Expr>& operands);
  bool FitsInt(const Expr& expr) const;

  // What `emit` gives, with the lines that it wrote taken out of the kernel's.
  struct Arm {
    Pieces pieces;
    std::vector<std::string> lines;
  };
  Arm InArm(const Expr& expr);

  KernelText& kernel_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_set<Expr, ExprHash, ExprEqual> shared_;
  std::vector<std::unordered_map<const ExprNode*, std::pair<Expr, Pieces>>> memo_;
};

}  // namespace tcc
