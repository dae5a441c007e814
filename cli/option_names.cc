#include "cli/option_names.h"

#include "support/wanted_option.h"

namespace tcc {
namespace {

// "--bind k=FILE.npy"; without a key only the option.
std::string TextOf(const WantedOption& wanted) {
  const std::string& key = wanted.key;
  switch (wanted.option) {
    case Option::kDims:
      return key.empty() ? "--dim" : "--dim " + key + "=SIZE";
    case Option::kShapes:
      return key.empty() ? "--shape" : "--shape " + key + "=SIZExSIZE...";
    case Option::kBinds:
      return key.empty() ? "--bind" : "--bind " + key + "=FILE.npy";
    case Option::kTarget:
      return key.empty() ? "--target" : "--target " + key;
  }
  return "";
}

}  // namespace

std::string MessageWithOptions(const Status& status) {
  std::string options;
  for (const WantedOption& wanted : WantedOptions(status)) {
    options += (options.empty() ? "" : ", ") + TextOf(wanted);
  }
  return Message(status) + (options.empty() ? "" : " (" + options + ")");
}

}  // namespace tcc
