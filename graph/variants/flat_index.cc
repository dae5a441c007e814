#include "graph/variants/flat_index.h"

namespace tcc {

FlatIndex::FlatIndex(std::vector<Axis> axes) : axes_(std::move(axes)), strides_(axes_.size()) {
  for (size_t a = axes_.size(); a-- > 0;) {
    strides_[a] = extent_;
    extent_ *= AsConstant(axes_[a].extent).value();
  }
}

Expr FlatIndex::NumberOf() const {
  Expr number;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (IsConstant(axes_[a].extent, 1)) continue;
    Expr term = strides_[a] == 1 ? Expr(axes_[a].var) : Expr(axes_[a].var) * Expr(strides_[a]);
    number = number ? number + term : term;
  }
  return number ? number : Expr(0);
}

void FlatIndex::AddPlaces(const Expr& number, Substitution& places) const {
  for (size_t a = 0; a < axes_.size(); ++a) {
    int64_t extent = AsConstant(axes_[a].extent).value();
    if (extent == 1) {
      places.emplace(axes_[a].var, Expr(0));
      continue;
    }
    Expr place = strides_[a] == 1 ? number : FloorDivide(number, Expr(strides_[a]));
    // The slowest axis that varies is not wrapped round.
    if (strides_[a] * extent != extent_) place = FloorModulo(place, Expr(extent));
    places.emplace(axes_[a].var, place);
  }
}

}  // namespace tcc
