#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// The levels are verifier profiles (verifier.h), not different types:
//   kTensor     one loop nest per Block, in the operator's own loops, as BuildLoopNest makes it
//   kScheduled  after schedule steps: any loops, windows, bound threads; Tile variables may be free
//   kLowered    no Block or Reduce; flat buffers with one index; vectors; the input of a backend
enum class Level : uint8_t { kTensor, kScheduled, kLowered };

std::string_view ToString(Level level);
std::optional<Level> ParseLevel(std::string_view text);

// A kernel, or a symbolic program of one. Copying is cheap: everything inside is shared.
//
// Parameters are buffers; the ones that the body stores to are outputs, the rest inputs. `vars` are
// the free Tile and Shape variables of the body in a fixed order; Shape variables are arguments at
// run time.
struct Function {
  std::string name;
  Level level = Level::kTensor;
  std::vector<Buffer> params;
  std::vector<Var> vars;
  Stmt body;
  // Notes for people and reports (fused node names, ...), and NoteWarps's for passes.
  std::map<std::string, std::string> attributes;
};

// Returns the declaration of every buffer: parameters first, then Allocates in order of occurrence.
std::vector<Buffer> DeclaredBuffers(const Function& fn);
// Returns nullptr if `var` is not declared in `fn`. The pointer is valid as long as `fn`'s body
// lives.
const Buffer* FindBuffer(const Function& fn, const Var& var);
// Returns the blocks in order of execution of their first instance (textual order).
std::vector<Ref<Block>> BlocksOf(const Stmt& body);
// Returns whether each iteration of `loop` writes its own cells: the loop is the whole binding of a
// spatial variable that is an index of every write of the leaf block. Such a loop may also feed
// reduce variables (partial results of a factored reduction) and still run in any order.
bool OwnsCells(const Block& block, const Var& loop);

}  // namespace tcc
