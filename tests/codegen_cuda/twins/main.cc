// tcc-twins: kernels whose exact results are known, run on a device. The tests run the same kernels
// on the emulator, so a device shows whether the emulator is right about the hardware.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "support/file.h"
#include "support/target_api.h"
#include "tests/codegen_cuda/kernels/fact_kernels.h"
#include "tests/codegen_cuda/on_device/run_kernel.h"
#include "tests/codegen_cuda/twins/run_apart.h"

namespace {

using namespace tcc;
using test::Twin;

struct Options {
  bool text = false;
  std::string json = {};
  std::string compile_only = {};
  std::string plant = {};
};

// The time of one kernel, in which the device's context is made and the text loaded; the emulated
// driver compiles it then.
constexpr unsigned kSeconds = 15, kSecondsOfText = 600;

constexpr std::string_view kRight = "ok", kNotApplicable = "not applicable: ";

int Refuse(const Status& status) {
  fmt::print(stderr, "tcc-twins: {}\n", Message(status));
  return ExitCodeOf(status);
}

// The images of texts for one target. Each is made once.
class Images {
 public:
  Images(const Target& target, GpuCode code) : target_(target), code_(code) {}

  StatusOr<const GpuImage*> Of(const std::string& text) {
    auto known = images_.find(text);
    if (known == images_.end()) {
      TCC_ASSIGN_OR_RETURN(GpuImage image, ImageOf(text, target_, code_));
      known = images_.emplace(text, std::move(image)).first;
    }
    return &known->second;
  }
  size_t size() const { return images_.size(); }

 private:
  Target target_;
  GpuCode code_;
  std::map<std::string, GpuImage> images_;
};

// Returns a line: "ok", what differs, or why it does not run. The device may be broken then.
ApartLine RunTwin(const Twin& twin, const Target& target, GpuCode code, Images& images) {
  StatusOr<const GpuImage*> image = images.Of(twin.text);
  if (!image.ok()) return {Message(image.status())};
  std::vector<Tensor> buffers = twin.operands;
  buffers.push_back(Poisoned(twin.expected.dtype, twin.expected.shape));
  alarm(code == GpuCode::kCubin ? kSeconds : kSecondsOfText);
  Status status = RunKernel(**image, twin.kernel, target, code, buffers);
  alarm(0);
  if (!status.ok()) return {.line = Message(status), .is_last = true};
  const std::string difference = Difference(twin, buffers.back());
  return {difference.empty() ? std::string(kRight) : difference};
}

// Opens the driver in a child: a process that has opened it cannot fork.
StatusOr<Target> FindTargetApart() {
  std::string answer;
  RunApart(
      1,
      [](size_t) -> ApartLine {
        StatusOr<Target> target = TargetOfDevice();
        return {target.ok() ? target->name : Message(target.status())};
      },
      [&](size_t, const std::string& line) { answer = line; });
  StatusOr<Target> target = FindTarget(answer);
  return target.ok() ? target : Missing("{}", answer);
}

Status Plant(const std::string& name, std::vector<Twin>& twins) {
  auto twin = std::ranges::find(twins, name, &Twin::name);
  if (twin == twins.end()) return UsageError("--plant: there is no kernel '{}'", name);
  SetElement(twin->expected, 0, ElementAsDouble(twin->expected, 0) == 0 ? 1 : 0);
  return OkStatus();
}

int CompileAll(const std::string& name, const std::vector<Twin>& twins) {
  StatusOr<Target> target = FindTarget(name);
  if (!target.ok()) return Refuse(target.status());
  if (!IsCuda(*target)) {
    return Refuse(UsageError("--compile-only: expected a GPU; got '{}'", name));
  }
  Images images(*target, GpuCode::kCubin);
  for (const Twin& twin : twins) {
    if (!HasInstructions(*target, twin)) continue;
    if (Status status = images.Of(twin.text).status(); !status.ok()) return Refuse(status);
  }
  fmt::print("{} programs compiled for {}\n", images.size(), name);
  return kExitOk;
}

std::string Json(const Target& target, const std::vector<Twin>& twins,
                 const std::vector<std::string>& lines) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < twins.size(); ++i) {
    rows.push_back({{"name", twins[i].name}, {"result", lines[i]}});
  }
  nlohmann::ordered_json all = {{"target", target.name}, {"kernels", rows}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int RunAll(const Options& options, const std::vector<Twin>& twins) {
  StatusOr<Target> target = FindTargetApart();
  if (!target.ok()) return Refuse(target.status());
  const GpuCode code = options.text ? GpuCode::kCudaText : GpuCode::kCubin;
  Images images(*target, code);
  std::shared_ptr<const CudaContext> held;
  std::vector<std::string> lines;
  int64_t right = 0, not_applicable = 0;
  RunApart(
      twins.size(),
      [&](size_t i) -> ApartLine {
        if (!HasInstructions(*target, twins[i])) {
          return {fmt::format("{}needs {}", kNotApplicable, twins[i].target)};
        }
        // Without a device RunTwin says so.
        if (held == nullptr) held = OpenDevice().value_or(nullptr);
        return RunTwin(twins[i], *target, code, images);
      },
      [&](size_t i, const std::string& line) {
        fmt::print("{:<64} {}\n", twins[i].name, line);
        std::fflush(stdout);
        right += line == kRight ? 1 : 0;
        not_applicable += line.starts_with(kNotApplicable) ? 1 : 0;
        lines.push_back(line);
      });
  const int64_t wrong = std::ssize(twins) - right - not_applicable;
  fmt::print("{}: {} right, {} wrong, {} not applicable\n", target->name, right, wrong,
             not_applicable);
  if (!options.json.empty()) {
    Status written = WriteFileAtomically(options.json, Json(*target, twins, lines));
    if (!written.ok()) return Refuse(written);
  }
  return wrong == 0 ? kExitOk : kExitWrongResult;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Kernels whose exact results are known, on the GPU at hand");
  Options options;
  app.add_flag("--text", options.text, "Text, for the emulated driver in TCC_CUDA_DRIVER");
  app.add_option("--json", options.json, "File for the results");
  app.add_option("--plant", options.plant, "Expects a wrong element of this kernel, to be found");
  app.add_option("--compile-only", options.compile_only,
                 "A GPU: what is run on one is compiled, and kept in the cache");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  std::vector<Twin> twins = test::AllTwins();
  if (!options.plant.empty()) {
    if (Status status = Plant(options.plant, twins); !status.ok()) return Refuse(status);
  }
  return options.compile_only.empty() ? RunAll(options, twins)
                                      : CompileAll(options.compile_only, twins);
}
