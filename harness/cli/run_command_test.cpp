#include "base/text_file.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using RunCommand = CommandTest;

TEST_F(RunCommand, MeasuresASuiteIntoARunFile) {
  suite({"ok", "say", "leave", "ok"});
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(answer.output, "");
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("device: dry"), HasSubstr("worker: something to read"),
                                   HasSubstr("4 cases: 4 ok"), Not(HasSubstr("\x1b"))));
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_TRUE(measured.context.complete);
  EXPECT_EQ(measured.context.worker, "fake worker 1");
  EXPECT_EQ(measured.context.backend, "dry");
  EXPECT_EQ(measured.observations.at(2).requested_peak_bytes, 3000);
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(RunCommand, ADeviceClassIsNextToTheDeviceOfEachCase) {
  suite({"ok"}, "version = 3\n");
  const Answer answer = run({"--device-class", "hosted-cpu_1.0"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("filed under the device class hosted-cpu_1.0"));
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_EQ(measured.context.device_class, "hosted-cpu_1.0");
  EXPECT_EQ(measured.context.device, "dry");
  EXPECT_EQ(measured.observations.at(0).device, "dry");
  EXPECT_EQ(measured.observations.at(0).version, 3);
  EXPECT_EQ(measured.context.planned.at(0).version, 3);
  const Answer another = run({"--resume", "--device-class", "other"});
  EXPECT_EQ(another.end.exit_code, 2);
  EXPECT_THAT(another.errors, HasSubstr("another --device-class ('hosted-cpu_1.0', now 'other')"));
  for (const char* const name : {"", "a b", "a/b", "ü", "a\nb"}) {
    const Answer refused = run({"--device-class", name});
    EXPECT_EQ(refused.end.exit_code, 2) << name;
    EXPECT_THAT(refused.errors, HasSubstr("is not a name of a class")) << name;
  }
}

TEST_F(RunCommand, JsonIsTheWholeRunOnStandardOutput) {
  suite({"ok"});
  const Answer answer = run({"--json"});
  EXPECT_EQ(answer.output, read_text_file(run_file_));
}

TEST_F(RunCommand, FailedMeasurementsAreExitCode3AndPrintHowToRepeatThem) {
  suite({"ok", "abort", "wrong", "hang"});
  const Answer answer = run({"--timeout", "1"});
  EXPECT_EQ(answer.end.exit_code, 3);
  EXPECT_THAT(outcomes(), ElementsAre("ok", "crashed", "wrong_answer", "timeout"));
  EXPECT_THAT(answer.errors, HasSubstr("signal SIGABRT"));

  const std::string mark = "reproduce: peakmark ";
  const auto start = answer.errors.find(mark);
  ASSERT_NE(start, std::string::npos) << answer.errors;
  const std::string command_line =
      answer.errors.substr(start + mark.size(), answer.errors.find('\n', start) - start - mark.size());
  const Answer alone =
      ask({"/bin/sh",
           {"-c", "cd '" + folder_.path().string() + "' && exec " PEAKMARK_PROGRAM " " + command_line},
           current_environment(),
           ""},
          kLimit);
  EXPECT_EQ(alone.end.exit_code, 3) << command_line << alone.errors;
  const peakmark::Run repeated = read_run(folder_.path() / "alone.json");
  ASSERT_EQ(repeated.observations.size(), 1u);
  EXPECT_EQ(repeated.observations[0].case_name, "fake/case/dry/does:abort/n:2");
}

TEST_F(RunCommand, AnExpectedFailureIsNone) {
  suite({"abort", "abort"}, "expect = \"crashed\"\n");
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, Not(HasSubstr("reproduce:")));
}

