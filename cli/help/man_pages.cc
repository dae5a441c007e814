#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/exit_code.h"
#include "cli/help/option_text.h"
#include "support/file.h"
#include "support/version.h"

namespace tcc {
namespace {

// Characters that troff takes for an escape or turns into typography; a line may break after '|'.
constexpr std::pair<char, const char*> kEscapes[] = {
    {'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
    {'~', "\\(ti"}, {'^', "\\(ha"}, {'|', "|\\:"}};

// Returns the text as troff shows it; a line that begins with a period would be a request.
std::string Roff(std::string_view text) {
  std::string result = text.starts_with('.') ? "\\&" : "";
  for (char c : text) {
    auto escape = std::ranges::find(kEscapes, c, &std::pair<char, const char*>::first);
    if (escape != std::end(kEscapes)) {
      result += escape->second;
    } else {
      result += c;
    }
  }
  return result;
}

std::string Bold(std::string_view text) {
  return "\\fB" + Roff(text) + "\\fR";
}

std::string Italic(std::string_view text) {
  return "\\fI" + Roff(text) + "\\fR";
}

std::string Item(const std::string& term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, Roff(text));
}

std::string Heading(const std::string& page, std::string_view summary) {
  std::string upper = page;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"tcc {}\" \"tcc\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n", upper,
                     kVersion, Roff(page), Roff(summary));
}

// "tcc compile [options] M.onnx": required options and what may be left out, in brackets.
std::string Synopsis(const CommandLine& command, const std::string& title) {
  std::string named, positional;
  bool any_optional = false;
  for (const OptionHelp& option : command.Options()) {
    if (option.names.empty()) {
      std::string name = Italic(option.type_name) + (option.several ? "..." : "");
      positional += option.required ? " " + name : " [" + name + "]";
    } else if (option.required) {
      named += " " + Bold(option.names.substr(0, option.names.find(','))) + " " +
               Italic(option.type_name);
    } else {
      any_optional = true;
    }
  }
  if (any_optional) named += " [" + Italic("options") + "]";
  return Bold(title) + named + positional + "\n";
}

std::string OptionItems(const CommandLine& command) {
  std::string text;
  for (const OptionHelp& option : command.Options()) {
    std::string term;
    for (std::string_view rest = option.names; !rest.empty();) {
      size_t comma = std::min(rest.find(','), rest.size());
      term += (term.empty() ? "" : ", ") + Bold(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (!term.empty() && !option.type_name.empty()) term += " ";
    term += option.type_name.empty() ? "" : Italic(option.type_name);
    text += Item(term, OptionMeaning(option) + ".");
  }
  return text;
}

// A command that can be given: one with inner commands needs one of them.
struct Leaf {
  std::string title;  // "tcc zoo export"
  CommandLine command;
};

void AddLeaves(const CommandLine& command, const std::string& title, std::vector<Leaf>& leaves) {
  std::vector<CommandLine> inner = command.Commands();
  if (inner.empty() || !command.Options().empty()) leaves.push_back({title, command});
  for (const CommandLine& next : inner) AddLeaves(next, title + " " + next.name(), leaves);
}

std::string CommandPage(const CommandLine& command) {
  std::vector<Leaf> leaves;
  AddLeaves(command, "tcc " + command.name(), leaves);
  std::string text = Heading("tcc-" + command.name(), command.description()) + ".SH SYNOPSIS\n";
  for (const Leaf& leaf : leaves) {
    text += (&leaf == leaves.data() ? "" : ".br\n") + Synopsis(leaf.command, leaf.title);
  }
  text += fmt::format(".SH DESCRIPTION\n{}.\n", Roff(command.description()));
  for (const Leaf& leaf : leaves) {
    std::string items = OptionItems(leaf.command);
    if (leaves.size() == 1) {
      text += items.empty() ? "" : ".SH OPTIONS\n" + items;
    } else {
      text +=
          fmt::format(".SS {}\n{}.\n", Roff(leaf.title), Roff(leaf.command.description())) + items;
    }
  }
  return text + ".SH SEE ALSO\n" + Bold("tcc") + "(1), for exit codes and " + Bold("--errors") +
         "\n";
}

std::string ProgramPage(const CommandLine& program) {
  std::string text = Heading("tcc", "compiler for neural networks");
  text += fmt::format(".SH SYNOPSIS\n{} {} [{}]\n", Bold("tcc"), Italic("command"),
                      Italic("arguments"));
  text += ".SH DESCRIPTION\n";
  text += Roff(
      "An ONNX model goes in, one file comes out that runs by itself on a CPU or a GPU. Data goes "
      "to standard output, messages to standard error; a file that is written appears whole or not "
      "at all.");
  text += "\n.SH COMMANDS\n";
  for (const CommandLine& command : program.Commands()) {
    text += Item(Bold("tcc-" + command.name()) + "(1)", command.description() + ".");
  }
  text += ".SH OPTIONS\n" + OptionItems(program) + ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : ExitCodes()) {
    text += Item(Bold(std::to_string(row.code)), std::string(row.meaning) + ".");
  }
  return text + ".SH EXAMPLES\n.nf\n" + Roff(program.footer()) + "\n.fi\n";
}

}  // namespace

Status WriteManPages(const CommandLine& program, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidInput("cannot make folder '{}': {}", folder, error.message());
  TCC_RETURN_IF_ERROR(WriteFileAtomically(folder + "/tcc.1", ProgramPage(program)));
  for (const CommandLine& command : program.Commands()) {
    std::string path = fmt::format("{}/tcc-{}.1", folder, command.name());
    TCC_RETURN_IF_ERROR(WriteFileAtomically(path, CommandPage(command)));
  }
  return OkStatus();
}

}  // namespace tcc
