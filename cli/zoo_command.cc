#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/seed_option.h"
#include "ir/support/file.h"
#include "models/onnx/export_onnx.h"
#include "models/zoo/zoo.h"

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

Action DeclareZoo(CLI::App& app) {
  auto command = std::make_shared<ZooCommand>();
  app.require_subcommand(1);
  CLI::App* list = app.add_subcommand("list", "Print the names");
  list->callback([command] { command->list = true; });
  CLI::App* export_app = app.add_subcommand("export", "Write a network as an ONNX model");
  export_app->add_option("name", command->name, "One of the names of the list")
      ->required()
      ->type_name("NAME");
  export_app->add_option("-o,--output", command->output, "File to write")
      ->required()
      ->type_name("M.onnx");
  export_app->add_flag("--small", command->options.small,
                       "The same structure with fewer channels and pixels");
  AddSeedOption(*export_app, "--seed", command->options.seed, "Seed of the weights")
      ->type_name("S");
  return [command] { return RunZoo(*command); };
}

}  // namespace tcc
