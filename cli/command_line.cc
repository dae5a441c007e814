#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace tcc {
namespace {

// CLI11 takes -1 for 2^64 - 1.
std::string RefuseWrapped(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end) return "";
  return "expected a whole number from 0 to 18446744073709551615, got '" + text + "'";
}

// CLI11's own check names its bound, the largest double, in 309 digits.
std::string RefuseNegative(const std::string& text) {
  double value = 0;
  bool valid = CLI::detail::lexical_cast(text, value) && value >= 0;
  return valid ? "" : "expected a number of at least 0, got '" + text + "'";
}

// A named option without a value would pass for one that was not given.
std::string RefuseEmpty(const std::string& text) {
  return text.empty() ? "expected a value, got ''" : "";
}

// The group of hidden options. CLI11's own, "", would leave their names out of messages, too.
constexpr const char* kHidden = "hidden";

// The help without the hidden options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kHidden) return "";
    return Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
};

bool IsNamed(const std::string& names) {
  return names.starts_with('-');
}

}  // namespace

CommandOption CommandOption::Required() {
  option_->required();
  return *this;
}

CommandOption CommandOption::Excludes(CommandOption other) {
  option_->excludes(other.option_);
  return *this;
}

CommandOption CommandOption::Description(const std::string& text) {
  option_->description(text);
  return *this;
}

CommandOption CommandOption::TypeName(const std::string& name) {
  option_->type_name(name);
  return *this;
}

CommandOption CommandOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

CommandOption CommandOption::Hide() {
  option_->group(kHidden);
  return *this;
}

CommandOption CommandOption::TakesSeveral() {
  option_->allow_extra_args();
  return *this;
}

// The help would show a check's description behind the name of the type.
CommandOption CommandOption::InRange(int min, int max) {
  option_->check(CLI::Range(min, max).description(""));
  return *this;
}

CommandOption CommandOption::OneOf(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values).description(""));
  return *this;
}

CommandOption CommandOption::NotNegative() {
  option_->check(RefuseNegative);
  return *this;
}

bool CommandOption::given() const {
  return option_->count() > 0;
}

CommandLine::CommandLine(const std::string& name, const std::string& description)
    : app_(std::make_shared<CLI::App>(description, name)) {
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandLine CommandLine::AddCommand(const std::string& name, const std::string& description) {
  return CommandLine(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, description)));
}

void CommandLine::RequireOneCommand() {
  app_->require_subcommand(1);
}

void CommandLine::Footer(const std::string& text) {
  app_->footer(text);
}

std::string CommandLine::footer() const {
  return app_->get_footer();
}

CommandOption CommandLine::AddOption(const std::string& names, std::string& value,
                                     const std::string& description) {
  CLI::Option* option = app_->add_option(names, value, description);
  if (IsNamed(names)) option->check(RefuseEmpty);
  return CommandOption(option);
}

CommandOption CommandLine::AddOption(const std::string& names, int& value,
                                     const std::string& description) {
  return CommandOption(app_->add_option(names, value, description));
}

CommandOption CommandLine::AddOption(const std::string& names, double& value,
                                     const std::string& description) {
  return CommandOption(app_->add_option(names, value, description));
}

CommandOption CommandLine::AddOption(const std::string& names, uint64_t& value,
                                     const std::string& description) {
  return CommandOption(app_->add_option(names, value, description)->check(RefuseWrapped));
}

CommandOption CommandLine::AddOption(const std::string& names, std::vector<std::string>& values,
                                     const std::string& description) {
  CLI::Option* option = app_->add_option(names, values, description)->allow_extra_args(false);
  if (IsNamed(names)) option->check(RefuseEmpty);
  return CommandOption(option);
}

CommandOption CommandLine::AddFlag(const std::string& names, bool& value,
                                   const std::string& description) {
  return CommandOption(app_->add_flag(names, value, description));
}

CommandOption CommandLine::Find(const std::string& name) {
  return CommandOption(app_->get_option(name));
}

// CLI11 reports by exceptions, which end here.
StatusOr<CommandLine::Request> CommandLine::Parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return Request::kHelp;
    return absl::FailedPreconditionError(error.what());
  }
  return Request::kCommand;
}

bool CommandLine::given() const {
  return app_->parsed();
}

std::vector<std::string> CommandLine::GivenCommands() const {
  std::vector<std::string> names;
  for (const CLI::App* app : app_->get_subcommands()) names.push_back(app->get_name());
  return names;
}

std::string CommandLine::name() const {
  return app_->get_name();
}

std::string CommandLine::description() const {
  return app_->get_description();
}

std::string CommandLine::Help() const {
  return app_->help();
}

std::vector<OptionHelp> CommandLine::Options() const {
  std::vector<OptionHelp> options;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->get_group() == kHidden || option->get_name() == "--help") continue;
    options.push_back({.names = option->get_positional() ? "" : option->get_name(false, true),
                       .type_name = option->get_type_name(),
                       .description = option->get_description(),
                       .default_value = option->get_default_str(),
                       .required = option->get_required(),
                       .several = option->get_positional() && option->get_allow_extra_args()});
  }
  return options;
}

std::vector<CommandLine> CommandLine::Commands() const {
  std::vector<CommandLine> commands;
  for (CLI::App* app : app_->get_subcommands({})) {
    commands.push_back(CommandLine(std::shared_ptr<CLI::App>(app_, app)));
  }
  return commands;
}

}  // namespace tcc
