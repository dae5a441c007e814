#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/ops_markdown.h"
#include "models/onnx/onnx_ops.h"

namespace tcc {
namespace {

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
  std::sort(ops.begin(), ops.end(),
            [](const OnnxOp* a, const OnnxOp* b) { return a->name < b->name; });
  if (command.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const OnnxOp* op : ops) {
      rows.push_back({{"name", op->name},
                      {"since", op->since},
                      {"types", ToString(op->types)},
                      {"inputs", InputsText(*op)},
                      {"attributes", AttributesText(*op)}});
    }
    fmt::print("{}\n", rows.dump(2));
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
