#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff_features/cpu/cpu_prior.h"
#include "autodiff_features/features/feature_table.h"
#include "autodiff_features/gpu/gpu_prior.h"
#include "ir/analysis/batch_evaluator.h"
#include "schedule/space/space.h"

namespace tcc {

// The share of a program that its formulas describe exactly.
struct FormulaCounts {
  int64_t sites = 0;
  int64_t accesses = 0;
  // The blocks whose counts are upper bounds: Site::exact is false.
  std::vector<std::string> bounded = {};
  // The accesses for which TracedAccess::exact is false, as "mm of A_p".
  std::vector<std::string> without_box = {};
};

// The variables of sizes and the ranges of their values, which formulas are compiled for.
struct SizeVars {
  std::vector<Var> vars;
  Bounds bounds;
};
SizeVars VarsOf(std::span<const FreeSize> sizes);

// Checks that `fn` has loops of the target's kind of device: a CPU's are bound to no blocks or
// threads, a GPU's to some blocks and none is parallel. Error: the first loop that is not; the
// target is neither.
Status ExpectLoopsOf(const Target& target, const Function& fn);

// The features and predicted seconds of a symbolic program, as formulas over its free sizes,
// compiled for many points at once.
class SketchFormulas {
 public:
  // Error: ExpectLoopsOf's; `profile` is of the other kind of device; a formula that cannot be
  // compiled.
  static StatusOr<SketchFormulas> Create(const SymbolicProgram& program, const Target& target,
                                         const DeviceProfile& profile, const RunSettings& settings);

  FeatureKind kind() const { return kind_; }
  const std::vector<FreeSize>& sizes() const { return sizes_; }
  // Returns the names of the nests or launches that run with the kernel, in order.
  const std::vector<std::string>& nests() const { return nests_; }
  const FormulaCounts& counts() const { return counts_; }

  // Maps a column for each size to a column for each row of the kind's feature table of each nest,
  // nest by nest.
  const BatchEvaluator& features() const { return features_; }
  // Maps the same points to one column: ln seconds of the whole kernel.
  const BatchEvaluator& prior() const { return prior_; }

  // Return the same as expressions over sizes(), for compiling other programs from them.
  const std::vector<Expr>& feature_exprs() const { return feature_exprs_; }
  const Expr& prior_expr() const { return prior_expr_; }
  // Returns the f64 bytes of the tiles of all levels: one iteration of each loop that is neither
  // parallel nor straight-line code, of each nest's main block. On a GPU: shared memory, and
  // registers of all threads.
  const Expr& tile_bytes_expr() const { return tile_bytes_expr_; }

  // Converts points of the program's space to the evaluators' form.
  PointTable ToTable(std::span<const Point> points) const;
  std::vector<double> LnSecondsAt(std::span<const Point> points) const;

 private:
  // The formulas before they are compiled.
  struct Parts {
    FeatureKind kind = FeatureKind::kNest;
    std::vector<std::string> nests;
    FormulaCounts counts;
    std::vector<Expr> features;
    Expr prior;
    Expr tile_bytes;
  };
  static Parts PartsOnCpu(const SymbolicProgram& program, const Target& target,
                          const CpuProfile& profile, const RunSettings& settings);
  static Parts PartsOnGpu(const SymbolicProgram& program, const Target& target,
                          const GpuProfile& profile, const RunSettings& settings);
  static StatusOr<SketchFormulas> Compile(const SymbolicProgram& program, Parts parts);

  SketchFormulas(BatchEvaluator features, BatchEvaluator prior)
      : features_(std::move(features)), prior_(std::move(prior)) {}

  FeatureKind kind_ = FeatureKind::kNest;
  std::vector<FreeSize> sizes_;
  std::vector<std::string> nests_;
  FormulaCounts counts_;
  std::vector<Expr> feature_exprs_;
  Expr prior_expr_;
  Expr tile_bytes_expr_;
  BatchEvaluator features_;
  BatchEvaluator prior_;
};

}  // namespace tcc
