#include "autodiff_features/features/nest_features.h"

#include <algorithm>
#include <functional>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/accesses.h"
#include "support/check.h"

namespace tcc {
namespace {

// Fills the rows, a function a group of the table.
class FeatureWriter {
 public:
  FeatureWriter(const NestWork& nest, std::vector<Expr>& rows)
      : nest_(nest), main_(nest.sites[nest.main]), rows_(rows) {}

  void CountWork() {
    Set(Feature::kUseful, Sum([](const SiteWork& s) { return s.counts.useful; }));
    Set(Feature::kIssued, Sum([](const SiteWork& s) { return s.counts.issued; }));
    Set(Feature::kDead, Sum([](const SiteWork& s) { return s.counts.dead; }));
    Set(Feature::kWaste, RealQuotient(main_.counts.issued, main_.counts.useful));
  }

  void CountOperations() {
    auto count = [&](Feature feature, double OperationCounts::* kind) {
      Set(feature, Sum([&](const SiteWork& s) { return VectorOperations(s, s.operations.*kind); }));
    };
    count(Feature::kFma, &OperationCounts::fma);
    count(Feature::kAdd, &OperationCounts::add);
    count(Feature::kMul, &OperationCounts::mul);
    count(Feature::kDivide, &OperationCounts::divide);
    count(Feature::kRoot, &OperationCounts::root);
    count(Feature::kSpecial, &OperationCounts::special);
    count(Feature::kCompare, &OperationCounts::compare);
    count(Feature::kConvert, &OperationCounts::convert);
    count(Feature::kTests, &OperationCounts::tests);
  }

  void CountInstructions() {
    auto count = [&](Feature feature, const std::function<Expr(const SiteWork&)>& of_body) {
      Set(feature,
          Sum([&](const SiteWork& s) { return RealProduct(s.counts.bodies, of_body(s)); }));
    };
    count(Feature::kVectorLoads, [](const SiteWork& s) { return s.loads.vectors; });
    count(Feature::kBroadcastLoads, [](const SiteWork& s) { return s.loads.broadcasts; });
    count(Feature::kLoneElements,
          [](const SiteWork& s) { return RealSum(s.loads.elements, s.stores.elements); });
    count(Feature::kVectorStores,
          [](const SiteWork& s) { return RealSum(s.stores.vectors, s.stores.broadcasts); });
    count(Feature::kScalarOperations, [](const SiteWork& s) {
      double operations = s.site.lane_part ? 0 : s.operations.Arithmetic();
      return RealProduct(s.counts.copies, Real(operations));
    });
    Set(Feature::kPrefetches, nest_.prefetched);
    Set(Feature::kStatements, Real(nest_.resources.statements));
  }

  void CountLoops() {
    Set(Feature::kBodies, Sum([](const SiteWork& s) { return s.counts.bodies; }));
    Set(Feature::kEntries, Sum([](const SiteWork& s) { return s.counts.entries; }));
    Set(Feature::kTrip, main_.counts.trip);
  }

  void DescribeTile(const Target& target) {
    const InstanceCounts& counts = main_.counts;
    Expr tile = RealQuotient(RealProduct(counts.copies, main_.vectors), counts.chain);
    Set(Feature::kAccumulators, main_.in_registers ? tile : Real(0));
    double registers = std::max(target.vector_registers, 1);
    Set(Feature::kRegisterShare, RealQuotient(Real(nest_.resources.registers), Real(registers)));
    std::vector<Access> writes = WritesOf(*main_.site.block);
    double bytes = writes.empty() ? 1 : writes[0].buffer.dtype().bits() / 8.0;
    Set(Feature::kVectorFill, RealQuotient(RealProduct(counts.lanes, Real(bytes)),
                                           Real(std::max(target.vector_bytes, 1))));
    Set(Feature::kLaneUse, counts.lane_use);
    Set(Feature::kRowUse, counts.row_use);
    Set(Feature::kChain, counts.chain);
    Expr loads =
        RealSum(RealSum(main_.loads.vectors, main_.loads.broadcasts), main_.loads.elements);
    Set(Feature::kLoadsPerFma, RealQuotient(loads, RealProduct(counts.copies, main_.vectors)));
  }

