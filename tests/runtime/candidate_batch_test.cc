#include "runtime/measure/candidate_batch.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace tcc;
using Catch::Contains;

namespace {

std::vector<uint8_t> BytesOf(std::string_view text) {
  return {text.begin(), text.end()};
}

Sha256Digest Add(BatchWriter& writer, std::string_view artefact) {
  const Sha256Digest digest = Sha256(artefact);
  CHECK(writer.AddArtefact(digest, BytesOf(artefact)));
  return digest;
}

BatchTask TaskOf(BatchWriter& writer, const std::string& name) {
  BatchTask task{.name = name,
                 .message = {.roles = {OperandRole::kInput, OperandRole::kOutput},
                             .seed = 7,
                             .terms = 64,
                             .epsilon = 1e-7,
                             .policy = MeasurePolicy::kRotateL2,
                             .artefact = {}},
                 .reference = {},
                 .candidates = {}};
  task.reference = Add(writer, "reference of " + name);
  for (const char* one : {"first", "second"}) {
    task.candidates.push_back(Add(writer, std::string(one) + " of " + name));
  }
  return task;
}

BatchWriter Sample() {
  BatchWriter writer({.tcc = "0.9", .target = "sm_90a", .compilers = "NVRTC 13.0"});
  for (const char* name : {"conv1", "fc"}) writer.AddTask(TaskOf(writer, name));
  writer.AddRecord("{\"fn\": \"k\"}\n");
  return writer;
}

StatusOr<CandidateBatch> Parsed(std::vector<uint8_t> bytes) {
  return CandidateBatch::Parse(OwnBytes(std::move(bytes)));
}

// "" where the whole batch, with all artefacts, is accepted.
std::string Refusal(std::vector<uint8_t> bytes) {
  StatusOr<CandidateBatch> batch = Parsed(std::move(bytes));
  if (!batch.ok()) return Message(batch.status());
  for (const BatchTask& task : batch->tasks()) {
    std::vector<Sha256Digest> digests = task.candidates;
    digests.push_back(task.reference);
    for (const Sha256Digest& digest : digests) {
      Status status = batch->Artefact(digest).status();
      if (!status.ok()) return Message(status);
    }
  }
  return "";
}

// A batch by someone who knows the format: the head has its hash.
std::vector<uint8_t> Forged(std::vector<uint8_t> bytes) {
  constexpr size_t kLengthAt = 12, kHashAt = 20, kHeadAt = 52;
  uint64_t length = 0;
  std::memcpy(&length, bytes.data() + kLengthAt, sizeof(length));
  const Sha256Digest hash = Sha256(std::span<const uint8_t>(bytes).subspan(kHeadAt, length));
  std::memcpy(bytes.data() + kHashAt, hash.data(), hash.size());
  return bytes;
}

}  // namespace

TEST_CASE("a batch is read as it was written", "[runtime][batch]") {
  StatusOr<CandidateBatch> batch = Parsed(Sample().Bytes());
  INFO(batch.status());
  REQUIRE(batch.ok());
  CHECK(batch->header().target == "sm_90a");
  CHECK(batch->header().compilers == "NVRTC 13.0");
  CHECK(batch->policy() == MeasurePolicy::kRotateL2);
  CHECK(batch->records() == "{\"fn\": \"k\"}\n");
  REQUIRE(batch->tasks().size() == 2);
  const BatchTask& task = batch->tasks()[1];
  CHECK(task.name == "fc");
  CHECK(task.message.roles.size() == 2);
  CHECK(task.message.seed == 7);
  CHECK(task.message.terms == 64);
  REQUIRE(task.candidates.size() == 2);
  StatusOr<std::span<const uint8_t>> artefact = batch->Artefact(task.candidates[1]);
  REQUIRE(artefact.ok());
  CHECK(std::string(artefact->begin(), artefact->end()) == "second of fc");
  CHECK(Sample().Bytes() == Sample().Bytes());
}

TEST_CASE("an artefact is kept once", "[runtime][batch]") {
  BatchWriter writer = Sample();
  const size_t before = writer.Bytes().size();
  CHECK_FALSE(writer.AddArtefact(Sha256("first of fc"), BytesOf("first of fc")));
  CHECK(writer.Bytes().size() == before);
}

TEST_CASE("a batch cut at any byte is refused", "[runtime][batch]") {
  const std::vector<uint8_t> whole = Sample().Bytes();
  REQUIRE(Refusal(whole).empty());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    INFO(bytes);
    CHECK_FALSE(Refusal({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)}).empty());
  }
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  CHECK(Refusal(longer) == "the batch has 1 bytes after its last artefact");
}

TEST_CASE("a batch with any byte changed is refused", "[runtime][batch]") {
  const std::vector<uint8_t> whole = Sample().Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] ^= 0x10;
    INFO(at);
    CHECK_FALSE(Refusal(changed).empty());
  }
}

TEST_CASE("a forged head with any byte changed is read or refused, and never believed blindly",
          "[runtime][batch]") {
  const std::vector<uint8_t> whole = Sample().Bytes();
  CHECK(Refusal(Forged(whole)).empty());
  for (size_t at = 52; at < whole.size(); ++at) {
    for (uint8_t bits : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> changed = whole;
      changed[at] ^= bits;
      Refusal(Forged(std::move(changed)));
    }
  }
}

TEST_CASE("a batch that contradicts itself is refused with the task's name", "[runtime][batch]") {
  {
    BatchWriter writer = Sample();
    BatchTask task = TaskOf(writer, "pool");
    task.candidates.push_back(Sha256("nowhere"));
    writer.AddTask(task);
    CHECK_THAT(Refusal(writer.Bytes()), Contains("task 'pool': artefact") &&
                                            Contains(ToHex(Sha256("nowhere"))) &&
                                            Contains("is not in the batch"));
  }
  {
    BatchWriter writer = Sample();
    BatchTask task = TaskOf(writer, "pool");
    task.candidates.push_back(task.reference);
    writer.AddTask(task);
    CHECK_THAT(Refusal(writer.Bytes()), Contains("task 'pool'") && Contains("is named twice"));
  }
  {
    BatchWriter writer = Sample();
    writer.AddTask(TaskOf(writer, "a\nb"));
    CHECK(Refusal(writer.Bytes()) == "name of a task is no plain text");
  }
  CHECK(Refusal(BatchWriter({}).Bytes()) == "the batch has no task");
}

TEST_CASE("a file that is no batch is told by its kind", "[runtime][batch]") {
  CHECK_THAT(Refusal(BytesOf("")), Contains("not a batch of tcc"));
  CHECK_THAT(Refusal(BytesOf("{\"function\": 1}\n")), Contains("not a batch of tcc"));
  CHECK_THAT(Refusal(BytesOf("tcc batch 2\nand more")), Contains("reads batches of format 1"));
  CHECK_THAT(Message(CandidateBatch::Read("/nowhere/b.tccb").status()),
             Contains("/nowhere/b.tccb"));
}
