#include <fmt/ranges.h>

#include <absl/strings/str_split.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/notes.h"
#include "compiler/packed_text.h"
#include "runtime/artefact/plan.h"
#include "support/json_fields.h"
#include "support/printable.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using nlohmann::json;

constexpr char kSchema[] = "tcc.notes/1";

json GraphJson(const GraphNotes& graph);

// ---- writing

template <typename Item>
json ListJson(const std::vector<Item>& items, json (*write)(const Item& item)) {
  json list = json::array();
  for (const Item& item : items) list.push_back(write(item));
  return list;
}

json NodeJson(const NodeNotes& node) {
  json object = {
      {"name", node.name}, {"op", node.op}, {"inputs", node.inputs}, {"outputs", node.outputs}};
  if (!node.bodies.empty()) object["bodies"] = ListJson(node.bodies, GraphJson);
  return object;
}

json GraphJson(const GraphNotes& graph) {
  return {{"inputs", graph.inputs},
          {"outputs", graph.outputs},
          {"nodes", ListJson(graph.nodes, NodeJson)},
          {"types", graph.types}};
}

json PassJson(const PassNotes& pass) {
  return {
      {"name", pass.name}, {"nodes_before", pass.nodes_before}, {"nodes_after", pass.nodes_after}};
}

json KernelJson(const KernelNotes& kernel) {
  json record;
  if (kernel.tuned) record = kernel.record;
  return {{"name", kernel.name},       {"sketch", kernel.sketch}, {"choice", kernel.choice},
          {"variant", kernel.variant}, {"tuned", kernel.tuned},   {"schedule", kernel.schedule},
          {"record", record}};
}

json PlaceJson(const BodyPlace& place) {
  return {{"node", place.node}, {"body", place.body}};
}

json OperandJson(const OperandNotes& operand) {
  json object = {{"operand", operand.operand}, {"value", operand.value}, {"shape", operand.shape}};
  if (!operand.strides.empty()) object["strides"] = operand.strides;
  if (operand.type) object["type"] = ToString(*operand.type);
  return object;
}

json CallJson(const CallNotes& call) {
  json object = {{"kernel", call.kernel},
                 {"step", call.step},
                 {"nodes", call.nodes},
                 {"within", ListJson(call.within, PlaceJson)},
                 {"reads", ListJson(call.reads, OperandJson)},
                 {"writes", ListJson(call.writes, OperandJson)},
                 {"writes_all", call.writes_all}};
  if (call.graph > 0) object["size"] = call.graph;
  return object;
}

json ArenaJson(const ArenaValue& value) {
  return {{"value", value.name},
          {"offset", value.offset},
          {"bytes", value.bytes},
          {"first", value.first},
          {"last", value.last}};
}

json SizeJson(const SizeNotes& size) {
  return {{"graph_before", GraphJson(size.before)},
          {"graph_after", GraphJson(size.after)},
          {"passes", ListJson(size.passes, PassJson)},
          {"arena", ListJson(size.arena, ArenaJson)}};
}

// ---- reading

// A name that can be printed.
StatusOr<std::string> NameOf(const JsonFields& fields, const std::string& field) {
  TCC_ASSIGN_OR_RETURN(std::string name, fields.Text(field));
  if (!IsPlainText(name)) return InvalidInput("field '{}' holds control characters", field);
  return name;
}

StatusOr<std::vector<std::string>> NamesOf(const JsonFields& fields, const std::string& field) {
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> names, fields.Texts(field));
  if (std::ranges::all_of(names, IsPlainText)) return names;
  return InvalidInput("field '{}' holds control characters", field);
}

StatusOr<size_t> IndexOf(const JsonFields& fields, const std::string& field) {
  TCC_ASSIGN_OR_RETURN(int64_t index, fields.Count(field, UINT32_MAX));
  return static_cast<size_t>(index);
}

StatusOr<std::vector<int64_t>> ExtentsOf(const JsonFields& fields, const std::string& field) {
  const json* list = fields.Find(field);
  if (list == nullptr) return std::vector<int64_t>();
  if (!list->is_array()) return JsonFields::Unexpected(field, "an array", *list);
  std::vector<int64_t> extents;
  for (const json& extent : *list) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) {
      return JsonFields::Unexpected(field, "whole numbers from 0 on", extent);
    }
    extents.push_back(extent.get<int64_t>());
  }
  return extents;
}

template <typename Item, typename Read>
StatusOr<std::vector<Item>> ListOf(const JsonFields& fields, const std::string& field, Read read) {
  const json* list = fields.Find(field);
  if (list == nullptr) return InvalidInput("field '{}' is missing", field);
  if (!list->is_array()) return JsonFields::Unexpected(field, "an array", *list);
  std::vector<Item> items;
  for (const json& element : *list) {
    StatusOr<Item> item = read(JsonFields(element));
    if (!item.ok()) return Annotate(item.status(), fmt::format("{}[{}]", field, items.size()));
    items.push_back(*std::move(item));
  }
  return items;
}

