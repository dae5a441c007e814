#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

// Only command_line.cc includes CLI11, which takes seconds to compile.
namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class Option;
}  // namespace CLI

namespace tcc {

// An option, a flag or a positional argument of a command. It is valid as long as a CommandLine of
// the program is. Every setter returns the option again.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption Required();
  CommandOption Excludes(CommandOption other);

  CommandOption Description(const std::string& text);
  // Names the value in the help: "FILE".
  CommandOption TypeName(const std::string& name);
  // Shows the variable's present value as the default.
  CommandOption ShowDefault();
  // Leaves the option out of the help.
  CommandOption Hide();
  // Lets a positional argument of several values take all that are left.
  CommandOption TakesSeveral();

  // Refuse other values when they are parsed. The help does not tell the limits.
  CommandOption InRange(int min, int max);
  CommandOption OneOf(const std::vector<std::string>& values);
  CommandOption NotNegative();

  // Returns whether the parsed arguments hold the option.
  bool given() const;

 private:
  CLI::Option* option_;
};

// The texts in the help on one option.
struct OptionHelp {
  std::string names;      // "-o,--output"; "" for a positional argument
  std::string type_name;  // "FILE"; "" for a flag
  std::string description;
  std::string default_value;
  bool required = false;
  bool several = false;  // a positional argument that takes all that are left
};

// A program or one of its commands, with options and further commands. A copy refers to the same
// command. The variables of options must outlive Parse, which sets them.
class CommandLine {
 public:
  // Makes a program.
  CommandLine(const std::string& name, const std::string& description);

  CommandLine AddCommand(const std::string& name, const std::string& description);
  // Refuses arguments that do not name exactly one of the added commands.
  void RequireOneCommand();
  // Sets the text below the help.
  void Footer(const std::string& text);
  std::string footer() const;

  // Adds an option, "-o,--output", or a positional argument, "model". Named options refuse ''.
  CommandOption AddOption(const std::string& names, std::string& value,
                          const std::string& description = "");
  CommandOption AddOption(const std::string& names, int& value, const std::string& description);
  CommandOption AddOption(const std::string& names, double& value, const std::string& description);
  // Refuses -1, which CLI11 takes for 2^64 - 1.
  CommandOption AddOption(const std::string& names, uint64_t& value,
                          const std::string& description);
  // Appends one value each time that the option is given.
  CommandOption AddOption(const std::string& names, std::vector<std::string>& values,
                          const std::string& description);
  CommandOption AddFlag(const std::string& names, bool& value, const std::string& description = "");
  // Returns an option that has been added.
  CommandOption Find(const std::string& name);

  enum class Request { kCommand, kHelp };

  // Sets the variables of the options that are given. Returns kHelp for arguments with --help,
  // which leave variables unset. FailedPrecondition: the message says what is wrong with the
  // arguments.
  StatusOr<Request> Parse(int argc, char** argv);

  // Returns whether the parsed arguments name this command.
  bool given() const;
  // Returns the names of the commands in the parsed arguments, in their order.
  std::vector<std::string> GivenCommands() const;

  std::string name() const;
  std::string description() const;
  // Returns the help on the command that the parsed arguments name, or on this one.
  std::string Help() const;
  // Returns the options in the order of their declaration, without --help and hidden ones.
  std::vector<OptionHelp> Options() const;
  std::vector<CommandLine> Commands() const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

  // The program owns its commands: they share its ownership.
  std::shared_ptr<CLI::App> app_;
};

}  // namespace tcc
