#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "api/tcc_compile_c.h"
#include "tests/api/c_answer.h"
#include "tests/api/run_module.h"
#include "tests/api/temporary_folder.h"
#include "tests/compiler/onnx_models.h"

// The C API's half that compiles and tunes, as a program outside sees it.
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Floats = std::array<float, 6>;
using OptionsPtr = std::unique_ptr<tcc_options, decltype(&tcc_options_free)>;
using ArtefactPtr = std::unique_ptr<tcc_artefact, decltype(&tcc_artefact_free)>;
using Settings = std::vector<std::pair<const char*, std::string>>;

template <typename Call>
Answer Ask(Call&& call) {
  tcc_error* error = nullptr;
  Answer answer{call(&error), ""};
  if (error != nullptr) answer.message = tcc_error_message(error);
  tcc_error_free(error);
  return answer;
}

Answer Set(tcc_options* options, const std::string& key, const std::string& value) {
  return Ask([&](tcc_error** error) {
    return tcc_options_set(options, key.c_str(), value.c_str(), error);
  });
}

OptionsPtr OptionsWith(const Settings& settings) {
  OptionsPtr options(tcc_options_new(), tcc_options_free);
  for (const auto& [key, value] : settings) {
    INFO(key);
    REQUIRE(Set(options.get(), key, value) == Answer{TCC_OK, ""});
  }
  return options;
}

Answer Compile(const std::vector<uint8_t>& model, const tcc_options* options,
               ArtefactPtr* artefact = nullptr) {
  tcc_artefact* made = nullptr;
  Answer answer = Ask([&](tcc_error** error) {
    return tcc_compile_bytes(model.data(), model.size(), options, &made, error);
  });
  CHECK((made != nullptr) == (answer.code == TCC_OK));
  ArtefactPtr owner(made, tcc_artefact_free);
  if (artefact != nullptr) *artefact = std::move(owner);
  return answer;
}

std::vector<uint8_t> Content(tcc_artefact* artefact) {
  const void* data = nullptr;
  uint64_t bytes = 0;
  REQUIRE(tcc_artefact_bytes(artefact, &data, &bytes, nullptr) == TCC_OK);
  const auto* first = static_cast<const uint8_t*>(data);
  return {first, first + bytes};
}

// Compiles and returns the file's content.
std::vector<uint8_t> CompiledInC(const std::vector<uint8_t>& model, const Settings& settings) {
  ArtefactPtr artefact(nullptr, tcc_artefact_free);
  REQUIRE(Compile(model, OptionsWith(settings).get(), &artefact) == Answer{TCC_OK, ""});
  return Content(artefact.get());
}

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("C compiles what C++ compiles, saves it and loads it", "[api]") {
  TemporaryFolder folder("tcc_c_compile_test");
  const std::vector<uint8_t> model = AddModel();
  std::ofstream(folder / "add.onnx", std::ios::binary)
      .write(reinterpret_cast<const char*>(model.data()), std::ssize(model));
  tcc_artefact* made = nullptr;
  REQUIRE(tcc_compile((folder / "add.onnx").c_str(), nullptr, &made, nullptr) == TCC_OK);
  ArtefactPtr artefact(made, tcc_artefact_free);
  CHECK(Content(made) == Compiled(model).Bytes());
  REQUIRE(tcc_artefact_save(made, (folder / "add.tcc").c_str(), nullptr) == TCC_OK);
  CHECK(ReadBytes(folder / "add.tcc") == Content(made));

  tcc_module* module = nullptr;
  REQUIRE(tcc_module_load_artefact(made, OptionsWith({{"threads", "1"}}).get(), &module, nullptr) ==
          TCC_OK);
  artefact.reset();
  CHECK(tcc_module_threads(module) == 1);
  Floats x{1, 2, 3, 4, 5, 6}, b{10, 20, 30, 40, 50, 60}, y{};
  const tcc_tensor inputs[] = {{nullptr, x.data(), 24, nullptr, -1, TCC_F32, 0},
                               {nullptr, b.data(), 24, nullptr, -1, TCC_F32, 0}};
  const tcc_tensor output{nullptr, y.data(), 24, nullptr, -1, TCC_F32, 0};
  CHECK(tcc_module_run(module, inputs, 2, &output, 1, nullptr) == TCC_OK);
  CHECK(y == Floats{11, 22, 33, 44, 55, 66});
  tcc_module_free(module);
}

