#include "cli/help_markdown.h"

#include <fmt/core.h>

namespace tcc {
namespace {

constexpr const char* kIntroduction = R"(# The command line

This page is printed by `tcc --help-markdown`; a test compares the two.

Data goes to standard output, messages to standard error; a file that is written appears whole or
not at all. A file that is replaced hands on its permissions; a symbolic link stays, and what it
leads to is replaced; of a hard link this one name gets the new content.

| exit code | meaning |
|---|---|
| 0 | all went well |
| 1 | a result is wrong |
| 2 | the command line is wrong |
| 3 | the model uses what this version does not support |
| 4 | an input is bad |
| 5 | a device or a tool is missing |
| 6 | a budget ended |
| 70 | a bug in tcc |
)";

// "|" separates a table's cells.
std::string Escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string OptionText(const CLI::Option& option) {
  std::string text;
  if (option.get_positional()) {
    text = option.get_type_name();
  } else {
    text = option.get_name(false, true);
    if (size_t comma = text.find(','); comma != text.npos) text.insert(comma + 1, " ");
    if (!option.get_type_name().empty()) text += " " + option.get_type_name();
  }
  return "`" + Escaped(text) + "`";
}

std::string Meaning(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += "; required";
  if (!option.get_default_str().empty()) text += "; default " + option.get_default_str();
  return Escaped(text);
}

std::string CommandText(const CLI::App& command, const std::string& title) {
  std::string text = fmt::format("\n## {}\n\n{}.\n", title, command.get_description());
  std::string rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty() || option->get_name() == "--help") continue;
    rows += fmt::format("| {} | {} |\n", OptionText(*option), Meaning(*option));
  }
  if (!rows.empty()) text += "\n| option | meaning |\n|---|---|\n" + rows;
  for (const CLI::App* sub : command.get_subcommands({})) {
    text += CommandText(*sub, title + " " + sub->get_name());
  }
  return text;
}

}  // namespace

std::string HelpMarkdown(const CLI::App& app) {
  std::string text = kIntroduction;
  for (const CLI::App* command : app.get_subcommands({})) {
    text += CommandText(*command, "tcc " + command->get_name());
  }
  return text;
}

}  // namespace tcc
