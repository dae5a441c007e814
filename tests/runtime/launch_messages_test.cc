#include "runtime/measure/launch_messages.h"

#include <catch2/catch.hpp>

namespace tcc {
namespace {

LaunchMessage Sample() {
  LaunchMessage message;
  message.kernel = 3;
  message.regions = {{.misalignment = 4, .bytes = {1, 2, 3, 4, 5, 6, 7, 8}},
                     {.misalignment = 0, .bytes = {9}}};
  message.buffers = {{.region = 0, .offset = 2, .bytes = 6},
                     {.region = LaunchBuffer::kWeights, .offset = uint64_t{1} << 40, .bytes = 64},
                     {.region = 1, .offset = 1, .bytes = 0}};
  message.shape_args = {-1, 197};
  return message;
}

std::string Refusal(const LaunchMessage& message) {
  return Message(DecodeLaunch(Encode(message)).status());
}

}  // namespace

TEST_CASE("a launch is read as it was written", "[runtime][measure]") {
  const LaunchMessage sent = Sample();
  StatusOr<LaunchMessage> got = DecodeLaunch(Encode(sent));
  REQUIRE(got.ok());
  CHECK(got->kernel == sent.kernel);
  CHECK(got->shape_args == sent.shape_args);
  REQUIRE(got->regions.size() == sent.regions.size());
  for (size_t r = 0; r < sent.regions.size(); ++r) {
    CHECK(got->regions[r].misalignment == sent.regions[r].misalignment);
    CHECK(got->regions[r].bytes == sent.regions[r].bytes);
  }
  REQUIRE(got->buffers.size() == sent.buffers.size());
  for (size_t b = 0; b < sent.buffers.size(); ++b) {
    CHECK(got->buffers[b].region == sent.buffers[b].region);
    CHECK(got->buffers[b].offset == sent.buffers[b].offset);
    CHECK(got->buffers[b].bytes == sent.buffers[b].bytes);
  }
  StatusOr<LaunchedMessage> launched = DecodeLaunched(Encode(LaunchedMessage{{{1, 2}, {}, {3}}}));
  REQUIRE(launched.ok());
  CHECK(launched->regions == std::vector<std::vector<uint8_t>>{{1, 2}, {}, {3}});
}

TEST_CASE("a launch cut at any byte is refused", "[runtime][measure]") {
  const std::vector<uint8_t> launch = Encode(Sample());
  for (size_t size = 0; size < launch.size(); ++size) {
    CHECK_FALSE(DecodeLaunch(std::span(launch).first(size)).ok());
  }
  const std::vector<uint8_t> launched = Encode(LaunchedMessage{{{1, 2}, {3}}});
  for (size_t size = 0; size < launched.size(); ++size) {
    CHECK_FALSE(DecodeLaunched(std::span(launched).first(size)).ok());
  }
}

TEST_CASE("a launch whose buffers lie outside of their regions is refused", "[runtime][measure]") {
  LaunchMessage message = Sample();
  message.buffers[0].bytes = 7;
  CHECK(Refusal(message) == "launch message: 7 bytes at 2 do not lie within region 0");
  message = Sample();
  message.buffers[0].offset = ~uint64_t{0};
  CHECK(Refusal(message).find("do not lie within region 0") != std::string::npos);
  message = Sample();
  message.buffers[2].region = 2;
  CHECK(Refusal(message) == "launch message: 0 bytes at 1 do not lie within region 2");
  message = Sample();
  message.regions[0].misalignment = kLaunchAlignment;
  CHECK(Refusal(message) == "launch message: a region's misalignment is 64; expected less than 64");
}

}  // namespace tcc
