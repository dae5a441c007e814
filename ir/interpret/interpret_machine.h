#pragma once

#include <map>

#include "ir/interpret/interpret_nest.h"
#include "support/random.h"

namespace tcc::interpret {

// The machine that runs the statements of a program.
//
// A launch (a nest with thread loops) makes a Context for each thread of a block. Statements that
// contain a barrier or a buffer that threads share run in all threads together, statement by
// statement; others run to their end in one thread after the other.
class Machine {
 public:
  Machine(const Program& program, const InterpretOptions& options);

  void Run(Context& context) { Run(*program_.body, context); }
  Monitor& monitor() { return monitor_; }
  Evaluator& scalars() { return scalars_; }
  // Evaluates the origin and size of a buffer's declaration for `cells`.
  void Declare(int buffer, Context& context, Cells& cells);
  int64_t Value(int expr, Context& context);

 private:
  void Run(const Code& code, Context& context);
  void RunNest(const Nest& nest, int index, Context& context);
  void RunShared(const Nest& nest, Context& context);
  void RunLoop(const Code& code, Context& context);
  void RunBlock(const Code& code, Context& context);
  void RunLet(const Code& code, Context& context);
  void RunAllocate(const Code& code, Context& context);
  void Launch(const Code& code, Context& context);

  using Contexts = std::vector<Context*>;
  void RunTogether(const Code& code, const Contexts& threads);
  void LoopTogether(const Code& code, const Contexts& threads);
  // Run a branch or loop in which threads need not meet: each takes its own path, a leaf at a time.
  void BranchApart(const Code& code, const Contexts& threads);
  void IterateApart(const Code& code, const Contexts& threads);
  void AllocateTogether(const Code& code, const Contexts& threads);
  // Returns the value that all threads agree on; fails where they differ.
  int64_t CommonValue(int expr, const Contexts& threads, const std::string& what);

  void IssueCopy(const Code& code, Context& context);
  void AwaitCopies(int pending, Context& context);
  std::vector<int64_t> OrderOf(int64_t count);
  NestRunner& RunnerOf(int index);

  const Program& program_;
  const InterpretOptions& options_;
  Monitor monitor_;
  Evaluator scalars_;
  std::vector<std::unique_ptr<NestRunner>> runners_;
  Random random_;
  // The uses of each shared buffer's memory by threads, earlier lifetimes included.
  std::map<int, std::vector<CellUse>> shared_uses_;
  bool in_launch_ = false;
  bool in_parallel_ = false;
};

}  // namespace tcc::interpret
