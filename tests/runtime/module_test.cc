#include "runtime/executor/module.h"

#include <catch2/catch.hpp>
#include <functional>

#include "runtime/cpu/cpu_features.h"
#include "support/random.h"
#include "tests/runtime/kernel_artefact.h"

using namespace tcc;

namespace {

Status LoadWith(const std::function<void(Artefact&)>& change) {
  Artefact artefact = ScaleAddArtefact();
  change(artefact);
  return Module::FromArtefact(std::move(artefact), {.pool = {}, .threads = 1}).status();
}

}  // namespace

TEST_CASE("the bare runtime refuses what only the compiler can run", "[runtime][module]") {
  Status status = LoadWith([](Artefact& artefact) { artefact.device = "reference"; });
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status) ==
        "the artefact's kernels run on device 'reference', which this runtime does not have; it "
        "has cpu, vdla, cuda, opencl");
}

TEST_CASE("kernels that are not there or are no code are refused", "[runtime][module]") {
  CHECK(Message(LoadWith([](Artefact& a) { a.metadata.kernels[0].name = "nothing"; })) ==
        "kernel 'nothing' is not in the shared object");
  CHECK(Message(LoadWith([](Artefact& a) { a.kernels = {}; })) ==
        "kernels are not a shared object");
  CHECK(Message(LoadWith([](Artefact& a) {
          a.kernels = OwnBytes(std::vector<uint8_t>(4096, 1));
        })) == "kernels are not a 64-bit ELF shared object");
  Status status = LoadWith([](Artefact& a) {
    std::vector<uint8_t> object(a.kernels.bytes.begin(), a.kernels.bytes.end());
    object[18] = 0xf3;  // RISC-V
    object[19] = 0;
    a.kernels = OwnBytes(std::move(object));
  });
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status).starts_with("kernels are for ELF machine 243; this CPU is "));
  CHECK(Message(LoadWith([](Artefact& a) {
          std::vector<uint8_t> object(a.kernels.bytes.begin(), a.kernels.bytes.begin() + 64);
          a.kernels = OwnBytes(std::move(object));
        })).starts_with("cannot load the kernels: "));
}

TEST_CASE("kernels that need more than this CPU has are refused", "[runtime][module]") {
  Status status = LoadWith([](Artefact& a) { a.metadata.cpu_features = {"warp-drive"}; });
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status) ==
        "the kernels need warp-drive, which this CPU lacks or its system withholds; compile for "
        "this machine's target");
  CHECK(CheckCpuFeatures(RequiredCpuFeatures(*FindTarget("native"))).ok());
  CHECK(Message(CheckCpuFeatures(std::vector<std::string>{"warp-drive", "avx1024f"}))
            .starts_with("the kernels need warp-drive, avx1024f, which"));
}

TEST_CASE("each CPU target needs the features of its own row", "[runtime][module]") {
  for (Target target : AllTargets()) {
    INFO(target.name);
    bool listed = target.kind == TargetKind::kCpu && !target.IsHostCpu();
    CHECK(target.needed_features.empty() == !listed);
    if (!listed) continue;
    constexpr std::string_view kOther[] = {"warp-drive"};
    target.needed_features = kOther;
    target.sve_bytes = {};
    CHECK(RequiredCpuFeatures(target) == std::vector<std::string>{"warp-drive"});
  }
  CHECK(RequiredCpuFeatures(*FindTarget("x86-64-v4")).size() == 18);
  CHECK(RequiredCpuFeatures(*FindTarget("x86-64-v3")).size() == 13);
  CHECK(RequiredCpuFeatures(*FindTarget("aarch64-sve256")).back() == "sve256");
  CHECK(RequiredCpuFeatures(*FindTarget("reference")).empty());
}

TEST_CASE("an artefact that does not verify is not loaded", "[runtime][module]") {
  CHECK(Message(LoadWith([](Artefact& a) { a.plan.buffers[1].offset = 4; })) ==
        "plan: buffer 1: 16 bytes at 4 do not lie within 16 bytes");
}

TEST_CASE("modules share a pool that they are given", "[runtime][module]") {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 2});
  StatusOr<Module> first = Module::FromArtefact(ScaleAddArtefact(), {.pool = pool});
  StatusOr<Module> second =
      Module::FromBytes(OwnBytes(ArtefactBytes(ScaleAddArtefact())), {.pool = pool});
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->pool() == second->pool());
  StatusOr<Module> own = Module::FromArtefact(ScaleAddArtefact(), {.pool = {}, .threads = 3});
  REQUIRE(own.ok());
  CHECK(own->pool()->threads() == 3);
}

TEST_CASE("damaged files with real kernels are refused before anything is loaded",
          "[runtime][module]") {
  const std::vector<uint8_t> bytes = ArtefactBytes(ScaleAddArtefact());
  Random random(17);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[random.Below(damaged.size())] ^= static_cast<uint8_t>(1 + random.Below(255));
    if (random.OneIn(10)) damaged.resize(random.Below(damaged.size()));
    if (Module::FromBytes(OwnBytes(std::move(damaged)), {.pool = {}, .threads = 1}).ok())
      ++accepted;
  }
  CHECK(accepted == 0);
}
