#include "base/environment_list.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace peakmark {
namespace {

void put_program(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "#!/bin/sh\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

TEST(EnvironmentList, TellsWhatIsSet) {
  const std::vector<std::string> environment{"AB=2", "A=x=y"};
  EXPECT_EQ("x=y", variable_of(environment, "A"));
  EXPECT_EQ(std::nullopt, variable_of(environment, "B"));
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
  EXPECT_EQ(folder.path() / "b" / "tool", program_in(environment, "tool"));
  EXPECT_EQ(std::nullopt, program_in(environment, "sh"));
  EXPECT_EQ("/bin/sh", program_in(environment, "/bin/sh"));
  EXPECT_EQ(std::nullopt, program_in(environment, "/bin/no-such-shell"));
  EXPECT_EQ(std::nullopt, program_in(environment, "/etc/passwd")) << "not to be executed";
}

TEST(EnvironmentList, EmptyFoldersAreTheWorkingFolder) {
  EXPECT_EQ(without_empty_folders(":/a::/b c:"), "/a:/b c");
  EXPECT_EQ(without_empty_folders(":"), "");
}

}  // namespace
}  // namespace peakmark
