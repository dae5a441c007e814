#include "api/compile_request.h"
#include "api/module_state.h"
#include "compiler/kernels.h"
#include "ir/text/printer.h"
#include "runtime/artefact/artefact.h"

// The embedding API's functions that compile.
namespace tcc::v1 {

struct Artefact::State {
  tcc::Artefact artefact;
};

namespace {

StatusOr<tcc::Artefact> CompileWith(const CompileOptions& options,
                                    const ImportFunction& import_model) {
  Reporter reporter(options);
  TCC_ASSIGN_OR_RETURN(CompileRequest request, MakeRequest(options, import_model, reporter));
  size_t nodes = request.model.graphs[0].nodes.size();
  TCC_ASSIGN_OR_RETURN(tcc::Artefact artefact,
                       CompileModel(std::move(request.model), request.options));
  reporter.Log(
      LogLevel::kInfo,
      fmt::format("'{}' for {}: {} nodes became {} kernels in {} calls, {} bytes of weights",
                  artefact.metadata.model, request.options.target.name, nodes,
                  artefact.metadata.kernels.size(), artefact.plan.body.size(),
                  artefact.weights.bytes.size()));
  if (!options.database.empty()) {
    std::string_view tuned = PropertyOf(artefact.metadata, "tuned_kernels");
    reporter.Log(LogLevel::kInfo,
                 fmt::format("{} of {} kernels as they were tuned", tuned.empty() ? "0" : tuned,
                             artefact.metadata.kernels.size()));
  }
  return artefact;
}

StatusOr<std::vector<Kernel>> KernelsWith(const CompileOptions& options,
                                          const ImportFunction& import_model) {
  Reporter reporter(options);
  TCC_ASSIGN_OR_RETURN(CompileRequest request, MakeRequest(options, import_model, reporter));
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(std::move(request.model.graphs), request.options));
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
