#include "tests/fuzz/random/seed_corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/compile_graph.h"
#include "models/onnx/export_onnx.h"
#include "models/onnx/import_onnx.h"
#include "models/zoo/zoo.h"
#include "support/npy.h"
#include "tests/models/onnx_bytes.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxFileBytes = 1 << 20;
constexpr const char* kNodeTests = "/usr/share/libonnx-testdata/data/node";

std::string AsString(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::optional<SeedKind> KindOf(const fs::path& path) {
  if (path.extension() == ".onnx") return SeedKind::kModel;
  if (path.extension() == ".pb") return SeedKind::kTensor;
  if (path.extension() == ".npy") return SeedKind::kNpy;
  if (path.extension() == ".tcc") return SeedKind::kArtefact;
  return std::nullopt;
}

void AddFiles(const std::string& folder, std::vector<Seed>& seeds) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    bool small = it->is_regular_file(ignored) && it->file_size(ignored) <= kMaxFileBytes;
    if (small && KindOf(it->path())) paths.push_back(it->path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    seeds.push_back({*KindOf(path), path.lexically_relative(folder), std::move(bytes)});
  }
}

Status AddZoo(std::vector<Seed>& seeds) {
  for (const std::string& name : ZooNames()) {
    TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(name, {.small = true, .seed = 1}));
    TCC_ASSIGN_OR_RETURN(std::string bytes, ExportOnnxBytes(graph));
    if (bytes.size() <= kMaxFileBytes) seeds.push_back({SeedKind::kModel, name, std::move(bytes)});
  }
  return OkStatus();
}

// Two weights in files of the workspace that the fuzzer makes.
void AddExternalData(std::vector<Seed>& seeds) {
  using namespace onnx_bytes;
  ModelSpec spec{.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"h"}, .name = "add"},
                           {.op = "Mul", .inputs = {"h", "v"}, .outputs = {"y"}, .name = "mul"}},
                 .inputs = {InputOf("x", kOnnxFloat, {"N", "16"})},
                 .outputs = {"y"},
                 .initializers = {
                     ExternalTensor("w", {16}, {{"location", "weights.bin"}, {"length", "64"}}),
                     ExternalTensor("v", {1}, {{"location", "folder/more.bin"}, {"offset", "4"}})}};
  seeds.push_back({SeedKind::kModel, "external", ModelOf(spec)});
}

Status AddArrays(std::vector<Seed>& seeds) {
  constexpr DTypeCode kCodes[] = {DTypeCode::kBool,    DTypeCode::kInt8,    DTypeCode::kInt16,
                                  DTypeCode::kInt32,   DTypeCode::kInt64,   DTypeCode::kUInt8,
                                  DTypeCode::kUInt16,  DTypeCode::kUInt32,  DTypeCode::kUInt64,
                                  DTypeCode::kFloat16, DTypeCode::kFloat32, DTypeCode::kFloat64};
  const std::vector<int64_t> shapes[] = {{}, {0, 3}, {7}, {2, 3, 4}};
  for (DTypeCode code : kCodes) {
    for (const std::vector<int64_t>& shape : shapes) {
      TCC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, NpyBytes(MakeZeroTensor(code, shape)));
      seeds.push_back({SeedKind::kNpy, fmt::format("{}_{}", ToString(DType(code)), shape.size()),
                       AsString(bytes)});
    }
  }
  return OkStatus();
}

// y = x w with N rows, at two sizes: a plan with lets and a switch.
StatusOr<Artefact> ListedSizes(const CompileOptions& options) {
  using namespace onnx_bytes;
  const std::string model =
      ModelOf({.nodes = {{.op = "MatMul", .inputs = {"x", "w"}, .outputs = {"y"}, .name = "mm"}},
               .inputs = {InputOf("x", kOnnxFloat, {"N", "2"})},
               .outputs = {"y"},
               .initializers = {Floats("w", {2, 2}, {1, 2, 3, 4})}});
  auto import_model = [&](const ImportOptions& import) {
    return ImportOnnxBytes(AsSpan(model), import);
  };
  const DimSizes sizes[] = {{{"N", 1}}, {{"N", 4}}};
  TCC_ASSIGN_OR_RETURN(SizedModel sized, ImportAtSizes(import_model, {}, sizes));
  return CompileModel(std::move(sized), options);
}

}  // namespace

