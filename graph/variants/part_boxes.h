#pragma once

#include <map>

#include "graph/variants/task.h"

namespace tcc {

// Where a value lies inside another, in dimensions as both are stored.
struct PartBox {
  ValueId whole = kNoValue;
  std::vector<int64_t> start;
  std::vector<int64_t> shape;        // of the part
  std::vector<int64_t> whole_shape;  // of what it lies in
};

// Whether the box is one run of elements: behind the first dimension that it cuts it has all.
bool IsOneRun(const PartBox& box);

// Values that lie inside others, which may lie inside others themselves.
class PartBoxes {
 public:
  bool Contains(ValueId id) const { return boxes_.contains(id); }
  const PartBox* Find(ValueId id) const;

  // Expects that the value is no part yet, that the whole is not inside it, and, where the whole is
  // not contiguous, that `whole_shape` is the shape of its own box.
  void Add(ValueId id, PartBox box);

  // Whether its elements follow each other without gaps; so do those of what is no part.
  bool IsContiguous(ValueId id) const;

  // Where the box starts, in elements, from where the value at the end of the chain of its whole
  // does.
  int64_t OffsetOf(const PartBox& box) const { return PlaceOf(box).offset; }

  // All of them, each relative to the value at the end of its chain.
  PlacedParts Resolve(const Graph& graph) const;

 private:
  // In elements, from where the value at the end of the chain starts.
  struct Place {
    ValueId whole;
    int64_t offset;
    std::vector<int64_t> strides;  // empty: contiguous
  };
  Place PlaceOf(const PartBox& innermost) const;

  std::map<ValueId, PartBox> boxes_;
};

}  // namespace tcc
