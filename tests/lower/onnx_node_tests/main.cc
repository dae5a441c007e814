#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/lower/onnx_node_tests/node_test.h"

namespace {

std::vector<std::string> TestFolders(const std::string& root) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

const char* ToText(tcc::Verdict verdict) {
  switch (verdict) {
    case tcc::Verdict::kPass:
      return "PASS";
    case tcc::Verdict::kFail:
      return "FAIL";
    case tcc::Verdict::kSkip:
      return "SKIP";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("ONNX's node tests, interpreted: PASS|FAIL|SKIP, name, reason");
  std::string root;
  std::string filter;
  app.add_option("DIR", root, "folder of test folders")->required()->check(CLI::ExistingDirectory);
  app.add_option("--filter", filter, "only tests whose name has a match of this expression");
  CLI11_PARSE(app, argc, argv);

  std::regex pattern(filter);
  int counts[3] = {};
  for (const std::string& folder : TestFolders(root)) {
    std::string name = std::filesystem::path(folder).filename();
    if (!std::regex_search(name, pattern)) continue;
    tcc::NodeTestResult result = tcc::RunNodeTest(folder);
    std::replace(result.reason.begin(), result.reason.end(), '\n', ' ');
    ++counts[static_cast<int>(result.verdict)];
    fmt::print("{}\t{}\t{}\n", ToText(result.verdict), name, result.reason);
  }
  fmt::print("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  return counts[1] == 0 && counts[0] > 0 ? 0 : 1;
}
