#include "runtime/executor/module.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/runtime/sample_artefact.h"

using namespace tcc;

namespace {

// The sample with so many bytes of weights, as ReadArtefact maps it.
Artefact MappedWithWeights(size_t bytes) {
  Artefact artefact = SampleArtefact();
  std::vector<uint8_t> weights(bytes);
  for (size_t i = 0; i < bytes; ++i) weights[i] = static_cast<uint8_t>(i * 131 + i / 4096);
  artefact.weights = OwnBytes(std::move(weights));
  namespace fs = std::filesystem;
  std::string path = fs::temp_directory_path() / fmt::format("tcc_huge_weights_{}", ::getpid());
  REQUIRE(WriteArtefact(artefact, path).ok());
  StatusOr<Artefact> mapped = ReadArtefact(path);
  fs::remove(path);
  REQUIRE(mapped.ok());
  REQUIRE(std::ranges::equal(mapped->weights.bytes, artefact.weights.bytes));
  return *std::move(mapped);
}

}  // namespace

TEST_CASE("large weights are moved out of the file, whole", "[runtime][weights]") {
  // No multiple of a page or of what is copied at once.
  Artefact artefact = MappedWithWeights((9 << 20) + 4160);
  const SharedBytes mapped = artefact.weights;
  MoveWeightsToHugePages(artefact);
  CHECK(artefact.weights.bytes.data() != mapped.bytes.data());
  CHECK(reinterpret_cast<uintptr_t>(artefact.weights.bytes.data()) % 64 == 0);
  CHECK(std::ranges::equal(artefact.weights.bytes, mapped.bytes));
}

TEST_CASE("small weights stay in the file", "[runtime][weights]") {
  Artefact artefact = MappedWithWeights(1 << 20);
  const uint8_t* mapped = artefact.weights.bytes.data();
  MoveWeightsToHugePages(artefact);
  CHECK(artefact.weights.bytes.data() == mapped);
}
