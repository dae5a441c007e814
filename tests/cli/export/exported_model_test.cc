#include "cli/export/exported_model.h"

#include <catch2/catch.hpp>

#include "tests/cli/export/shared_object.h"
#include "tests/runtime/sample_artefact.h"

namespace tcc {
namespace {

Artefact Exportable() {
  Artefact artefact = SampleArtefact();
  artefact.kernels = OwnBytes(KernelObject());
  artefact.metadata.kernels[0].statistics = {{"math_functions", 0}, {"scratch_bytes", 0}};
  return artefact;
}

ExportedModel Made(Artefact artefact) {
  StatusOr<ExportedModel> model = MakeExportedModel("sample", std::move(artefact));
  INFO(model.status());
  REQUIRE(model.ok());
  return *std::move(model);
}

bool Has(const std::string& text, const std::string& part) {
  INFO(text);
  bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

std::string TextOf(const ExportedModel& model, const std::string& name) {
  for (const ExportedFile& file : ExportedFiles(model)) {
    if (file.name == name) return file.text;
  }
  FAIL("no file " << name);
  return "";
}

void CheckRefused(const Artefact& artefact, absl::StatusCode code, const std::string& part) {
  Status status = MakeExportedModel("sample", artefact).status();
  CHECK(status.code() == code);
  Has(Message(status), part);
}

TEST_CASE("only models of fixed sizes for a CPU are exported", "[cli][export]") {
  CHECK(MakeExportedModel("sample", Exportable()).ok());
  Artefact artefact = Exportable();
  artefact.device = "cuda";
  artefact.target = "sm_86";
  CheckRefused(artefact, absl::StatusCode::kUnimplemented, "compiled for 'sm_86'");

  artefact = Exportable();
  artefact.metadata.shape_variables = {{"N", 1, 8, 1}, {"S", 1, 4, 1}};
  CheckRefused(artefact, absl::StatusCode::kUnimplemented, "free dimensions (N, S)");

  artefact = Exportable();
  artefact.metadata.kernels[0].statistics = {{"scratch_bytes", INT64_MAX}};
  CheckRefused(artefact, absl::StatusCode::kInvalidArgument, "compile the model again");
  artefact.metadata.kernels[0].statistics = {{"math_functions", 0}, {"scratch_bytes", INT64_MAX}};
  CheckRefused(artefact, absl::StatusCode::kUnimplemented,
               "'add' needs scratch memory of no fixed");
}

TEST_CASE("weights that no program holds are refused unless they stay in a file", "[cli][export]") {
  ExportedModel model = Made(Exportable());
  CHECK(CheckWeightsFit(model).ok());
  const uint8_t* start = model.artefact.weights.bytes.data();
  // Only their number is looked at.
  model.artefact.weights.bytes = {start, size_t{1} << 31};
  Has(Message(CheckWeightsFit(model)), "expected --weights file");
  model.weights_in_file = true;
  CHECK(CheckWeightsFit(model).ok());
}

TEST_CASE("a request of AMX tiles is told, and only where kernels use them", "[cli][export]") {
  Artefact artefact = Exportable();
  artefact.metadata.cpu_features = {"avx2", "fma"};
  std::string header = TextOf(Made(artefact), "sample.h");
  Has(header, "#define SAMPLE_NEEDS_AMX 0\n");
  Has(header, "#define SAMPLE_CPU_FEATURES \"avx2,fma\"\n");
  artefact.metadata.cpu_features = {"avx2", "amx-tile", "amx-int8"};
  header = TextOf(Made(artefact), "sample.h");
  Has(header, "#define SAMPLE_NEEDS_AMX 1\n");
  Has(header, "ARCH_REQ_XCOMP_PERM");
}

TEST_CASE("names of a model end neither comments nor strings of C", "[cli][export]") {
  Artefact artefact = Exportable();
  artefact.metadata.model = "a */ #error";
  artefact.metadata.kernels[0].nodes = {"*/ return 1; /*"};
  artefact.metadata.inputs[0].name =
      "\"?"
      "?/\\";
  ExportedModel model = Made(artefact);
  Has(TextOf(model, "sample.h"), "The model 'a * / #error' in");
  Has(TextOf(model, "sample.h"), R"(#define SAMPLE_INPUT0_NAME "\042\077\077/\134")");
  Has(TextOf(model, "sample.c"), "/* * / return 1; / * */");
}

TEST_CASE("places that loops move are expressions of C and checked", "[cli][export]") {
  Artefact artefact = Exportable();
  Plan& plan = artefact.plan;
  plan.counters = 1;
  SizeExpr i = SizeExpr::Variable(0);
  SizeExpr place =
      Combine(SizeOp::kMin, Combine(SizeOp::kFloorDiv, i, 2), Combine(SizeOp::kMul, i, 16));
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = place, .bytes = 16});
  PlanLoop loop;
  loop.extent = 3;
  loop.body = {{PlanCall{.kernel = 0, .buffers = {0, 1, 4}, .shape_args = {i, 7}}}};
  artefact.metadata.kernels[0].shape_args = {{0, 8}, {0, 8}};
  std::get<PlanCall>(plan.body[0].op).shape_args = {1, 7};
  plan.body.insert(plan.body.begin(), Instruction{loop});
  REQUIRE(Message(VerifyArtefact(artefact)).empty());
  std::string text = TextOf(Made(artefact), "sample.c");
  Has(text, R"(
  for (int64_t i0 = 0, trips0 = 3; i0 < trips0; ++i0) {
    if (!within(least(floor_div(i0, 2), (i0 * 16)), 16, 64)) {
      return SAMPLE_OUT_OF_BOUNDS;
    }
    /* node_add */
    {
      const int64_t shape_args[] = {i0, 7};
    RUN(sample_kernel_add, shape_args, in0, weights, arena + least(floor_div(i0, 2), (i0 * 16)));
    }
  }
)");
  for (const char* function : {"int within(", "int64_t least(", "int64_t floor_div("}) {
    Has(text, "\nstatic " + std::string(function));
  }
  CHECK(text.find("read_i64(") == std::string::npos);
}

}  // namespace
}  // namespace tcc
