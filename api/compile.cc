#include <algorithm>
#include <chrono>
#include <mutex>

#include "api/module_state.h"
#include "api/tcc.h"
#include "compiler/compile_graph.h"
#include "ir/support/stop.h"
#include "ir/text/printer.h"
#include "models/onnx/import_onnx.h"
#include "runtime/artefact/artefact.h"
#include "runtime/executor/usable_cpus.h"

// Compiling, of the embedding API.
namespace tcc::v1 {

struct Artefact::State {
  tcc::Artefact artefact;
};

namespace {

// A copy; bytes in a row where the model says the shape.
StatusOr<tcc::Tensor> BoundTensor(const Input& bind, const std::string& what) {
  std::optional<tcc::DType> dtype = ToDType(bind.dtype);
  if (!dtype) return NoDType(bind.dtype, what);
  std::span<const uint8_t> view(static_cast<const uint8_t*>(bind.data), bind.bytes);
  if (view.data() == nullptr && !view.empty()) return InvalidInput("{} has no memory", what);
  if (bind.shape.empty()) {
    constexpr DTypeCode kByte = DTypeCode::kUInt8;
    TCC_ASSIGN_OR_RETURN(tcc::Tensor tensor,
                         CopyTensor(kByte, {static_cast<int64_t>(bind.bytes)}, view, what));
    tensor.dtype = *dtype;
    return tensor;
  }
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(*dtype, bind.shape));
  if (bytes != static_cast<int64_t>(bind.bytes)) {
    return InvalidInput("{}: {}[{}] takes {} bytes, got {}", what, tcc::ToString(*dtype),
                        ShapeToString(bind.shape), bytes, bind.bytes);
  }
  return CopyTensor(*dtype, {bind.shape.begin(), bind.shape.end()}, view, what);
}

StatusOr<ImportOptions> ToImport(const CompileOptions& options) {
  ImportOptions import;
  import.dims = options.dims;
  import.shapes = options.shapes;
  import.external_data_folder = options.external_data_folder;
  if (options.follow_links) import.external_data_links = Links::kFollowed;
  for (const Input& bind : options.binds) {
    std::string name(bind.name);
    TCC_ASSIGN_OR_RETURN(tcc::Tensor tensor,
                         BoundTensor(bind, fmt::format("bound input '{}'", name)));
    if (!import.binds.emplace(name, std::move(tensor)).second) {
      return UsageError("input '{}' is bound twice", name);
    }
    if (bind.shape.empty()) import.binds_as_declared.insert(name);
  }
  return import;
}

// Tells the caller when a stage begins and how long the last one took.
class Reporter {
 public:
  explicit Reporter(const CompileOptions& options) : options_(options) {}

  void Report(const std::string& stage, int64_t done, int64_t total) {
    std::lock_guard lock(mutex_);
    if (stage != stage_) EndStage(stage);
    if (options_.progress) options_.progress({stage, done, total});
  }

