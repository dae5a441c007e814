#include "runtime/artefact/artefact.h"

#include <unistd.h>
#include <algorithm>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/artefact/sections.h"
#include "support/random.h"
#include "tests/runtime/sample_artefact.h"

using namespace tcc;

namespace {

namespace fs = std::filesystem;

// A folder of its own for a test, removed afterwards.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("tcc_artefact_test_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

std::string Refusal(std::vector<uint8_t> file) {
  StatusOr<Artefact> artefact = ParseArtefact(OwnBytes(std::move(file)));
  return artefact.ok() ? "accepted" : Message(artefact.status());
}

// Where the fields of the sample's section table lie, and the header's hash after it.
constexpr size_t kVersionAt = 8, kSizeAt = 12;
constexpr size_t kTableAt = 8 + 4 + 8 + (4 + 9) + (4 + 3) + 32 + 4;
constexpr size_t kRowBytes = 52;
constexpr size_t kHashAt = kTableAt + std::size(kSections) * kRowBytes;

void Put64(std::vector<uint8_t>& file, size_t at, uint64_t value) {
  std::memcpy(file.data() + at, &value, sizeof(value));
}

// A file by someone who knows the format: its header's hash is right.
std::string ForgedRefusal(const std::function<void(std::vector<uint8_t>&)>& change) {
  std::vector<uint8_t> file = ArtefactBytes(SampleArtefact());
  change(file);
  Sha256Digest hash = Sha256(std::span<const uint8_t>(file).first(kHashAt));
  std::ranges::copy(hash, file.begin() + kHashAt);
  return Refusal(std::move(file));
}

constexpr size_t OffsetAt(size_t row) {
  return kTableAt + row * kRowBytes + 4;
}
constexpr size_t LengthAt(size_t row) {
  return OffsetAt(row) + 8;
}

}  // namespace

TEST_CASE("an artefact survives the way through a file", "[runtime][artefact]") {
  Folder folder;
  std::string path = folder.path / "sample.tcc";
  Artefact sample = SampleArtefact();
  REQUIRE(WriteArtefact(sample, path).ok());
  CHECK(folder.files() == 1);
  StatusOr<Artefact> back = ReadArtefact(path);
  REQUIRE(back.ok());
  CHECK(back->target == "x86-64-v3");
  CHECK(back->device == "cpu");
  CHECK(back->environment == sample.environment);
  CHECK(std::ranges::equal(back->kernels.bytes, sample.kernels.bytes));
  CHECK(std::ranges::equal(back->weights.bytes, sample.weights.bytes));
  CHECK(std::ranges::equal(back->notes.bytes, sample.notes.bytes));
  CHECK(PlanBytes(back->plan) == PlanBytes(sample.plan));
  CHECK(MetadataBytes(back->metadata) == MetadataBytes(sample.metadata));
  CHECK(back->metadata.inputs[0].name == "x");
  CHECK(back->metadata.kernels[0].nodes == std::vector<std::string>{"node_add"});
  CHECK(back->metadata.kernels[0].statistics == sample.metadata.kernels[0].statistics);
  CHECK(back->metadata.kernels[0].ratios == sample.metadata.kernels[0].ratios);
  CHECK(TypeText(back->metadata.outputs[0], back->metadata) == "f32[4]");
}

TEST_CASE("weights lie in the mapping at a multiple of 64 and outlive the artefact",
          "[runtime][artefact]") {
  Folder folder;
  std::string path = folder.path / "sample.tcc";
  REQUIRE(WriteArtefact(SampleArtefact(), path).ok());
  SharedBytes weights;
  {
    StatusOr<Artefact> artefact = ReadArtefact(path);
    REQUIRE(artefact.ok());
    weights = artefact->weights;
    CHECK(artefact->kernels.owner == weights.owner);
  }
  CHECK(reinterpret_cast<uintptr_t>(weights.bytes.data()) % 64 == 0);
  CHECK(std::ranges::equal(weights.bytes, SampleArtefact().weights.bytes));
}