TEST_CASE("options of compiling reach the compiler from C", "[api]") {
  CHECK(CompiledInC(FreeAddModel(), {{"dim", "N=2"}, {"dim", "M=2"}}) ==
        Compiled(FreeAddModel(), {.dims = {{"N", 2}, {"M", 2}}}).Bytes());
  CHECK(CompiledInC(FreeAddModel(), {{"shape", "x=2x3"}, {"shape", "b=2x3"}}) ==
        Compiled(FreeAddModel(), {.shapes = {{"x", {2, 3}}, {"b", {2, 3}}}}).Bytes());
  CHECK(CompiledInC(FreeAddModel(), {{"dim", "N=2..2"}, {"shape", "x=?x3"}, {"shape", "b=2x?"}}) ==
        Compiled(FreeAddModel(), {.ranges = {{"N", {.low = 2, .high = 2}}},
                                  .shapes = {{"x", {-1, 3}}, {"b", {2, -1}}}})
            .Bytes());
  CHECK(CompiledInC(FreeAddModel(), {{"at", "N=2,M=2"}, {"at", "N=5,M=5"}}) ==
        Compiled(FreeAddModel(), {.at = {{{"N", 2}, {"M", 2}}, {{"N", 5}, {"M", 5}}}}).Bytes());
  CHECK(CompiledInC(AddModel(), {{"target", "reference"}, {"threads", "1"}}) ==
        Compiled(AddModel(), {.target = "reference"}).Bytes());
  CHECK(CompiledInC(SmallNetwork("dqn"), {{"notes", "none"}}) ==
        Compiled(SmallNetwork("dqn"), {.notes = false}).Bytes());
  CHECK(CompiledInC(SmallNetwork("dqn"), {{"no-winograd", "true"}, {"numeric", "bf16"}}) ==
        Compiled(SmallNetwork("dqn"), {.numeric = "bf16", .winograd = false}).Bytes());

  TemporaryFolder folder("tcc_c_compile_test");
  fs::create_directory(folder / "schedules");
  tcc::Kernel kernel = tcc::Kernels(AddModel()).value().at(0);
  std::ofstream(folder / "schedules" + "/" + kernel.name + ".trace") << "";
  CHECK(CompiledInC(AddModel(), {{"schedule", folder / "schedules"}}) ==
        Compiled(AddModel(), {.schedules = {{kernel.name, ""}}}).Bytes());
}

