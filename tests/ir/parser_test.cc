#include "ir/text/parser.h"

#include <catch2/catch.hpp>

#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/text/printer.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status().ToString());
  REQUIRE(fn.ok());
  return *fn;
}

// The message of the failure; empty where `text` parses.
std::string ErrorOf(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  return fn.ok() ? "" : Message(fn.status());
}

std::string ExprErrorOf(const std::string& text, const std::map<std::string, Var>& vars) {
  StatusOr<Expr> expr = ParseExpr(text, vars);
  return expr.ok() ? "" : Message(expr.status());
}

Stmt BodyOf(const std::string& text) {
  return Parsed(text).body;
}

}  // namespace

TEST_CASE("a parsed function is the one built by hand", "[ir][parser]") {
  Function got = Parsed("fn f(A: f32[7], B: f32[7]) { for i in 0..7 { B[i] = A[i] + 1 } }");

  Var a = BufferVar("A", kFloat32);
  Var b = BufferVar("B", kFloat32);
  Var i = LoopVar("i");
  Buffer a_buffer{.var = a, .shape = {7}, .window = {}, .versions = {}, .layout = {}};
  Buffer b_buffer{.var = b, .shape = {7}, .window = {}, .versions = {}, .layout = {}};
  Stmt store = MakeStmt<Store>(b, std::vector<Expr>{i},
                               Make<Load>(a, std::vector<Expr>{i}) + FloatConst(kFloat32, 1));
  Function expected;
  expected.name = "f";
  expected.level = Level::kLowered;
  expected.params = {a_buffer, b_buffer};
  expected.body = MakeStmt<For>(i, Expr(7), ForKind::kSerial, "", store);
  CHECK(AlphaEqual(got, expected));
}

TEST_CASE("without a level a function with a block is tensor, one without is lowered",
          "[ir][parser]") {
  CHECK(Parsed("fn f(A: f32[1]) { A[0] = 1 }").level == Level::kLowered);
  CHECK(Parsed("fn f(A: f32[1]) { block b() { A[0] = 1 } }").level == Level::kTensor);
  CHECK(Parsed("fn f(A: f32[1]) scheduled { A[0] = 1 }").level == Level::kScheduled);
}

TEST_CASE("operators bind and associate as usual", "[ir][parser]") {
  std::map<std::string, Var> vars;
  for (const char* name : {"a", "b", "c"}) vars[name] = LoopVar(name);
  Expr a = vars["a"], b = vars["b"], c = vars["c"];
  struct Row {
    const char* text;
    Expr expected;
  };
  const Row rows[] = {
      {"a + b * c", a + b * c},
      {"(a + b) * c", (a + b) * c},
      {"a - b - c", (a - b) - c},
      {"a - (b - c)", a - (b - c)},
      {"a div b mod c", FloorModulo(FloorDivide(a, b), c)},
      {"a < b && b <= c || !(c == a)", EitherOf(BothOf(a < b, b <= c), Make<Not>(Make<Eq>(c, a)))},
      {"a > b", b < a},
      {"a >= b", b <= a},
      {"a - -1", a - Expr(-1)},
      {"ceildiv(a, min(b, 3))", CeilDivide(a, MinOf(b, Expr(3)))},
      {"-9223372036854775808", Expr(INT64_MIN)},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    StatusOr<Expr> got = ParseExpr(row.text, vars);
    INFO(got.status().ToString());
    REQUIRE(got.ok());
    CHECK(Equal(*got, row.expected));
  }
}

TEST_CASE("a number takes the type it is used with", "[ir][parser]") {
  std::map<std::string, Var> vars;
  vars["h"] = IterationVar("h", kFloat16);
  vars["n"] = IterationVar("n", DTypeCode::kInt8);
  struct Row {
    const char* text;
    DType dtype;
  };
  const Row rows[] = {
      {"h * 2", kFloat16},
      {"2 * h", kFloat16},
      {"n + 1", DTypeCode::kInt8},
      {"1 + 2", kInt64},
      {"1 + 2.5", kFloat32},
      {"1:f64 + 2", kFloat64},
      {"inf", kFloat32},
      {"-nan:f16", kFloat16},
      {"select(1 < h, 0, h)", kFloat16},
      {"exp(1:f64)", kFloat64},
      {"max(0, h)", kFloat16},
      {"f64(1)", kFloat64},
      {"18446744073709551615:u64", DTypeCode::kUInt64},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    StatusOr<Expr> got = ParseExpr(row.text, vars);
    INFO(got.status().ToString());
    REQUIRE(got.ok());
    CHECK(ToString(got->dtype()) == ToString(row.dtype));
  }
}

