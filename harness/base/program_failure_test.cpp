#include "base/program_failure.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/temporary_folder.hpp"

namespace peakmark {
namespace {

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

TEST_F(ProgramFailure, WhatIsNotThereIsLookedForInTheFoldersOfPath) {
  EXPECT_EQ(of("/no/such/file"), "there is no such program");
  EXPECT_EQ(of("no-such-file"), "there is no such program in the folders of PATH");
}

TEST_F(ProgramFailure, AProgramOfThisFolderIsNamedByItsPath) {
  put("tool", "#!/bin/sh\n", fs::perms::owner_all);
  put("tool.cpp", "int main() {}\n", fs::perms::owner_read);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const std::string program = of("tool");
  const std::string source = of("tool.cpp");
  fs::current_path(before);
  EXPECT_THAT(program, EndsWith("in the folders of PATH; that of this folder is ./tool"));
  EXPECT_THAT(source, StartsWith("is no program: "));
}

TEST_F(ProgramFailure, ASourceIsNoProgramWhoeverMayExecuteIt) {
  for (const fs::perms permissions : {fs::perms::owner_read, fs::perms::owner_all})
    EXPECT_THAT(of(put("scale.cpp", "#include <x>\n", permissions)),
                AllOf(StartsWith("is no program: "), HasSubstr("build it, and name the program")));
}

TEST_F(ProgramFailure, AScriptThatMayNotBeExecutedIsToldHowItMay) {
  const std::string script = put("script", "#!/bin/sh\n", fs::perms::owner_read);
  EXPECT_EQ(of(script), "may not be executed; allow it: chmod +x " + script);
}

TEST_F(ProgramFailure, AFolderIsNone) {
  EXPECT_EQ(of(folder_.path().string()), "is a folder; name a program in it");
  EXPECT_EQ(of("/dev/null"), "is a device; name a program");
}

}  // namespace
}  // namespace peakmark
