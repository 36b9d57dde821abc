#include "check/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "check/sample_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

SampleRun two_cases() {
  SampleRun sample;
  sample.add("op/b/opencl/n:20", 20, 2048, 20, 2048).at_peak = {
      {"output", "buffer", 1024}, {"block", "buffer", 256}, {"block", "buffer", 256}, {"", "image", 512}};
  sample.add_ended("op/a/opencl", Outcome::out_of_memory, "too large");
  sample.run.context.complete = true;
  return sample;
}

std::string message_of(const std::string& text) {
  try {
    parse_baseline(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

// Approved text: what is reviewed in a pull request.
TEST(Baseline, HasALineACaseByName) {
  EXPECT_EQ(
      baseline_text(baseline_of(two_cases().run)),
      "{\"peakmark_baseline\":1}\n"
      "{\"case\":\"op/a/opencl\",\"outcome\":\"out_of_memory\",\"requested_peak_bytes\":null,"
      "\"setup_bytes\":null,\"at_peak\":[]}\n"
      "{\"case\":\"op/b/opencl/n:20\",\"outcome\":\"ok\",\"requested_peak_bytes\":2048,\"setup_bytes\":0,"
      "\"at_peak\":[[\"\",\"image\",512],[\"block\",\"buffer\",256,2],[\"output\",\"buffer\",1024]]}\n");
}

TEST(Baseline, ComesBackAsItWas) {
  const Baseline baseline = baseline_of(two_cases().run);
  EXPECT_EQ(baseline_text(parse_baseline(baseline_text(baseline))), baseline_text(baseline));
}

TEST(Baseline, ThePlaceOfAMistakeIsTold) {
  const std::string head = "{\"peakmark_baseline\":1}\n";
  const std::string line =
      "{\"case\":\"a\",\"outcome\":\"ok\",\"requested_peak_bytes\":1,\"setup_bytes\":0,\"at_peak\":";
  EXPECT_EQ(message_of(head + line + "[]}\n\n"), "none");
  EXPECT_THAT(message_of("{\"peakmark_baseline\":2}\n"),
              AllOf(StartsWith("line 1: a baseline of version 2"), HasSubstr("--update-baseline")));
  EXPECT_THAT(message_of(head + "<<<<<<< ours\n"), StartsWith("line 2: "));
  EXPECT_THAT(message_of(head + line + "[]}\n" + line + "[]}\n"), StartsWith("line 3: a stands there twice"));
  EXPECT_THAT(message_of(head + line + "[[\"x\",\"buffer\"]]}\n"), HasSubstr("[name, kind, bytes]"));
  EXPECT_THAT(message_of(head + line + "[[\"x\",\"buffer\",1,0]]}\n"), HasSubstr("1 to 1000000"));
  EXPECT_THAT(message_of(head + line + "[[\"x\",\"buffer\",1.5]]}\n"), HasSubstr("must be an integer"));
  EXPECT_THAT(message_of(head + "{\"case\":\"a\",\"outcome\":\"fine\"}\n"),
              HasSubstr("unknown outcome 'fine'"));
}

TEST(Baseline, IsReadFromARunFileToo) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "run.json";
  SampleRun sample = two_cases();
  write_run(sample.run, path);
  EXPECT_EQ(baseline_text(read_baseline(path)), baseline_text(baseline_of(sample.run)));
  EXPECT_THROW(write_baseline(Baseline{}, path), UsageError) << "a run file is not replaced";
  sample.run.context.complete = false;
  write_run(sample.run, path);
  try {
    read_baseline(path);
    ADD_FAILURE() << "a run that was cut short";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith(path.string()), HasSubstr("cut short")));
  }
}

TEST(Baseline, ReplacesBaselinesOnly) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "smoke.baseline";
  write_baseline(Baseline{}, path);
  write_baseline(baseline_of(two_cases().run), path);
  EXPECT_EQ(read_baseline(path).cases.size(), 2U);
  std::ofstream(path) << "precious";
  EXPECT_THROW(write_baseline(Baseline{}, path), UsageError);
  EXPECT_EQ(read_text_file(path), "precious");
}

}  // namespace
}  // namespace peakmark
