#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_targets.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpus_inputs(std::string_view target) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& one : fs::directory_iterator(fs::path(PEAKMARK_CORPUS) / target)) {
    paths.push_back(one.path());
  }
  std::ranges::sort(paths);  // the order of a folder differs between machines
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// Returns the input with a few random changes: bits, bytes, texts that readers confuse, and removed or
/// repeated parts.
std::string changed(std::string input, std::mt19937_64& random) {
  constexpr std::array<std::string_view, 12> kTexts = {
      "-1", "0", "1e999", "9223372036854775808", "null", "{}", "[]", "\"", "\n", "\xff", "true", "\\ud800"};
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !input.empty(); --changes) {
    const std::size_t at = below(input.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(input.size() - at, 64));
    switch (below(6)) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        input[at] = static_cast<char>(below(256));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, input.substr(at, length));
        break;
      case 4:
        input.replace(at, std::min<std::size_t>(length, 4), kTexts[below(kTexts.size())]);
        break;
      default:
        input.resize(at);
    }
  }
  return input;
}

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

/// Reads the same changed inputs each time. The fuzzers of the nightly workflow try more, and follow
/// branches.
TEST_P(Corpus, IsReadOrRejectedAfterRandomChanges) {
  constexpr int kChanged = 400;
  const auto& [name, read] = GetParam();
  const std::vector<std::string> inputs = corpus_inputs(name);
  ASSERT_FALSE(inputs.empty());
  std::mt19937_64 random(1);
  for (int i = 0; i < kChanged; ++i) {
    const std::string input = changed(inputs[static_cast<std::size_t>(i) % inputs.size()], random);
    const unsigned form = static_cast<unsigned>(random() % kFuzzForms);
    EXPECT_NO_THROW(read(input, form)) << "form " << form << " of:\n" << input;
  }
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
