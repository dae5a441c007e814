#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

// Tokens of the text form (docs/text_format.md), and how names and strings are spelled in it.
namespace tcc {

enum class TokenKind : uint8_t {
  kName,     // mm, threadIdx.x, conv1.weight; keywords too
  kQuoted,   // "any text": a name that is never a keyword, or a string
  kInteger,  // digits
  kFloat,    // digits with a point or an exponent
  kKey,      // @mm/k.1.0 or @"any text"
  kPunct,    // operators and brackets
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // quoted text without its quotes and escapes, keys without the @
  int line = 1;
  int column = 1;  // in bytes, from 1
};

// All tokens of `text`, kEnd last. `//` starts a comment up to the end of the line. Fails with line
// and column on a character that starts no token, an unclosed string or an unknown escape.
StatusOr<std::vector<Token>> Lex(std::string_view text);

// "line 3, column 14: "
std::string Position(const Token& token);
// The token for an error message: 'for', the string "x", end of text.
std::string Describe(const Token& token);

bool IsKeyword(std::string_view word);
// The name itself where it can stand as a kName token that is no keyword, else quoted.
std::string SpellName(std::string_view name);
// In double quotes, with ", \, control characters escaped. Bytes above 127 stay as they are.
std::string Quote(std::string_view text);
// "@mm/k.1.0", quoted where it holds other characters.
std::string SpellKey(std::string_view key);

}  // namespace tcc
