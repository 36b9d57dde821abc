#include "base/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

TEST(EnvironmentList, FindsWhatIsSet) {
  const std::vector<std::string> environment{"AB=2", "A=x=y"};
  EXPECT_EQ("x=y", find_variable(environment, "A"));
  EXPECT_EQ(std::nullopt, find_variable(environment, "B"));
}

TEST(EnvironmentList, AVariableIsSetOnce) {
  std::vector<std::string> environment{"A=1", "AB=2", "A=3"};
  set_variable(environment, "A", "x");
  EXPECT_EQ((std::vector<std::string>{"AB=2", "A=x"}), environment);
}

TEST(EnvironmentList, InThisProcessOnlyWhatDiffersIsSet) {
  setenv("PEAKMARK_TEST_KEPT", "1", 1);
  setenv("PEAKMARK_TEST_CHANGED", "old", 1);
  const char* const kept = getenv("PEAKMARK_TEST_KEPT");
  set_own_environment({"PEAKMARK_TEST_CHANGED=new=er", "PEAKMARK_TEST_ADDED="});
  EXPECT_STREQ("new=er", getenv("PEAKMARK_TEST_CHANGED"));
  EXPECT_STREQ("", getenv("PEAKMARK_TEST_ADDED"));
  set_own_environment({"PEAKMARK_TEST_KEPT=1", "PEAKMARK_TEST_KEPT=2"});
  EXPECT_EQ(kept, getenv("PEAKMARK_TEST_KEPT")) << "who holds it may go on";
  for (const char* name : {"PEAKMARK_TEST_KEPT", "PEAKMARK_TEST_CHANGED", "PEAKMARK_TEST_ADDED"})
    unsetenv(name);
}

TEST(EnvironmentList, FindsProgramsInItsOwnPath) {
  const TemporaryFolder folder;
  put_program(folder.path() / "b" / "tool");
  std::ofstream(folder.path() / "tool") << "no program";
  const std::vector<std::string> environment{"PATH=" + folder.path().string() + ":" +
                                             (folder.path() / "b").string()};
  EXPECT_EQ(folder.path() / "b" / "tool", find_program(environment, "tool"));
  EXPECT_EQ(std::nullopt, find_program(environment, "sh"));
  EXPECT_EQ("/bin/sh", find_program(environment, "/bin/sh"));
  EXPECT_EQ(std::nullopt, find_program(environment, "/bin/no-such-shell"));
  EXPECT_EQ(std::nullopt, find_program(environment, "/etc/passwd")) << "not to be executed";
}

TEST(EnvironmentList, EmptyFoldersAreTheWorkingFolder) {
  EXPECT_EQ(without_empty_folders(":/a::/b c:"), "/a:/b c");
  EXPECT_EQ(without_empty_folders(":"), "");
}

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;

class ProgramFailure : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text, fs::perms permissions) const {
    const fs::path file = folder_.path() / name;
    std::ofstream(file) << text;
    fs::permissions(file, permissions);
    return file.string();
  }
  static std::string of(const std::string& name) { return program_failure({"PATH=/bin"}, name); }

  const TemporaryFolder folder_;
};

TEST_F(ProgramFailure, ThereIsNoneWithProgramsAndScripts) {
  EXPECT_EQ(of("sh"), "");
  EXPECT_EQ(of("/bin/sh"), "");
  EXPECT_EQ(of(put("script", "#!/bin/sh\n", fs::perms::owner_all)), "");
}

TEST_F(ProgramFailure, AMissingProgramIsSearchedInTheFoldersOfPath) {
  EXPECT_EQ(of("/no/such/file"), "no such program");
  EXPECT_EQ(of("no-such-file"), "no such program in the folders of PATH");
}

TEST_F(ProgramFailure, AProgramOfThisFolderIsNamedByItsPath) {
  put("tool", "#!/bin/sh\n", fs::perms::owner_all);
  put("tool.cpp", "int main() {}\n", fs::perms::owner_read);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const std::string program = of("tool");
  const std::string source = of("tool.cpp");
  fs::current_path(before);
  EXPECT_THAT(program, EndsWith("in the folders of PATH; for the one in this folder, write ./tool"));
  EXPECT_THAT(source, StartsWith("is not a program: "));
}

TEST_F(ProgramFailure, ASourceIsNoProgramWhoeverMayExecuteIt) {
  for (const fs::perms permissions : {fs::perms::owner_read, fs::perms::owner_all})
    EXPECT_THAT(of(put("scale.cpp", "#include <x>\n", permissions)),
                AllOf(StartsWith("is not a program: "), HasSubstr("build it, and name the program")));
}

TEST_F(ProgramFailure, AScriptThatIsNotExecutableGetsAdvice) {
  const std::string script = put("script", "#!/bin/sh\n", fs::perms::owner_read);
  EXPECT_EQ(of(script), "is not executable; run: chmod +x " + script);
}

TEST_F(ProgramFailure, AFolderIsNone) {
  EXPECT_EQ(of(folder_.path().string()), "is a folder; name a program in it");
  EXPECT_EQ(of("/dev/null"), "is a device; name a program");
}

TEST(ProgramName, IsOfTheScriptForPython) {
  EXPECT_EQ(program_name({"/opt/bin/solve", "--steps", "3"}), "solve");
  EXPECT_EQ(program_name({"/usr/bin/python3", "src/train.py", "x"}), "train.py");
  EXPECT_EQ(program_name({"python", "-u", "train.py"}), "train.py");
  EXPECT_EQ(program_name({"python3", "-c", "print(1)"}), "python3");
  EXPECT_EQ(program_name({"python3", "-V"}), "python3");
  EXPECT_EQ(program_name({}), "unknown");
}

}  // namespace
}  // namespace peakmark
