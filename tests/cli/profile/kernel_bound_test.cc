#include "cli/kernel_bound.h"

#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph_bodies.h"

namespace tcc {
namespace {

PlanBuffer Buffer(int64_t bytes) {
  return {.kind = BufferKind::kArena, .index = 0, .offset = 0, .bytes = bytes};
}

// Kernels on buffers of so many bytes.
struct Call {
  KernelInfo kernel;
  std::vector<int64_t> bytes;
};

Artefact ArtefactOf(const std::vector<Call>& calls, const std::string& numeric = "strict") {
  Artefact artefact;
  artefact.metadata.properties = {{"numeric", numeric}};
  for (const Call& call : calls) {
    PlanCall of;
    of.kernel = static_cast<uint32_t>(artefact.metadata.kernels.size());
    for (int64_t bytes : call.bytes) {
      of.buffers.push_back(static_cast<BufferId>(artefact.plan.buffers.size()));
      artefact.plan.buffers.push_back(Buffer(bytes));
    }
    artefact.metadata.kernels.push_back(call.kernel);
    artefact.plan.body.push_back({of});
  }
  return artefact;
}

const DevicePeaks kPeaks = {
    .fma_gflops = 100, .mma_gflops = {{"f16", 1000}, {"tf32", 600}}, .memory_gbytes = 10};

TEST_CASE("a kernel is held against the peak of the instructions that it has", "[cli][profile]") {
  KernelInfo plain{"plain", {}, 1'000'000'000};
  KernelInfo half = plain, rounded = plain, unknown = plain;
  half.statistics = {{"mma_f16", 4}, {"tensor_instructions", 4}};
  rounded.statistics = {{"mma_tf32", 8}, {"tensor_instructions", 8}};
  unknown.statistics = {{"mma_s8", 8}, {"tensor_instructions", 8}};
  std::vector<Call> calls = {{plain, {8}}, {half, {8}}, {rounded, {8}}, {unknown, {8}}};

  std::vector<KernelBound> bounds = BoundsOf(ArtefactOf(calls), kPeaks);

  CHECK(bounds[0].of == "fma");
  CHECK(bounds[0].seconds == Approx(0.01));
  CHECK(bounds[1].of == "f16 mma");
  CHECK(bounds[1].seconds == Approx(0.001));
  CHECK(bounds[2].of == "tf32 mma");
  CHECK(bounds[2].seconds == Approx(1.0 / 600));
  // Of a type that the device is not known to have.
  CHECK(bounds[3].of == "memory");
  CHECK(bounds[3].seconds == Approx(8e-10));
  // Three products for one, which its float operations do not count.
  bounds = BoundsOf(ArtefactOf(calls, "3xtf32"), kPeaks);
  CHECK(bounds[2].of == "tf32 mma / 3");
  CHECK(bounds[2].seconds == Approx(3.0 / 600));
  CHECK(bounds[1].of == "f16 mma");
}

TEST_CASE("a kernel that moves more than it computes is held against memory", "[cli][profile]") {
  KernelInfo adds{"adds", {}, 1'000'000}, copies{"copies", {}, 0};
  Artefact artefact = ArtefactOf({{adds, {400'000'000, 600'000'000}}, {copies, {100}}});
  std::vector<KernelBound> bounds = BoundsOf(artefact, kPeaks);
  CHECK(bounds[0].of == "memory");
  CHECK(bounds[0].seconds == Approx(0.1));
  CHECK(bounds[1].of == "memory");
  CHECK(bounds[1].seconds == Approx(1e-8));
  // Nothing is known of a device but its multiply-adds.
  DevicePeaks little;
  little.fma_gflops = 100;
  bounds = BoundsOf(artefact, little);
  CHECK(bounds[0].of == "fma");
  CHECK(bounds[1].of.empty());
}

TEST_CASE("a buffer that a call names twice is moved once, and calls are averaged",
          "[cli][profile]") {
  Artefact artefact = ArtefactOf({{{"k", {}, 1}, {10, 20}}});
  artefact.plan.buffers.push_back(Buffer(100));
  PlanCall again;
  again.buffers = {2, 2};
  PlanLoop loop;
  loop.body = {{again}};
  artefact.plan.body.push_back({loop});
  CHECK(BytesOfCalls(artefact) == std::vector<double>{65});
}

// The one kernel of a graph in text.
Artefact CompiledText(const std::string& text) {
  StatusOr<Graph> graph = ParseGraph(text, {});
  REQUIRE(graph.ok());
  REQUIRE(InferShapes(*graph).ok());
  StatusOr<Artefact> artefact =
      CompileGraph(*std::move(graph), {.target = *FindTarget("native"), .threads = 2});
  INFO(Message(artefact.status()));
  REQUIRE(artefact.ok());
  REQUIRE(artefact->metadata.kernels.size() == 1);
  return *std::move(artefact);
}

TEST_CASE("of a table from which rows are gathered these rows count, not the table",
          "[cli][profile]") {
  Artefact artefact = CompiledText(R"(graph embedding {
  input table: f32[200000x64]
  input rows: i64[8]
  y = Gather(table, rows) {axis: 0} : f32[]
  return y
})");
  // 8 rows of 64 read and written, and their numbers.
  CHECK(BytesOfCalls(artefact) == std::vector<double>{2 * 8 * 64 * 4 + 8 * 8});
  KernelBound bound = BoundsOf(artefact, kPeaks)[0];
  CHECK(bound.of == "memory");
  CHECK(bound.seconds == Approx(4160 / 10e9));
}

TEST_CASE("of a buffer that a window or a product reads often each element counts once",
          "[cli][profile]") {
  Artefact product = CompiledText(R"(graph product {
  input a: f32[30x50]
  input b: f32[50x40]
  y = MatMul(a, b) : f32[]
  return y
})");
  CHECK(BytesOfCalls(product) == std::vector<double>{(30 * 50 + 50 * 40 + 30 * 40) * 4});
  Artefact pool = CompiledText(R"(graph pool {
  input x: f32[1x3x20x20]
  y = MaxPool(x) {kernel_shape: [3, 3], strides: [1, 1]} : f32[]
  return y
})");
  CHECK(BytesOfCalls(pool) == std::vector<double>{(3 * 20 * 20 + 3 * 18 * 18) * 4});
}

}  // namespace
}  // namespace tcc
