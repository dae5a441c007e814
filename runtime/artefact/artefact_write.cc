#include <algorithm>
#include <array>
#include <map>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/bytes.h"
#include "runtime/artefact/sections.h"
#include "support/check.h"

namespace tcc {
namespace {

using Piece = std::span<const uint8_t>;
constexpr size_t kSectionCount = std::size(kSections);
using Rows = std::array<SectionRow, kSectionCount>;

constexpr uint8_t kZeros[kSectionAlignment] = {};

// All that stands before the sections.
std::vector<uint8_t> HeaderBytes(const Artefact& artefact, const Rows& rows, uint64_t file_size) {
  ByteWriter writer;
  writer.Raw({reinterpret_cast<const uint8_t*>(kArtefactMagic.data()), kArtefactMagic.size()});
  writer.U32(kArtefactVersion);
  writer.U64(file_size);
  writer.Text(artefact.target);
  writer.Text(artefact.device);
  writer.Raw(artefact.environment);
  writer.Count(rows.size());
  for (const SectionRow& row : rows) {
    writer.U32(row.kind);
    writer.U64(row.offset);
    writer.U64(row.size);
    writer.Raw(row.hash);
  }
  writer.Raw(Sha256(writer.bytes()));
  return writer.Take();
}

// The file as pieces, some of which point into the artefact: weights are not copied.
struct Layout {
  std::vector<uint8_t> header, plan, metadata;
  std::vector<Piece> pieces;
};

// `layout` stays where it is, for its pieces point into it.
void LayOut(const Artefact& artefact, Layout& layout) {
  layout.plan = PlanBytes(artefact.plan);
  layout.metadata = MetadataBytes(artefact.metadata);
  const Piece sections[] = {artefact.kernels.bytes, layout.plan, layout.metadata,
                            artefact.weights.bytes, artefact.notes.bytes};
  Rows rows;
  uint64_t end = HeaderBytes(artefact, rows, 0).size();  // its size does not depend on the rows
  layout.pieces.push_back({});
  for (size_t i = 0; i < kSectionCount; ++i) {
    uint64_t offset = AlignUp(end);
    layout.pieces.push_back({kZeros, static_cast<size_t>(offset - end)});
    layout.pieces.push_back(sections[i]);
    rows[i] = {static_cast<uint32_t>(kSections[i]), offset, sections[i].size(),
               Sha256(sections[i])};
    end = offset + sections[i].size();
  }
  layout.header = HeaderBytes(artefact, rows, end);
  layout.pieces[0] = layout.header;
}

}  // namespace

std::vector<uint8_t> ArtefactBytes(const Artefact& artefact) {
  Status status = VerifyArtefact(artefact);
  TCC_CHECK(status.ok()) << Message(status);
  Layout layout;
  LayOut(artefact, layout);
  std::vector<uint8_t> bytes;
  for (Piece piece : layout.pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Status WriteArtefact(const Artefact& artefact, const std::string& path) {
  TCC_RETURN_IF_ERROR(VerifyArtefact(artefact));
  Layout layout;
  LayOut(artefact, layout);
  return WriteFileAtomically(path, layout.pieces);
}

PackedWeights PackWeights(std::span<const Tensor> tensors, std::span<const int64_t> blank_bytes) {
  PackedWeights packed;
  uint64_t end = 0;
  std::vector<const Tensor*> kept;
  std::map<Sha256Digest, int64_t> seen;
  for (const Tensor& tensor : tensors) {
    auto [place, fresh] =
        seen.try_emplace(Sha256(tensor.bytes), static_cast<int64_t>(AlignUp(end)));
    packed.offsets.push_back(place->second);
    if (fresh) end = AlignUp(end) + tensor.bytes.size();
    kept.push_back(fresh ? &tensor : nullptr);
  }
  for (int64_t bytes : blank_bytes) {
    packed.offsets.push_back(static_cast<int64_t>(AlignUp(end)));
    end = AlignUp(end) + static_cast<uint64_t>(bytes);
  }
  // Weights may be most of the machine's memory: one allocation, at a multiple of 64.
  Tensor all = MakeZeroTensor(DType(DTypeCode::kUInt8), {static_cast<int64_t>(end)});
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!kept[i]) continue;
    std::ranges::copy(kept[i]->bytes, MutableBytes(all).begin() + packed.offsets[i]);
  }
  for (size_t i = 0; i < blank_bytes.size(); ++i) {
    packed.blanks.push_back(
        MutableBytes(all).subspan(static_cast<size_t>(packed.offsets[tensors.size() + i]),
                                  static_cast<size_t>(blank_bytes[i])));
  }
  packed.bytes = {all.owner, all.bytes};
  return packed;
}

}  // namespace tcc
