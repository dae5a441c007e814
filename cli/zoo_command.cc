#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "models/onnx/export_onnx.h"
#include "models/zoo/zoo.h"
#include "support/file.h"

namespace tcc {
namespace {

struct ZooCommand {
  bool list = false;
  std::string name;
  std::string output;
  ZooOptions options;
};

Status RunZoo(const ZooCommand& command) {
  if (command.list) {
    for (const std::string& name : ZooNames()) fmt::print("{}\n", name);
    return OkStatus();
  }
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(command.name, command.options));
  return ExportOnnx(graph, command.output);
}

}  // namespace

Action DeclareZoo(CommandLine& line) {
  auto command = std::make_shared<ZooCommand>();
  line.RequireOneCommand();
  CommandLine list = line.AddCommand("list", "Print the names");
  CommandLine exporting = line.AddCommand("export", "Write a network as an ONNX model");
  exporting.AddOption("name", command->name, "Network to write")
      .Required()
      .TypeName(fmt::format("{}", fmt::join(ZooNames(), "|")));
  exporting.AddOption("-o,--output", command->output, "File to write")
      .Required()
      .TypeName("M.onnx");
  exporting.AddFlag("--small", command->options.small,
                    "The same structure with fewer channels and pixels");
  exporting.AddOption("--seed", command->options.seed, "Seed of the weights")
      .ShowDefault()
      .TypeName("S");
  return [command, list] {
    command->list = list.given();
    return RunZoo(*command);
  };
}

}  // namespace tcc
