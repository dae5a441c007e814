#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen_cuda/text/kernel_text.h"
#include "codegen_cuda/text/scalar_text.h"
#include "ir/expr/compare.h"

namespace tcc {

// Writes the expressions of one kernel. Subexpressions that are used more than once, and loaded
// vectors, become constants on lines before the expression. A select with an arm that needs such
// lines becomes an if, so that the arm that is not taken is not evaluated.
class ExprText {
 public:
  explicit ExprText(KernelText& kernel) : kernel_(kernel) {}

  // Forgets all values. Call it before the expressions of each statement: earlier values may be out
  // of scope, or memory may have changed. `roots` are the expressions to come; null ones are
  // skipped.
  void Start(const std::vector<Expr>& roots);

  // Writes a scalar expression.
  Piece Emit(const Expr& expr);
  // Returns one piece per lane of `expr`; a scalar has one lane.
  std::vector<Piece> EmitLanes(const Expr& expr);
  // Declares a constant of this type and value.
  void Declare(const std::string& name, DType dtype, const Piece& value);
  // Declares one constant per lane of `expr`, with these values, and returns their names.
  std::vector<Piece> Name(const Expr& expr, std::vector<Piece> pieces);
  // Returns the text of one subscript.
  std::string EmitIndex(const Expr& index) { return Emit(index).text; }

  // Returns the width in elements of the widest vector accesses that elements [base, base + lanes)
  // of `buffer` allow; 1 where nothing is known of their alignment.
  int AccessWidth(const Buffer& buffer, const Expr& base, int lanes) const;
  const Buffer& BufferOf(const Var& var) const;
  // Returns the text of a cell of a buffer that holds no nibbles; in a warp's buffer the cell must
  // be the thread's own.
  std::string CellText(const Buffer& buffer, const Expr& index);
  // Returns the register of a cell of a warp's buffer if the cell is the thread's own, that is, at
  // index register * 32 + lane. Elements of 16 bits have a register each.
  std::optional<int64_t> OwnRegister(const Expr& index) const;
  // Returns the text of a 32-bit word of the thread's in a buffer of fragments.
  std::string WordText(const Var& buffer, int64_t word);
  // Checks whether the buffer is declared and has one cell per lane of a warp rather than
  // fragments. A load from it is a shuffle: it reads the lane whose number is the thread's own lane
  // xor a mask.
  bool IsShuffled(const Var& buffer) const;
  // Returns base + offset, simplified.
  Expr Shifted(const Expr& base, int64_t offset) const;

 private:
  using Pieces = std::vector<Piece>;

  void CountUses(const Expr& expr);
  // Returns the same expression with equal nodes replaced by one shared node; the lanes of a vector
  // have many equal ones.
  Expr Shared(const Expr& expr);
  const Pieces* Find(const Expr& expr) const;
  const Pieces& Remember(const Expr& expr, Pieces pieces);

  Pieces Node(const Expr& expr);
  const Dialect& dialect() const { return kernel_.dialect; }
  Piece ScalarNode(const Expr& expr);
  Piece Variable(const VarNode& var);
  Piece Binary(const Expr& expr, const Expr& a, const Expr& b);
  Piece Logical(bool is_and, const Expr& a, const Expr& b);
  // Returns the f32 that a narrow float used once is the rounding of; null if it is none, such as a
  // value from memory.
  Expr BeforeRounding(const Expr& expr) const;
  Expr SelectBeforeRounding(const Select& select) const;
  Pieces SelectNode(const Select& select);
  Piece LoadScalar(const Var& buffer, const Expr& index);
  // Checks whether `index` equals the thread's lane in its warp.
  bool IsOwnLane(const Expr& index) const;
  Piece LoadFromLane(const Var& buffer, const Expr& lane);
  Pieces LoadLanes(const Load& load);
  Pieces LoadVectors(const Buffer& buffer, const Expr& base, int lanes, int width);
  Pieces VectorNode(const Expr& expr);
  Pieces LaneByLane(const Expr& expr);
  Pieces Operation(const Expr& expr, const std::vector<Expr>& operands);
  bool FitsInt(const Expr& expr) const;

  // The pieces of an arm of a select, and the lines that they need, taken out of the kernel's
  // lines.
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
