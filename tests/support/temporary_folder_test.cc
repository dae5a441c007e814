#include "support/temporary_folder.h"

#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "support/environment.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// Points TMPDIR at another folder while it lives.
class Parent {
 public:
  explicit Parent(const std::string& path) : before_(EnvironmentVariable("TMPDIR")) {
    REQUIRE(setenv("TMPDIR", path.c_str(), 1) == 0);
  }
  ~Parent() {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TemporaryFolder MustMake() {
  StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("a test");
  INFO(folder.status());
  REQUIRE(folder.ok());
  return *std::move(folder);
}

TEST_CASE("a temporary folder is new, one user's alone, and goes with its content", "[support]") {
  TemporaryFolder around = MustMake();
  Parent parent(around.path());
  std::optional<TemporaryFolder> first = MustMake(), second = MustMake();
  CHECK(first->path() != second->path());
  struct stat found{};
  REQUIRE(lstat(first->path().c_str(), &found) == 0);
  CHECK(S_ISDIR(found.st_mode));
  CHECK((found.st_mode & 0777) == 0700);
  CHECK(fs::path(first->path()).parent_path() == around.path());
  std::ofstream(*first / "file") << "text";
  CHECK(fs::exists(first->path() + "/file"));
  TemporaryFolder moved = *std::move(first);
  first.reset();
  CHECK(fs::exists(moved / "file"));
  second.reset();
  moved = MustMake();
  CHECK(std::distance(fs::directory_iterator(around.path()), fs::directory_iterator()) <= 2);
}

TEST_CASE("removing a temporary folder leaves what its links lead to", "[support]") {
  TemporaryFolder around = MustMake();
  std::ofstream(around / "theirs") << "precious";
  {
    TemporaryFolder folder = MustMake();
    fs::create_symlink(around / "theirs", folder / "link");
    fs::create_directory_symlink(around.path(), folder / "folder");
  }
  CHECK(fs::file_size(around / "theirs") == 8);
}

TEST_CASE("a temporary folder that cannot be made is refused, naming TMPDIR", "[support]") {
  Parent parent("/nonexistent");
  Status status = TemporaryFolder::Make("a test").status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status) ==
        "cannot make a folder in /nonexistent for a test: No such file or directory; set TMPDIR");
}

}  // namespace
}  // namespace tcc
