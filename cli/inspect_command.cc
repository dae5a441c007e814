#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/kernel_facts.h"
#include "cli/kernel_launches.h"
#include "cli/model_options.h"
#include "cli/print_json.h"
#include "cli/readable_units.h"
#include "cli/text_table.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/kernels.h"
#include "compiler/notes.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "models/onnx/import_onnx.h"
#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_tensor_map.h"
#include "runtime/executor/run_sizes.h"
#include "support/printable.h"
#include "support/target.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGpuStatistics[] = {
    "registers",  "shared_bytes",        "spill_bytes",       "local_bytes",
    "ffma_share", "tensor_instructions", "load_bytes_widest", "waves"};

struct InspectCommand {
  ModelOptions file;
  std::string kernel;
  bool json = false;
};

Json TensorRows(const std::vector<TensorInfo>& infos, const Metadata& metadata) {
  Json rows = Json::array();
  for (const TensorInfo& info : infos) {
    rows.push_back({{"name", info.name}, {"type", TypeText(info, metadata)}});
  }
  return rows;
}

Json DimensionRow(const std::string& name, int64_t low, int64_t high, int64_t usual) {
  return {{"name", name}, {"low", low}, {"high", high}, {"usual", usual}};
}

// Returns a row for each free dimension of a model.
Json DimensionRows(const Graph& graph) {
  Json rows = Json::array();
  for (const Var& var : graph.shape_vars) {
    rows.push_back(DimensionRow(var->name, var->low, var->high, var->usual));
  }
  return rows;
}

// Returns a row for each free dimension of an artefact.
StatusOr<Json> DimensionRows(const Metadata& metadata) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> usual, SizeWith(metadata, {}));
  Json rows = Json::array();
  for (size_t i = 0; i < usual.size(); ++i) {
    const ShapeVariable& variable = metadata.shape_variables[i];
    rows.push_back(DimensionRow(variable.name, variable.low, variable.high, usual[i]));
  }
  return rows;
}

// Returns a row for each listed size: its calls and arena.
StatusOr<Json> SizeRows(const Artefact& artefact) {
  const Metadata& metadata = artefact.metadata;
  const auto* choice = artefact.plan.body.empty()
                           ? nullptr
                           : std::get_if<PlanSwitch>(&artefact.plan.body.front().op);
  RunSizesByShape by_shape(artefact.plan);
  Json rows = Json::array();
  for (size_t i = 0; i < metadata.sizes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const RunSizes> run, by_shape.For(metadata.sizes[i]));
    Json row = {{"size", SizeText(metadata, metadata.sizes[i])}};
    if (choice != nullptr && i < choice->bodies.size()) {
      row["calls"] = CallsIn(choice->bodies[i]).size();
    }
    row["arena_bytes"] = run->arena_bytes;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns a row for each tensor map of a kernel.
Json TensorMapRows(const GpuProgram& program, const Metadata& metadata) {
  Json rows = Json::array();
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    for (const GpuLaunch& launch : program.kernels[i].launches) {
      for (const GpuTensorMap& map : launch.maps) {
        rows.push_back({{"kernel", metadata.kernels[i].name}, {"map", ToString(map)}});
      }
    }
  }
  return rows;
}

// Adds the largest thread block of a kernel's launches, and the most shared memory of one.
void AddBlock(const GpuKernel& kernel, Json& row) {
  int64_t threads = 0, shared = 0;
  for (const GpuLaunch& launch : kernel.launches) {
    const auto& [x, y, z] = launch.block;
    threads = std::max(threads, int64_t{x} * y * z);
    shared = std::max<int64_t>(shared, launch.static_shared_bytes + launch.dynamic_shared_bytes);
  }
  row["block_threads"] = threads;
  row["shared_bytes"] = shared;
}

// Returns what the target allows a thread block; null of a target that this version does not have.
Json LimitsOf(const std::string& name) {
  const StatusOr<Target> target = FindTarget(name);
  if (!target.ok()) return nullptr;
  return {{"block_threads", target->limits.max_threads}, {"shared_bytes", target->shared_bytes}};
}

