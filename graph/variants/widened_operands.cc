#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/combiner.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Operands whose elements are read less often are widened where they are read: a copy of them would
// cost more than it saves, in memory traffic above all.
constexpr double kMinReads = 8;

double PointsOf(const std::vector<Axis>& axes) {
  double points = 1;
  for (const Axis& axis : axes) points *= static_cast<double>(UsualExtent(axis));
  return points;
}

// Returns the load of a 16-bit float that the factor widens to f32, or nullptr.
const Load* NarrowLoadOf(const Expr& factor) {
  const auto* cast = factor.as<Cast>();
  const auto* load = cast && cast->dtype == kFloat32 ? cast->value.as<Load>() : nullptr;
  bool is_narrow = load && load->dtype.is_float() && load->dtype.bits() == 16;
  return is_narrow ? load : nullptr;
}

// Returns whether the stage reads each element of the buffer often enough at the usual sizes.
bool IsReadOften(const ComputeExpr& stage, const Buffer& buffer) {
  double elements = 1;
  for (const Expr& extent : buffer.shape) {
    std::optional<int64_t> usual = AtUsual(extent);
    if (!usual) return false;
    elements *= static_cast<double>(*usual);
  }
  return PointsOf(stage.axes) * PointsOf(stage.reduce_axes) >= kMinReads * elements;
}

class Widener {
 public:
  explicit Widener(const TensorProgram& program) : result_(program) {}

  std::optional<TensorProgram> Run() {
    for (size_t s = 0; s < result_.stages.size(); ++s) s += WidenFactors(s);
    if (!changed_) return std::nullopt;
    result_.stages.insert(result_.stages.begin(), first_stages_.begin(), first_stages_.end());
    return std::move(result_);
  }

 private:
  // Widens the factors of stage s. Returns the number of stages that were put before it.
  size_t WidenFactors(size_t s) {
    const auto* stage = std::get_if<ComputeExpr>(&result_.stages[s]);
    bool sums = stage && stage->combiner && stage->values.size() == 1 && IsNeverEmpty(*stage) &&
                stage->combiner.get() == SumCombiner(kFloat32).get();
    auto factors = sums ? FactorsOf(stage->values[0]) : std::nullopt;
    if (!factors) return 0;
    size_t before = 0;
    Expr a = Widened(factors->first, s, before);
    Expr b = Widened(factors->second, s, before);
    std::get<ComputeExpr>(result_.stages[s + before]).values = {a * b};
    return before;
  }

  Expr Widened(const Expr& factor, size_t s, size_t& before) {
    const Load* load = NarrowLoadOf(factor);
    const Buffer* found = load ? FindBuffer(result_, load->buffer) : nullptr;
    const auto& stage = std::get<ComputeExpr>(result_.stages[s + before]);
    if (!found || !IsReadOften(stage, *found)) return factor;
    const Buffer narrow = *found;
    Buffer wide = AddIntermediate(result_, narrow.var->name + "_f32", kFloat32, narrow.shape);
    // A narrow copy need not exist beside the wide one.
    std::erase(result_.kept, narrow.var);
    result_.kept.push_back(wide.var);
    ComputeExpr map = StageOver(wide);
    map.values = {CastTo(kFloat32, Make<Load>(narrow.var, map.indices[0]))};
    Expr read = Make<Load>(wide.var, load->indices);
    // Rules visit stages in order and must see those first that run when the model is linked.
    if (narrow.scope == Scope::kConstant) {
      first_stages_.emplace_back(std::move(map));
    } else {
      auto at = result_.stages.begin() + static_cast<std::ptrdiff_t>(s + before);
      result_.stages.insert(at, std::move(map));
      ++before;
    }
    changed_ = true;
    return read;
  }

  TensorProgram result_;
  std::vector<TensorExpr> first_stages_;
  bool changed_ = false;
};

}  // namespace

std::optional<TensorProgram> WidenOperands(const TensorProgram& program) {
  return Widener(program).Run();
}

std::optional<TensorProgram> WidenedOperandsVariant(const TensorProgram& program) {
  std::optional<TensorProgram> widened = WidenOperands(program);
  if (!widened) return std::nullopt;
  std::optional<TensorProgram> merged = MergedAxesVariant(*widened);
  return merged ? merged : widened;
}

}  // namespace tcc