StatusOr<GraphNotes> ReadGraph(const JsonFields& fields, int depth);

StatusOr<NodeNotes> ReadNode(const JsonFields& fields, int depth) {
  NodeNotes node;
  TCC_ASSIGN_OR_RETURN(node.name, NameOf(fields, "name"));
  TCC_ASSIGN_OR_RETURN(node.op, NameOf(fields, "op"));
  TCC_ASSIGN_OR_RETURN(node.inputs, NamesOf(fields, "inputs"));
  TCC_ASSIGN_OR_RETURN(node.outputs, NamesOf(fields, "outputs"));
  if (!fields.Has("bodies")) return node;
  auto read = [&](const JsonFields& body) { return ReadGraph(body, depth + 1); };
  TCC_ASSIGN_OR_RETURN(node.bodies, ListOf<GraphNotes>(fields, "bodies", read));
  return node;
}

StatusOr<GraphNotes> ReadGraph(const JsonFields& fields, int depth) {
  if (depth > kMaxPlanDepth) return InvalidInput("bodies nest deeper than {}", kMaxPlanDepth);
  GraphNotes graph;
  TCC_ASSIGN_OR_RETURN(graph.inputs, NamesOf(fields, "inputs"));
  TCC_ASSIGN_OR_RETURN(graph.outputs, NamesOf(fields, "outputs"));
  auto read = [&](const JsonFields& node) { return ReadNode(node, depth); };
  TCC_ASSIGN_OR_RETURN(graph.nodes, ListOf<NodeNotes>(fields, "nodes", read));
  const json* types = fields.Find("types");
  if (types == nullptr || !types->is_object()) {
    return InvalidInput("field 'types': expected an object");
  }
  for (const auto& [value, type] : types->items()) {
    if (!IsPlainText(value)) return InvalidInput("field 'types' holds control characters");
    TCC_ASSIGN_OR_RETURN(graph.types[value], NameOf(JsonFields(*types), value));
  }
  return graph;
}

StatusOr<GraphNotes> GraphOf(const JsonFields& fields, const std::string& field) {
  const json* graph = fields.Find(field);
  if (graph == nullptr) return InvalidInput("field '{}' is missing", field);
  StatusOr<GraphNotes> read = ReadGraph(JsonFields(*graph), 0);
  if (!read.ok()) return Annotate(read.status(), field);
  return read;
}

StatusOr<PassNotes> ReadPass(const JsonFields& fields) {
  PassNotes pass;
  TCC_ASSIGN_OR_RETURN(pass.name, NameOf(fields, "name"));
  TCC_ASSIGN_OR_RETURN(pass.nodes_before, fields.Count("nodes_before"));
  TCC_ASSIGN_OR_RETURN(pass.nodes_after, fields.Count("nodes_after"));
  return pass;
}

StatusOr<KernelNotes> ReadKernel(const JsonFields& fields) {
  KernelNotes kernel;
  TCC_ASSIGN_OR_RETURN(kernel.name, NameOf(fields, "name"));
  TCC_ASSIGN_OR_RETURN(kernel.sketch, NameOf(fields, "sketch"));
  if (fields.Has("record")) {
    TCC_ASSIGN_OR_RETURN(kernel.record, NameOf(fields, "record"));
  }
  TCC_ASSIGN_OR_RETURN(kernel.choice, IndexOf(fields, "choice"));
  TCC_ASSIGN_OR_RETURN(kernel.variant, IndexOf(fields, "variant"));
  TCC_ASSIGN_OR_RETURN(kernel.tuned, fields.Bool("tuned"));
  TCC_ASSIGN_OR_RETURN(kernel.schedule, fields.Text("schedule"));
  std::vector<std::string> lines = absl::StrSplit(kernel.schedule, '\n');
  if (!std::ranges::all_of(lines, IsPlainText)) {
    return InvalidInput("field 'schedule' holds control characters");
  }
  return kernel;
}

StatusOr<BodyPlace> ReadPlace(const JsonFields& fields) {
  BodyPlace place;
  TCC_ASSIGN_OR_RETURN(place.node, IndexOf(fields, "node"));
  TCC_ASSIGN_OR_RETURN(place.body, IndexOf(fields, "body"));
  return place;
}