StatusOr<Json> ArtefactSummary(const Artefact& artefact) {
  const Metadata& metadata = artefact.metadata;
  std::vector<int64_t> calls = CallsOfKernels(artefact);
  TCC_ASSIGN_OR_RETURN(std::optional<GpuProgram> program, GpuProgramOf(artefact));
  std::optional<std::vector<int64_t>> launches;
  if (program) {
    TCC_ASSIGN_OR_RETURN(launches, LaunchesOfKernels(artefact, *program));
  }
  Json kernels = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    const KernelInfo& kernel = metadata.kernels[i];
    Json row = {{"name", kernel.name},
                {"nodes", kernel.nodes},
                {"flops", kernel.flops},
                {"calls", calls[i]},
                {"launches", launches ? Json((*launches)[i]) : Json()}};
    // These fields are always there for programs that read them; a CPU's kernels have no values for
    // them.
    for (const char* key : kGpuStatistics) row[key] = nullptr;
    if (program) AddBlock(program->kernels[i], row);
    for (const auto& [key, value] : kernel.statistics) row[key] = value;
    for (const auto& [key, value] : kernel.ratios) row[key] = value;
    kernels.push_back(std::move(row));
  }
  Json properties = Json::object();
  for (const auto& [key, value] : metadata.properties) properties[key] = value;
  Json summary = {{"model", metadata.model},
                  {"target", artefact.target},
                  {"device", artefact.device},
                  {"inputs", TensorRows(metadata.inputs, metadata)},
                  {"outputs", TensorRows(metadata.outputs, metadata)},
                  {"weights_bytes", artefact.weights.bytes.size()},
                  {"kernels_bytes", artefact.kernels.bytes.size()},
                  {"calls", CallsIn(artefact.plan.body).size()},
                  {"cpu_features", metadata.cpu_features},
                  {"properties", properties},
                  {"kernels", kernels}};
  if (launches) {
    summary["launches"] = std::accumulate(launches->begin(), launches->end(), int64_t{0});
  }
  if (program) {
    summary["code"] = NameOf(program->code);
    summary["limits"] = LimitsOf(artefact.target);
  }
  if (Json maps = program ? TensorMapRows(*program, metadata) : Json(); !maps.empty()) {
    summary["tensor_maps"] = std::move(maps);
  }
  if (std::optional<int64_t> arena = artefact.plan.arena_bytes.AsConstant()) {
    summary["arena_bytes"] = *arena;
  }
  if (!metadata.sizes.empty()) {
    TCC_ASSIGN_OR_RETURN(summary["sizes"], SizeRows(artefact));
  } else if (!metadata.shape_variables.empty()) {
    TCC_ASSIGN_OR_RETURN(summary["dimensions"], DimensionRows(metadata));
  }
  return summary;
}

Json ValueRows(const Graph& graph, const std::vector<ValueId>& ids, bool inferred) {
  Json rows = Json::array();
  for (ValueId id : ids) {
    const Value& value = graph.value(id);
    bool known = inferred || !value.shape.empty() || std::ranges::count(graph.inputs, id) > 0;
    std::string shape = known ? value.shape.empty() ? "" : ShapeText(value.shape) : "unknown";
    rows.push_back({{"name", value.name}, {"type", ToString(value.dtype) + "[" + shape + "]"}});
  }
  return rows;
}

// Returns facts of the compiled form: the number of nodes after the graph passes, of kernels and of
// repacks, and the float operations.
StatusOr<Json> CompiledForm(Graph graph) {
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph));
  CompileOptions options;
  options.target = *FindTarget("reference");
  const FusedGraph fused = FuseSubgraphs(std::move(graph), options.target, options.numeric);
  TCC_ASSIGN_OR_RETURN(KernelSet kernels, MakeKernels({&fused, 1}, options));
  double flops = 0;
  for (size_t t = 0; t < kernels.tasks.size(); ++t) {
    flops += kernels.tasks[t].flops * kernels.runs_of_task[t];
  }
  const std::vector<Node>& nodes = fused.graph.nodes;
  auto repacks =
      std::ranges::count_if(nodes, [](const Node& node) { return node.op == OpKind::kRepack; });
  return Json{{"nodes_after_passes", nodes.size()},
              {"kernel_calls", kernels.tasks.size()},
              {"different_kernels", kernels.kernels.size()},
              {"repacks", repacks},
              {"flops", flops}};
}

// The facts known of a file, and whether a model in it can be compiled.
struct Inspection {
  Json summary;
  Status can_be_compiled;
};