TEST_F(RunCommand, NothingMeasuredIsExitCode4) {
  for (const char* const expected : {"", "expect = \"unsupported\"\n"}) {
    suite({"unsupported", "unsupported"}, expected);
    const Answer answer = run();
    EXPECT_EQ(answer.end.exit_code, 4);
    EXPECT_THAT(answer.errors, AllOf(HasSubstr(": skipped: unsupported"),
                                     HasSubstr("2 cases: 2 skipped (2 unsupported) in "),
                                     HasSubstr("nothing was measured: every case was skipped")));
    const Answer checked = peakmark({"check", run_file_.string()});
    EXPECT_EQ(checked.end.exit_code, 4);
    EXPECT_THAT(checked.output,
                HasSubstr("\n2 cases: 0 pass, 2 skipped (2 unsupported), 0 fail; nothing was measured\n"));
    EXPECT_THAT(peakmark({"show", run_file_.string()}).output, HasSubstr("  skipped (unsupported)"));
    std::filesystem::remove(run_file_);
  }
}

TEST_F(RunCommand, WhatIsRequiredAndMissingIsExitCode4) {
  suite({"ok"});
  const Answer answer = run({"--require", "cuda"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.errors, HasSubstr("--require cuda"));
  environment_ = {"PEAKMARK_REQUIRE=gpu"};
  EXPECT_EQ(run().end.exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(run_file_));
}

TEST_F(RunCommand, ADeviceThatIsNotThereIsExitCode4) {
  suite({"ok"});
  const Answer answer = run({"--device", "no such device"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.errors, HasSubstr("no such device"));
}

TEST_F(RunCommand, ARecorderThatDoesNotWorkIsExitCode5) {
  suite({"ok"});
  environment_ = {"FAKE_WORKER=exit_5"};
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 5);
  EXPECT_THAT(answer.errors, HasSubstr("peakmark: no recorder"));
  EXPECT_FALSE(std::filesystem::exists(partial_)) << "nothing was measured";
}

TEST_F(RunCommand, AWorkerOfAnotherProtocolIsExitCode2) {
  suite({"ok"});
  environment_ = {"FAKE_WORKER=other_protocol"};
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("version 99"), HasSubstr("same sources")));
}

TEST_F(RunCommand, MistakesAreExitCode2) {
  suite({"ok"});
  EXPECT_EQ(run({"--filter", "("}).end.exit_code, 2);
  EXPECT_EQ(run({"--filter", "nothing like it"}).end.exit_code, 2);
  EXPECT_EQ(run({"--shard", "2/1"}).end.exit_code, 2);
  EXPECT_EQ(run({"--backend", "vulkan"}).end.exit_code, 2);
  EXPECT_EQ(run({"--timeout", "0"}).end.exit_code, 2);
  EXPECT_EQ(run({"--deadline", "nan"}).end.exit_code, 2);
  EXPECT_EQ(run({"--repetitions", "0"}).end.exit_code, 2);
  EXPECT_EQ(run({"--worker", "/no/such/program"}).end.exit_code, 2);
  EXPECT_EQ(run({"--no-such-option"}).end.exit_code, 2);
  EXPECT_EQ(peakmark({"run"}).end.exit_code, 2);
  EXPECT_EQ(peakmark({"run", (folder_.path() / "absent.toml").string(), "--worker", PEAKMARK_FAKE_WORKER})
                .end.exit_code,
            2);
}

TEST_F(RunCommand, ShardsAreInterleaved) {
  suite({"ok", "ok", "ok"});
  EXPECT_EQ(run({"--shard", "2/2"}).end.exit_code, 0);
  const peakmark::Run measured = read_run(run_file_);
  ASSERT_EQ(measured.observations.size(), 1u);
  EXPECT_EQ(measured.observations[0].axes.integer("n"), 2);
}

TEST_F(RunCommand, TheDeadlineStopsInGoodOrder) {
  suite({"ok", "hang", "ok"});
  const Answer answer = run({"--deadline", "3"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("stopped by the deadline"), HasSubstr("2 cases are not measured")));
  EXPECT_FALSE(read_run(run_file_).context.complete);
  EXPECT_THAT(outcomes(), ElementsAre("ok"));
}

}  // namespace
}  // namespace peakmark
