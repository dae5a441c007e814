#include "cli/model_options.h"

#include <fmt/ranges.h>

#include "models/onnx/import_onnx.h"
#include "support/npy.h"
#include "support/option_values.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

template <typename T>
Status PutOnce(std::map<std::string, T>& map, const std::string& option, const std::string& name,
               T value) {
  if (map.emplace(name, std::move(value)).second) return OkStatus();
  return UsageError("{}: '{}' is given twice", option, name);
}

// "--bind k=FILE.npy"; without a key only the option.
std::string TextOf(const WantedOption& wanted) {
  const std::string& key = wanted.key;
  switch (wanted.option) {
    case Option::kDims:
      return key.empty() ? "--dim" : "--dim " + key + "=SIZE";
    case Option::kRanges:
      return "--dim";
    case Option::kShapes:
      return key.empty() ? "--shape" : "--shape " + key + "=SIZExSIZE...";
    case Option::kBinds:
      return key.empty() ? "--bind" : "--bind " + key + "=FILE.npy";
    case Option::kTarget:
      return key.empty() ? "--target" : "--target " + key;
    case Option::kLinks:
      return "--allow-symlinks";
  }
  return "";
}

}  // namespace

void AddModelOptions(CommandLine& line, ModelOptions& options) {
  line.AddOption("model", options.path, "ONNX model").Required().TypeName("M.onnx");
  line.AddOption("--dim", options.dims,
                 "Value of a dimension that the model names, or its least, greatest and usual one")
      .TypeName("N=1|N=1..32|N=1..32:8");
  line.AddOption("--shape", options.shapes, "Shape of an input; ? stays as the model has it")
      .TypeName("name=1x3x224x224|name=?x3x?x?");
  line.AddOption("--bind", options.binds, "An input that becomes a constant")
      .TypeName("name=x.npy");
  line.AddOption("--external-data-dir", options.external_data_folder,
                 "Where files with weights are, if not in the model's folder")
      .TypeName("DIR");
  line.AddFlag("--allow-symlinks", options.allow_symlinks,
               "Follow links to files with weights, as download caches have them");
}

Status ExpectNone(const ModelOptions& options) {
  const std::pair<const char*, bool> given[] = {
      {"--dim", !options.dims.empty()},
      {"--shape", !options.shapes.empty()},
      {"--bind", !options.binds.empty()},
      {"--external-data-dir", !options.external_data_folder.empty()},
      {"--allow-symlinks", options.allow_symlinks},
  };
  for (const auto& [option, is_given] : given) {
    if (is_given)
      return UsageError("{} is for a model that is compiled now; got a compiled one", option);
  }
  return OkStatus();
}

StatusOr<ImportOptions> ToImportOptions(const ModelOptions& options) {
  ImportOptions import;
  import.external_data_folder = options.external_data_folder;
  if (options.allow_symlinks) import.external_data_links = Links::kFollowed;
  for (const std::string& text : options.dims) {
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--dim", text));
    TCC_ASSIGN_OR_RETURN(auto value, ParseDim("--dim", pair.second));
    if (const auto* size = std::get_if<int64_t>(&value)) {
      TCC_RETURN_IF_ERROR(PutOnce(import.dims, "--dim", pair.first, *size));
    } else {
      TCC_RETURN_IF_ERROR(PutOnce(import.ranges, "--dim", pair.first, std::get<DimRange>(value)));
    }
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

void AddSizesOption(CommandLine& line, std::vector<std::string>& sizes) {
  line.AddOption("--at", sizes,
                 "A size to compile for; with several a run takes the one of its inputs")
      .TypeName("N=1|B=1,S=16");
}

StatusOr<DimSizes> ParseDims(const std::vector<std::string>& texts) {
  DimSizes dims;
  for (const std::string& text : texts) {
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--dim", text));
    TCC_ASSIGN_OR_RETURN(int64_t size, ParseSize("--dim", pair.second));
    TCC_RETURN_IF_ERROR(PutOnce(dims, "--dim", pair.first, size));
  }
  return dims;
}

StatusOr<std::vector<DimSizes>> ParseSizes(const std::vector<std::string>& texts) {
  std::vector<DimSizes> sizes;
  for (const std::string& text : texts) {
    TCC_ASSIGN_OR_RETURN(DimSizes size, ParseExtents("--at", text));
    sizes.push_back(std::move(size));
  }
  return sizes;
}

StatusOr<Graph> ImportModel(const ModelOptions& options,
                            std::function<void(const std::string& message)> warn) {
  TCC_ASSIGN_OR_RETURN(SizedModel model, ImportModelAt(options, {}, std::move(warn)));
  return std::move(model.graphs[0]);
}

StatusOr<SizedModel> ImportModelAt(const ModelOptions& options, std::span<const DimSizes> sizes,
                                   std::function<void(const std::string& message)> warn) {
  TCC_ASSIGN_OR_RETURN(ImportOptions import, ToImportOptions(options));
  import.warn = std::move(warn);
  auto import_model = [&](const ImportOptions& at) { return ImportOnnx(options.path, at); };
  return ImportAtSizes(import_model, std::move(import), sizes);
}

CommandOption AddTargetOption(CommandLine& line, std::string& target) {
  std::string names;
  for (const Target& row : AllTargets()) names += (names.empty() ? "" : "|") + row.name;
  return line.AddOption("--target", target, "What to generate code for").TypeName(names);
}

std::vector<std::string> OptionTexts(const Status& status) {
  std::vector<std::string> texts;
  for (const WantedOption& wanted : WantedOptions(status)) texts.push_back(TextOf(wanted));
  return texts;
}

std::string MessageWithOptions(const Status& status) {
  std::vector<std::string> options = OptionTexts(status);
  if (options.empty()) return Message(status);
  return fmt::format("{} ({})", Message(status), fmt::join(options, ", "));
}

}  // namespace tcc
