#include "tests/fuzz/random/mutate_artefact.h"

#include "compiler/notes.h"
#include "compiler/packed_text.h"
#include "runtime/artefact/artefact.h"
#include "runtime/artefact/bytes.h"
#include "runtime/artefact/sections.h"
#include "support/sha256.h"
#include "tests/fuzz/random/mutate_bytes.h"

namespace tcc {
namespace {

std::span<const uint8_t> AsSpan(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string AsString(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

constexpr size_t kNotes = 4;  // the place of the section

struct Sections {
  std::string bytes[std::size(kSections)];  // in the order of the file
};

Sections SectionsOf(const Artefact& artefact) {
  Sections sections;
  std::vector<uint8_t> plan = PlanBytes(artefact.plan);
  std::vector<uint8_t> metadata = MetadataBytes(artefact.metadata);
  sections.bytes[0] = AsString(artefact.kernels.bytes);
  sections.bytes[1] = AsString(plan);
  sections.bytes[2] = AsString(metadata);
  sections.bytes[3] = AsString(artefact.weights.bytes);
  sections.bytes[kNotes] = AsString(artefact.notes.bytes);
  return sections;
}

// What the writer makes of sections that no artefact has.
std::string Sealed(const Artefact& artefact, const Sections& sections) {
  constexpr size_t kCount = std::size(kSections);
  constexpr size_t kRowBytes = 52;
  size_t header = kArtefactMagic.size() + 4 + 8 + 4 + artefact.target.size() + 4 +
                  artefact.device.size() + 32 + 4 + kCount * kRowBytes + 32;
  uint64_t offsets[kCount];
  uint64_t end = header;
  for (size_t i = 0; i < kCount; ++i) {
    offsets[i] = AlignUp(end);
    end = offsets[i] + sections.bytes[i].size();
  }
  ByteWriter writer;
  writer.Raw(AsSpan(std::string(kArtefactMagic)));
  writer.U32(kArtefactVersion);
  writer.U64(end);
  writer.Text(artefact.target);
  writer.Text(artefact.device);
  writer.Raw(artefact.environment);
  writer.Count(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    writer.U32(static_cast<uint32_t>(kSections[i]));
    writer.U64(offsets[i]);
    writer.U64(sections.bytes[i].size());
    writer.Raw(Sha256(AsSpan(sections.bytes[i])));
  }
  writer.Raw(Sha256(writer.bytes()));
  for (size_t i = 0; i < kCount; ++i) {
    while (writer.size() < offsets[i]) writer.U8(0);
    writer.Raw(AsSpan(sections.bytes[i]));
  }
  return AsString(writer.Take());
}

// Spoils the document in most cases, else what zstd has made of it.
std::string MutatedNotes(const std::string& section, Random& random) {
  StatusOr<std::string> text = UnpackText(AsSpan(section), "notes", kMostNotesBytes);
  if (!text.ok() || random.OneIn(4)) return MutatedBytes(section, section, random);
  return AsString(PackText(MutatedBytes(*text, *text, random)));
}

}  // namespace

std::string MutatedArtefact(const std::string& file, const std::string& donor, Random& random) {
  StatusOr<Artefact> artefact = ParseArtefact(OwnBytes({file.begin(), file.end()}));
  if (!artefact.ok() || random.OneIn(4)) return MutatedBytes(file, donor, random);
  Sections sections = SectionsOf(*artefact);
  // The kernels of the reference are text; plan and metadata deserve the most.
  constexpr size_t kSpoilt[] = {0, 1, 1, 2, 2, kNotes};
  size_t spoilt = kSpoilt[random.Below(std::size(kSpoilt))];
  std::string& section = sections.bytes[spoilt];
  section =
      spoilt == kNotes ? MutatedNotes(section, random) : MutatedBytes(section, section, random);
  return Sealed(*artefact, sections);
}

}  // namespace tcc
