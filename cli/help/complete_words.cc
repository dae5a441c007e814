#include "cli/help.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace tcc {
namespace {

// The names of types that stand for a file or folder without a suffix.
constexpr std::array<std::string_view, 6> kAnyFile = {"FILE",  "IN",    "OUT",
                                                      "OTHER", "BATCH", "MODEL"};
constexpr std::array<std::string_view, 2> kFolder = {"DIR", "RUN"};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Line(std::string_view word, std::string_view description = "") {
  return fmt::format("word\t{}{}{}\n", word, description.empty() ? "" : "\t", description);
}

// Returns what the name of the type says of the values: "auto|none" lists them, "M.onnx" and
// "name=x.npy|all.npz" are files, "N=1|N=1..32" are examples; "v8.2" is a value.
std::string ValueLines(std::string_view type, std::string_view typed, const std::string& before) {
  if (std::ranges::count(kAnyFile, type) > 0) return "files\n";
  if (std::ranges::count(kFolder, type) > 0) return "folders\n";
  std::string lines;
  std::vector<std::string_view> parts = Split(type, '|');
  for (std::string_view part : parts) {
    if (part.find("..") != part.npos) continue;
    size_t dot = part.rfind('.');
    if (dot != part.npos && !absl::ascii_isdigit(part[dot + 1])) {
      lines += fmt::format("files\t{}\n", part.substr(dot + 1));
    } else if (parts.size() > 1 && part.find('=') == part.npos && part.starts_with(typed)) {
      lines += Line(before + std::string(part));
    }
  }
  return lines;
}

bool IsNamed(const OptionHelp& option) {
  return !option.names.empty();
}

bool HasName(const OptionHelp& option, std::string_view name) {
  return IsNamed(option) && std::ranges::count(Split(option.names, ','), name) > 0;
}

// The place in the command line that the words so far lead to.
class Place {
 public:
  explicit Place(const CommandLine& program) : program_(program), command_(program) { Enter(); }

  void Take(const std::string& word) {
    if (value_of_) {
      value_of_.reset();
    } else if (only_positional_ || !word.starts_with('-') || word == "-") {
      TakeArgument(word);
    } else if (word == "--") {
      only_positional_ = true;
    } else if (const OptionHelp* option = Named(word); option && !option->type_name.empty()) {
      value_of_ = *option;
    }
  }

  std::string Completions(const std::string& typed) const {
    if (value_of_) return ValueLines(value_of_->type_name, typed, "");
    if (size_t equals = typed.find('='); typed.starts_with("--") && equals != typed.npos) {
      const OptionHelp* option = Named(typed.substr(0, equals));
      if (!option) return "";
      return ValueLines(option->type_name, std::string_view(typed).substr(equals + 1),
                        typed.substr(0, equals + 1));
    }
    if (typed.starts_with('-') && !only_positional_) return OptionLines(typed);
    std::string lines;
    for (const CommandLine& inner : command_.Commands()) {
      if (inner.name().starts_with(typed)) lines += Line(inner.name(), inner.description());
    }
    if (const OptionHelp* option = Positional()) lines += ValueLines(option->type_name, typed, "");
    return lines.empty() && typed.empty() ? OptionLines(typed) : lines;
  }

 private:
  // Reads the options of the command, and those that every command takes, as --errors.
  void Enter() {
    options_ = command_.Options();
    positional_ = 0;
    if (command_.name() == program_.name()) return;
    for (OptionHelp& option : program_.Options()) {
      if (!option.type_name.empty()) options_.push_back(std::move(option));
    }
  }

  void TakeArgument(const std::string& word) {
    for (CommandLine& inner : command_.Commands()) {
      if (only_positional_ || inner.name() != word) continue;
      command_ = inner;
      return Enter();
    }
    ++positional_;
  }

  const OptionHelp* Named(std::string_view name) const {
    auto found = std::ranges::find_if(
        options_, [&](const OptionHelp& option) { return HasName(option, name); });
    return found == options_.end() ? nullptr : &*found;
  }

  // Returns the positional argument that comes next.
  const OptionHelp* Positional() const {
    size_t left = positional_;
    for (const OptionHelp& option : options_) {
      if (IsNamed(option)) continue;
      if (left == 0 || option.several) return &option;
      --left;
    }
    return nullptr;
  }

  std::string OptionLines(const std::string& typed) const {
    std::string lines;
    for (const OptionHelp& option : options_) {
      if (!IsNamed(option)) continue;
      for (std::string_view name : Split(option.names, ',')) {
        if (name.starts_with(typed)) lines += Line(name, option.description);
      }
    }
    if (std::string_view("--help").starts_with(typed)) lines += Line("--help", "Print the help");
    return lines;
  }

  const CommandLine& program_;
  CommandLine command_;
  std::vector<OptionHelp> options_;
  size_t positional_ = 0;               // arguments so far that are no options
  std::optional<OptionHelp> value_of_;  // the option whose value comes next
  bool only_positional_ = false;        // after "--"
};

}  // namespace

std::string CompletionsOf(const CommandLine& program, std::span<const std::string> words) {
  if (words.empty()) return "";
  Place place(program);
  for (const std::string& word : words.first(words.size() - 1)) place.Take(word);
  return place.Completions(words.back());
}

}  // namespace tcc