  void MeasureFootprints() {
    const Site& site = main_.site;
    size_t start = site.FirstSpreadLoop();
    auto inside = [&](std::optional<size_t> loop) {
      return loop && *loop < site.loops.size() ? main_.footprints[*loop] : nest_.bytes;
    };
    std::optional<size_t> innermost, reduction;
    if (start > 0) innermost = start - 1;
    for (size_t p = site.parts.size(); p-- > 0;) {
      if (site.FeedsReduction(p)) reduction = site.parts[p].loop;
    }
    Set(Feature::kInnermostBytes, inside(innermost));
    // All of the reduction for one tile: an iteration of the loop round its outermost one.
    bool around = reduction && *reduction > 0;
    Set(Feature::kTileBytes, around ? inside(*reduction - 1) : nest_.bytes);
    Set(Feature::kPieceBytes, inside(site.parallel_loop));
    Set(Feature::kNestBytes, nest_.bytes);
  }

  void CopyTraffic(const NestTraffic& traffic) {
    Set(Feature::kL1Read, traffic.l1_read);
    Set(Feature::kL2Read, traffic.l2_read);
    Set(Feature::kL3Read, traffic.l3_read);
    Set(Feature::kL1Written, traffic.l1_written);
    Set(Feature::kL2Written, traffic.l2_written);
    Set(Feature::kL3Written, traffic.l3_written);
    Set(Feature::kTouched, traffic.touched);
  }

  void DescribeThreads(const NestPrior& prior, int threads) {
    Set(Feature::kPieces, main_.counts.pieces);
    Set(Feature::kImbalance, prior.imbalance);
    Set(Feature::kThreads, Real(threads));
    Set(Feature::kForks, nest_.forks);
  }

  void CopyPrior(const NestPrior& prior) {
    Set(Feature::kIssueSeconds, prior.issue);
    Set(Feature::kL2Seconds, prior.l2);
    Set(Feature::kL3Seconds, prior.l3);
    Set(Feature::kMemorySeconds, prior.memory);
    Set(Feature::kOverheadSeconds, prior.overhead);
    Set(Feature::kSeconds, prior.seconds);
  }

 private:
  void Set(Feature feature, const Expr& formula) { rows_[static_cast<size_t>(feature)] = formula; }

  Expr Sum(const std::function<Expr(const SiteWork&)>& of_site) const {
    Expr sum = Real(0);
    for (const SiteWork& site : nest_.sites) sum = RealSum(sum, of_site(site));
    return sum;
  }

  static Expr VectorOperations(const SiteWork& site, double of_instance) {
    Expr vectors = RealProduct(RealProduct(site.counts.bodies, site.counts.copies), site.vectors);
    return RealProduct(vectors, Real(of_instance));
  }

  const NestWork& nest_;
  const SiteWork& main_;
  std::vector<Expr>& rows_;
};

}  // namespace

std::vector<Expr> FeaturesOf(const NestWork& nest, const NestTraffic& traffic,
                             const NestPrior& prior, const Target& target,
                             const RunSettings& settings) {
  std::vector<Expr> rows(kNestFeatures);
  FeatureWriter writer(nest, rows);
  writer.CountWork();
  writer.CountOperations();
  writer.CountInstructions();
  writer.CountLoops();
  writer.DescribeTile(target);
  writer.MeasureFootprints();
  writer.CopyTraffic(traffic);
  writer.DescribeThreads(prior, settings.threads);
  writer.CopyPrior(prior);
  for (const Expr& row : rows) TCC_CHECK(row) << "a row of the feature table has no formula";
  return rows;
}

}  // namespace tcc
