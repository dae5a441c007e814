#include "codegen_vdla/copy_streams.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <tuple>

#include "runtime/vdla/vdla_facts.h"
#include "support/check.h"

namespace tcc {
namespace {

using Vectors = std::span<const CopiedVector>;

// Rows of equal length, by the element where each begins; kPadding: padding.
using Rows = std::span<const int64_t>;

// Whether `next` can follow `vector` in a row.
bool Continues(const CopiedVector& vector, const CopiedVector& next) {
  if (next.channel != (vector.channel + kVdlaBlock) % vector.channels) return false;
  if (vector.element == kPadding || next.element == kPadding) return vector.element == next.element;
  return next.buffer == vector.buffer && next.element == vector.element + kVdlaBlock;
}

// Returns the length of the first row, as long as it can be.
size_t FirstRow(Vectors vectors) {
  size_t length = 1;
  while (length < vectors.size() && Continues(vectors[length - 1], vectors[length])) ++length;
  return length;
}

// Cuts rows of `length` vectors from the front, up to the first one that is none or reads another
// buffer.
std::vector<int64_t> RowsOf(Vectors vectors, size_t length) {
  std::vector<int64_t> rows;
  std::optional<uint32_t> buffer;
  for (size_t at = 0; at + length <= vectors.size(); at += length) {
    if (FirstRow(vectors.subspan(at, length)) < length) break;
    const CopiedVector& first = vectors[at];
    if (first.channel != vectors[0].channel) break;
    if (first.element != kPadding && buffer.value_or(first.buffer) != first.buffer) break;
    if (first.element != kPadding) buffer = first.buffer;
    rows.push_back(first.element);
  }
  return rows;
}

size_t LeadingZeros(Rows rows) {
  return std::ranges::find_if(rows, [](int64_t row) { return row != kPadding; }) - rows.begin();
}

bool Steps(int64_t from, int64_t to, int64_t stride) {
  return from != kPadding && to != kPadding && to - from == stride;
}

// Returns the number of rows at the front with one stride, which is not negative.
size_t LeadingData(Rows rows) {
  if (rows.size() < 2 || rows[1] == kPadding || rows[1] < rows[0]) return 1;
  size_t count = 2;
  while (count < rows.size() && Steps(rows[count - 1], rows[count], rows[1] - rows[0])) ++count;
  return count;
}

// A box of rows: planes of `above` zeros, `data` rows and `below` zeros, with planes of zeros
// before and behind them.
struct RowBox {
  size_t above = 0, data = 0, below = 0;
  size_t before = 0, planes = 0, behind = 0;
  int64_t first = 0;  // the element of the first row of data
  std::array<int64_t, 2> stride = {0, 0};
  size_t height() const { return above + data + below; }
  size_t rows() const { return height() * (before + planes + behind); }
};

// Whether `rows` begins with a plane of the box, the one at `first`.
bool IsPlane(Rows rows, const RowBox& box, int64_t first) {
  if (rows.size() < box.height() || first < 0) return false;
  for (size_t y = 0; y < box.height(); ++y) {
    const bool pads = y < box.above || y >= box.above + box.data;
    const int64_t row = first + static_cast<int64_t>(y - box.above) * box.stride[0];
    if (rows[y] != (pads ? kPadding : row)) return false;
  }
  return true;
}

// Returns the longest box of one plane at the front of rows, some of which hold data.
RowBox OnePlane(Rows rows) {
  RowBox box = {.above = LeadingZeros(rows), .planes = 1};
  const Rows data = rows.subspan(box.above);
  box.data = LeadingData(data);
  box.below = LeadingZeros(data.subspan(box.data));
  box.first = data[0];
  if (box.data > 1) box.stride[0] = data[1] - data[0];
  return box;
}

// Returns the longest box whose planes have the distance of the first two stretches of data.
std::optional<RowBox> SeveralPlanes(Rows rows, RowBox box) {
  const size_t first_data = box.above, height = box.data + box.below;
  if (first_data + height >= rows.size()) return std::nullopt;
  box.above = first_data % height;
  box.before = first_data / height;
  if (box.above > box.below) return std::nullopt;
  box.below -= box.above;
  const Rows planes = rows.subspan(box.before * height);
  box.stride[1] = planes[box.above + height] - box.first;
  if (box.stride[1] < 0) return std::nullopt;
  size_t& count = box.planes = 0;
  while (count * height <= planes.size() &&
         IsPlane(planes.subspan(count * height), box,
                 box.first + static_cast<int64_t>(count) * box.stride[1])) {
    ++count;
  }
  if (count == 0) return std::nullopt;
  box.behind = LeadingZeros(planes.subspan(count * height)) / height;
  return box;
}

RowBox LongestBox(Rows rows) {
  const size_t zeros = LeadingZeros(rows);
  if (zeros == rows.size()) return {.above = zeros, .before = 1};
  const RowBox one = OnePlane(rows);
  const std::optional<RowBox> several = SeveralPlanes(rows, one);
  return several && several->rows() > one.rows() ? *several : one;
}

VdlaCopy CopyOf(const RowBox& box, size_t length, const CopiedVector& first, uint32_t buffer) {
  const auto size = [](size_t n) { return static_cast<uint32_t>(n); };
  const auto pad = [](size_t n) {
    TCC_CHECK(n <= std::numeric_limits<uint16_t>::max()) << n;
    return static_cast<uint16_t>(n);
  };
  return {.on_chip = first.on_chip,
          .on_chip_at = static_cast<uint32_t>(first.vector),
          .buffer = buffer,
          .memory_at = box.first,
          .size = {size(length), size(box.data), size(box.planes)},
          .stride = box.stride,
          .pad = {pad(box.above), pad(box.below), pad(box.before), pad(box.behind)},
          .fill = first.fill,
          .flips = first.flips,
          .output = first.output,
          .channel_at = first.channel};
}

// Returns the box that takes the most vectors from the front; among equals the longest rows. Rows
// are parts of the first row, since every row of a box is all data or all zeros.
VdlaCopy LongestCopy(Vectors vectors) {
  std::optional<VdlaCopy> longest;
  const size_t first_row = FirstRow(vectors);
  for (size_t length = first_row; length >= 1; --length) {
    if (first_row % length != 0) continue;
    const std::vector<int64_t> rows = RowsOf(vectors, length);
    const RowBox box = LongestBox(rows);
    const auto taken = static_cast<int64_t>(box.rows() * length);
    if (longest && OnChipVectors(*longest) >= taken) continue;
    const auto data = std::ranges::find_if(
        vectors, [](const CopiedVector& vector) { return vector.element != kPadding; });
    const bool has_data = data - vectors.begin() < taken;
    longest = CopyOf(box, length, vectors[0], has_data ? data->buffer : vectors[0].buffer);
  }
  return *longest;
}

auto PlaceOf(const CopiedVector& vector) {
  return std::tuple(vector.on_chip, vector.vector);
}

// Whether two of the stores write one element.
bool MeetInMemory(const std::vector<CopiedVector>& stores) {
  std::vector<std::tuple<uint32_t, int64_t>> places;
  for (const CopiedVector& store : stores) places.emplace_back(store.buffer, store.element);
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    const auto& [buffer, element] = places[i - 1];
    if (places[i] < std::tuple(buffer, element + kVdlaBlock)) return true;
  }
  return false;
}

// Sorts copies by their place on the chip where that changes nothing, so that neighbours meet. The
// last load into a vector remains.
std::vector<CopiedVector> Sorted(std::vector<CopiedVector> vectors) {
  const bool stores = vectors[0].on_chip == VdlaMemory::kSums;
  if (stores && MeetInMemory(vectors)) return vectors;
  std::ranges::stable_sort(vectors, {}, PlaceOf);
  if (stores) return vectors;
  std::vector<CopiedVector> last;
  for (const CopiedVector& vector : vectors) {
    if (!last.empty() && PlaceOf(last.back()) == PlaceOf(vector)) last.pop_back();
    last.push_back(vector);
  }
  return last;
}

// Returns the fields that all vectors of a copy share.
auto TreatmentOf(const CopiedVector& vector) {
  return std::tuple(vector.on_chip, vector.fill, vector.flips, vector.output, vector.channels);
}

// Returns the number of vectors at the front that are neighbours on the chip and treated alike.
size_t LeadingNeighbours(Vectors vectors) {
  size_t count = 1;
  while (count < vectors.size() && TreatmentOf(vectors[count]) == TreatmentOf(vectors[0]) &&
         vectors[count].vector == vectors[count - 1].vector + 1) {
    ++count;
  }
  return count;
}

bool IsEqual(const VdlaCopy& copy, Vectors vectors) {
  size_t at = 0;
  bool equal = true;
  const uint32_t channels = vectors[0].channels;
  ForEachChannels(copy, channels, [&](int64_t vector, int64_t element, int64_t channel) {
    const CopiedVector& wanted = vectors[at++];
    const std::tuple treatment(copy.on_chip, copy.fill, copy.flips, copy.output, channels);
    equal &= TreatmentOf(wanted) == treatment && wanted.vector == vector &&
             wanted.channel == channel && wanted.element == element &&
             (element == kPadding || wanted.buffer == copy.buffer);
  });
  return equal;
}

}  // namespace

std::vector<VdlaCopy> FoldCopies(std::vector<CopiedVector> vectors) {
  std::vector<VdlaCopy> copies;
  if (vectors.empty()) return copies;
  const std::vector<CopiedVector> sorted = Sorted(std::move(vectors));
  Vectors left = sorted;
  while (!left.empty()) {
    copies.push_back(LongestCopy(left.first(LeadingNeighbours(left))));
    const VdlaCopy& copy = copies.back();
    TCC_CHECK(IsEqual(copy, left)) << "vector " << copy.on_chip_at;
    left = left.subspan(OnChipVectors(copy));
  }
  return copies;
}

}  // namespace tcc
