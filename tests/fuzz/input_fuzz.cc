#include <unistd.h>

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/reference_device.h"
#include "compiler/memory_need.h"
#include "compiler/notes.h"
#include "graph/passes/infer_shapes.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/run_sizes.h"
#include "support/npy.h"
#include "support/printable.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile_sizes.h"
#include "tests/fuzz/random/mutate_artefact.h"
#include "tests/fuzz/random/mutate_bytes.h"
#include "tests/fuzz/random/mutate_protobuf.h"
#include "tests/fuzz/random/seed_corpus.h"
#include "tests/fuzz/watchdog.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// Beyond these a spoilt model is only imported: the compiler may take its time for what is large.
constexpr size_t kMaxNodesCompiled = 80;
constexpr int64_t kMaxBytesCompiled = int64_t{64} << 20;
constexpr double kMaxFlopsRun = 1e6;
constexpr int64_t kMaxBytesRun = 1 << 20;  // of each tensor and of the activations
// Machine code for one in so many of the models that compile.
constexpr uint64_t kNativeShare = 8;

// The folder that a model's file lies in, with good external data and with traps.
class Workspace {
 public:
  Workspace() {
    std::string pattern = fs::temp_directory_path() / "tcc_fuzz_XXXXXX";
    folder_ = mkdtemp(pattern.data()) != nullptr ? pattern : "";
    std::error_code error;
    fs::create_directories(folder_ + "/folder", error);
    WriteFile("weights.bin", std::string(4096, '\x3f'));
    WriteFile("folder/more.bin", std::string(64, '\x3e'));
    fs::create_symlink("/etc/passwd", folder_ + "/link", error);
    fs::create_directory_symlink("/etc", folder_ + "/folder/link", error);
    fs::create_hard_link(folder_ + "/folder/more.bin", folder_ + "/hard", error);
  }
  ~Workspace() {
    std::error_code error;
    if (!folder_.empty()) fs::remove_all(folder_, error);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::string WriteFile(const std::string& name, const std::string& bytes) const {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return path;
  }

 private:
  std::string folder_;
};

// A refusal must be one that the command line reports as the file's fault or as unsupported.
Status CheckRefusal(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:  // a shape that an option must give
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kResourceExhausted:
      break;
    default:
      return WrongResult("refused as {}", status.ToString());
  }
  std::string message = Message(status);
  std::vector<std::string> lines = absl::StrSplit(message, '\n');
  if (!message.empty() && std::ranges::all_of(lines, IsPlainText)) return OkStatus();
  return WrongResult("a message that no terminal should see: {}", absl::CHexEscape(message));
}

class InputFuzzer {
 public:
  InputFuzzer(std::vector<Seed> seeds, HostileSizes sizes)
      : seeds_(std::move(seeds)), sizes_(std::move(sizes)) {
    for (const Seed& seed : seeds_) by_kind_[static_cast<size_t>(seed.kind)].push_back(&seed);
  }

  Status Point(uint64_t number, Histogram& histogram) {
    Random random(number);
    if (random.OneIn(8)) {
      Status status = sizes_.Try(random);
      ++histogram[status.ok() ? "sizes accepted" : "sizes refused"];
      return status.ok() ? status : CheckRefusal(status);
    }
    // Half of the points are models: the largest reader by far.
    auto kind = static_cast<SeedKind>(random.OneIn(2) ? 0 : random.Below(kSeedKinds));
    const Seed& seed = Pick(kind, random);
    const Seed& donor = Pick(kind, random);
    Status status = Try(kind, seed, donor, random);
    std::string outcome = status.ok() ? "accepted" : absl::StatusCodeToString(status.code());
    ++histogram[fmt::format("{} {}", ToString(kind), outcome)];
    if (status.ok()) return OkStatus();
    return Annotate(CheckRefusal(status), fmt::format("{} '{}'", ToString(kind), seed.name));
  }

 private:
  const Seed& Pick(SeedKind kind, Random& random) const {
    const std::vector<const Seed*>& list = by_kind_[static_cast<size_t>(kind)];
    return *list[random.Below(list.size())];
  }