TEST_CASE("the same content gives the same bytes, in a file and in memory", "[runtime][artefact]") {
  Folder folder;
  std::string first = folder.path / "a.tcc", second = folder.path / "b.tcc";
  REQUIRE(WriteArtefact(SampleArtefact(), first).ok());
  REQUIRE(WriteArtefact(SampleArtefact(), second).ok());
  std::vector<uint8_t> bytes = ArtefactBytes(SampleArtefact());
  CHECK(std::ranges::equal(MapFile(first)->bytes, bytes));
  CHECK(std::ranges::equal(MapFile(second)->bytes, bytes));
}

TEST_CASE("an artefact is read from memory at any address", "[runtime][artefact]") {
  std::vector<uint8_t> bytes = ArtefactBytes(SampleArtefact());
  for (size_t shift = 0; shift < 3; ++shift) {
    std::vector<uint8_t> shifted(shift, 0);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    SharedBytes file = OwnBytes(std::move(shifted));
    file.bytes = file.bytes.subspan(shift);
    StatusOr<Artefact> artefact = ParseArtefact(file);
    REQUIRE(artefact.ok());
    CHECK(reinterpret_cast<uintptr_t>(artefact->weights.bytes.data()) % 64 == 0);
  }
}

TEST_CASE("every flipped bit of an artefact is refused", "[runtime][artefact]") {
  const std::vector<uint8_t> bytes = ArtefactBytes(SampleArtefact());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> flipped = bytes;
      flipped[at] ^= static_cast<uint8_t>(1 << bit);
      if (Refusal(flipped) == "accepted") FAIL("byte " << at << ", bit " << bit);
    }
  }
}

TEST_CASE("truncated and lengthened artefacts are refused", "[runtime][artefact]") {
  const std::vector<uint8_t> bytes = ArtefactBytes(SampleArtefact());
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    if (Refusal(cut) == "accepted") FAIL("length " << length);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  CHECK(Refusal(longer) ==
        fmt::format("file has {} bytes; its header says {}", bytes.size() + 1, bytes.size()));
}

TEST_CASE("damage is named", "[runtime][artefact]") {
  std::vector<uint8_t> bytes = ArtefactBytes(SampleArtefact());
  auto with = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> changed = bytes;
    changed[at] = value;
    return Refusal(changed);
  };
  CHECK(with(0, 'x') == "not a tcc artefact");
  CHECK(with(kVersionAt, 9) == "format version 9; this runtime reads version 6");
  CHECK(with(kTableAt, 7) == "header does not match its SHA-256");
  CHECK(with(kVersionAt, 3) == "format version 3; this runtime reads version 6");
  CHECK(with(bytes.size() - 1, 0x7f) == "notes section does not match its SHA-256");
  CHECK(Refusal({}) == "not a tcc artefact but an empty file");
}

TEST_CASE("hostile section tables are refused", "[runtime][artefact]") {
  REQUIRE(ForgedRefusal([](auto&) {}) == "accepted");
  for (size_t row = 0; row < std::size(kSections); ++row) {
    INFO("row " << row);
    for (uint64_t value : {uint64_t{0}, uint64_t{64}, uint64_t{1} << 40, UINT64_MAX}) {
      CHECK(ForgedRefusal([&](auto& file) { Put64(file, OffsetAt(row), value); }) != "accepted");
      CHECK(ForgedRefusal([&](auto& file) { Put64(file, LengthAt(row), value); }) != "accepted");
    }
    CHECK(ForgedRefusal([&](auto& file) { file[kTableAt + row * kRowBytes] = 9; }) ==
          fmt::format("section {} has kind 9; expected the {} section", row, kSectionNames[row]));
  }
  // Two sections over the same bytes.
  CHECK(ForgedRefusal([](auto& file) {
          std::memcpy(file.data() + OffsetAt(1), file.data() + OffsetAt(0), 48);
        }).starts_with("plan section is at "));
  // Something hidden between two sections.
  CHECK(ForgedRefusal([](auto& file) { file[kHashAt + 33] = 1; }) ==
        "bytes before the kernels section are not zero");
  CHECK(ForgedRefusal([](auto& file) { file[kTableAt - 4] = 3; }) != "accepted");
  CHECK(ForgedRefusal([](auto& file) {
          file[kTableAt - 1] = 0xff;
        }).starts_with("header has a list of "));
  CHECK(ForgedRefusal([](auto& file) { Put64(file, kSizeAt, 1); }).starts_with("file has "));
}

