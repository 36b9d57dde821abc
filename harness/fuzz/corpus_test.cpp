#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "fuzz/fuzz_targets.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

class Corpus : public testing::TestWithParam<FuzzTarget> {};

/// Reads inputs that once failed and the initial inputs of the fuzzers. This finds crashes, hangs and
/// unexpected exceptions without libFuzzer.
TEST_P(Corpus, IsReadOrRejected) {
  const auto& [name, read] = GetParam();
  int inputs = 0;
  for (const fs::directory_entry& one : fs::directory_iterator(fs::path(PEAKMARK_CORPUS) / name)) {
    std::ifstream in(one.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(in)), {});
    for (unsigned form = 0; form < kFuzzForms; ++form) {
      EXPECT_NO_THROW(read(input, form)) << one.path() << ", form " << form;
    }
    ++inputs;
  }
  EXPECT_GE(inputs, 2) << "the corpus of " << name;
}

TEST(Corpora, EachBelongsToATarget) {
  std::set<std::string> names;
  for (const FuzzTarget& target : fuzz_targets()) names.insert(std::string(target.name));
  std::set<std::string> folders;
  for (const fs::directory_entry& one : fs::directory_iterator(PEAKMARK_CORPUS)) {
    folders.insert(one.path().filename().string());
  }
  EXPECT_EQ(folders, names);
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const testing::TestParamInfo<FuzzTarget>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace peakmark