// Inspects a model. Unbound dimensions are no error: this command tells their names.
StatusOr<Inspection> InspectModel(const ModelOptions& options) {
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyOnnx(options.path));
  Json unsupported = Json::array();
  for (const UnsupportedOperator& op : survey.unsupported) {
    unsupported.push_back({{"what", op.what}, {"count", op.count}, {"nodes", op.nodes}});
  }
  Json summary = {{"ir_version", survey.ir_version},
                  {"opset", survey.opset},
                  {"nodes", survey.nodes},
                  {"operators", survey.operators},
                  {"unsupported", unsupported}};
  size_t count = survey.unsupported.size();
  Inspection refused{summary,
                     Unsupported("the model cannot be compiled: {} of its operators {} not "
                                 "supported",
                                 count, count == 1 ? "is" : "are")};
  if (!MayBeRead(survey)) return refused;
  StatusOr<Graph> imported = ImportModel(options);
  if (count > 0 && absl::IsUnimplemented(imported.status())) return refused;
  TCC_ASSIGN_OR_RETURN(Graph graph, std::move(imported));
  Graph inferred = graph;
  const Status inference = InferShapes(inferred);
  bool is_inferred = inference.ok();
  const Graph& known = is_inferred ? inferred : graph;
  summary["inputs"] = ValueRows(known, known.inputs, is_inferred);
  summary["outputs"] = ValueRows(known, known.outputs, is_inferred);
  if (!known.shape_vars.empty()) summary["dimensions"] = DimensionRows(known);
  summary["properties"] = graph.properties;
  StatusOr<Json> compiled =
      is_inferred ? CompiledForm(std::move(graph)) : StatusOr<Json>(inference);
  if (!compiled.ok()) {
    summary["not_compiled"] = MessageWithOptions(compiled.status());
    Status failure = Annotate(compiled.status(), "the model cannot be compiled");
    return Inspection{summary, failure};
  }
  for (const auto& [key, value] : compiled->items()) summary[key] = value;
  return Inspection{summary, OkStatus()};
}

using Row = std::vector<std::string>;

bool IsNumberOf(const std::string& key, const char* unit) {
  return key == unit || key.ends_with("_" + std::string(unit));
}

// Returns the text; if it is long or would act on a terminal, the start of it as JSON.
std::string TextCell(const std::string& text) {
  constexpr size_t kMaxBytes = 200;
  if (text.size() <= kMaxBytes && IsPlainText(text)) return text;
  size_t end = std::min(text.size(), kMaxBytes);
  while (end < text.size() && (text[end] & 0xc0) == 0x80) --end;
  std::string start = Json(text.substr(0, end)).dump(-1, ' ', /*ensure_ascii=*/true);
  if (end == text.size()) return start;
  return fmt::format("{} and {} bytes more", start, text.size() - end);
}

std::string CellOf(const std::string& key, const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return TextCell(value.get<std::string>());
  if (key == "flops") return ReadableFlops(value.get<double>());
  if (IsNumberOf(key, "bytes") && value.is_number()) return ReadableBytes(value.get<uint64_t>());
  if (value.is_number_float()) return fmt::format("{:.3g}", value.get<double>());
  bool names = value.is_array() && (value.empty() || value.front().is_string());
  return names ? NamesText(value.get<std::vector<std::string>>()) : value.dump();
}

// Returns the fields that have a value other than null and 0 in some row, in the order of the first
// row.
std::vector<std::string> FieldsOf(const Json& rows) {
  std::vector<std::string> fields;
  for (const auto& [field, ignored] : rows.front().items()) {
    bool used = std::ranges::any_of(rows, [&, name = field](const Json& row) {
      return row.contains(name) && !row[name].is_null() && row[name] != 0;
    });
    if (used) fields.push_back(field);
  }
  return fields;
}

// Prints a row per kernel. The names come last and are not cut off.
void PrintKernels(const Json& kernels) {
  std::vector<std::string> numbers = FieldsOf(kernels);
  // A set of bits says nothing to people.
  std::erase_if(numbers, [](const std::string& f) {
    return f == "name" || f == "nodes" || f == "math_functions";
  });
  std::vector<Row> rows = {numbers};
  rows.back().emplace_back("kernel: nodes");
  for (const Json& kernel : kernels) {
    Row row;
    for (const std::string& field : numbers) {
      row.push_back(kernel.contains(field) ? CellOf(field, kernel[field]) : "");
    }
    row.push_back(kernel["name"].get<std::string>() + ": " + CellOf("nodes", kernel["nodes"]));
    rows.push_back(std::move(row));
  }
  fmt::print("{}", TextTable(rows, "  "));
}

