// The device of another CPU, with a worker for this one: all but the emulation.

#include "compiler/devices/foreign_cpu_device.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/random_graph.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

StatusOr<Module> InWorker(Artefact artefact, const std::string& command = TCC_REAL_WORKER) {
  LoadOptions options;
  options.pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 2});
  options.device = MakeForeignCpuDevice(options.pool, {.command = command});
  return Module::FromArtefact(std::move(artefact), options);
}

void CheckInWorker(const Graph& graph) {
  StatusOr<Module> module = InWorker(Compiled(graph, "native"));
  REQUIRE(module.ok());
  const std::vector<Tensor> inputs = *RandomInputs(module->metadata(), 1);
  const std::vector<Tensor> expected = Expected(graph, inputs);
  Executor executor(*module);
  for (int run = 0; run < 2; ++run) {
    StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
    REQUIRE(got.ok());
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(Compare((*got)[i], expected[i], {.rtol = 1e-4, .atol = 1e-5}).different == 0);
    }
  }
}

// Puts traps where the code of the kernels is.
void Spoil(Artefact& artefact) {
  std::vector<uint8_t> object(artefact.kernels.bytes.begin(), artefact.kernels.bytes.end());
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, object.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint8_t trap = kHostArch == CpuArch::kX86 ? 0xcc : 0;
    std::memset(object.data() + segment.p_offset, trap, segment.p_filesz);
  }
  artefact.kernels = OwnBytes(std::move(object));
}

}  // namespace

TEST_CASE("networks compute the same in a worker", "[compiler][worker]") {
  for (const char* name : {"dqn", "bert_base", "lstm_lm"}) {
    INFO(name);
    CheckInWorker(*BuildZoo(name, {.small = true}));
  }
}

TEST_CASE("random graphs compute the same in a worker", "[compiler][worker]") {
  Random random(31);
  for (int round = 0; round < 20; ++round) {
    Random own = random.Fork();
    Graph graph = RandomGraph(own, {.nodes = 3 + round % 10, .outputs = 1 + round % 4});
    INFO("round " << round << "\n" << Print(graph));
    CheckInWorker(graph);
  }
}

TEST_CASE("a kernel that ends its worker is named by the signal", "[compiler][worker]") {
  Artefact artefact = Compiled(*BuildZoo("dqn", {.small = true}), "native");
  Spoil(artefact);
  StatusOr<Module> module = InWorker(std::move(artefact));
  REQUIRE(module.ok());
  const std::vector<Tensor> inputs = *RandomInputs(module->metadata(), 1);
  for (int run = 0; run < 2; ++run) {
    Status status = Executor(*module).Run(inputs).status();
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK(Message(status).find("the worker for another CPU ended by SIG") != std::string::npos);
  }
}

TEST_CASE("a worker that does not start or does not load the kernels says why",
          "[compiler][worker]") {
  Artefact artefact = Compiled(*BuildZoo("dqn", {.small = true}), "native");
  Status absent = InWorker(artefact, "/nowhere/tcc-worker").status();
  CHECK(absent.code() == absl::StatusCode::kUnavailable);
  artefact.metadata.cpu_features = {"warp-drive"};
  Status lacking = InWorker(artefact).status();
  CHECK(lacking.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(lacking).starts_with(
      "the worker for another CPU: the kernels need warp-drive, which this CPU lacks"));
}

TEST_CASE("a command in the environment is the worker of another architecture",
          "[compiler][worker]") {
  REQUIRE(setenv("TCC_WORKER_AARCH64", "anything", 1) == 0);
  CHECK(FindForeignWorker(CpuArch::kArm64).value() == "exec anything");
  REQUIRE(unsetenv("TCC_WORKER_AARCH64") == 0);
  CHECK(Message(FindForeignWorker(CpuArch::kX86).status()) ==
        "nothing here runs kernels for x86-64");
}

}  // namespace tcc