TEST_CASE("an artefact whose parts do not fit is not written", "[runtime][artefact]") {
  Folder folder;
  std::string path = folder.path / "sample.tcc";
  Artefact artefact = SampleArtefact();
  artefact.metadata.kernels.clear();
  CHECK(Message(WriteArtefact(artefact, path)) == "plan calls kernel 0; there are 0");
  CHECK(folder.files() == 0);
  artefact = SampleArtefact();
  artefact.target = "two words";
  CHECK_FALSE(WriteArtefact(artefact, path).ok());
}

TEST_CASE("a write that fails leaves what was there and nothing beside it", "[runtime][artefact]") {
  Folder folder;
  std::string path = folder.path / "taken.tcc";
  fs::create_directories(fs::path(path) / "not-empty");
  Status status = WriteArtefact(SampleArtefact(), path);
  CHECK(Message(status) == fmt::format("cannot write '{}': it is a folder", path));
  CHECK(folder.files() == 1);
  CHECK(Message(ReadArtefact(path).status()) == fmt::format("'{}' is not a regular file", path));
}

TEST_CASE("metadata that contradicts itself is refused", "[runtime][artefact]") {
  auto refusal = [](const std::function<void(Metadata&)>& change) {
    Metadata metadata = SampleArtefact().metadata;
    change(metadata);
    return Message(VerifyMetadata(metadata));
  };
  CHECK(refusal([](Metadata&) {}).empty());
  CHECK(refusal([](Metadata& m) { m.inputs.push_back(m.inputs[0]); }) ==
        "metadata has two inputs named 'x'");
  CHECK(refusal([](Metadata& m) { m.kernels[0].statistics = {{"byt\xe5s", 1}}; }) ==
        "metadata has a name that is not UTF-8 or holds control characters");
  CHECK(refusal([](Metadata& m) { m.properties = {{"onnx.a\nb", ""}}; }) ==
        "metadata has a name that is not UTF-8 or holds control characters");
  CHECK(refusal([](Metadata& m) { m.properties = {{"onnx.a", "two\nlines"}}; }).empty());
  CHECK(refusal([](Metadata& m) { m.properties = {{"onnx.a", "\xff"}}; }) ==
        "metadata: property 'onnx.a' is not UTF-8 or holds a zero byte");
  CHECK(refusal([](Metadata& m) { m.properties = {{"onnx.a", std::string(1, '\0')}}; }) ==
        "metadata: property 'onnx.a' is not UTF-8 or holds a zero byte");
  CHECK(refusal([](Metadata& m) { m.kernels[0].name = "../x"; }) ==
        "metadata: '../x' is not a kernel's name");
  CHECK(refusal([](Metadata& m) { m.inputs[0].shape[0] = -4; }) ==
        "metadata: 'x' has a dimension of -4");
  CHECK(refusal([](Metadata& m) { m.shape_variables = {{"N", 1, 8, 4}}; }) ==
        "metadata: no input has dimension 'N'");
  CHECK(refusal([](Metadata& m) { m.inputs[0].shape[0] = SizeExpr::Variable(0); }) ==
        "metadata: shape of 'x': size expression reads variable 0; there are 0");
  auto dynamic = [](Metadata& m) {
    m.shape_variables = {{"N", 1, 8, 4}};
    m.inputs[0].shape[0] = SizeExpr::Variable(0);
  };
  CHECK(refusal(dynamic).empty());
  CHECK(refusal([&](Metadata& m) {
          dynamic(m);
          m.shape_variables[0].low = 9;
        }) == "metadata: dimension 'N' ranges over [9, 8]");
  CHECK(refusal([&](Metadata& m) {
          dynamic(m);
          m.shape_variables[0].usual = 9;
        }) == "metadata: dimension 'N' is usually 9; expected 1 to 8");
  CHECK(refusal([&](Metadata& m) {
          dynamic(m);
          m.inputs[0].shape[0] = Combine(SizeOp::kMul, SizeExpr::Variable(0), 2);
        }) == "metadata: no input has dimension 'N'");
  CHECK(refusal([](Metadata& m) { m.kernels[0].shape_args = {{1, 8}, {3, 2}}; }) ==
        "metadata: kernel 'add' takes a size in [3, 2]");
  auto at = [&](std::vector<std::vector<int64_t>> sizes) {
    return refusal([&](Metadata& m) {
      dynamic(m);
      m.sizes = std::move(sizes);
    });
  };
  CHECK(at({{8}, {1}}).empty());
  CHECK(at({{1}, {9}}) == "metadata: size N=9 is outside [1, 8] of 'N'");
  CHECK(at({{1}, {2}, {1}}) == "metadata has size N=1 twice");
  CHECK(at({{1, 2}}) == "metadata: a size has 2 dimensions; there are 1");
  CHECK(refusal([](Metadata& m) { m.sizes = {{}}; }) ==
        "metadata: a size has 0 dimensions; there are 0");
}

