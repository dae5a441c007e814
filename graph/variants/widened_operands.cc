#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/combiner.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Operands whose elements are read less often are widened where they are read: a copy of them would
// cost more than it saves, in memory traffic above all.
constexpr double kMinReads = 8;

double PointsOf(const std::vector<Axis>& axes) {
  double points = 1;
  for (const Axis& axis : axes) points *= static_cast<double>(*AsConstant(axis.extent));
  return points;
}

// Returns the load of a 16-bit float that the factor widens to f32, or nullptr.
const Load* NarrowLoadOf(const Expr& factor) {
  const auto* cast = factor.as<Cast>();
  const auto* load = cast && cast->dtype == kFloat32 ? cast->value.as<Load>() : nullptr;
  bool is_narrow = load && load->dtype.is_float() && load->dtype.bits() == 16;
  return is_narrow ? load : nullptr;
}

// Returns whether the stage reads each element of the buffer often enough.
bool IsReadOften(const ComputeExpr& stage, const Buffer& buffer) {
  double elements = 1;
  for (const Expr& extent : buffer.shape) {
    std::optional<int64_t> known = AsConstant(extent);
    if (!known) return false;
    elements *= static_cast<double>(*known);
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
    DropUnread();
    return std::move(result_);
  }

 private:
  // Widens the factors of stage s. Returns the number of stages that were put before it.
  size_t WidenFactors(size_t s) {
    const auto* stage = std::get_if<ComputeExpr>(&result_.stages[s]);
    bool sums = stage && stage->combiner && stage->values.size() == 1 && HasKnownExtents(*stage) &&
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
    result_.kept.push_back(wide.var);
    ComputeExpr map = StageOver(wide);
    map.values = {CastTo(kFloat32, NarrowValue(narrow.var, map))};
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

  // Returns the element of the narrow buffer at an entry of its wide copy. Where RoundOperands made
  // it, that is the value that it rounds, so that both are one map.
  Expr NarrowValue(const Var& narrow, const ComputeExpr& map) const {
    const ComputeExpr* stage = OnlyWriter(narrow);
    if (stage && !stage->combiner && stage->values[0].as<Cast>()) {
      Substitution places;
      for (size_t d = 0; d < stage->axes.size(); ++d) {
        if (!stage->indices[0][d].same_as(stage->axes[d].var)) break;
        places.emplace(stage->axes[d].var, map.indices[0][d]);
      }
      if (places.size() == map.axes.size()) return Substitute(stage->values[0], places);
    }
    return Make<Load>(narrow, map.indices[0]);
  }

  const ComputeExpr* OnlyWriter(const Var& var) const {
    const ComputeExpr* writer = nullptr;
    for (const TensorExpr& expr : result_.stages) {
      const auto* stage = std::get_if<ComputeExpr>(&expr);
      if (!stage || stage->outputs[0].var != var) continue;
      if (writer) return nullptr;
      writer = stage;
    }
    return writer;
  }

  // Drops narrow buffers that nothing reads any more.
  void DropUnread() {
    const std::vector<Var> kept = result_.kept;
    for (const Var& var : kept) {
      if (IsRead(var)) continue;
      std::erase_if(result_.stages, [&](const TensorExpr& expr) {
        const auto* stage = std::get_if<ComputeExpr>(&expr);
        return stage && stage->outputs[0].var == var;
      });
      std::erase_if(result_.intermediates, [&](const Buffer& b) { return b.var == var; });
      std::erase(result_.kept, var);
    }
  }

  bool IsRead(const Var& var) const {
    bool found = false;
    for (const TensorExpr& stage : result_.stages) {
      ForEachExpr(stage, [&](const Expr& root) {
        PreOrder(root, [&](const Expr& node) {
          const auto* load = node.as<Load>();
          found = found || (load && load->buffer == var);
        });
      });
    }
    return found;
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