StatusOr<OperandNotes> ReadOperand(const JsonFields& fields) {
  OperandNotes operand;
  TCC_ASSIGN_OR_RETURN(operand.operand, IndexOf(fields, "operand"));
  TCC_ASSIGN_OR_RETURN(operand.value, NameOf(fields, "value"));
  TCC_ASSIGN_OR_RETURN(operand.shape, ExtentsOf(fields, "shape"));
  TCC_ASSIGN_OR_RETURN(operand.strides, ExtentsOf(fields, "strides"));
  if (fields.Has("type")) {
    TCC_ASSIGN_OR_RETURN(std::string type, fields.Text("type"));
    operand.type = ParseDType(type);
    bool is_rounded =
        operand.type && operand.type->is_float() && Epsilon(*operand.type) > Epsilon(kFloat32);
    if (!is_rounded) {
      return InvalidInput("field 'type': expected f16, bf16 or tf32; got '{}'", Printable(type));
    }
  }
  return operand;
}

StatusOr<CallNotes> ReadCall(const JsonFields& fields) {
  CallNotes call;
  TCC_ASSIGN_OR_RETURN(call.kernel, IndexOf(fields, "kernel"));
  if (fields.Has("size")) {
    TCC_ASSIGN_OR_RETURN(call.graph, IndexOf(fields, "size"));
  }
  TCC_ASSIGN_OR_RETURN(call.step, fields.Count("step"));
  TCC_ASSIGN_OR_RETURN(call.nodes, NamesOf(fields, "nodes"));
  TCC_ASSIGN_OR_RETURN(call.within, ListOf<BodyPlace>(fields, "within", ReadPlace));
  TCC_ASSIGN_OR_RETURN(call.reads, ListOf<OperandNotes>(fields, "reads", ReadOperand));
  TCC_ASSIGN_OR_RETURN(call.writes, ListOf<OperandNotes>(fields, "writes", ReadOperand));
  TCC_ASSIGN_OR_RETURN(call.writes_all, fields.Bool("writes_all"));
  return call;
}

StatusOr<ArenaValue> ReadArenaValue(const JsonFields& fields) {
  ArenaValue value;
  TCC_ASSIGN_OR_RETURN(value.name, NameOf(fields, "value"));
  TCC_ASSIGN_OR_RETURN(value.offset, fields.Count("offset"));
  TCC_ASSIGN_OR_RETURN(value.bytes, fields.Count("bytes"));
  TCC_ASSIGN_OR_RETURN(value.first, fields.Count("first"));
  TCC_ASSIGN_OR_RETURN(value.last, fields.Count("last"));
  return value;
}

StatusOr<SizeNotes> ReadSize(const JsonFields& fields) {
  SizeNotes size;
  TCC_ASSIGN_OR_RETURN(size.before, GraphOf(fields, "graph_before"));
  TCC_ASSIGN_OR_RETURN(size.after, GraphOf(fields, "graph_after"));
  TCC_ASSIGN_OR_RETURN(size.passes, ListOf<PassNotes>(fields, "passes", ReadPass));
  TCC_ASSIGN_OR_RETURN(size.arena, ListOf<ArenaValue>(fields, "arena", ReadArenaValue));
  return size;
}

StatusOr<Notes> ReadDocument(const json& document) {
  JsonFields fields(document);
  TCC_ASSIGN_OR_RETURN(std::string schema, fields.Text("schema"));
  if (schema != kSchema) {
    return InvalidInput("their schema is '{}'; this tcc reads '{}'", schema, kSchema);
  }
  Notes notes;
  TCC_ASSIGN_OR_RETURN(static_cast<SizeNotes&>(notes), ReadSize(fields));
  TCC_ASSIGN_OR_RETURN(notes.kernels, ListOf<KernelNotes>(fields, "kernels", ReadKernel));
  TCC_ASSIGN_OR_RETURN(notes.calls, ListOf<CallNotes>(fields, "calls", ReadCall));
  if (fields.Has("further_sizes")) {
    TCC_ASSIGN_OR_RETURN(notes.others, ListOf<SizeNotes>(fields, "further_sizes", ReadSize));
  }
  return notes;
}

}  // namespace

std::vector<uint8_t> NotesBytes(const Notes& notes) {
  json document = SizeJson(notes);
  document["schema"] = kSchema;
  document["kernels"] = ListJson(notes.kernels, KernelJson);
  document["calls"] = ListJson(notes.calls, CallJson);
  if (!notes.others.empty()) document["further_sizes"] = ListJson(notes.others, SizeJson);
  return PackText(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

StatusOr<Notes> ReadNotes(std::span<const uint8_t> section) {
  TCC_ASSIGN_OR_RETURN(std::string text, UnpackText(section, "notes", kMostNotesBytes));
  json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return InvalidInput("notes: expected JSON");
  StatusOr<Notes> notes = ReadDocument(document);
  if (!notes.ok()) return PrintableStatus(Annotate(notes.status(), "notes"));
  return notes;
}

}  // namespace tcc
