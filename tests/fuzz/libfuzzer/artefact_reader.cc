#include "runtime/artefact/artefact.h"

// Random bytes do not get past the hashes, so plan and metadata are read on their own too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  static_cast<void>(tcc::ParseArtefact(tcc::OwnBytes(bytes)));
  tcc::StatusOr<tcc::Plan> plan = tcc::ParsePlan(bytes);
  tcc::StatusOr<tcc::Metadata> metadata = tcc::ParseMetadata(bytes);
  tcc::Artefact artefact;
  artefact.target = artefact.device = "x";
  if (plan.ok()) artefact.plan = *plan;
  if (metadata.ok()) artefact.metadata = *metadata;
  static_cast<void>(tcc::VerifyArtefact(artefact));
  return 0;
}
