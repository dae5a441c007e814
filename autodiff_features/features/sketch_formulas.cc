#include "autodiff_features/features/sketch_formulas.h"

#include <algorithm>

#include "autodiff_features/counts/real_formulas.h"
#include "autodiff_features/features/launch_features.h"
#include "autodiff_features/features/nest_features.h"
#include "autodiff_features/gpu/gpu_prior.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

FormulaCounts CountFormulas(std::span<const NestWork> nests) {
  FormulaCounts counts;
  for (const NestWork& nest : nests) {
    for (const SiteWork& site : nest.sites) {
      const std::string& block = site.site.block->name;
      ++counts.sites;
      if (!site.site.exact) counts.bounded.push_back(block);
      for (const TracedAccess& access : site.accesses) {
        ++counts.accesses;
        if (access.exact) continue;
        counts.without_box.push_back(block + " of " + access.buffer.var->name);
      }
    }
  }
  return counts;
}

FormulaCounts CountFormulas(std::span<const LaunchWork> launches) {
  FormulaCounts counts;
  for (const LaunchWork& launch : launches) {
    for (const WarpSite& site : launch.sites) {
      ++counts.sites;
      if (!site.exact) counts.bounded.push_back(site.site.block->name);
    }
    counts.accesses += launch.accesses;
    counts.without_box.insert(counts.without_box.end(), launch.without_box.begin(),
                              launch.without_box.end());
  }
  return counts;
}

Expr TileBytesOf(std::span<const LaunchWork> launches) {
  Expr bytes = Real(0);
  for (const LaunchWork& launch : launches) {
    const NestResources& needs = launch.resources;
    bytes = RealSum(bytes, RealSum(Real(needs.shared_bytes),
                                   RealProduct(Real(needs.register_bytes), Real(needs.threads))));
  }
  return bytes;
}

Expr TileBytesOf(std::span<const NestWork> nests) {
  Expr bytes = Real(0);
  for (const NestWork& nest : nests) {
    if (nest.sites.empty()) continue;
    const SiteWork& main = nest.sites[nest.main];
    size_t first = main.site.parallel_loop ? *main.site.parallel_loop + 1 : 0;
    for (size_t loop = first; loop < main.site.FirstSpreadLoop(); ++loop) {
      bytes = RealSum(bytes, main.footprints[loop]);
    }
  }
  return bytes;
}

// Checks that no loop of `fn` is bound to blocks or threads of a GPU. Error: the first one that is.
Status ExpectCpuLoops(const Function& fn) {
  Status status = OkStatus();
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || !status.ok()) return;
    ForKind kind = loop->for_kind;
    if (!IsBlockIdx(kind) && !IsThreadIdx(kind) && kind != ForKind::kVthread) return;
    status = InvalidInput("loop '{}' is bound to {}; expected loops of a CPU", loop->key,
                          ToString(kind));
  });
  return status;
}

// Checks that `fn` has loops of a GPU and none of a CPU. Error: the first one that is a CPU's.
Status ExpectGpuLoops(const Function& fn) {
  Status status = OkStatus();
  bool has_blocks = false;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || !status.ok()) return;
    has_blocks = has_blocks || IsBlockIdx(loop->for_kind);
    if (loop->for_kind != ForKind::kParallel) return;
    status = InvalidInput("loop '{}' is parallel; expected loops of a GPU", loop->key);
  });
  if (!status.ok() || has_blocks) return status;
  return InvalidInput("no loop is bound to blocks; expected loops of a GPU");
}

}  // namespace

SizeVars VarsOf(std::span<const FreeSize> sizes) {
  SizeVars result;
  for (const FreeSize& size : sizes) {
    result.vars.push_back(size.var);
    result.bounds[size.var] = {size.var->low, size.var->high};
  }
  return result;
}

Status ExpectLoopsOf(const Target& target, const Function& fn) {
  if (target.kind == TargetKind::kCpu) return ExpectCpuLoops(fn);
  if (target.kind == TargetKind::kGpu) return ExpectGpuLoops(fn);
  return InvalidInput("target '{}': expected a CPU or a GPU, features of others are not known",
                      target.name);
}

