#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/print_json.h"
#include "models/onnx/onnx_ops.h"

namespace tcc {
namespace {

constexpr const char* kIntroduction = R"(# Operators

This page is printed by `tcc ops --markdown` from the table that the importer reads; a test compares
the two. `tcc inspect M.onnx` lists what a model uses and everything in it that is not here.

- **opsets**: those in which the operator is read, of ONNX's default domain or of the one that the
  name begins with.
- **operands**: the types of the inputs, then, behind the arrow, of the outputs; the last one stands
  for all further ones. `T` is one type of the column **T**, the same everywhere; `number` is any
  float or integer, `any` any float, integer or bool, `stored` any type of the list below;
  the length of a `sequence`, and the positions in it, are known when the model is compiled.
- **attributes**: with the default where there is one. An attribute that says nothing about
  inference is read and left.

Types: float is f16, bf16, f32 and f64; integer is i8 to i64 and u8 to u64; f8 is f8e4m3
(FLOAT8E4M3FN) and f8e5m2. The f8, i4, u4, i2 and u2 only hold values: they are cast, quantized
and dequantized, and may be inputs, outputs and constants of a model.

Where ONNX leaves a result open, tcc's is defined: an index out of range that is known only at run
time (Gather and its kin) is clamped into the range; division of integers by 0 gives 0, and so does
Mod; a cast of a float to an integer saturates, NaN gives 0; one to i4, u4, i2 or u2 truncates to i32
and keeps the low bits, as ONNX's tests do.
)";

std::string OperandText(char letter) {
  switch (letter) {
    case 'T':
      return "T";
    case 'U':
    case 'V':
      return "number";
    case 'F':
      return "float";
    case 'B':
      return "bool";
    case 'I':
      return "i64";
    case 'J':
      return "i32 or i64";
    case 'K':
      return "i32";
    case 'L':
      return "sequence of T";
    case 'A':
      return "any";
    case 'Q':
    case 'S':
      return "stored";
    default:
      return "as the node says";  // '*'
  }
}

// "TJ>T" as "T, i32 or i64 → T".
std::string SignatureText(std::string_view signature) {
  std::string text;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] == '>') {
      text += text.empty() ? "→ " : " → ";
    } else {
      bool first = i == 0 || signature[i - 1] == '>';
      text += (first ? "" : ", ") + OperandText(signature[i]);
    }
  }
  return text;
}

std::string DefaultText(const OnnxAttribute& attribute) {
  if (attribute.type == AttributeType::kString) return std::string(attribute.text);
  // Defaults are floats in the standard: 0.2, not 0.20000000298.
  return fmt::format("{}", static_cast<float>(attribute.number));
}

std::string OpsetText(int since, int until) {
  return until == kNewestOpset ? fmt::format("{}+", since) : fmt::format("{}-{}", since, until);
}

std::string AttributeText(const OnnxAttribute& attribute) {
  std::string text(attribute.name);
  switch (attribute.presence) {
    case Presence::kOptional:
    case Presence::kIgnored:
      break;
    case Presence::kDefault:
      text += "=" + DefaultText(attribute);
      break;
    case Presence::kRequired:
      text += " (required)";
      break;
    case Presence::kFixed:
      text += fmt::format(" (only {})", DefaultText(attribute));
      break;
  }
  bool always = attribute.since == 1 && attribute.until == kNewestOpset;
  return always ? text : fmt::format("{} ({})", text, OpsetText(attribute.since, attribute.until));
}

// Returns how many inputs an operator takes: "2", "1-3", "1...".
std::string InputsText(const OnnxOp& op) {
  if (op.max_inputs == kManyInputs) return fmt::format("{}...", op.min_inputs);
  if (op.min_inputs == op.max_inputs) return std::to_string(op.min_inputs);
  return fmt::format("{}-{}", op.min_inputs, op.max_inputs);
}

std::string RowText(const OnnxOp& op) {
  std::string attributes;
  for (const OnnxAttribute& attribute : op.attributes) {
    if (attribute.presence == Presence::kIgnored) continue;
    attributes += (attributes.empty() ? "" : ", ") + AttributeText(attribute);
  }
  bool has_types = op.signature.find_first_of("TL") != op.signature.npos;
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", op.name,
                     OpsetText(op.since, kNewestOpset), InputsText(op), SignatureText(op.signature),
                     has_types ? ToString(op.types) : "", attributes);
}

// Returns the page of supported operators, docs/operators.md, made from the importer's table.
std::string OpsMarkdown() {
  std::vector<const OnnxOp*> ops;
  for (const OnnxOp& op : AllOnnxOps()) ops.push_back(&op);
  std::ranges::sort(ops, [](const OnnxOp* a, const OnnxOp* b) { return a->name < b->name; });
  std::string text = kIntroduction;
  text += fmt::format("\n{} operators, up to opset {}:\n\n", ops.size(), kNewestOpset);
  text += "| operator | opsets | inputs | operands | T | attributes |\n|---|---|---|---|---|---|\n";
  for (const OnnxOp* op : ops) text += RowText(*op);
  return text;
}

struct OpsCommand {
  bool json = false;
  bool markdown = false;
};

std::string AttributesText(const OnnxOp& op) {
  std::string text;
  for (const OnnxAttribute& attribute : op.attributes) {
    if (attribute.presence == Presence::kIgnored) continue;
    text += (text.empty() ? "" : " ") + std::string(attribute.name);
  }
  return text;
}

Status RunOps(const OpsCommand& command) {
  if (command.markdown) {
    fmt::print("{}", OpsMarkdown());
    return OkStatus();
  }
  std::vector<const OnnxOp*> ops;
  for (const OnnxOp& op : AllOnnxOps()) ops.push_back(&op);
  std::ranges::sort(ops, [](const OnnxOp* a, const OnnxOp* b) { return a->name < b->name; });
  if (command.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const OnnxOp* op : ops) {
      rows.push_back({{"name", op->name},
                      {"since", op->since},
                      {"types", ToString(op->types)},
                      {"inputs", InputsText(*op)},
                      {"attributes", AttributesText(*op)}});
    }
    PrintJson(rows);
    return OkStatus();
  }
  fmt::print("{:<24} {:>5}  {:<10} {:<6}  attributes\n", "operator", "since", "types", "inputs");
  for (const OnnxOp* op : ops) {
    fmt::print("{:<24} {:>5}  {:<10} {:<6}  {}\n", op->name, op->since, ToString(op->types),
               InputsText(*op), AttributesText(*op));
  }
  fmt::print("{} operators, those of the default domain up to opset {}\n", ops.size(),
             kNewestOpset);
  return OkStatus();
}

}  // namespace

Action DeclareOps(CommandLine& line) {
  auto command = std::make_shared<OpsCommand>();
  CommandOption json = line.AddFlag("--json", command->json, "Print JSON");
  line.AddFlag("--markdown", command->markdown, "Print the page docs/operators.md").Excludes(json);
  return [command] { return RunOps(*command); };
}

}  // namespace tcc
