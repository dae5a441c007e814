#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

// The tokens of the text form (docs/text_format.md), and the spelling of names and strings.
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

// Returns all tokens of `text`, kEnd last. `//` starts a comment up to the end of the line. Fails
// with line and column on a character that starts no token, an unclosed string or an unknown
// escape.
StatusOr<std::vector<Token>> Lex(std::string_view text);

// Returns "line 3, column 14: ".
std::string Position(const Token& token);
// Describes the token for an error message: 'for', the string "x", end of text.
std::string Describe(const Token& token);

bool IsKeyword(std::string_view word);
// Returns the name bare where it is a valid kName token and no keyword, else quoted.
std::string SpellName(std::string_view name);
// Quotes the text in double quotes and escapes ", \ and control characters. Bytes above 127 stay.
std::string Quote(std::string_view text);
// Returns "@mm/k.1.0", quoted where the key holds other characters.
std::string SpellKey(std::string_view key);

}  // namespace tcc
