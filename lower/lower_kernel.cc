#include "lower/lower_kernel.h"

#include "ir/analysis/canonical.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/split_prepare.h"
#include "support/sha256.h"
#include "support/tensor.h"

namespace tcc {
namespace {

StatusOr<int64_t> BytesOf(const Buffer& flat) {
  std::optional<int64_t> count = AsConstant(flat.shape[0]);
  if (!count) {
    return InvalidInput("constant '{}' has {} elements", flat.var->name, Print(flat.shape[0]));
  }
  return ByteCount(flat.dtype(), {{*count}});
}

size_t IndexOf(const std::vector<Buffer>& params, const Var& var) {
  size_t i = 0;
  while (i < params.size() && !(params[i].var == var)) ++i;
  return i;
}

StatusOr<PrepareStages> LowerPrepare(const Function& scheduled, const Function& prepare,
                                     const PipelineOptions& options) {
  PrepareStages stages;
  for (size_t i = 0; i + 1 < prepare.params.size(); ++i) {
    stages.constants.push_back(IndexOf(scheduled.params, prepare.params[i].var));
  }
  TCC_ASSIGN_OR_RETURN(stages.lowered, RunPipeline(prepare, options));
  TCC_ASSIGN_OR_RETURN(stages.bytes, BytesOf(stages.lowered.params.back()));
  stages.key = FunctionKey(stages.lowered);
  return stages;
}

KernelOperand OperandOf(const Function& scheduled, const PreparedFunction& parts,
                        const Var& param) {
  for (size_t p = 0; p < parts.prepare.size(); ++p) {
    if (parts.prepare[p].params.back().var == param) {
      return {KernelOperand::Kind::kPrepared, p};
    }
  }
  return {KernelOperand::Kind::kParameter, IndexOf(scheduled.params, param)};
}

}  // namespace

StatusOr<LoweredKernel> LowerKernel(const Function& scheduled, const PipelineOptions& options) {
  LoweredKernel kernel;
  kernel.scheduled = Simplify(scheduled);
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, SplitPrepare(kernel.scheduled));
  for (const Function& prepare : parts.prepare) {
    TCC_ASSIGN_OR_RETURN(kernel.prepare.emplace_back(), LowerPrepare(scheduled, prepare, options));
  }
  for (const Buffer& param : parts.main.params) {
    kernel.operands.push_back(OperandOf(scheduled, parts, param.var));
  }
  TCC_ASSIGN_OR_RETURN(kernel.lowered, RunPipeline(parts.main, options));
  return kernel;
}

std::string LoweredKey(const LoweredKernel& kernel) {
  std::string keys;
  for (const PrepareStages& prepare : kernel.prepare) keys += prepare.key + " ";
  return ToHex(Sha256(keys + FunctionKey(kernel.lowered)));
}

}  // namespace tcc