StatusOr<SketchFormulas> SketchFormulas::Create(const SymbolicProgram& program,
                                                const Target& target, const DeviceProfile& profile,
                                                const RunSettings& settings) {
  TCC_RETURN_IF_ERROR(ExpectLoopsOf(target, program.fn));
  bool of_gpu = target.kind == TargetKind::kGpu;
  if (IsOfGpu(profile) != of_gpu) {
    return InvalidInput("target '{}': expected the constants of a {}, got those of a {}",
                        target.name, of_gpu ? "GPU" : "CPU", of_gpu ? "CPU" : "GPU");
  }
  return Compile(program,
                 of_gpu ? PartsOnGpu(program, target, std::get<GpuProfile>(profile), settings)
                        : PartsOnCpu(program, target, std::get<CpuProfile>(profile), settings));
}

SketchFormulas::Parts SketchFormulas::PartsOnCpu(const SymbolicProgram& program,
                                                 const Target& target, const CpuProfile& profile,
                                                 const RunSettings& settings) {
  CpuConstants cpu = ConstantsOf(profile);
  std::vector<NestWork> nests = WorkOf(program.fn, target);
  Parts parts;
  std::vector<NestPrior> priors;
  for (const NestWork& nest : nests) {
    NestTraffic traffic = TrafficOf(nest, cpu, settings);
    priors.push_back(PriorOf(nest, traffic, target, cpu, settings));
    std::vector<Expr> features = FeaturesOf(nest, traffic, priors.back(), target, settings);
    parts.features.insert(parts.features.end(), features.begin(), features.end());
    parts.nests.push_back(nest.name);
  }
  parts.prior = LnSecondsOf(priors, cpu);
  parts.counts = CountFormulas(nests);
  parts.tile_bytes = TileBytesOf(nests);
  return parts;
}

SketchFormulas::Parts SketchFormulas::PartsOnGpu(const SymbolicProgram& program,
                                                 const Target& target, const GpuProfile& profile,
                                                 const RunSettings& settings) {
  std::vector<LaunchWork> launches = program.resources ? LaunchesOf(program.fn, *program.resources)
                                                       : LaunchesOf(program.fn, target);
  Parts parts;
  GpuConstants gpu = ConstantsOf(profile);
  parts.kind = FeatureKind::kLaunch;
  std::vector<LaunchPrior> priors;
  for (const LaunchWork& launch : launches) {
    priors.push_back(PriorOf(launch, gpu, settings));
    std::vector<Expr> features = FeaturesOf(launch, priors.back(), gpu);
    parts.features.insert(parts.features.end(), features.begin(), features.end());
    parts.nests.push_back(launch.name);
  }
  parts.prior = LnSecondsOf(priors);
  parts.counts = CountFormulas(launches);
  parts.tile_bytes = TileBytesOf(launches);
  return parts;
}

StatusOr<SketchFormulas> SketchFormulas::Compile(const SymbolicProgram& program, Parts parts) {
  SizeVars sizes = VarsOf(program.trace.sizes);
  TCC_ASSIGN_OR_RETURN(BatchEvaluator features,
                       BatchEvaluator::Compile(parts.features, sizes.vars, sizes.bounds));
  TCC_ASSIGN_OR_RETURN(BatchEvaluator prior,
                       BatchEvaluator::Compile({&parts.prior, 1}, sizes.vars, sizes.bounds));
  SketchFormulas formulas(std::move(features), std::move(prior));
  formulas.kind_ = parts.kind;
  formulas.sizes_ = program.trace.sizes;
  formulas.nests_ = std::move(parts.nests);
  formulas.counts_ = std::move(parts.counts);
  formulas.feature_exprs_ = std::move(parts.features);
  formulas.prior_expr_ = std::move(parts.prior);
  formulas.tile_bytes_expr_ = std::move(parts.tile_bytes);
  return formulas;
}

PointTable SketchFormulas::ToTable(std::span<const Point> points) const {
  PointTable table(sizes_.size(), points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t s = 0; s < sizes_.size(); ++s) {
      table.at(s, p) = static_cast<double>(points[p][s]);
    }
  }
  return table;
}

std::vector<double> SketchFormulas::LnSecondsAt(std::span<const Point> points) const {
  PointTable seconds = prior_.Evaluate(ToTable(points));
  std::span<const double> column = seconds.column(0);
  return {column.begin(), column.end()};
}

}  // namespace tcc
