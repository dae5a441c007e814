#include "support/printable.h"

#include <catch2/catch.hpp>

using namespace tcc;

TEST_CASE("a message shows bytes of a hostile file as escapes, line by line", "[support]") {
  CHECK(Printable("plain text, 'quoted'") == "plain text, 'quoted'");
  CHECK(Printable("a\x1b[31m\n\xff") == "a\\x1b[31m\\x0a\\xff");
  Status status = PrintableStatus(InvalidInput("first\x07\nsecond\x7f"));
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status) == "first\\x07\nsecond\\x7f");
  CHECK(PrintableStatus(OkStatus()).ok());
}