TEST_CASE("a mistyped text is a message with its place, never a crash", "[ir][parser]") {
  std::map<std::string, Var> vars;
  vars["i"] = LoopVar("i");
  vars["x"] = IterationVar("x", kFloat32);
  vars["p"] = IterationVar("p", kBool);
  vars["A"] = BufferVar("A", kFloat32);
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"i + x", "line 1, column 5: expected i64, as the first operand, found a value of type f32"},
      {"x div x", "line 1, column 3: 'div' expects an integer, found a value of type f32"},
      {"i / i", "line 1, column 3: '/' expects a float, found a value of type i64"},
      {"p + p", "line 1, column 3: '+' expects a float or an integer, found a value of type bool"},
      {"i && i", "line 1, column 3: '&&' expects bool, found a value of type i64"},
      {"!i", "line 1, column 1: '!' expects bool, found a value of type i64"},
      {"y", "line 1, column 1: 'y' is not defined"},
      {"A + x",
       "line 1, column 1: expected a value, found the buffer 'A'; its cells are written "
       "A[...]"},
      {"x[i]", "line 1, column 1: expected a buffer, found the variable 'x'"},
      {"A[x]", "line 1, column 3: expected i64, found a value of type f32"},
      {"A[1.5]", "line 1, column 3: expected a value of type i64, found 1.5"},
      {"exp(i)", "line 1, column 1: exp is not defined for i64"},
      {"frob(i)", "line 1, column 1: expected a function, found 'frob'"},
      {"300:i8", "line 1, column 1: expected a value of type i8, found 300"},
      {"-1:u64", "line 1, column 1: expected a value of type u64, found -1"},
      {"1:f8e4m3", "line 1, column 1: expected a value of type f8e4m3, found 1"},
      {"9223372036854775808",
       "line 1, column 1: expected a value of type i64, found "
       "9223372036854775808"},
      {"99999999999999999999",
       "line 1, column 1: expected a number in range, found "
       "'99999999999999999999'"},
      {"1e999", "line 1, column 1: expected a number in range, found '1e999'"},
      {"i < i < i", "line 1, column 7: expected the end of the text, found '<'"},
      {"select(i, x, x)",
       "line 1, column 8: a select between values of type f32 expects a "
       "condition of bool, found i64"},
      {"ramp(i, 1, 1)", "line 1, column 12: expected lanes from 2 to 4096, found 1"},
      {"broadcast(ramp(i, 1, 4), 2)",
       "line 1, column 1: a broadcast expects a scalar, found a value of type i64x4"},
      {"f32x4(x)", "line 1, column 1: a cast keeps the lanes; found f32x4 of a value of type f32"},
      {"i +", "line 1, column 4: expected an expression, found the end of the text"},
      {"(i", "line 1, column 3: expected ')', found the end of the text"},
      {"i\n  $", "line 2, column 3: expected a token, found \"$\""},
      {"\"abc", "line 1, column 1: expected '\"' at the end of a string"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(ExprErrorOf(row.text, vars) == row.message);
  }
}

TEST_CASE("a malformed function is a message with its place", "[ir][parser]") {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "line 1, column 1: expected 'combiner' or 'fn', found the end of the text"},
      {"fn f(A: f32[1], A: f32[1]) {}", "line 1, column 17: 'A' is defined already"},
      {"fn f(A: f33[1]) {}", "line 1, column 9: expected a type, found 'f33'"},
      {"fn f() fast {}",
       "line 1, column 8: expected 'tensor', 'scheduled', 'lowered' or '{', found 'fast'"},
      {"fn f() {", "line 1, column 9: expected '}', found the end of the text"},
      {"fn f() {} x", "line 1, column 11: expected the end of the text, found 'x'"},
      {"fn f() { x }", "line 1, column 10: expected a statement, found 'x'"},
      {"fn f(A: i8[1]) {\n  A[0] = 1.5\n}",
       "line 2, column 10: expected a value of type i8, found 1.5"},
      {"fn f() { for i in 1..4 {} }",
       "line 1, column 19: expected the start of a loop from 0 to 0, found 1"},
      {"fn f() { for i in 0..4 sideways {} }",
       "line 1, column 24: expected a kind of loop, its key or '{', found 'sideways'"},
      {"fn f() { for i in 0..4 { for i in 0..4 {} } }",
       "line 1, column 30: 'i' is defined already"},
      {"fn f() { for i in 0..4 {} let j = i }", "line 1, column 35: 'i' is not defined"},
      {"fn f() { if 3 {} }", "line 1, column 13: expected a value of type bool, found 3"},
      {"fn f() { block b(i: spatial 4 = 0, i: reduce 4 = 0) {} }",
       "line 1, column 36: 'i' is defined twice"},
      {"fn f(A: f32[1]) { reduce what (A[0]) with (1) }",
       "line 1, column 26: the combiner 'what' is not defined"},
      {"fn f(A: f32[1]) { reduce sum_f64 (A[0]) with (1) }",
       "line 1, column 35: expected a buffer of f64, found one of f32"},
      {"fn f<tile t in 4..=3>() {}",
       "line 1, column 20: expected the upper bound from 4 to 9223372036854775807, found 3"},
      {"combiner c(a: f32 = 0; b: f32) = (a)\ncombiner c(a: f32 = 0; b: f32) = (b)\nfn f() {}",
       "line 2, column 10: the combiner 'c' is defined already"},
      {"combiner c(a: f32 = 0; b: f32) = (a) direct (b by sum_f32)\n"
       "combiner sum_f32(a: f32 = 0; b: f32) = (a)\nfn f() {}",
       "line 2, column 10: the combiner 'sum_f32' is defined already"},
      {"combiner c(a: f32 = 0; b: f64) = (a)\nfn f() {}",
       "line 1, column 24: expected a parameter of type f32, found f64"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(ErrorOf(row.text) == row.message);
  }
}

