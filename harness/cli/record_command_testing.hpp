#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "base/files_testing.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {

/// Runs `peakmark record` from a shell.
class RecordCommand : public testing::Test {
 protected:
  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };

  std::string file(const char* name) const { return folder_.path() / name; }
  std::string profile() const { return file("p"); }

  static std::string text(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// `arguments`: shell words; PROGRAM stands for the program that allocates.
  Result record(const std::string& arguments, const std::string& before = "") const {
    const std::string line = before +
                             " PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM "; " PEAKMARK_COMMAND " record -o " +
                             profile() + " " + arguments + " >" + file("out") + " 2>" + file("err");
    const int status = std::system(line.c_str());
    return {WEXITSTATUS(status), text(file("out")), text(file("err"))};
  }

  LedgerSummary recorded(const std::string& path) const { return summarise(ProfileReader(path).events()); }

  TemporaryFolder folder_;
};

}  // namespace peakmark
