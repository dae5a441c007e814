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

std::string OptionText(const OptionHelp& option) {
  std::string text = option.names;
  if (size_t comma = text.find(','); comma != text.npos) text.insert(comma + 1, " ");
  if (!text.empty() && !option.type_name.empty()) text += " ";
  return "`" + Escaped(text + option.type_name) + "`";
}

std::string Meaning(const OptionHelp& option) {
  std::string text = option.description;
  if (option.required) text += "; required";
  if (!option.default_value.empty()) text += "; default " + option.default_value;
  return Escaped(text);
}

std::string CommandText(const CommandLine& command, const std::string& title) {
  std::string text = fmt::format("\n## {}\n\n{}.\n", title, command.description());
  std::string rows;
  for (const OptionHelp& option : command.Options()) {
    rows += fmt::format("| {} | {} |\n", OptionText(option), Meaning(option));
  }
  if (!rows.empty()) text += "\n| option | meaning |\n|---|---|\n" + rows;
  for (const CommandLine& inner : command.Commands()) {
    text += CommandText(inner, title + " " + inner.name());
  }
  return text;
}

}  // namespace

std::string HelpMarkdown(const CommandLine& program) {
  std::string text = kIntroduction;
  for (const CommandLine& command : program.Commands()) {
    text += CommandText(command, "tcc " + command.name());
  }
  return text;
}

}  // namespace tcc