  Status Try(SeedKind kind, const Seed& seed, const Seed& donor, Random& random) {
    switch (kind) {
      case SeedKind::kModel:
        return TryModel(SpoiltMessage(seed, donor, random), random);
      case SeedKind::kTensor: {
        std::string path = workspace_.WriteFile("tensor.pb", SpoiltMessage(seed, donor, random));
        return ReadOnnxTensorFile(path).status();
      }
      case SeedKind::kNpy: {
        std::string bytes = MutatedBytes(seed.bytes, donor.bytes, random);
        return ParseNpy({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).status();
      }
      case SeedKind::kArtefact:
        return TryArtefact(MutatedArtefact(seed.bytes, donor.bytes, random));
    }
    return OkStatus();
  }

  static std::string SpoiltMessage(const Seed& seed, const Seed& donor, Random& random) {
    if (random.OneIn(4)) return MutatedBytes(seed.bytes, donor.bytes, random);
    std::string bytes = MutatedProtobuf(seed.bytes, donor.bytes, random);
    return random.OneIn(8) ? MutatedBytes(bytes, donor.bytes, random) : bytes;
  }

  Status TryModel(const std::string& bytes, Random& random) {
    std::string path = workspace_.WriteFile("model.onnx", bytes);
    Status survey = SurveyOnnx(path).status();
    if (!survey.ok()) TCC_RETURN_IF_ERROR(CheckRefusal(survey));
    ImportOptions options;
    options.max_tensor_bytes = kMaxBytesCompiled;
    TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, options));
    if (graph.nodes.size() > kMaxNodesCompiled) return OkStatus();
    Graph inferred = graph;
    TCC_RETURN_IF_ERROR(InferShapes(inferred));
    MemoryNeed need = MemoryNeedOf(inferred);
    if (need.weights > kMaxBytesCompiled || need.interface > kMaxBytesCompiled ||
        need.node > kMaxBytesCompiled) {
      return OkStatus();
    }
    return Compile(graph, random.OneIn(kNativeShare) ? "native" : "reference");
  }

  static Status Compile(const Graph& graph, const char* name) {
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
    CompileOptions options{.target = target, .threads = 1, .verify = false, .progress = {}};
    TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(graph, options));
    double flops = 0;
    for (const KernelInfo& kernel : artefact.metadata.kernels) {
      flops += static_cast<double>(kernel.flops);
    }
    LoadOptions load;
    load.threads = 1;
    load.devices = AllDevices();
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
    if (flops > kMaxFlopsRun) return OkStatus();
    return RunUsual(module);
  }

  // What is well formed is loaded where loading does not mean to trust the code in it.
  static Status TryArtefact(const std::string& bytes) {
    TCC_ASSIGN_OR_RETURN(Artefact artefact, ParseArtefact(OwnBytes({bytes.begin(), bytes.end()})));
    TCC_RETURN_IF_ERROR(NotesOf(artefact).status());
    if (artefact.device != "reference") return OkStatus();
    LoadOptions load;
    load.threads = 1;
    load.devices = AllDevices();
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
    return IsQuick(module) ? RunUsual(module) : OkStatus();
  }

  // Whether a run takes little memory, and few steps.
  static bool IsQuick(const Module& module) {
    const Artefact& artefact = module.artefact();
    if (!MayBeRecorded(artefact)) return false;
    std::vector<int64_t> sizes = artefact.metadata.UsualSizes();
    auto is_small = [&](const TensorInfo& info) {
      StatusOr<std::vector<int64_t>> shape = ShapeOf(info, artefact.metadata, sizes);
      return shape.ok() && ByteCount(info.dtype, *shape).value_or(INT64_MAX) <= kMaxBytesRun;
    };
    StatusOr<std::shared_ptr<const RunSizes>> run = RunSizesByShape(artefact.plan).For(sizes);
    return std::ranges::all_of(artefact.metadata.inputs, is_small) &&
           std::ranges::all_of(artefact.metadata.outputs, is_small) && run.ok() &&
           (*run)->arena_bytes <= kMaxBytesRun;
  }

  static Status RunUsual(const Module& module) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, RandomInputs(module.metadata(), 0));
    return Executor(module).Run(inputs).status();
  }

  std::vector<Seed> seeds_;
  HostileSizes sizes_;
  std::vector<const Seed*> by_kind_[kSeedKinds];
  Workspace workspace_;
};

}  // namespace

FuzzResult FuzzInput(const FuzzOptions& options) {
  StatusOr<std::vector<Seed>> seeds = SeedCorpus(options.corpus);
  Status status = seeds.status();
  if (status.ok() && !options.emit.empty()) status = WriteSeeds(*seeds, options.emit);
  if (status.ok() && options.points == 0 && options.emit.empty()) {
    status = UsageError("--points 0: nothing is done without --emit; expected at least 1");
  }
  if (!status.ok()) return {.histogram = {}, .refused = status};
  StartWatchdog({});
  StatusOr<HostileSizes> sizes = HostileSizes::Make();
  if (!sizes.ok()) return {.histogram = {}, .refused = sizes.status()};
  InputFuzzer fuzzer(*std::move(seeds), *std::move(sizes));
  std::string corpus = options.corpus.empty() ? "" : " --corpus " + options.corpus;
  FuzzResult result =
      RunPoints("input" + corpus, options,
                [&](uint64_t seed, Histogram& histogram) { return fuzzer.Point(seed, histogram); });
  result.histogram["MiB resident at most"] = PeakResidentBytes() >> 20;
  return result;
}

}  // namespace tcc
