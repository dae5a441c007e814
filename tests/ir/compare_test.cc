#include "ir/expr/compare.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"
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

}  // namespace

TEST_CASE("equality of expressions asks for the same variables", "[ir][compare]") {
  Expr i = LoopVar("i");
  Expr j = LoopVar("i");
  CHECK(Equal(i + 1, i + 1));
  CHECK_FALSE(Equal(i + 1, j + 1));
  CHECK_FALSE(Equal(i + 1, i + 2));
  CHECK_FALSE(Equal(i + 1, Expr(1) + i));
  CHECK_FALSE(Equal(i + 1, i - 1));
}

TEST_CASE("constants are equal bit for bit", "[ir][compare]") {
  CHECK_FALSE(Equal(FloatConst(kFloat32, 0.0), FloatConst(kFloat32, -0.0)));
  CHECK(Equal(FloatConst(kFloat32, __builtin_nan("")), FloatConst(kFloat32, __builtin_nan(""))));
  CHECK_FALSE(Equal(FloatConst(kFloat32, 1), FloatConst(kFloat64, 1)));
  CHECK_FALSE(Equal(IntConst(kInt32, 1), IntConst(kInt64, 1)));
}

TEST_CASE("alpha-equality pairs bound variables one to one", "[ir][compare]") {
  const std::string fn = "fn f(A: i64[9], B: i64[9]) ";
  Function straight = Parsed(fn + "{ for i in 0..3 { for j in 0..3 { A[i] = B[j] } } }");
  CHECK(AlphaEqual(straight, Parsed("fn f(X: i64[9], Y: i64[9]) "
                                    "{ for a in 0..3 { for b in 0..3 { X[a] = Y[b] } } }")));
  CHECK_FALSE(AlphaEqual(straight, Parsed(fn + "{ for i in 0..3 { for j in 0..3 "
                                               "{ A[j] = B[i] } } }")));
  CHECK_FALSE(AlphaEqual(straight, Parsed(fn + "{ for i in 0..3 { for j in 0..3 "
                                               "{ A[i] = B[i] } } }")));
  CHECK_FALSE(AlphaEqual(straight, Parsed(fn + "{ for i in 0..3 { for j in 0..3 "
                                               "{ B[i] = A[j] } } }")));
}

TEST_CASE("names of blocks, keys and functions count unless they are set aside", "[ir][compare]") {
  const std::string body = " { for i in 0..3 @KEY { block NAME(x: spatial 3 = i) { A[x] = 1 } } }";
  auto with = [&](const std::string& name, const std::string& key, const std::string& block) {
    std::string text = "fn " + name + "(A: i64[3])" + body;
    text.replace(text.find("KEY"), 3, key);
    return Parsed(text.replace(text.find("NAME"), 4, block));
  };
  Function base = with("f", "b/i", "b");
  CHECK(AlphaEqual(base, with("f", "b/i", "b")));
  for (const Function& other :
       {with("g", "b/i", "b"), with("f", "b/j", "b"), with("f", "b/i", "c")}) {
    CHECK_FALSE(AlphaEqual(base, other));
    CHECK(EqualUpToNames(base, other));
  }
}

TEST_CASE("free variables of a function pair in order, with role and range", "[ir][compare]") {
  const std::string body = "(A: i64[9]) scheduled { A[s] = t }";
  Function base = Parsed("fn f<tile t in 1..=4, tile s in 1..=4>" + body);
  CHECK(AlphaEqual(base, Parsed("fn f<tile a in 1..=4, tile b in 1..=4>(A: i64[9]) scheduled "
                                "{ A[b] = a }")));
  CHECK_FALSE(AlphaEqual(base, Parsed("fn f<tile s in 1..=4, tile t in 1..=4>" + body)));
  CHECK_FALSE(AlphaEqual(base, Parsed("fn f<tile t in 1..=5, tile s in 1..=4>" + body)));
  CHECK_FALSE(
      AlphaEqual(Parsed("fn f<tile t in 1..=4>() { }"), Parsed("fn f<shape t in 1..=4>() { }")));
}

TEST_CASE("combiners with other direct forms are other combiners", "[ir][compare]") {
  auto with = [](const std::string& direct) {
    return Parsed("combiner c(a: f32 = 0; b: f32) = (a + b)" + direct +
                  "\nfn f(A: f32[1]) { reduce c (A[0]) with (1) }");
  };
  CHECK(AlphaEqual(with(" direct (b by sum_f32)"), with(" direct (b by sum_f32)")));
  CHECK_FALSE(AlphaEqual(with(" direct (b by sum_f32)"), with("")));
  CHECK_FALSE(AlphaEqual(with(" direct (b by sum_f32)"), with(" direct (b by max_f32)")));
  CHECK_FALSE(AlphaEqual(with(" direct (b by sum_f32)"), with(" direct (a by sum_f32)")));
}

TEST_CASE("comparing a shared expression takes time by its nodes, not its paths", "[ir][compare]") {
  Expr a = LoopVar("a");
  Expr b = a;
  Expr x = a;
  for (int i = 0; i < 200; ++i) {
    b = b + b;
    x = x + x;
  }
  CHECK(Equal(b, x));
  CHECK_FALSE(Equal(b, x + 1));
}
