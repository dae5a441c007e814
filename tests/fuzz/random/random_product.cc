#include "tests/fuzz/random/random_product.h"

#include "tests/programs/product_function.h"

namespace tcc {

Function RandomProduct(Random& random) {
  auto extent = [&](int64_t least) {
    auto any = least + static_cast<int64_t>(random.Below(40));
    return random.OneIn(2) ? (any + 7) / 8 * 8 : any;
  };
  ProductShape shape{.rows = extent(8), .columns = extent(8), .depth = extent(16)};
  // Few results, for which the reduction is split.
  if (random.OneIn(4)) {
    shape.rows = 8 + static_cast<int64_t>(random.Below(12));
    shape.columns = 8 + static_cast<int64_t>(random.Below(12));
    shape.depth = 500 + 16 * static_cast<int64_t>(random.Below(20));
  }
  // Rows for four warps.
  if (random.OneIn(4)) shape.rows = 48 + static_cast<int64_t>(random.Below(40));
  uint64_t type = random.Below(7);
  if (type == 0) shape.type = "bf16";
  if (type == 1) {
    shape.type = "i8";
    shape.sum = "i32";
    shape.depth += 32;
  }
  if (type == 2 || type == 3) {
    shape.type = "f32";
    shape.tf32 = type == 2 ? "tf32" : "3xtf32";
  }
  if (type == 4) shape.type = "tf32";
  bool bytes = type == 1;
  shape.rounded = !bytes && random.OneIn(2);
  shape.constant = random.OneIn(3);
  shape.narrowed = !bytes && random.OneIn(4);
  if (type == 4 && !shape.narrowed && random.OneIn(2)) {
    shape.tf32 = random.OneIn(2) ? "tf32 of a" : "tf32 of b";
  }
  if (random.OneIn(3)) shape.a = "k, i";
  if (random.OneIn(2)) shape.b = "j, k";
  if (shape.depth < 500 && random.OneIn(3)) {
    shape.batch = 1 + static_cast<int64_t>(random.Below(3));
    shape.a = "b, " + shape.a;
    if (random.OneIn(2)) shape.b = "b, " + shape.b;
  }
  return ProductFunction(shape);
}

}  // namespace tcc
