// Tests of the files that `peakmark init` writes. ci/test builds and runs them with the examples.
#include <set>
#include <sstream>

#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Init : public CommandTest {
 protected:
  Answer in_folder(const std::string& words) const {
    const std::string go = "mkdir -p '" + here_.string() + "' && cd '" + here_.string() +
                           "' && exec '" PEAKMARK_PROGRAM "' " + words;
    return ask({"/bin/sh", {"-c", go}, current_environment(), ""}, kLimit);
  }
  /// The lines that the program prints for the user to type.
  static std::vector<std::string> next_of(const Answer& answer) {
    std::vector<std::string> typed;
    std::istringstream lines(answer.output.substr(answer.output.find("\nNow:\n") + 6));
    for (std::string line; std::getline(lines, line);) typed.push_back(line);
    return typed;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(here_)) {
      if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(here_).string());
    }
    return names;
  }

  const std::filesystem::path here_ = folder_.path() / "project";
};

TEST_F(Init, WritesWhatItListsAndReportsWhatToTypeNext) {
  for (const std::string kind : {"opencl", "cuda", "program"}) {
    std::filesystem::remove_all(here_);
    const Answer listed = in_folder("init --list " + kind);
    ASSERT_EQ(listed.end.exit_code, 0) << listed.errors;
    EXPECT_THAT(files(), IsEmpty());
    std::set<std::string> names;
    std::istringstream lines(listed.output);
    for (std::string line; std::getline(lines, line);) names.insert(line);

    const Answer written = in_folder("init " + kind);
    ASSERT_EQ(written.end.exit_code, 0) << written.errors;
    EXPECT_EQ(files(), names);
    for (const std::string& name : names) EXPECT_THAT(written.output, HasSubstr(name));
    EXPECT_THAT(written.output, HasSubstr("\nNow:\n  cmake -S . -B build"));
    const std::string suite = kind == "opencl" ? "scale.toml" : kind == "cuda" ? "sum.toml" : "mean.toml";
    EXPECT_THAT(written.output, HasSubstr(" run " + suite));
    EXPECT_THAT(written.output, HasSubstr("\nIt needs CMake, "));
    EXPECT_EQ(written.output.find("--require cuda") != std::string::npos, kind == "cuda");
    EXPECT_THAT(read_text_file(here_ / suite), StartsWith("#:schema ./suite.schema.json\n"));
    EXPECT_EQ(read_text_file(here_ / "suite.schema.json"), peakmark({"schema"}).output);
    const std::string workflow = read_text_file(here_ / ".github/workflows/peakmark.yml");
    EXPECT_THAT(workflow, HasSubstr("peakmark run " + suite));
    EXPECT_THAT(workflow, Not(testing::ContainsRegex("@[A-Z_]+@")));
  }
}

TEST_F(Init, WhatToTypeNextWorksAsItIsTyped) {
  const std::filesystem::path prefix = folder_.path() / "Bob's tools";
  std::filesystem::create_directories(prefix / "bin");
  std::filesystem::create_directories(prefix / "lib/cmake/peakmark");
  std::filesystem::copy_file(PEAKMARK_PROGRAM, prefix / "bin/peakmark");
  std::filesystem::create_directories(here_);
  const auto typed = [&](const std::string& line) {
    return ask({"/bin/sh", {"-c", "cd " + here_.string() + "\n" + line}, current_environment(), ""}, kLimit);
  };
  const std::string quoted = "'" + folder_.path().string() + "/Bob'\\''s tools";

  const std::vector<std::string> by_path = next_of(typed(quoted + "/bin/peakmark' init"));
  ASSERT_EQ(by_path.size(), 5U);
  EXPECT_EQ(by_path[0],
            "  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" + quoted + "'");
  EXPECT_EQ(by_path[2], "  " + quoted + "/bin/peakmark' list scale.toml");
  const Answer list = typed(by_path[2].substr(0, by_path[2].find(" list")) + " init --list");
  EXPECT_EQ(list.end.exit_code, 0) << list.errors;

  std::filesystem::remove_all(here_);
  std::filesystem::create_directories(here_);
  const std::vector<std::string> in_path = next_of(typed("PATH=" + quoted + "/bin':$PATH\npeakmark init"));
  EXPECT_THAT(in_path, testing::ElementsAre("  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
                                            "  cmake --build build", "  peakmark list scale.toml",
                                            "  peakmark run scale.toml -o build/run.json",
                                            "  peakmark check build/run.json"));

  // The program is found through a link, in a folder that is not its prefix. The name is enough for a shell,
  // but not for CMake.
  std::filesystem::remove_all(here_);
  std::filesystem::create_directories(here_);
  std::filesystem::create_directories(folder_.path() / "links");
  std::filesystem::create_symlink(prefix / "bin/peakmark", folder_.path() / "links/peakmark");
  const std::vector<std::string> by_link =
      next_of(typed("PATH=" + folder_.path().string() + "/links:$PATH\npeakmark init"));
  ASSERT_EQ(by_link.size(), 5U);
  EXPECT_EQ(by_link[0], by_path[0]);
  EXPECT_EQ(by_link[2], "  peakmark list scale.toml");
}

TEST_F(Init, WritesOverNothing) {
  std::filesystem::create_directories(here_);
  std::ofstream(here_ / "CMakeLists.txt") << "mine";
  std::filesystem::create_symlink("nowhere", here_ / "scale.toml");
  const Answer answer = in_folder("init");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("already exists: CMakeLists.txt, scale.toml; nothing was written"));
  EXPECT_EQ(read_text_file(here_ / "CMakeLists.txt"), "mine");
  EXPECT_EQ(files(), std::set<std::string>{"CMakeLists.txt"});
}

TEST_F(Init, NamesWhatIsNoFolderOnTheWay) {
  std::filesystem::create_directories(here_);
  std::ofstream(here_ / ".github") << "mine";
  const Answer answer = in_folder("init");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("already exists: .github; nothing was written. Use another folder, "
                                       "or move it"));
  EXPECT_EQ(files(), std::set<std::string>{".github"});
}

TEST_F(Init, LeavesNothingOfAProjectOnAFullDisk) {
  std::filesystem::create_directories(here_ / ".github");
  // The first files are shorter than this limit, but the schema is longer.
  const std::string go =
      "cd '" + here_.string() + "' && trap '' XFSZ && ulimit -f 8 && exec '" PEAKMARK_PROGRAM "' init";
  const Answer answer = ask({"/bin/sh", {"-c", go}, current_environment(), ""}, kLimit);
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors,
              HasSubstr("init: suite.schema.json: cannot write: File too large. Nothing was "
                        "written; use a folder that you may write to and that has free space"));
  EXPECT_THAT(answer.output, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(here_ / ".github"));
}

TEST_F(Init, OfAnUnknownKindIsRefused) {
  const Answer answer = in_folder("init metal");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("program"));
}

}  // namespace
}  // namespace peakmark
