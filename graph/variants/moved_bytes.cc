#include "graph/variants/moved_bytes.h"

#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// The extents of a stage's axes; the most elements of a buffer that one access meets. In floating
// point, as their products may fit no integer.
using Extents = std::unordered_map<Var, double, VarHash>;
using Elements = std::unordered_map<Var, double, VarHash>;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double ValueOf(const Expr& extent) {
  std::optional<int64_t> value = AsConstant(extent);
  return value ? static_cast<double>(*value) : kUnknown;
}

// How many values the expressions take together at most: as many as the axes in them have points.
double ValuesOf(std::span<const Expr> exprs, const Extents& extents) {
  Extents axes;
  for (const Expr& expr : exprs) {
    for (const Var& var : VarsOf(expr)) {
      auto axis = extents.find(var);
      if (axis != extents.end()) axes.insert(*axis);
    }
  }
  double values = 1;
  for (const auto& [var, extent] : axes) values *= extent;
  return values;
}

class Accesses {
 public:
  explicit Accesses(const TensorProgram& program) {
    for (const auto* buffers : {&program.inputs, &program.outputs}) {
      for (const Buffer& buffer : *buffers) buffers_.emplace(buffer.var, &buffer);
    }
  }

  void AddStage(const TensorExpr& stage) {
    std::visit([&](const auto& expr) { AddStores(expr); }, stage);
    ForEachExpr(stage, [&](const Expr& root) {
      PreOrder(root, [&](const Expr& expr) {
        if (const auto* load = expr.as<Load>()) Add(load->buffer, load->indices);
      });
    });
  }

  // NaN where an extent is not known.
  double Bytes() const {
    double bytes = 0;
    for (const auto& [var, elements] : elements_) bytes += elements * var.dtype().bits() / 8;
    return bytes;
  }

 private:
  void AddStores(const ComputeExpr& stage) {
    extents_.clear();
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const Axis& axis : *axes) extents_[axis.var] = ValueOf(axis.extent);
    }
    for (size_t e = 0; e < stage.outputs.size(); ++e) Add(stage.outputs[e].var, stage.indices[e]);
  }

  void AddStores(const OrderedExpr& stage) {
    extents_.clear();
    for (const Axis& axis : stage.axes) extents_[axis.var] = ValueOf(axis.extent);
    Add(stage.output.var, stage.indices);
  }

  void Add(const Var& var, const std::vector<Expr>& indices) {
    auto buffer = buffers_.find(var);
    if (buffer == buffers_.end()) return;
    double inside = 1;  // by each dimension for itself
    for (size_t d = 0; d < indices.size(); ++d) {
      double values = ValuesOf(std::span(indices).subspan(d, 1), extents_);
      inside *= std::fmin(values, ValueOf(buffer->second->shape[d]));
    }
    double met = std::fmin(inside, ValuesOf(indices, extents_));
    double& most = elements_.emplace(var, 0).first->second;
    if (!std::isnan(most) && !(met <= most)) most = met;
  }

  std::unordered_map<Var, const Buffer*, VarHash> buffers_;
  Extents extents_;  // of the stage at hand
  Elements elements_;
};

}  // namespace

std::optional<int64_t> MovedBytes(const TensorProgram& program) {
  Accesses accesses(program);
  for (const TensorExpr& stage : program.stages) accesses.AddStage(stage);
  double bytes = accesses.Bytes();
  if (!(bytes < 9e18)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace tcc
