#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen_vdla/copy_streams.h"
#include "codegen_vdla/gemm_streams.h"
#include "codegen_vdla/gemv_call.h"
#include "codegen_vdla/loop_values.h"
#include "codegen_vdla/output_steps.h"
#include "codegen_vdla/place_buffers.h"

namespace tcc {

// The work of a nest, vector by vector: copies, or the micro-ops of calls or of resets.
struct Nest {
  std::vector<CopiedVector> copies;
  LoopedMicroOps micro_ops;
};

// Runs nests of loops that hold nothing but copies, resets or calls of the intrinsic.
class NestReader {
 public:
  // The arguments outlive this object. `values` has the variables around the nests; the output
  // stages that copies use are added to `outputs`, equal ones once.
  NestReader(const Function& fn, const BufferPlaces& places, LoopValues& values,
             std::vector<VdlaOutput>& outputs);

  // Returns the work of a nest at the current values of the loops around it. Unsupported, naming
  // the statement.
  StatusOr<Nest> Read(const Stmt& stmt);

 private:
  // A parameter of the function.
  struct Operand {
    uint32_t number = 0;
    int64_t elements = 0;
  };

  bool IsInnermost(const For& loop);
  void FindLoops(const Stmt& stmt);
  Status Collect(const Stmt& stmt);
  Status CollectVectors(const For& loop);
  Status CollectVector(const Stmt& stmt);
  Status CollectStore(const Store& store, int64_t to, const Expr& value);
  Status CollectCall(const IntrinsicCall& call);
  Status CollectResult(const Store& store, int64_t to, const Expr& value);
  Status SetOutput(const OutputSteps& steps, const Stmt& in, CopiedVector& copy);
  void AddMicroOp(const VdlaMicroOp& op);
  StatusOr<Expr> Chosen(const Expr& value, const Stmt& in);
  StatusOr<int64_t> VectorOf(const Var& buffer, int64_t index, int64_t unit, const Stmt& in);
  StatusOr<CopiedVector> SourceOf(const Store& store, const Expr& value);
  StatusOr<CopiedVector> InMemory(const Var& buffer, int64_t index, const Stmt& in);

  const BufferPlaces& places_;
  LoopValues& values_;
  std::vector<VdlaOutput>& outputs_;
  std::unordered_map<Var, Operand, VarHash> operands_;
  std::optional<uint32_t> padded_;  // an operand of bytes; results come last, so it is loaded
  std::unordered_map<const StmtNode*, bool> is_innermost_;
  std::unordered_set<const StmtNode*> checked_;  // innermost loops
  std::unordered_map<const StmtNode*, GemvCall> calls_;
  // The nest that is read, and the values of the loops that enclose all of its calls.
  Nest nest_;
  std::vector<const int64_t*> loops_;
};

}  // namespace tcc