// Returns "nodes after passes", or "weights" for weights_bytes.
std::string TitleOf(std::string key) {
  constexpr std::string_view kBytes = "_bytes";
  if (key.ends_with(kBytes)) key.resize(key.size() - kBytes.size());
  std::ranges::replace(key, '_', ' ');
  return key;
}

// Prints a row per entry, below the names of the fields where there are `titles`.
void PrintRows(const Json& list, bool titles) {
  std::vector<Row> rows = {{}};
  if (list.is_object()) {
    for (const auto& [name, value] : list.items()) rows.push_back({name, CellOf(name, value)});
  } else {
    std::vector<std::string> fields = FieldsOf(list);
    if (titles) std::ranges::transform(fields, std::back_inserter(rows[0]), TitleOf);
    for (const Json& entry : list) {
      Row& row = rows.emplace_back();
      for (const std::string& field : fields) {
        row.push_back(entry.contains(field) ? CellOf(field, entry[field]) : "");
      }
    }
  }
  fmt::print("{}", TextTable(rows, "  "));
}

bool IsList(const Json& value) {
  if (value.empty()) return false;
  return value.is_object() || (value.is_array() && !value.front().is_string());
}

// Prints for people the object that `tcc inspect --json` prints: values beside their names, lists
// as tables, work and sizes in readable units, no column of nothing but null and 0.
void PrintInspection(const Json& summary) {
  std::vector<Row> facts = {{}};
  for (const auto& [key, value] : summary.items()) {
    bool none = value.is_null() || (value.is_structured() && value.empty());
    if (!IsList(value)) facts.push_back({TitleOf(key), none ? "none" : CellOf(key, value)});
  }
  fmt::print("{}", TextTable(facts, ""));
  for (const auto& [key, value] : summary.items()) {
    if (!IsList(value)) continue;
    fmt::print("{}\n", TitleOf(key));
    key == "kernels" ? PrintKernels(value)
                     : PrintRows(value, key == "sizes" || key == "dimensions");
  }
}

// Prints how a kernel of an artefact came to its schedule, and the schedule.
Status InspectKernel(const InspectCommand& command) {
  if (!IsArtefact(command.file.path)) {
    return UsageError(
        "--kernel: expected a compiled model; tcc dump --stage scheduled shows what a "
        "model would get");
  }
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(command.file.path));
  TCC_ASSIGN_OR_RETURN(Notes notes, NotesOf(artefact, command.file.path));
  auto kernel = std::ranges::find(notes.kernels, command.kernel, &KernelNotes::name);
  if (kernel == notes.kernels.end()) {
    return UsageError("--kernel: there is no '{}'; tcc inspect {} lists the kernels",
                      command.kernel, command.file.path);
  }
  const KernelInfo& info = artefact.metadata.kernels[kernel - notes.kernels.begin()];
  Json summary = {{"name", kernel->name},       {"nodes", info.nodes},
                  {"sketch", kernel->sketch},   {"choice", kernel->choice},
                  {"variant", kernel->variant}, {"tuned", kernel->tuned},
                  {"record", nullptr},          {"schedule", kernel->schedule}};
  if (kernel->tuned) summary["record"] = kernel->record;
  if (command.json) {
    PrintJson("tcc.inspect-kernel/1", summary);
    return OkStatus();
  }
  summary.erase("schedule");
  PrintInspection(summary);
  fmt::print("schedule\n{}", kernel->schedule);
  return OkStatus();
}

Status RunInspect(const InspectCommand& command) {
  if (!command.kernel.empty()) return InspectKernel(command);
  Inspection found;
  if (IsArtefact(command.file.path)) {
    TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(command.file.path));
    TCC_ASSIGN_OR_RETURN(found.summary, ArtefactSummary(artefact));
  } else {
    TCC_ASSIGN_OR_RETURN(found, InspectModel(command.file));
  }
  if (command.json) {
    PrintJson("tcc.inspect/1", found.summary);
  } else {
    PrintInspection(found.summary);
  }
  return found.can_be_compiled;
}

}  // namespace

Action DeclareInspect(CommandLine& line) {
  auto command = std::make_shared<InspectCommand>();
  AddModelOptions(line, command->file);
  line.Find("model").Description("ONNX model or compiled model").TypeName("FILE");
  line.AddOption("--kernel", command->kernel,
                 "Show the schedule of this kernel of a compiled model, and where it comes from")
      .TypeName("NAME");
  line.AddFlag("--json", command->json, "Print JSON");
  return [command] { return RunInspect(*command); };
}

}  // namespace tcc