  // Ends the last stage too.
  void Log(LogLevel level, const std::string& message) {
    std::lock_guard lock(mutex_);
    EndStage("");
    if (options_.logger) options_.logger(level, message);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void EndStage(const std::string& next) {
    Clock::time_point now = Clock::now();
    if (options_.logger && !stage_.empty()) {
      std::chrono::duration<double> seconds = now - start_;
      options_.logger(LogLevel::kInfo, fmt::format("{}: {:.3f} s", stage_, seconds.count()));
    }
    stage_ = next;
    start_ = now;
  }

  const CompileOptions& options_;
  std::mutex mutex_;
  std::string stage_;
  Clock::time_point start_ = Clock::now();
};

StatusOr<Schedules> ToSchedules(const CompileOptions& options) {
  Schedules schedules;
  for (const auto& [kernel, text] : options.schedules) {
    StatusOr<Schedule> schedule = ParseSchedule(text);
    if (!schedule.ok()) return Annotate(schedule.status(), "schedule of '" + kernel + "'");
    schedules.emplace(kernel, *std::move(schedule));
  }
  return schedules;
}

// The model, and how to compile it; `reporter` outlives that.
struct Request {
  Graph graph;
  tcc::CompileOptions options;
};

template <typename Import>
StatusOr<Request> RequestOf(const CompileOptions& options, const Import& import_model,
                            Reporter& reporter) {
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, FindNumericMode(options.numeric));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  TCC_ASSIGN_OR_RETURN(ImportOptions import, ToImport(options));
  TCC_ASSIGN_OR_RETURN(Schedules schedules, ToSchedules(options));
  auto warn = [&reporter](const std::string& message) {
    reporter.Log(LogLevel::kWarning, message);
  };
  import.warn = warn;
  reporter.Report("import", 0, 1);
  TCC_RETURN_IF_ERROR(StopIfRequested(options.cancellation));
  TCC_ASSIGN_OR_RETURN(Graph graph, import_model(import));
  int threads = options.threads > 0 ? options.threads : UsableCpus();
  tcc::CompileOptions compile{
      .target = target,
      .threads = threads,
      .progress = [&reporter](const std::string& stage, int64_t done,
                              int64_t total) { reporter.Report(stage, done, total); },
      .stop = options.cancellation};
  compile.numeric = numeric;
  compile.schedules = std::move(schedules);
  compile.warn = warn;
  return Request{std::move(graph), std::move(compile)};
}

template <typename Import>
StatusOr<tcc::Artefact> CompileWith(const CompileOptions& options, const Import& import_model) {
  Reporter reporter(options);
  TCC_ASSIGN_OR_RETURN(Request request, RequestOf(options, import_model, reporter));
  size_t nodes = request.graph.nodes.size();
  TCC_ASSIGN_OR_RETURN(tcc::Artefact artefact,
                       CompileGraph(std::move(request.graph), request.options));
  reporter.Log(
      LogLevel::kInfo,
      fmt::format("'{}' for {}: {} nodes became {} kernels in {} calls, {} bytes of weights",
                  artefact.metadata.model, request.options.target.name, nodes,
                  artefact.metadata.kernels.size(), artefact.plan.body.size(),
                  artefact.weights.bytes.size()));
  return artefact;
}

template <typename Import>
StatusOr<std::vector<Kernel>> KernelsWith(const CompileOptions& options,
                                          const Import& import_model) {
  Reporter reporter(options);
  TCC_ASSIGN_OR_RETURN(Request request, RequestOf(options, import_model, reporter));
  TCC_RETURN_IF_ERROR(ExpectBoundInputs(request.graph));
  TCC_ASSIGN_OR_RETURN(KernelSet set,
                       KernelsOf(std::move(request.graph), KernelOptionsOf(request.options)));
  std::vector<Kernel> kernels;
  for (KernelStages& stages : set.kernels) {
    Kernel kernel{.name = stages.symbol,
                  .nodes = std::move(stages.nodes),
                  .variants = {},
                  .schedule = Print(stages.schedule),
                  .rules = std::move(stages.sketch)};
    for (const Function& variant : stages.variants) kernel.variants.push_back(Print(variant));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

Result<Artefact> Compile(const std::string& path, const CompileOptions& options) {
  return WithinMemory([&]() -> Result<Artefact> {
    auto artefact =
        CompileWith(options, [&](const ImportOptions& import) { return ImportOnnx(path, import); });
    if (!artefact.ok()) return ToApi(artefact.status());
    return Artefact(std::make_shared<Artefact::State>(Artefact::State{std::move(*artefact)}));
  });
}

Result<Artefact> Compile(std::span<const std::uint8_t> model, const CompileOptions& options) {
  return WithinMemory([&]() -> Result<Artefact> {
    auto artefact = CompileWith(
        options, [&](const ImportOptions& import) { return ImportOnnxBytes(model, import); });
    if (!artefact.ok()) return ToApi(artefact.status());
    return Artefact(std::make_shared<Artefact::State>(Artefact::State{std::move(*artefact)}));
  });
}

Result<std::vector<Kernel>> Kernels(const std::string& path, const CompileOptions& options) {
  return WithinMemory([&]() -> Result<std::vector<Kernel>> {
    auto kernels =
        KernelsWith(options, [&](const ImportOptions& import) { return ImportOnnx(path, import); });
    if (!kernels.ok()) return ToApi(kernels.status());
    return *std::move(kernels);
  });
}

Result<std::vector<Kernel>> Kernels(std::span<const std::uint8_t> model,
                                    const CompileOptions& options) {
  return WithinMemory([&]() -> Result<std::vector<Kernel>> {
    auto kernels = KernelsWith(
        options, [&](const ImportOptions& import) { return ImportOnnxBytes(model, import); });
    if (!kernels.ok()) return ToApi(kernels.status());
    return *std::move(kernels);
  });
}

Status Artefact::Save(const std::string& path) const {
  return WithinMemory([&] { return ToApi(WriteArtefact(state_->artefact, path)); });
}

std::vector<std::uint8_t> Artefact::Bytes() const {
  return ArtefactBytes(state_->artefact);
}

Result<Module> Module::Load(const Artefact& artefact, const LoadOptions& options) {
  return WithinMemory([&] {
    return Access::Wrap(
        tcc::Module::FromArtefact(artefact.state_->artefact, Access::Options(options)));
  });
}

}  // namespace tcc::v1
