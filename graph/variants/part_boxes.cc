#include "graph/variants/part_boxes.h"

#include "support/check.h"

namespace tcc {
namespace {

std::vector<int64_t> CompactStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

bool IsOneRun(const PartBox& box) {
  bool single = true;  // whether all dimensions so far have one element in the box
  for (size_t d = 0; d < box.shape.size(); ++d) {
    if (!single && box.shape[d] != box.whole_shape[d]) return false;
    single = single && box.shape[d] == 1;
  }
  return true;
}

const PartBox* PartBoxes::Find(ValueId id) const {
  auto found = boxes_.find(id);
  return found == boxes_.end() ? nullptr : &found->second;
}

void PartBoxes::Add(ValueId id, PartBox box) {
  bool fresh = boxes_.emplace(id, std::move(box)).second;
  TCC_CHECK(fresh) << "value " << id << " lies in two places";
}

bool PartBoxes::IsContiguous(ValueId id) const {
  for (const PartBox* box = Find(id); box != nullptr; box = Find(box->whole)) {
    if (!IsOneRun(*box)) return false;
  }
  return true;
}

PartBoxes::Place PartBoxes::PlaceOf(const PartBox& innermost) const {
  std::vector<const PartBox*> chain;  // from the inside out
  for (const PartBox* box = &innermost; box != nullptr; box = Find(box->whole)) {
    chain.push_back(box);
  }
  Place place{chain.back()->whole, 0, {}};
  for (size_t i = chain.size(); i-- > 0;) {
    const PartBox& box = *chain[i];
    // Rows of what lies inside rows that are apart are as far apart as those.
    std::vector<int64_t> strides =
        place.strides.empty() ? CompactStrides(box.whole_shape) : place.strides;
    for (size_t d = 0; d < strides.size(); ++d) place.offset += box.start[d] * strides[d];
    bool one_run = place.strides.empty() && IsOneRun(box);
    place.strides = one_run ? std::vector<int64_t>() : std::move(strides);
  }
  return place;
}

PlacedParts PartBoxes::Resolve(const Graph& graph) const {
  PlacedParts parts;
  for (const auto& [id, box] : boxes_) {
    Place place = PlaceOf(box);
    int64_t element_bytes = graph.value(id).dtype.bytes();
    int64_t reach = 1;
    std::vector<int64_t> strides =
        place.strides.empty() ? CompactStrides(box.shape) : place.strides;
    for (size_t d = 0; d < box.shape.size(); ++d) reach += (box.shape[d] - 1) * strides[d];
    parts[id] = {.whole = place.whole,
                 .offset = place.offset * element_bytes,
                 .bytes = reach * element_bytes,
                 .strides = std::move(place.strides)};
  }
  return parts;
}

}  // namespace tcc