TEST_CASE("deep nesting is refused before the stack ends", "[ir][parser]") {
  auto repeat = [](const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  constexpr int kDeep = 200000;
  auto refused = [](const std::string& text) {
    return ErrorOf(text).find("at most") != std::string::npos;
  };
  CHECK(refused("fn f(A: i64[1]) { A[0] = " + repeat("(", kDeep)));
  CHECK(refused("fn f(A: bool[1]) { A[0] = " + repeat("!", kDeep)));
  CHECK(refused("fn f(A: i64[1]) { A[0] = " + repeat("A[", kDeep)));
  CHECK(refused("fn f(A: i64[1]) { A[0] = " + repeat("min(1, ", kDeep)));
  CHECK(refused("fn f(A: i64[1]) { A[0] = 1" + repeat(" + 1", kDeep) + "}"));
  CHECK(refused("fn f() { " + repeat("{", kDeep)));
  CHECK(refused("fn f() { " + repeat("if true {", kDeep)));
  CHECK(refused("fn f() { " + repeat("if true {} else {", kDeep)));
  std::string lets = "fn f() { let x0 = 0 ";
  for (int i = 1; i < 5000; ++i) lets += "let x" + std::to_string(i) + " = 0 ";
  CHECK(refused(lets + "}"));
  CHECK(Parsed("fn f(A: i64[1]) { A[0] = " + repeat("(", 200) + "1" + repeat(")", 200) + "}").body);
}

TEST_CASE("a let or alloc without braces reaches to the end of its list", "[ir][parser]") {
  Stmt flat = BodyOf("fn f(A: i64[1]) { let x = 1  A[0] = x  A[0] = 2 }");
  Stmt braced = BodyOf("fn f(A: i64[1]) { let x = 1 in { A[0] = x  A[0] = 2 } }");
  REQUIRE(flat.as<Let>());
  REQUIRE(braced.as<Let>());
  CHECK(flat.as<Let>()->body.as<Seq>()->stmts.size() == 2);
  CHECK(EqualUpToNames(Parsed("fn f(A: i64[1]) { let x = 1  A[0] = x }"),
                       Parsed("fn f(A: i64[1]) { let y = 1 in { A[0] = y } }")));
  CHECK(BodyOf("fn f(A: i64[1]) { let x = 1 in { A[0] = x } A[0] = 2 }").as<Seq>());
}

TEST_CASE("a standard combiner needs no definition and a definition gives the same object",
          "[ir][parser]") {
  const std::string fn = "fn f(A: f32[1]) { reduce sum_f32 init (A[0]) with (1) }";
  Stmt named = BodyOf(fn);
  Stmt defined = BodyOf("combiner sum_f32(x: f32 = 0; y: f32) = (x + y)\n" + fn);
  Stmt other = BodyOf("combiner sum_f32(x: f32 = 0; y: f32) = (x - y)\n" + fn);
  CHECK(named.as<Reduce>()->combiner.get() == SumCombiner(kFloat32).get());
  CHECK(defined.as<Reduce>()->combiner.get() == SumCombiner(kFloat32).get());
  CHECK_FALSE(Equal(other.as<Reduce>()->combiner, SumCombiner(kFloat32)));
}

TEST_CASE("a shape variable's usual value is in its range", "[ir][parser]") {
  auto parsed = [](const std::string& var) {
    return ParseFunction("fn f<" + var +
                         ">(A: f32[N], B: f32[N]) { for i in 0..N { B[i] = A[i] } }");
  };
  StatusOr<Function> fn = parsed("shape N in 1..=32 usual 8");
  REQUIRE(fn.status() == OkStatus());
  CHECK(AtUsual(Expr(fn->vars[0]) * Expr(3) + Expr(1)) == 25);
  CHECK(AtUsual(LoopVar("i") + Expr(1)) == std::nullopt);
  CHECK(parsed("shape N in 1..=32")->vars[0]->usual == 32);
  CHECK(parsed("shape N in 1..=999")->vars[0]->usual == kUsualExtent);
  CHECK_FALSE(parsed("shape N in 1..=32 usual 33").ok());
  CHECK_FALSE(parsed("shape N in 1..=32 usual").ok());
  // Functions for other usual sizes are different ones.
  CHECK_FALSE(AlphaEqual(*fn, *parsed("shape N in 1..=32 usual 16")));
}
