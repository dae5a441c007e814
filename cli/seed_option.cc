#include "cli/seed_option.h"

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

}  // namespace

CLI::Option* AddSeedOption(CLI::App& app, const std::string& name, uint64_t& seed,
                           const std::string& description) {
  return app.add_option(name, seed, description)->check(RefuseWrapped)->capture_default_str();
}

}  // namespace tcc