TEST_CASE("an input is bound from C's memory or a file, and becomes a constant", "[api]") {
  Floats b{1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> expected = Compiled(AddModel(), {.binds = {tcc::In("b", b)}}).Bytes();
  OptionsPtr options = OptionsWith({});
  std::string name = "b";
  std::vector<int64_t> shape{2, 3};
  tcc_tensor tensor{name.data(), b.data(), 24, shape.data(), 2, TCC_F32, 0};
  auto bind = [&] {
    return Ask([&](tcc_error** error) { return tcc_options_bind(options.get(), &tensor, error); });
  };
  CHECK(bind() == Answer{TCC_OK, ""});
  CHECK(bind() == Answer{TCC_USAGE, "input 'b' is bound twice"});
  // The name and the shape were copied.
  name = "?";
  shape = {9, 9};
  ArtefactPtr artefact(nullptr, tcc_artefact_free);
  CHECK(Compile(AddModel(), options.get(), &artefact) == Answer{TCC_OK, ""});
  CHECK(Content(artefact.get()) == expected);
  tensor.name = nullptr;
  CHECK(bind() == Answer{TCC_USAGE, "a tensor to bind has no name; expected an input's"});
  tensor.name = "c";
  tensor.dtype = 99;
  CHECK(bind() == Answer{TCC_BAD_INPUT, "bound input 'c' has DType 99; expected 0 to 16"});

  TemporaryFolder folder("tcc_c_compile_test");
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  std::ofstream file(folder / "b.npy", std::ios::binary);
  file.write("\x93NUMPY\x01\x00\x76\x00", 10) << header << "\n";
  file.write(reinterpret_cast<const char*>(b.data()), sizeof(b));
  file.close();
  CHECK(CompiledInC(AddModel(), {{"bind", "b=" + (folder / "b.npy")}}) == expected);
}

TEST_CASE("a null address for what is compiled or tuned is told", "[api]") {
  const Answer null{TCC_USAGE, "expected an address to write the result to, got null"};
  const std::vector<uint8_t> model = AddModel();
  ArtefactPtr artefact(nullptr, tcc_artefact_free);
  REQUIRE(Compile(model, nullptr, &artefact).code == TCC_OK);
  const void* data = nullptr;
  uint64_t bytes = 0;
  auto told = [&](auto call) { CHECK(Ask(call) == null); };
  told([&](tcc_error** error) { return tcc_compile("m.onnx", nullptr, nullptr, error); });
  told([&](tcc_error** error) {
    return tcc_compile_bytes(model.data(), model.size(), nullptr, nullptr, error);
  });
  told([&](tcc_error** error) { return tcc_tune("m.onnx", nullptr, nullptr, error); });
  told([&](tcc_error** error) {
    return tcc_tune_bytes(model.data(), model.size(), nullptr, nullptr, error);
  });
  told([&](tcc_error** error) {
    return tcc_module_load_artefact(artefact.get(), nullptr, nullptr, error);
  });
  told([&](tcc_error** error) {
    return tcc_artefact_bytes(artefact.get(), nullptr, &bytes, error);
  });
  told(
      [&](tcc_error** error) { return tcc_artefact_bytes(artefact.get(), &data, nullptr, error); });
}

TEST_CASE("messages in C name options by their keys", "[api]") {
  auto refused = [](const std::vector<uint8_t>& model, const Settings& settings, tcc_code code,
                    const std::string& what) {
    Answer answer = Compile(model, OptionsWith(settings).get());
    CHECK(answer.code == code);
    CHECK_THAT(answer.message, Contains(what) && !Contains("::") && !Contains("--"));
  };
  refused(AddModel(), {{"dim", "K=1"}}, TCC_USAGE, "no dimension is named 'K'");
  refused(FreeAddModel(), {{"at", "K=1"}}, TCC_USAGE, "no dimension is named 'K'; there are M, N");
  refused(AddModel(), {{"target", "vax"}}, TCC_USAGE, "'vax'");
  refused(AddModel(), {{"numeric", "fp3"}}, TCC_USAGE, "'fp3'");
  refused(FreeAddModel(), {{"dim", "N=5..3"}}, TCC_USAGE,
          "dimension 'N' has the range 5..3; expected LEAST..GREATEST within 0..16777216 "
          "(option dim)");
  refused({1, 2, 3}, {}, TCC_BAD_INPUT, "");
  Answer answer = Ask([&](tcc_error** error) {
    tcc_artefact* artefact = nullptr;
    return tcc_compile(nullptr, nullptr, &artefact, error);
  });
  CHECK(answer == Answer{TCC_USAGE, "expected a path, got null"});
  CHECK(Ask([&](tcc_error** error) {
          return tcc_options_bind(OptionsWith({}).get(), nullptr, error);
        }) == Answer{TCC_USAGE, "expected a tensor to bind, got null"});

  OptionsPtr options = OptionsWith({{"dim", "N=1"}});
  CHECK(Set(options.get(), "dim", "N=2") == Answer{TCC_USAGE, "dim: 'N' is given twice"});
  CHECK(Set(options.get(), "dim", "N") == Answer{TCC_USAGE, "dim: expected name=value, got 'N'"});
  CHECK(Set(options.get(), "dim", "M=1..b") ==
        Answer{TCC_USAGE,
               "dim: expected a whole number, or a range as 1..32 or 1..32:8, got '1..b'"});
  CHECK(Set(options.get(), "shape", "x=1xb") ==
        Answer{TCC_USAGE, "shape: expected a whole number, got 'b'"});
  CHECK(Set(options.get(), "bind", "x=/nowhere.npy").code == TCC_BAD_INPUT);
  CHECK(Set(options.get(), "schedule", "/nowhere").code == TCC_BAD_INPUT);
  CHECK(Set(options.get(), "time-budget", "soon") ==
        Answer{TCC_USAGE, "time-budget soon: expected a time as 90s, 5m or 1h"});
  CHECK(Set(options.get(), "device", "cuda:1") == Answer{TCC_OK, ""});
}

// The options of a command in docs/cli.md, which the command line's own list is held to.
std::set<std::string> OptionsOfCommand(const std::string& command) {
  std::ifstream page("docs/cli.md");
  REQUIRE(page);
  std::set<std::string> options;
  std::string line;
  for (bool inside = false; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line == "## tcc " + command;
    std::smatch match;
    if (inside && std::regex_search(line, match, std::regex("^\\| `(?:-\\w, )?--([\\w-]+)"))) {
      options.insert(match[1]);
    }
  }
  return options;
}

TEST_CASE("options of tcc compile and tcc tune are the C API's, or make no sense there", "[api]") {
  const std::set<std::string> without = {
      "output",                      // tcc_artefact_save
      "progress",                    // tcc_options_on_progress
      "quiet",    "verbose",         // as are tcc_options_on_log's
      "run",                         // tcc_options_on_trial tells of a run
      "fleet",    "emulate",         // workers for other machines are the command line's
      "emit",     "mix",     "text"  // as are batches for them
  };
  std::set<std::string> known = OptionsOfCommand("compile");
  known.merge(OptionsOfCommand("tune"));
  REQUIRE(known.size() > 20);
  OptionsPtr options = OptionsWith({});
  for (const std::string& key : known) {
    INFO(key);
    const std::string message = Set(options.get(), key, "").message;
    CHECK((message.find("there is no option") != message.npos) == without.contains(key));
  }
  // The other way round: the list in a message is that of the table.
  std::string list = Set(options.get(), "?", "").message;
  list.erase(0, list.find("one of ") + 7);
  const std::regex key("[\\w-]+");
  for (std::sregex_iterator match(list.begin(), list.end(), key), end; match != end; ++match) {
    INFO(match->str());
    // Loading's own.
    CHECK((known.contains(match->str()) || match->str() == "map-weights"));
  }
}

struct Heard {
  std::vector<std::string> stages, lines, statuses;
  tcc_stop* stop = nullptr;  // requested at the first progress
};

TEST_CASE("a compilation tells C of its progress, and ends where C asks it to", "[api]") {
  Heard heard;
  OptionsPtr options = OptionsWith({});
  tcc_options_on_progress(
      options.get(),
      [](void* user, const char* stage, int64_t done, int64_t total) {
        auto& to = *static_cast<Heard*>(user);
        CHECK((0 <= done && done <= total));
        to.stages.emplace_back(stage);
        if (to.stop != nullptr) tcc_stop_request(to.stop);
      },
      &heard);
  tcc_options_on_log(
      options.get(),
      [](void* user, int32_t warning, const char* message) {
        CHECK(warning == 0);
        static_cast<Heard*>(user)->lines.emplace_back(message);
      },
      &heard);
  CHECK(Compile(AddModel(), options.get()) == Answer{TCC_OK, ""});
  REQUIRE(heard.stages.size() > 1);
  CHECK(heard.stages.front() == "import");
  REQUIRE(!heard.lines.empty());
  CHECK_THAT(heard.lines.back(), Contains("'add' for native"));

  heard = {};
  heard.stop = tcc_stop_new();
  tcc_options_stop(options.get(), heard.stop);
  CHECK(Compile(AddModel(), options.get()).code == TCC_CANCELLED);
  CHECK(heard.stages == std::vector<std::string>{"import"});
  // Without them nothing is told, and nothing stops.
  tcc_options_stop(options.get(), nullptr);
  tcc_options_on_progress(options.get(), nullptr, nullptr);
  tcc_options_on_log(options.get(), nullptr, nullptr);
  tcc_stop_free(std::exchange(heard.stop, nullptr));
  CHECK(Compile(AddModel(), options.get()) == Answer{TCC_OK, ""});
  CHECK(heard.stages.size() == 1);
}

Answer Tune(const std::vector<uint8_t>& model, const tcc_options* options, tcc_tuned** tuned) {
  return Ask([&](tcc_error** error) {
    return tcc_tune_bytes(model.data(), model.size(), options, tuned, error);
  });
}

TEST_CASE("C tunes, hears of each candidate, and compiles by what was recorded", "[api][tune]") {
  TemporaryFolder folder("tcc_c_compile_test");
  const std::vector<uint8_t> model = SmallNetwork("dqn");
  OptionsPtr options =
      OptionsWith({{"db", folder / "f.db"}, {"time-budget", "1h"}, {"trials", "8"}, {"seed", "3"}});
  Heard heard;
  tcc_options_on_trial(
      options.get(),
      [](void* user, const tcc_trial* trial) {
        auto& to = *static_cast<Heard*>(user);
        to.statuses.emplace_back(trial->status);
        CHECK(trial->trials == std::ssize(to.statuses));
        CHECK(*trial->kernel != 0);
        CHECK(*trial->searcher != 0);
      },
      &heard);
  tcc_tuned* tuned = nullptr;
  REQUIRE(Tune(model, options.get(), &tuned) == Answer{TCC_OK, ""});
  CHECK(heard.statuses.size() == 8);
  CHECK(tcc_tuned_trials(tuned, nullptr) == 8);
  CHECK(tcc_tuned_trials(tuned, "ok") == std::ranges::count(heard.statuses, "ok"));
  CHECK(tcc_tuned_trials(tuned, "merry") == 0);
  REQUIRE(tcc_tuned_count(tuned) > 2);
  CHECK(tcc_tuned_at(tuned, tcc_tuned_count(tuned)) == nullptr);
  int64_t trials = 0;
  for (uint32_t i = 0; i < tcc_tuned_count(tuned); ++i) {
    const tcc_tuned_kernel& kernel = *tcc_tuned_at(tuned, i);
    INFO(kernel.name << ": " << kernel.problem);
    CHECK(kernel.runs >= 1);
    CHECK(kernel.constructed_seconds > 0);
    CHECK(kernel.best_seconds > 0);
    CHECK(*kernel.best_searcher != 0);
    CHECK(*kernel.problem == 0);
    trials += kernel.trials;
  }
  CHECK(trials == 8);
  double constructed = -1, best = -1;
  tcc_tuned_model(tuned, &constructed, &best);
  CHECK((constructed > 0) == (best > 0));
  tcc_tuned_free(tuned);
  CHECK(CompiledInC(model, {{"db", folder / "f.db"}}) ==
        Compiled(model, {.database = folder / "f.db"}).Bytes());
}

TEST_CASE("tuning that cannot begin is refused in C by the option's key", "[api][tune]") {
  TemporaryFolder folder("tcc_c_compile_test");
  auto refused = [&](Settings settings, tcc_code code, const std::string& what) {
    tcc_tuned* tuned = nullptr;
    Answer answer = Tune(AddModel(), OptionsWith(settings).get(), &tuned);
    CHECK(tuned == nullptr);
    CHECK(answer.code == code);
    CHECK_THAT(answer.message, Contains(what) && !Contains("::") && !Contains("--"));
  };
  const std::pair<const char*, std::string> db{"db", folder / "f.db"}, trials{"trials", "4"};
  refused({trials}, TCC_USAGE, "(option db)");
  refused({db}, TCC_USAGE, "(option time-budget, option trials)");
  refused({db, trials, {"searcher", "oracle"}}, TCC_USAGE, "(option searcher)");
  refused({db, trials, {"policy", "abacus"}}, TCC_USAGE, "there is no policy 'abacus'");
  refused({db, trials, {"cost-model", "/nowhere"}}, TCC_BAD_INPUT, "/nowhere");
  refused({db, trials, {"worker", "false"}}, TCC_MISSING, "false");
  refused({db, trials, {"target", "sm_86"}}, TCC_MISSING, "'sm_86' cannot be measured");
}

}  // namespace
