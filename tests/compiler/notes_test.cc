#include "compiler/notes.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "compiler/packed_text.h"
#include "models/zoo/zoo.h"
#include "support/random.h"
#include "tests/compiler/run_compiled.h"

using namespace tcc;

namespace {

Graph SmallZoo(const char* name) {
  return *BuildZoo(name, {.small = true, .seed = 1});
}

Artefact SmallArtefact(const char* name, int threads = 1) {
  return Compiled(SmallZoo(name), "x86-64-v3", threads);
}

Notes NotesOfSmall(const char* name) {
  StatusOr<Notes> notes = NotesOf(SmallArtefact(name));
  INFO(notes.status());
  REQUIRE(notes.ok());
  return *notes;
}

std::string Refusal(const std::string& document) {
  return Message(ReadNotes(PackText(document)).status());
}

// A document that is read, to be spoilt.
std::string GoodDocument() {
  Notes notes;
  notes.kernels.push_back(
      {.name = "k", .sketch = "tile", .schedule = "unroll a\nunroll b\n", .record = ""});
  notes.calls.push_back(
      {.kernel = 0,
       .step = 0,
       .nodes = {"n"},
       .within = {{.node = 3, .body = 1}},
       .reads = {{.operand = 0, .value = "x", .shape = {2, 3}, .strides = {}, .type = kFloat16}},
       .writes = {}});
  notes.after.nodes.push_back(
      {.name = "n", .op = "Loop", .inputs = {"x", ""}, .outputs = {"y"}, .bodies = {GraphNotes{}}});
  notes.after.types["x"] = "f32[2x3]";
  notes.passes.push_back({"remove_dead", 7, 5});
  notes.arena.push_back({"x", 64, 24, 0, 1});
  std::vector<uint8_t> bytes = NotesBytes(notes);
  StatusOr<Notes> back = ReadNotes(bytes);
  REQUIRE(back.ok());
  CHECK(*back == notes);
  return *UnpackText(bytes, "notes");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("notes tell each call's nodes and where its result is", "[compiler][notes]") {
  Notes notes = NotesOfSmall("resnet18");
  CHECK(notes.before.nodes.size() == SmallZoo("resnet18").nodes.size());
  CHECK(notes.after.nodes.size() < notes.before.nodes.size());
  REQUIRE(notes.calls.size() > notes.kernels.size());
  const CallNotes& first = notes.calls[0];  // into the order that kernels read
  CHECK(notes.calls[1].nodes[0] == "conv1");
  CHECK(notes.calls[1].reads.at(0).value == first.writes.at(0).value);
  CHECK(first.within.empty());
  REQUIRE(first.reads.size() == 1);
  CHECK(first.reads[0].value == notes.after.inputs[0]);
  REQUIRE(first.writes.size() == 1);
  CHECK(first.writes_all);
  CHECK(notes.after.types.contains(first.writes[0].value));
  for (const CallNotes& call : notes.calls) CHECK_FALSE(call.writes.empty());
  CHECK(notes.calls.back().writes[0].value == notes.after.outputs[0]);
}

TEST_CASE("notes tell schedules that are read again", "[compiler][notes]") {
  for (const KernelNotes& kernel : NotesOfSmall("resnet18").kernels) {
    INFO(kernel.name);
    CHECK_FALSE(kernel.sketch.empty());
    CHECK_FALSE(kernel.tuned);
    StatusOr<Schedule> schedule = ParseSchedule(kernel.schedule);
    REQUIRE(schedule.ok());
    CHECK(schedule->variant == kernel.variant);
    CHECK(Print(*schedule) == kernel.schedule);
  }
}

TEST_CASE("notes tell how many nodes each graph pass leaves", "[compiler][notes]") {
  Notes notes = NotesOfSmall("lstm_lm");
  REQUIRE_FALSE(notes.passes.empty());
  CHECK(notes.passes[0].nodes_before == static_cast<int64_t>(notes.before.nodes.size()));
  for (size_t i = 1; i < notes.passes.size(); ++i) {
    CHECK(notes.passes[i].nodes_before == notes.passes[i - 1].nodes_after);
  }
}

TEST_CASE("calls of a loop are in a body of its node", "[compiler][notes]") {
  Notes notes = NotesOfSmall("lstm_lm");
  auto inside = std::ranges::find_if(notes.calls, [](const auto& c) { return !c.within.empty(); });
  REQUIRE(inside != notes.calls.end());
  const NodeNotes& owner = notes.after.nodes.at(inside->within[0].node);
  CHECK(owner.op == "Loop");
  CHECK(owner.bodies.at(inside->within[0].body).types.contains(inside->writes.at(0).value));
}

TEST_CASE("values that are live at once lie apart in the arena", "[compiler][notes]") {
  for (const char* network : {"resnet18", "lstm_lm", "bert_base"}) {
    INFO(network);
    Artefact artefact = SmallArtefact(network);
    std::vector<ArenaValue> arena = NotesOf(artefact)->arena;
    REQUIRE(arena.size() > 3);
    for (size_t i = 0; i < arena.size(); ++i) {
      const ArenaValue& a = arena[i];
      CHECK(a.first <= a.last);
      CHECK(a.offset + a.bytes <= *artefact.plan.arena_bytes.AsConstant());
      for (size_t j = 0; j < i; ++j) {
        const ArenaValue& b = arena[j];
        bool together = a.first <= b.last && b.first <= a.last;
        bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        INFO(a.name << " and " << b.name);
        CHECK_FALSE((together && overlap));
      }
    }
  }
}

TEST_CASE("notes are the same bytes for any number of threads", "[compiler][notes]") {
  for (const char* network : {"resnet18", "lstm_lm"}) {
    Artefact one = SmallArtefact(network, 1), three = SmallArtefact(network, 3);
    CHECK(std::ranges::equal(one.notes.bytes, three.notes.bytes));
  }
}

TEST_CASE("an artefact without notes is the same but for them", "[compiler][notes]") {
  Artefact with = SmallArtefact("dqn");
  CompileOptions options{.target = *FindTarget("x86-64-v3")};
  options.notes = false;
  StatusOr<Artefact> without = CompileGraph(SmallZoo("dqn"), options);
  REQUIRE(without.ok());
  CHECK(without->notes.bytes.empty());
  CHECK(Message(NotesOf(*without).status()) ==
        "the artefact has no notes; compile the model again, without --notes none");
  with.notes = {};
  CHECK(ArtefactBytes(with) == ArtefactBytes(*without));
}

TEST_CASE("notes of another artefact are refused", "[compiler][notes]") {
  Artefact artefact = SmallArtefact("dqn");
  artefact.notes = SmallArtefact("resnet18").notes;
  CHECK(Message(NotesOf(artefact).status()).starts_with("notes: their "));
  artefact = SmallArtefact("dqn");
  Notes notes = *NotesOf(artefact);
  notes.calls[1].writes[0].operand = 99;
  artefact.notes = OwnBytes(NotesBytes(notes));
  CHECK(Message(NotesOf(artefact).status()).starts_with("notes: call 1 has no operand for '"));
  notes.calls.pop_back();
  artefact.notes = OwnBytes(NotesBytes(notes));
  CHECK(Message(NotesOf(artefact).status()).starts_with("notes: they have "));
}

TEST_CASE("notes of memory or steps that the plan does not have are refused", "[compiler][notes]") {
  Artefact artefact = SmallArtefact("lstm_lm");
  const Notes notes = *NotesOf(artefact);
  const int64_t arena = *artefact.plan.arena_bytes.AsConstant();
  auto refusal = [&](const std::function<void(Notes&)>& change) {
    Notes changed = notes;
    change(changed);
    artefact.notes = OwnBytes(NotesBytes(changed));
    return Message(NotesOf(artefact, "m.tcc").status());
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CHECK(refusal([](Notes&) {}).empty());
  const std::string place = fmt::format("; expected them in an arena of {}", arena);
  for (int64_t offset : {arena, kMost}) {
    CHECK(refusal([&](Notes& n) { n.arena[1].offset = offset; }) ==
          fmt::format("m.tcc: notes: '{}' has {} bytes at {}{}", notes.arena[1].name,
                      notes.arena[1].bytes, offset, place));
  }
  CHECK(refusal([&](Notes& n) { n.arena[1].bytes = kMost; }).ends_with(place));
  CHECK(refusal([](Notes& n) {
          n.arena[1].first = n.arena[1].last + 1;
        }).find("is live from step") != std::string::npos);
  CHECK(refusal([](Notes& n) {
          n.arena[1].last = int64_t{1'000'000'000'000'000'000};
        }).find("is live from step") != std::string::npos);
  CHECK(refusal([](Notes& n) { n.calls[1].step = kMost; }).starts_with("m.tcc: notes: call 1 is"));
}

TEST_CASE("notes of every network fit its plan", "[compiler][notes]") {
  for (const char* network : {"resnet18", "lstm_lm", "bert_base", "dqn"}) {
    INFO(network);
    CHECK(Message(NotesOf(SmallArtefact(network)).status()).empty());
  }
}

TEST_CASE("damaged notes are refused by what is wrong with them", "[compiler][notes]") {
  const std::string good = GoodDocument();
  CHECK(Refusal(good).empty());
  CHECK(Message(ReadNotes(std::vector<uint8_t>{1, 2, 3}).status()) ==
        "notes: expected a whole zstd file; it is damaged or cut off");
  CHECK(Refusal("{") == "notes: expected JSON");
  CHECK(Refusal("[]") == "notes: field 'schema' is missing");
  CHECK(Refusal(Replaced(good, "tcc.notes/1", "tcc.notes/2")) ==
        "notes: their schema is 'tcc.notes/2'; this tcc reads 'tcc.notes/1'");
  CHECK(Refusal(Replaced(good, "tcc.notes/1", "\\u001b[2J")).find('\x1b') == std::string::npos);
  CHECK(Refusal(Replaced(good, "\"kernel\":0", "\"kernel\":1e400")) != "");
  CHECK(Refusal(Replaced(good, "\"kernel\":0", "\"kernel\":-1")).starts_with("notes: calls[0]: "));
  CHECK(Refusal(Replaced(good, "\"shape\":[2,3]", "\"shape\":[2,-3]")) ==
        "notes: calls[0]: reads[0]: field 'shape': expected whole numbers from 0 on, got -3");
  CHECK(Refusal(Replaced(good, "\"type\":\"f16\"", "\"type\":\"f64\"")) ==
        "notes: calls[0]: reads[0]: field 'type': expected f16, bf16 or tf32; got 'f64'");
  CHECK(Refusal(Replaced(good, "unroll a", "\\u001b]0;x")) ==
        "notes: kernels[0]: field 'schedule' holds control characters");
  CHECK(Refusal(Replaced(good, "\"value\":\"x\"", "\"value\":\"\\u0007\"")) ==
        "notes: arena[0]: field 'value' holds control characters");
}

TEST_CASE("notes of many bytes and deep bodies are refused", "[compiler][notes]") {
  CHECK(Refusal(std::string(kMostNotesBytes + 1, ' ')) ==
        fmt::format("notes: expected at most {} bytes of text", kMostNotesBytes));
  CHECK(Refusal(std::string(1 << 20, '[')) == "notes: expected JSON");
  GraphNotes graph;
  for (int depth = 0; depth < 70; ++depth) {
    GraphNotes outer;
    outer.nodes.push_back(
        {.name = "n", .op = "If", .inputs = {}, .outputs = {}, .bodies = {std::move(graph)}});
    graph = std::move(outer);
  }
  Notes notes;
  notes.before = std::move(graph);
  CHECK(Message(ReadNotes(NotesBytes(notes)).status()).ends_with("bodies nest deeper than 64"));
}

TEST_CASE("mutated notes never crash their reader", "[compiler][notes]") {
  const std::string good = GoodDocument();
  const std::vector<uint8_t> packed = PackText(good);
  for (size_t length = 0; length < packed.size(); ++length) {
    CHECK_FALSE(ReadNotes(std::span(packed).first(length)).ok());
  }
  Random random(17);
  int refused = 0;
  constexpr std::string_view kLetters = "{}[]\",:0123456789-e\\nullx";
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    text[random.Below(text.size())] = kLetters[random.Below(kLetters.size())];
    refused += !ReadNotes(PackText(text)).ok();
  }
  CHECK(refused > 1000);
}
