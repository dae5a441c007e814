#include "codegen_vdla/instruction_stream.h"

#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "codegen_vdla/nest_reader.h"
#include "codegen_vdla/refusal.h"
#include "codegen_vdla/run_loops.h"
#include "ir/expr/visitor.h"
#include "runtime/vdla/vdla_program.h"

namespace tcc {
namespace {

// The things that statements do, as a set.
using Work = unsigned;
constexpr Work kNoWork = 0, kLoads = 1, kResets = 2, kMultiplies = 4, kStores = 8, kOther = 16;

using Instructions = std::vector<VdlaInstruction>;

class StreamBuilder {
 public:
  StreamBuilder(const Function& fn, const BufferPlaces& places)
      : places_(places), reader_(fn, places, values_, program_.outputs) {
    program_.buffers = static_cast<uint32_t>(fn.params.size());
  }

  // Emits the instructions of a statement.
  Status Run(const Stmt& stmt);
  VdlaProgram Take() && {
    program_.micro_ops = std::move(lists_).Take();
    return std::move(program_);
  }

 private:
  Work WorkOf(const Stmt& stmt);
  Work WorkOfNode(const Stmt& stmt);
  Status RunNest(const Stmt& stmt, Work work);
  StatusOr<Instructions> FoldNest(const Stmt& stmt, Work work);
  std::vector<int64_t> OuterValues(const Stmt& stmt);

  const BufferPlaces& places_;
  VdlaProgram program_;
  LoopValues values_;
  NestReader reader_;
  std::unordered_map<const StmtNode*, Work> work_;
  // By nest: the variables that it uses from outside, and its instructions for their values.
  std::unordered_map<const StmtNode*, std::vector<const int64_t*>> outer_;
  std::map<std::pair<const StmtNode*, std::vector<int64_t>>, Instructions> nests_;
  MicroOpLists lists_;
};

Work StreamBuilder::WorkOf(const Stmt& stmt) {
  const auto known = work_.find(stmt.get());
  if (known != work_.end()) return known->second;
  return work_[stmt.get()] = WorkOfNode(stmt);
}

Work StreamBuilder::WorkOfNode(const Stmt& stmt) {
  if (const auto* store = stmt.as<Store>()) {
    const auto place = places_.find(store->buffer);
    if (place == places_.end()) return kStores;
    return place->second.memory == VdlaMemory::kSums ? kResets : kLoads;
  }
  if (stmt.as<IntrinsicCall>()) return kMultiplies;
  if (stmt.as<PrefetchLine>()) return kNoWork;
  const bool is_in_nests = stmt.as<Seq>() || stmt.as<For>() || stmt.as<If>() || stmt.as<Let>();
  Work work = is_in_nests ? kNoWork : kOther;
  ForEachChild(stmt, [&](const Stmt& child) { work |= WorkOf(child); });
  return work;
}

Status StreamBuilder::Run(const Stmt& stmt) {
  const Work work = WorkOf(stmt);
  if (work == kNoWork) return OkStatus();
  if (const auto* allocate = stmt.as<Allocate>()) return Run(allocate->body);
  const auto run = [this](const Stmt& inside) { return Run(inside); };
  if (const auto* branch = stmt.as<If>()) return TakeBranch(*branch, values_, run);
  if (const auto* let = stmt.as<Let>()) return WithValue(*let, values_, run);
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(Run(child));
    return OkStatus();
  }
  if (std::has_single_bit(work) && work != kOther) return RunNest(stmt, work);
  const auto* loop = stmt.as<For>();
  if (loop == nullptr) return Refuse(stmt, "the accelerator has no such statement");
  return ForEachIteration(*loop, values_, run);
}

// Emits the instructions of a nest. They are known if the variables that it uses from outside have
// had the same values before.
Status StreamBuilder::RunNest(const Stmt& stmt, Work work) {
  const auto [known, is_new] = nests_.try_emplace({stmt.get(), OuterValues(stmt)});
  if (is_new) {
    TCC_ASSIGN_OR_RETURN(known->second, FoldNest(stmt, work));
  }
  program_.instructions.insert(program_.instructions.end(), known->second.begin(),
                               known->second.end());
  return OkStatus();
}

StatusOr<Instructions> StreamBuilder::FoldNest(const Stmt& stmt, Work work) {
  TCC_ASSIGN_OR_RETURN(Nest nest, reader_.Read(stmt));
  Instructions instructions;
  for (const VdlaCopy& copy : FoldCopies(std::move(nest.copies))) {
    instructions.push_back({.work = copy});
  }
  if (nest.micro_ops.micro_ops.empty()) return instructions;
  VdlaGemm gemm = FoldGemm(nest.micro_ops, lists_);
  gemm.reset = work == kResets;
  instructions.push_back({.work = gemm});
  return instructions;
}

// Returns the values of the variables that a nest uses and does not define.
std::vector<int64_t> StreamBuilder::OuterValues(const Stmt& stmt) {
  const auto [known, is_new] = outer_.try_emplace(stmt.get());
  if (is_new) {
    std::unordered_set<Var, VarHash> seen;
    PreOrder(stmt, [&](const Stmt& inside) {
      if (const auto* loop = inside.as<For>()) seen.insert(loop->var);
      if (const auto* let = inside.as<Let>()) seen.insert(let->var);
    });
    PreOrderExprs(stmt, [&](const Expr& expr) {
      const auto* var = expr.as<VarNode>();
      const bool is_value = var != nullptr && var->role == VarRole::kLoop;
      if (is_value && seen.insert(Var(var)).second) known->second.push_back(&values_[Var(var)]);
    });
  }
  std::vector<int64_t> values;
  for (const int64_t* value : known->second) values.push_back(*value);
  return values;
}

}  // namespace

StatusOr<VdlaProgram> StreamOf(const Function& lowered, const VdlaConfig& config) {
  if (lowered.level != Level::kLowered || !lowered.vars.empty()) {
    return Unsupported("function '{}' has free sizes or is not lowered", lowered.name);
  }
  TCC_ASSIGN_OR_RETURN(const BufferPlaces places, PlaceBuffers(lowered, config));
  StreamBuilder builder(lowered, places);
  TCC_RETURN_IF_ERROR(builder.Run(lowered.body));
  VdlaProgram program = std::move(builder).Take();
  if (static_cast<int64_t>(program.micro_ops.size()) > config.micro_ops) {
    return Unsupported("function '{}' needs {} micro-ops; the machine has room for {}",
                       lowered.name, program.micro_ops.size(), config.micro_ops);
  }
  TCC_RETURN_IF_ERROR(VerifyVdlaProgram(program, config));
  return program;
}

}  // namespace tcc
