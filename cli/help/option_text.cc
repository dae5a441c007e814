#include "cli/help/option_text.h"

namespace tcc {

std::string OptionText(const OptionHelp& option) {
  std::string text = option.names;
  if (size_t comma = text.find(','); comma != text.npos) text.insert(comma + 1, " ");
  if (!text.empty() && !option.type_name.empty()) text += " ";
  return text + option.type_name;
}

std::string OptionMeaning(const OptionHelp& option) {
  std::string text = option.description;
  if (option.required) text += "; required";
  if (!option.default_value.empty()) text += "; default " + option.default_value;
  return text;
}

}  // namespace tcc
