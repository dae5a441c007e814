#include "cli/command.h"

namespace tcc {
namespace {

// clang-format off
constexpr Command kCommands[] = {
    {"compile", "Compile a model into one file that runs by itself", DeclareCompile},
    {"tune",    "Measure kernels for a model and remember the best", DeclareTune},
    {"worker",  "Measure kernels for tuners on other machines",      DeclareWorker},
    {"report",  "Write a page that shows a run of tuning or a compiled model",           DeclareReport},
    {"db",      "List, copy, merge and check databases of measurements", DeclareDb},
    {"cost-model", "Train and judge what predicts the time of kernels", DeclareCostModel},
    {"run",     "Run a compiled model, or an ONNX model at any shape", DeclareRun},
    {"check",   "Compare a model with the reference",                DeclareCheck},
    {"bench",   "Measure a compiled model",                          DeclareBench},
    {"diff",    "Say what tells two compiled models apart, and where the slower one loses", DeclareDiff},
    {"inspect", "Say what is in a model or in a compiled model",     DeclareInspect},
    {"export",  "Write a compiled model as C sources",               DeclareExport},
    {"dump",    "Print a model at a stage of its compilation",       DeclareDump},
    {"onnx-test", "Run ONNX's own tests of models and operators",    DeclareOnnxTest},
    {"zoo",     "List or export the built-in networks",              DeclareZoo},
    {"ops",     "List the operators that models may use",            DeclareOps},
    {"devices", "List what compiled models run on",                  DeclareDevices},
    {"doctor",  "Say what tcc finds on this machine, or misses",     DeclareDoctor},
    {"completion", "Print a script that completes command lines in a shell", DeclareCompletion},
    {"version", "Print the version",                                 DeclareVersion},
};
// clang-format on

}  // namespace

std::span<const Command> Commands() {
  return kCommands;
}

}  // namespace tcc
