#include "compiler/check/check_sizes.h"

#include <algorithm>

#include "compiler/check/random_inputs.h"

namespace tcc {
namespace {

bool IsPrime(int64_t number) {
  if (number < 2) return false;
  for (int64_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return false;
  }
  return true;
}

// Returns the next prime below the usual size, else the next above it; the usual size where the
// range has neither.
int64_t PrimeBeside(int64_t usual, const ShapeVariable& range) {
  for (int64_t below = usual - 1; below >= std::max(range.low, int64_t{2}); --below) {
    if (IsPrime(below)) return below;
  }
  for (int64_t above = usual + 1; above <= range.high; ++above) {
    if (IsPrime(above)) return above;
  }
  return usual;
}

// Returns the sizes of a model that takes any, the smallest first.
std::vector<std::vector<int64_t>> DrawnSizes(const Metadata& metadata, const DimSizes& given,
                                             std::span<const int64_t> usual) {
  std::vector<int64_t> least, prime, twice;
  for (size_t d = 0; d < usual.size(); ++d) {
    const ShapeVariable& range = metadata.shape_variables[d];
    const bool is_given = given.contains(range.name);
    least.push_back(is_given ? usual[d] : range.low);
    prime.push_back(is_given ? usual[d] : PrimeBeside(usual[d], range));
    twice.push_back(is_given ? usual[d] : std::min(2 * usual[d], range.high));
  }
  std::vector<std::vector<int64_t>> sizes;
  for (const auto& size : {least, prime, {usual.begin(), usual.end()}, twice}) {
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

StatusOr<std::vector<std::vector<int64_t>>> SizesToCheck(const Metadata& metadata,
                                                         const DimSizes& given) {
  std::vector<std::vector<int64_t>> sizes;
  if (metadata.shape_variables.empty()) return sizes;
  DimSizes own;
  for (const ShapeVariable& variable : metadata.shape_variables) {
    if (auto found = given.find(variable.name); found != given.end()) own.insert(*found);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> usual, SizeWith(metadata, own));
  if (metadata.sizes.empty()) return DrawnSizes(metadata, own, usual);
  std::ranges::copy_if(metadata.sizes, std::back_inserter(sizes),
                       [&](const auto& size) { return Agrees(metadata, size, own); });
  return sizes;
}

bool Agrees(const Metadata& metadata, std::span<const int64_t> size, const DimSizes& given) {
  for (size_t d = 0; d < size.size(); ++d) {
    auto found = given.find(metadata.shape_variables[d].name);
    if (found != given.end() && found->second != size[d]) return false;
  }
  return true;
}

std::vector<DimSizes> ToListed(const Metadata& metadata,
                               std::span<const std::vector<int64_t>> sizes, const DimSizes& given) {
  std::vector<DimSizes> listed;
  for (const std::vector<int64_t>& size : sizes) {
    DimSizes& left = listed.emplace_back();
    for (size_t d = 0; d < size.size(); ++d) {
      const std::string& name = metadata.shape_variables[d].name;
      if (!given.contains(name)) left.emplace(name, size[d]);
    }
  }
  std::erase_if(listed, [](const DimSizes& left) { return left.empty(); });
  return listed;
}

}  // namespace tcc