TEST_CASE("listed sizes survive encoding, and cost no byte where there are none",
          "[runtime][artefact]") {
  Metadata metadata = SampleArtefact().metadata;
  const size_t bytes = MetadataBytes(metadata).size();
  metadata.shape_variables = {{"B", 1, 8, 4}, {"S", 1, 128, 64}};
  metadata.sizes = {{1, 128}, {8, 1}};
  std::vector<uint8_t> with = MetadataBytes(metadata);
  StatusOr<Metadata> back = ParseMetadata(with);
  REQUIRE(back.ok());
  CHECK(back->sizes == metadata.sizes);
  CHECK(SizesText(*back) == "B=1,S=128; B=8,S=1");
  CHECK(back->UsualSizes() == std::vector<int64_t>{4, 64});
  CHECK(with.size() == bytes + 2 * (4 + 1 + 24) + 4 + 2 * 2 * 8);
  with.pop_back();
  CHECK_FALSE(ParseMetadata(with).ok());
}

TEST_CASE("the ranges of a kernel's sizes survive encoding", "[runtime][artefact]") {
  Metadata metadata = SampleArtefact().metadata;
  metadata.kernels[0].shape_args = {{1, 8}, {-3, int64_t{1} << 40}};
  StatusOr<Metadata> back = ParseMetadata(MetadataBytes(metadata));
  REQUIRE(back.ok());
  REQUIRE(back->kernels[0].shape_args.size() == 2);
  CHECK(back->kernels[0].shape_args[1].low == -3);
  CHECK(back->kernels[0].shape_args[1].high == int64_t{1} << 40);
}

TEST_CASE("mutated metadata never crashes its reader", "[runtime][artefact]") {
  const std::vector<uint8_t> bytes = MetadataBytes(SampleArtefact().metadata);
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(ParseMetadata(std::span(bytes).first(length)).ok());
  }
  Random random(13);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> mutated = bytes;
    mutated[random.Below(mutated.size())] = static_cast<uint8_t>(random.Next());
    mutated[random.Below(mutated.size())] = static_cast<uint8_t>(random.Next());
    StatusOr<Metadata> metadata = ParseMetadata(mutated);
    if (!metadata.ok() || !VerifyMetadata(*metadata).ok()) ++refused;
  }
  CHECK(refused > 5000);
}

TEST_CASE("equal weights are stored once, each at a multiple of 64", "[runtime][artefact]") {
  Tensor a = MakeZeroTensor(kFloat32, {3}), b = MakeZeroTensor(kFloat32, {3});
  Tensor c = MakeZeroTensor(kFloat32, {17});
  SetElement(c, 16, 5);
  SetElement(b, 0, 1);
  const Tensor tensors[] = {a, c, b, a};
  PackedWeights packed = PackWeights(tensors);
  CHECK(packed.offsets == std::vector<int64_t>{0, 64, 192, 0});
  CHECK(packed.bytes.bytes.size() == 192 + 12);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(std::ranges::equal(
        packed.bytes.bytes.subspan(static_cast<size_t>(packed.offsets[i]), tensors[i].bytes.size()),
        tensors[i].bytes));
  }
}