StatusOr<Artefact> FreeSizes(const CompileOptions& options) {
  using namespace onnx_bytes;
  const std::string model = ModelOf(
      {.nodes = {{.op = "Concat",
                  .inputs = {"past", "x"},
                  .outputs = {"keys"},
                  .attributes = {IntAttr("axis", 0)},
                  .name = "concat"},
                 {.op = "Add", .inputs = {"keys", "mask"}, .outputs = {"m"}, .name = "add"},
                 {.op = "Reshape", .inputs = {"x", "pairs"}, .outputs = {"p"}, .name = "pair"},
                 {.op = "MatMul", .inputs = {"x", "w"}, .outputs = {"s"}, .name = "mm"},
                 {.op = "Relu", .inputs = {"y"}, .outputs = {"r"}, .name = "relu"},
                 {.op = "MaxPool",
                  .inputs = {"image"},
                  .outputs = {"pooled"},
                  .attributes = {IntsAttr("kernel_shape", {3, 3}), IntsAttr("strides", {2, 2})},
                  .name = "pool"}},
       .inputs = {InputOf("past", kOnnxFloat, {"past_length", "2"}),
                  InputOf("x", kOnnxFloat, {"S", "2"}), InputOf("mask", kOnnxFloat, {"T", "2"}),
                  InputOf("y", kOnnxFloat, {"S", "3"}),
                  InputOf("image", kOnnxFloat, {"1", "1", "H", "W"})},
       .outputs = {"m", "p", "s", "r", "pooled"},
       .initializers = {Ints("pairs", {-1, 4}), Floats("w", {2, 2}, {1, 2, 3, 4})}});
  ImportOptions import;
  import.ranges["past_length"] = {.low = 0, .high = 64, .usual = 4};
  import.ranges["S"] = {.low = 1, .high = 64, .usual = 4};
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(AsSpan(model), import));
  return CompileGraph(std::move(graph), options);
}

namespace {

Status AddArtefacts(std::vector<Seed>& seeds) {
  for (const char* target : {"reference", "x86-64-v3"}) {
    TCC_ASSIGN_OR_RETURN(Target found, FindTarget(target));
    CompileOptions options{.target = found, .threads = 1, .verify = false, .progress = {}};
    TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo("dqn", {.small = true, .seed = 1}));
    TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(std::move(graph), options));
    seeds.push_back(
        {SeedKind::kArtefact, fmt::format("dqn_{}", target), AsString(ArtefactBytes(artefact))});
    TCC_ASSIGN_OR_RETURN(Artefact listed, ListedSizes(options));
    seeds.push_back(
        {SeedKind::kArtefact, fmt::format("sizes_{}", target), AsString(ArtefactBytes(listed))});
    TCC_ASSIGN_OR_RETURN(Artefact free, FreeSizes(options));
    seeds.push_back(
        {SeedKind::kArtefact, fmt::format("free_{}", target), AsString(ArtefactBytes(free))});
  }
  return OkStatus();
}

}  // namespace

std::string_view ToString(SeedKind kind) {
  switch (kind) {
    case SeedKind::kModel:
      return "model";
    case SeedKind::kTensor:
      return "tensor";
    case SeedKind::kNpy:
      return "npy";
    case SeedKind::kArtefact:
      return "artefact";
  }
  return "";
}

StatusOr<std::vector<Seed>> SeedCorpus(const std::string& folder) {
  std::vector<Seed> seeds;
  TCC_RETURN_IF_ERROR(AddZoo(seeds));
  AddExternalData(seeds);
  seeds.push_back(
      {SeedKind::kTensor, "floats", onnx_bytes::Floats("t", {2, 2}, {1, 2, 3, 4}).bytes});
  TCC_RETURN_IF_ERROR(AddArrays(seeds));
  TCC_RETURN_IF_ERROR(AddArtefacts(seeds));
  AddFiles(kNodeTests, seeds);
  if (!folder.empty()) AddFiles(folder, seeds);
  return seeds;
}

Status WriteSeeds(const std::vector<Seed>& seeds, const std::string& folder) {
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::string kind = folder + "/" + std::string(ToString(seeds[i].kind));
    std::error_code error;
    fs::create_directories(kind, error);
    std::ofstream file(fmt::format("{}/{}", kind, i), std::ios::binary);
    file.write(seeds[i].bytes.data(), static_cast<std::streamsize>(seeds[i].bytes.size()));
    if (!file) return InvalidInput("cannot write to {}", kind);
  }
  return OkStatus();
}

}  // namespace tcc
