// Measures schedules for a network on this machine, says what they gained, and compiles the network
// with the best ones. Called again with the same database it goes on where it ended.
//
//   tune MODEL.onnx DATABASE TRIALS OUT.tcc
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include <tcc/tcc.h>

namespace {

int Fail(const tcc::Status& status) {
  std::cerr << status.message() << "\n";
  return static_cast<int>(status.code());
}

void Print(const tcc::TuneSummary& summary) {
  for (const tcc::TunedKernel& kernel : summary.kernels) {
    std::printf("%s: %lld trials, constructed %.2f us, best %.2f us by %s\n", kernel.name.c_str(),
                static_cast<long long>(kernel.trials), kernel.constructed_seconds * 1e6,
                kernel.best_seconds * 1e6, kernel.best_searcher.c_str());
  }
  if (summary.model_best_seconds > 0) {
    std::printf("in the network: constructed %.2f us, best %.2f us\n",
                summary.model_constructed_seconds * 1e6, summary.model_best_seconds * 1e6);
  }
  std::printf("%lld trials\n", static_cast<long long>(summary.trials));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: tune MODEL.onnx DATABASE TRIALS OUT.tcc\n";
    return 2;
  }
  tcc::TuneOptions tune;
  tune.database = argv[2];
  tune.trials = std::atoll(argv[3]);
  tune.progress = [](const tcc::TuneProgress& progress) {
    std::cerr << progress.trials << " " << progress.kernel << " by " << progress.searcher << ": "
              << progress.status << "\n";
  };
  tcc::Result<tcc::TuneSummary> summary = tcc::Tune(argv[1], tune);
  if (!summary.ok()) return Fail(summary.status());
  Print(*summary);

  tcc::CompileOptions compile;
  compile.database = tune.database;
  tcc::Result<tcc::Artefact> artefact = tcc::Compile(argv[1], compile);
  if (!artefact.ok()) return Fail(artefact.status());
  tcc::Status saved = artefact->Save(argv[4]);
  return saved.ok() ? 0 : Fail(saved);
}
