#include "tests/fuzz/cuda_mistakes.h"

#include <functional>
#include <regex>
#include <string_view>
#include <vector>

namespace tcc {
namespace {

using Match = std::smatch;

// Writes one of the matches of `pattern` otherwise.
std::optional<std::string> Rewrite(const std::string& text, const char* pattern, uint64_t which,
                                   const std::function<std::string(const Match&)>& otherwise) {
  const std::regex regex(pattern);
  std::vector<Match> matches(std::sregex_iterator(text.begin(), text.end(), regex),
                             std::sregex_iterator());
  if (matches.empty()) return std::nullopt;
  const Match& match = matches[which % matches.size()];
  return text.substr(0, match.position()) + otherwise(match) +
         text.substr(match.position() + match.length());
}

std::string Nothing(const Match&) {
  return "";
}

int64_t Number(const Match& match, size_t group) {
  return std::stoll(match[group].str());
}

using Text = const std::string&;

constexpr std::string_view kWait = "tcc_wait_for_launch_before();";

// Moves a kernel's wait behind its first statement that mentions an input.
std::optional<std::string> WaitAfterLoad(const std::string& text, uint64_t which) {
  const std::regex kernel(R"(KERNEL\(\w+, \d+\)\(TCC_INPUT\([^,]*, (\w+)\)[^{]*\{)"
                          R"([^}]*tcc_wait_for_launch_before\(\);)");
  std::vector<Match> matches(std::sregex_iterator(text.begin(), text.end(), kernel),
                             std::sregex_iterator());
  if (matches.empty()) return std::nullopt;
  const Match& match = matches[which % matches.size()];
  const std::string before = text.substr(0, match.position() + match.length() - kWait.size());
  const std::string after = match.suffix();
  const std::regex load("[^;\n]*\\b" + match[1].str() + "\\b[^;\n]*;");
  Match statement;
  if (!std::regex_search(after, statement, load)) return std::nullopt;
  const auto end = static_cast<size_t>(statement.position() + statement.length());
  return before + after.substr(0, end) + " " + std::string(kWait) + after.substr(end);
}

// The last closing parenthesis or bracket is outside of what [^;] takes greedily.
constexpr CudaMistake kMistakes[] = {
    {"CUDA: a barrier is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_barrier\(\);)", which, Nothing);
     }},
    {"CUDA: a wait is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_async_wait<\d+>\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kCopies},
    {"CUDA: a wait leaves one group more",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_async_wait<(\d+)>)", which, [](const Match& match) {
         return "tcc_async_wait<" + std::to_string(Number(match, 1) + 1) + ">";
       });
     },
     CudaMistake::Needs::kCopies},
    {"CUDA: a kernel does not wait for the launch before",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_wait_for_launch_before\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kDependentLaunches},
    {"CUDA: a kernel waits for the launch before after a load", WaitAfterLoad,
     CudaMistake::Needs::kDependentLaunches},
    {"CUDA: a commit is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_async_commit\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kCopies},
    {"CUDA: a copy goes one element further",
     [](Text text, uint64_t which) {
       return Rewrite(
           text, R"((tcc_async_copy<\d+>\((?:[^;,]*,){3}[^;,]*)(,[^;]*)?\);)", which,
           [](const Match& match) { return match[1].str() + " + 1" + match[2].str() + ");"; });
     },
     CudaMistake::Needs::kCopies},
    {"CUDA: a guard is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(\bif \([^{]*\) \{)", which,
                      [](const Match&) { return std::string("if (true) {"); });
     }},
    {"CUDA: a guard lets one more pass",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((\bif \([^{]* < )(\d+)\) \{)", which, [](const Match& match) {
         return match[1].str() + std::to_string(Number(match, 2) + 1) + ") {";
       });
     }},
    {"CUDA: a loop is one short",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((\bfor \(int \w+ = 0; \w+ < )(\d+);)", which,
                      [](const Match& match) {
                        return match[1].str() + std::to_string(Number(match, 2) - 1) + ";";
                      });
     }},
    {"CUDA: a store is one element off",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(\n( *\w+\[[^;\]]*)(\] = ))", which, [](const Match& match) {
         return "\n" + match[1].str() + " + 1" + match[2].str();
       });
     }},
    {"CUDA: a load is one element off",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(( = [^;]*\w+\[[^;\]]*)(\]))", which,
                      [](const Match& match) { return match[1].str() + " + 1" + match[2].str(); });
     }},
    {"CUDA: a vector is loaded one element off",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_load_vector<[248]+>\([^;]*)\);)", which,
                      [](const Match& match) { return match[1].str() + " + 1);"; });
     }},
    {"CUDA: a vector is stored one element off",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_store_vector\(\w+, )([^;]*, \w+\);))", which,
                      [](const Match& match) { return match[1].str() + "1 + " + match[2].str(); });
     }},
    {"CUDA: two threads have one index",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(= tcc_thread_([xyz])\(\);)", which, [](const Match& match) {
         return "= tcc_thread_" + match[1].str() + "() / 2;";
       });
     }},
    {"CUDA: two blocks have one index",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(= tcc_block_([xyz])\(\);)", which, [](const Match& match) {
         return "= tcc_block_" + match[1].str() + "() / 2;";
       });
     }},
    {"CUDA: shared memory is one element short",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((TCC_SHARED\([^;]*, )(\d+)\);)", which, [](const Match& match) {
         return match[1].str() + std::to_string(std::max<int64_t>(Number(match, 2) - 1, 1)) + ");";
       });
     }},
    {"CUDA: a thread's own memory is one element short",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((TCC_LOCAL\([^;]*, )(\d+)\);)", which, [](const Match& match) {
         return match[1].str() + std::to_string(std::max<int64_t>(Number(match, 2) - 1, 1)) + ");";
       });
     }},
    {"CUDA: a product takes the fragment of another tile",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_mma_\w+\(\w+\[)(\d+)\])", which, [](const Match& match) {
         return match[1].str() + std::to_string(Number(match, 2) ^ 1) + "]";
       });
     },
     CudaMistake::Needs::kFragments},
    {"CUDA: a fragment is shifted by a chunk",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_load_matrix\w*<\d>\(\w+, ))", which,
                      [](const Match& match) { return match[1].str() + "8 + "; });
     },
     CudaMistake::Needs::kFragments},
    {"CUDA: a fragment is of the next row",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(= tcc_thread_x\(\);)", which,
                      [](const Match&) { return std::string("= tcc_thread_x() ^ 1;"); });
     },
     CudaMistake::Needs::kFragments},
    {"CUDA: a fence between copies and products of four warps is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_proxy_fence\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: a fence of four warps is missing",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_group_fence\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: products of four warps are not committed",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_group_commit\(\);)", which, Nothing);
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: products of four warps are not waited for",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_group_wait<0>\([^;]*\);)", which, Nothing);
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: products of four warps lag a step more",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_group_wait<(\d+)>)", which, [](const Match& match) {
         return "tcc_group_wait<" + std::to_string(Number(match, 1) + 1) + ">";
       });
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: a descriptor has another swizzle",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_matrix<(\d),)", which, [](const Match& match) {
         return "tcc_matrix<" + std::to_string(Number(match, 1) % 3 + 1) + ",";
       });
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: a descriptor has its strides exchanged",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_matrix<(\d), (\d+), (\d+)>)", which, [](const Match& match) {
         return "tcc_matrix<" + match[1].str() + ", " + match[3].str() + ", " + match[2].str() +
                ">";
       });
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: an operand of four warps is transposed",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_group_mma_b?f16<\d+, )(true|false))", which,
                      [](const Match& match) {
                        return match[1].str() + (match[2] == "true" ? "false" : "true");
                      });
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: four warps multiply the rows of others",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_matrix<\d, \d+, \d+>\(\w+, ))", which,
                      [](const Match& match) { return match[1].str() + "512 + "; });
     },
     CudaMistake::Needs::kGroups},
    {"CUDA: a fence of a ticket is missing",
     [](Text text, uint64_t which) { return Rewrite(text, R"(tcc_fence\(\);)", which, Nothing); },
     CudaMistake::Needs::kTickets},
    {"CUDA: a ticket is not reset",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(tcc_reset_ticket\([^;]*\);)", which, Nothing);
     },
     CudaMistake::Needs::kTickets},
    {"CUDA: tickets count a block less",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"((tcc_is_last\(\w+, tcc_block_x\(\), )(\d+)\))", which,
                      [](const Match& match) {
                        return match[1].str() + std::to_string(Number(match, 2) - 1) + ")";
                      });
     },
     CudaMistake::Needs::kTickets},
    {"CUDA: an accumulator is not set",
     [](Text text, uint64_t which) {
       return Rewrite(text, R"(\n *\w+\[[^;\]]*\] = 0\.0f?;)", which, Nothing);
     }},
};

}  // namespace

std::span<const CudaMistake> CudaMistakes() {
  return kMistakes;
}

}  // namespace tcc
