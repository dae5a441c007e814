#include "autodiff_features/fit_prior.h"

#include "autodiff_features/cpu/cpu_prior.h"
#include "autodiff_features/gpu/gpu_prior.h"
#include "autodiff_features/task_formulas.h"

namespace tcc {
namespace {

constexpr double kPullOfClock = 10;

Expr LnSecondsOnCpu(const Function& fn, const MeasuredTask& task, const Target& target,
                    const CpuConstants& cpu) {
  std::vector<NestPrior> priors;
  for (const NestWork& nest : WorkOf(fn, target)) {
    NestTraffic traffic = TrafficOf(nest, cpu, task.settings);
    priors.push_back(PriorOf(nest, traffic, target, cpu, task.settings));
  }
  return LnSecondsOf(priors, cpu);
}

Expr LnSecondsOnGpu(const Function& fn, const MeasuredTask& task, const Target& target,
                    const GpuConstants& gpu) {
  std::vector<LaunchPrior> priors;
  for (const LaunchWork& launch : LaunchesOf(fn, target)) {
    priors.push_back(PriorOf(launch, gpu, task.settings));
  }
  return LnSecondsOf(priors);
}

StatusOr<Tape> TapeOf(const SymbolicProgram& program, const MeasuredTask& task,
                      const Target& target, const DeviceProfile& start) {
  TCC_RETURN_IF_ERROR(ExpectMeasuredOn(target, task));
  TCC_RETURN_IF_ERROR(ExpectLoopsOf(target, program.fn));
  std::vector<Var> constants;
  const auto* gpu = std::get_if<GpuProfile>(&start);
  std::vector<Expr> exprs = {
      gpu ? LnSecondsOnGpu(program.fn, task, target, VariableGpuConstants(*gpu, constants))
          : LnSecondsOnCpu(program.fn, task, target, VariableConstants(constants))};
  SizeVars sizes = VarsOf(program.trace.sizes);
  sizes.vars.insert(sizes.vars.end(), constants.begin(), constants.end());
  TCC_ASSIGN_OR_RETURN(FormulaProgram formulas, CompileFormulas(exprs, sizes.vars, sizes.bounds));
  return Tape(std::move(formulas));
}

}  // namespace

StatusOr<DeviceProfile> FitProfile(std::span<const MeasuredTask> tasks, const Target& target,
                                   const DeviceProfile& start, const FitOptions& options) {
  DeviceProfile fitted = start;
  std::vector<DeviceConstant> places = ConstantsIn(fitted);
  std::vector<FittedConstant> constants;
  for (const DeviceConstant& place : places) {
    bool is_known = IsOfGpu(start) && place.name == "hertz";
    constants.push_back({.name = std::string(place.name),
                         .start = *place.value,
                         .fitted = place.fitted,
                         .pull = is_known ? kPullOfClock : 1});
  }
  auto tape = [&](const SymbolicProgram& program, const MeasuredTask& task) {
    return TapeOf(program, task, target, start);
  };
  TCC_ASSIGN_OR_RETURN(std::vector<double> values, FitConstants(tasks, constants, tape, options));
  for (size_t c = 0; c < places.size(); ++c) *places[c].value = values[c];
  return fitted;
}

}  // namespace tcc
