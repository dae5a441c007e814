#pragma once

#include <map>

#include "graph/variants/task.h"

namespace tcc {

// The place of a value inside another one, in the dimensions that both are stored in.
struct PartBox {
  ValueId whole = kNoValue;
  std::vector<int64_t> start;
  std::vector<int64_t> shape;        // the shape of the part
  std::vector<int64_t> whole_shape;  // the shape of the whole
};

// Returns whether the box is one run of elements: it is complete in all dimensions behind the first
// one that it cuts.
bool IsOneRun(const PartBox& box);

// The values that lie inside others, which may themselves lie inside others.
class PartBoxes {
 public:
  bool Contains(ValueId id) const { return boxes_.contains(id); }
  const PartBox* Find(ValueId id) const;

  // Adds a part. Expects that the value is no part yet, that the whole is not inside it, and, if
  // the whole is not contiguous, that `whole_shape` is the shape of its own box.
  void Add(ValueId id, PartBox box);

  // Returns whether the value's elements are contiguous; they are if it is no part.
  bool IsContiguous(ValueId id) const;

  // Returns the offset of the box, in elements, from the value at the end of the chain of its
  // whole.
  int64_t OffsetOf(const PartBox& box) const { return PlaceOf(box).offset; }

  // Returns all parts, each relative to the value at the end of its chain.
  PlacedParts Resolve(const Graph& graph) const;

 private:
  // A place in elements, relative to the value at the end of the chain.
  struct Place {
    ValueId whole;
    int64_t offset;
    std::vector<int64_t> strides;  // empty: contiguous
  };
  Place PlaceOf(const PartBox& innermost) const;

  std::map<ValueId, PartBox> boxes_;
};

}  // namespace tcc
