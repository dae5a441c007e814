#include "cli/model_options.h"

#include "cli/split_assignment.h"
#include "ir/support/npy.h"
#include "models/onnx/import_onnx.h"

namespace tcc {
namespace {

template <typename T>
Status PutOnce(std::map<std::string, T>& map, const std::string& option, const std::string& name,
               T value) {
  if (map.emplace(name, std::move(value)).second) return OkStatus();
  return UsageError("{}: '{}' is given twice", option, name);
}

StatusOr<ImportOptions> ToImportOptions(const ModelOptions& options) {
  ImportOptions import;
  import.external_data_folder = options.external_data_folder;
  if (options.allow_symlinks) import.external_data_links = Links::kFollowed;
  for (const std::string& text : options.dims) {
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--dim", text));
    TCC_ASSIGN_OR_RETURN(int64_t size, ParseSize("--dim", pair.second));
    TCC_RETURN_IF_ERROR(PutOnce(import.dims, "--dim", pair.first, size));
  }
  for (const std::string& text : options.shapes) {
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--shape", text));
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ParseShape("--shape", pair.second));
    TCC_RETURN_IF_ERROR(PutOnce(import.shapes, "--shape", pair.first, std::move(shape)));
  }
  for (const std::string& text : options.binds) {
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--bind", text));
    TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(pair.second));
    TCC_RETURN_IF_ERROR(PutOnce(import.binds, "--bind", pair.first, std::move(tensor)));
  }
  return import;
}

}  // namespace

void AddModelOptions(CLI::App& app, ModelOptions& options) {
  app.add_option("model", options.path, "ONNX model")->required()->type_name("M.onnx");
  app.add_option("--dim", options.dims, "Value of a dimension that the model names")
      ->type_name("N=1")
      ->allow_extra_args(false);
  app.add_option("--shape", options.shapes, "Shape of an input")
      ->type_name("name=1x3x224x224")
      ->allow_extra_args(false);
  app.add_option("--bind", options.binds, "An input that becomes a constant")
      ->type_name("name=x.npy")
      ->allow_extra_args(false);
  app.add_option("--external-data-dir", options.external_data_folder,
                 "Where files with weights are, if not in the model's folder")
      ->type_name("DIR");
  app.add_flag("--allow-symlinks", options.allow_symlinks,
               "Follow links to files with weights, as download caches have them");
}

StatusOr<Graph> ImportModel(const ModelOptions& options,
                            std::function<void(const std::string& message)> warn) {
  TCC_ASSIGN_OR_RETURN(ImportOptions import, ToImportOptions(options));
  import.warn = std::move(warn);
  return ImportOnnx(options.path, import);
}

void AddTargetOption(CLI::App& app, std::string& target) {
  std::string names;
  for (const Target& row : AllTargets()) names += (names.empty() ? "" : "|") + row.name;
  app.add_option("--target", target, "What to generate code for")->type_name(names);
}

}  // namespace tcc
