#include "measure/runfile/run_journal.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "measure/runfile/sample_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunJournalTest : public testing::Test {
 protected:
  RunJournalTest() {
    context_ = example_run().context;
    context_.complete = false;
    PlannedCase planned = context_.planned.front();
    context_.planned.clear();
    for (const char* name : {"a", "b", "c"}) {
      planned.name = name;
      context_.planned.push_back(planned);
    }
  }
  std::string resume_error(const RunContext& context) const {
    RunJournal journal(path_);
    try {
      journal.resume(context);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "run.json";
  const std::filesystem::path partial_ = partial_of(path_);
  RunContext context_;
};

TEST_F(RunJournalTest, OpeningAloneLeavesWhatAnEarlierRunMeasured) {
  {
    RunJournal killed(path_);
    killed.start(context_);
    killed.add(example_observation("b"));
  }
  const std::string before = read_text_file(partial_);
  { const RunJournal opened(path_); }  // and then something else is wrong
  EXPECT_EQ(read_text_file(partial_), before);
}

TEST_F(RunJournalTest, WritesNoSecretAndNoPathOfAPerson) {
  ::setenv("NVIDIA_API_KEY", "nvapi-0123456789", 1);
  const std::string home = "/home/somebody";
  {
    RunJournal journal(path_);
    context_.environment["NVIDIA_API_KEY"] = "nvapi-0123456789";
    context_.warnings = {home + "/x is slow"};
    journal.start(context_);
    Observation measured = example_observation("a");
    measured.message = "401 for nvapi-0123456789 in " + home + "/theirs.py";
    measured.program_failure = ProgramFailure{1, {"in " + home + "/theirs.py", "nvapi-0123456789"}};
    measured.call_leaks = {{"buffer", "buffer", "call " + home, home + "/my work/leaks.py:3", 8, 8}};
    measured.estimate.emplace().error = "not_asked: " + home + "/e.py";
    measured.estimate->is_asked = false;
    journal.add(measured);
    Observation noted = example_observation("b");
    noted.message = "no " + home + "/b";
    journal.note(noted);
    measured.estimate->is_asked = true;
    measured.estimate->error = "exception: File \"" + home + "/my work/e.py\", nvapi-0123456789";
    journal.change(measured);
    journal.change([&](RunContext& context) { context.warnings.push_back("again " + home + "/y"); });
    const std::string partial = read_text_file(partial_);
    EXPECT_THAT(partial, AllOf(Not(HasSubstr(home)), Not(HasSubstr("nvapi-")), HasSubstr("theirs.py")));
    journal.finish();
  }
  ::unsetenv("NVIDIA_API_KEY");
  const std::string text = read_text_file(path_);
  EXPECT_THAT(text, AllOf(Not(HasSubstr(home)), Not(HasSubstr("nvapi-")), HasSubstr("x is slow")));
  EXPECT_EQ(read_run(path_).observations.front().estimate->error,
            "exception: File \"e.py\", $NVIDIA_API_KEY");
}

TEST_F(RunJournalTest, KeepsEachObservationAsItComes) {
  RunJournal journal(path_);
  EXPECT_EQ(journal.start(context_), std::filesystem::path());
  journal.add(example_observation("b"));
  EXPECT_THAT(read_text_file(partial_), HasSubstr("\"case\":\"b\""));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(journal.missing().size(), 2u);
  journal.add(example_observation("a"));
  journal.add(example_observation("c"));
  journal.finish();
  EXPECT_FALSE(std::filesystem::exists(partial_));
  const peakmark::Run run = read_run(path_);
  EXPECT_TRUE(run.context.complete);
  EXPECT_EQ(run.observations.at(0).case_name, "a");
  EXPECT_EQ(run.observations.at(1).case_name, "b");
}

TEST_F(RunJournalTest, ResumesAKilledRunWithoutItsHalfLine) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
  }
  std::ofstream(partial_, std::ios::app) << "{\"case\":\"b\",";
  RunJournal journal(path_);
  EXPECT_TRUE(journal.resume(context_));
  ASSERT_EQ(journal.missing().size(), 2u);
  EXPECT_EQ(journal.missing().at(0)->name, "b");
  EXPECT_EQ(journal.run().context.id, context_.id);
  journal.add(example_observation("b"));
  journal.add(example_observation("c"));
  journal.finish();
  EXPECT_EQ(read_run(path_).observations.size(), 3u);
}

TEST_F(RunJournalTest, ResumesARunThatStoppedInGoodOrder) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
    journal.finish();
  }
  EXPECT_FALSE(read_run(path_).context.complete);
  RunJournal journal(path_);
  EXPECT_TRUE(journal.resume(context_));
  EXPECT_EQ(journal.missing().size(), 2u);
}

TEST_F(RunJournalTest, ResumingWithoutARunStartsNone) {
  {
    RunJournal journal(path_);
    EXPECT_FALSE(journal.resume(context_));
  }
  EXPECT_FALSE(std::filesystem::exists(partial_)) << "an empty partial run was left behind";
}

TEST_F(RunJournalTest, ResumingACompleteRunFindsNothingToDo) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    for (const char* name : {"a", "b", "c"}) journal.add(example_observation(name));
    journal.finish();
  }
  const std::string before = read_text_file(path_);
  {
    RunJournal journal(path_);
    EXPECT_TRUE(journal.resume(context_));
    EXPECT_TRUE(journal.missing().empty());
  }
  EXPECT_EQ(read_text_file(path_), before);
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(RunJournalTest, RefusesToGoOnWithAnotherRun) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
  }
  EXPECT_EQ(resume_error(context_), "no error");
  const auto changed = [&](auto&& change) {
    RunContext context = context_;
    change(context);
    return resume_error(context);
  };
  EXPECT_THAT(changed([](RunContext& context) { context.device = "H200"; }),
              AllOf(HasSubstr("another device"), HasSubstr("H200")));
  EXPECT_THAT(changed([](RunContext& context) { context.driver = "4"; }), HasSubstr("another driver"));
  EXPECT_THAT(changed([](RunContext& context) { context.backend = "cuda"; }), HasSubstr("another backend"));
  EXPECT_THAT(changed([](RunContext& context) { context.build = "Debug"; }), HasSubstr("another build"));
  EXPECT_THAT(changed([](RunContext& context) { context.commit = "ff"; }), HasSubstr("another commit"));
  EXPECT_THAT(changed([](RunContext& context) { context.suite = "smoke"; }), HasSubstr("another suite"));
  EXPECT_THAT(changed([](RunContext& context) { context.fingerprint = "x"; }), HasSubstr("fingerprint"));
  EXPECT_THAT(changed([](RunContext& context) { context.memory_only = false; }), HasSubstr("memory only"));
  EXPECT_THAT(changed([](RunContext& context) { context.budget_bytes = 1024; }),
              HasSubstr("another --budget ('none', now '1 KiB')"));
  EXPECT_THAT(changed([](RunContext& context) { context.planned.pop_back(); }),
              AllOf(HasSubstr("--filter"), HasSubstr("3 cases, now 2")));
  // None of these attempts has damaged the run.
  EXPECT_EQ(resume_error(context_), "no error");
}

TEST_F(RunJournalTest, RefusesAPartialRunThatItDoesNotUnderstand) {
  std::ofstream(partial_) << "something else\n";
  EXPECT_THAT(resume_error(context_), AllOf(HasSubstr(partial_.string()), HasSubstr("line 1")));
}

TEST_F(RunJournalTest, StartingAnewKeepsWhatWasThereUnderAnotherName) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
  }
  const std::string before = read_text_file(partial_);
  std::ofstream(partial_.string() + ".1") << "an earlier one still";
  const std::filesystem::path kept = partial_.string() + ".2";
  {
    RunJournal journal(path_);
    EXPECT_EQ(journal.start(context_), kept);
    journal.change([](RunContext&) {});
    journal.note(example_observation("b"));
    EXPECT_EQ(journal.missing().size(), 2u);
    EXPECT_FALSE(journal.has_measured());
  }
  EXPECT_EQ(read_text_file(partial_), before);
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.note(example_observation("b"));
    journal.add(example_observation("c"));
    EXPECT_TRUE(journal.has_measured());
  }
  RunJournal journal(path_);
  EXPECT_TRUE(journal.resume(context_));
  ASSERT_EQ(journal.missing().size(), 1u);
  EXPECT_EQ(journal.missing().front()->name, "a");
  EXPECT_EQ(read_text_file(kept), before);
  EXPECT_EQ(read_text_file(partial_.string() + ".1"), "an earlier one still");
}

TEST_F(RunJournalTest, AnEarlierRunWithoutACaseIsNotKept) {
  std::ofstream(partial_) << "{\"context\":{}}\n";
  RunJournal journal(path_);
  EXPECT_EQ(journal.start(context_), std::filesystem::path());
}

TEST_F(RunJournalTest, IfTheNewRunHasNoSpaceTheEarlierOneStays) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
  }
  const std::string before = read_text_file(partial_);
  {
    RunJournal journal(path_);
    RunContext larger = context_;
    larger.warnings = {std::string(20'000, 'w')};
    journal.start(larger);
    const FullDisk full(before.size() + 10'000);
    EXPECT_THROW(journal.add(example_observation("a")), IoError);
    EXPECT_FALSE(journal.has_measured());
  }
  EXPECT_EQ(read_text_file(partial_), before);
  EXPECT_FALSE(std::filesystem::exists(partial_.string() + ".1"));
}

TEST_F(RunJournalTest, OfWhatNeedsNoDeviceAloneNothingIsLeft) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.note(example_observation("a"));
  }
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(RunJournalTest, ACutShortRunFileIsNotReportedAsResumable) {
  write_run(peakmark::Run{context_, {example_observation("a")}}, path_);
  std::string text = read_text_file(path_);
  std::ofstream(path_) << text.substr(0, text.size() / 2);
  EXPECT_THAT(resume_error(context_),
              AllOf(HasSubstr("cut short"), HasSubstr("without --resume"), Not(HasSubstr("resume the run"))));
  {
    RunJournal journal(path_);  // and measuring again is possible
    journal.start(context_);
    journal.add(example_observation("a"));
    journal.finish();
  }
  EXPECT_EQ(read_run(path_).observations.size(), 1u);
}

TEST_F(RunJournalTest, IsWrittenByOneAtATime) {
  const RunJournal journal(path_);
  try {
    const RunJournal second(path_);
    FAIL() << "two journals of one run";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another peakmark measures into"));
  }
}

// Lines and contexts that are longer than what is read at once.
TEST_F(RunJournalTest, ALargeRunIsResumed) {
  PlannedCase planned = context_.planned.front();
  context_.planned.clear();
  for (int n = 0; n < 1000; ++n) {
    planned.name = "case " + std::to_string(n);
    context_.planned.push_back(planned);
  }
  {
    RunJournal journal(path_);
    journal.start(context_);
    for (int n = 0; n < 250; ++n) journal.add(example_observation("case " + std::to_string(n)));
    journal.change([](RunContext& context) { context.warnings.emplace_back("late"); });
    journal.add(example_observation("case 999"));
  }
  ASSERT_GT(std::filesystem::file_size(partial_), 2u << 18);
  std::ofstream(partial_, std::ios::app) << to_json_line(example_observation("case 600")).substr(0, 100);
  RunJournal journal(path_);
  ASSERT_TRUE(journal.resume(context_));
  EXPECT_EQ(journal.run().observations.size(), 251u);
  EXPECT_EQ(journal.run().context.planned.size(), 1000u);
  EXPECT_EQ(journal.run().context.warnings.back(), "late");
  EXPECT_EQ(journal.missing().size(), 749u);
  journal.add(example_observation("case 600"));
  journal.finish();
  EXPECT_EQ(read_run(path_).observations.size(), 252u);
  EXPECT_EQ(read_run(path_).observations.back().case_name, "case 999");
}

TEST_F(RunJournalTest, AWrongLineOfAPartialRunIsNamed) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.add(example_observation("a"));
  }
  const std::string good = read_text_file(partial_);
  const auto message = [&](const std::string& text) -> std::string {
    std::ofstream(partial_) << text;
    try {
      RunJournal(path_).resume(context_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(good + "{\"case\": oops}\n"), HasSubstr(": line 3: "));
  EXPECT_THAT(message(good + std::string(300'000, '[') + "\n"), HasSubstr(": line 3: "));
  EXPECT_THAT(message("{\"context\":{\"planned\":[{\"case\":7}]}}\n" + good),
              AllOf(HasSubstr(": line 1: "), HasSubstr("must be a string")));
  EXPECT_THAT(message("{\"context\":7}\n"), HasSubstr(": line 1: "));
  EXPECT_EQ(message(good), "no error");
}

TEST_F(RunJournalTest, LaterContextWins) {
  {
    RunJournal journal(path_);
    journal.start(context_);
    journal.change([](RunContext& context) { context.reference.first_ns = 77; });
    journal.add(example_observation("a"));
  }
  RunJournal journal(path_);
  journal.resume(context_);
  EXPECT_EQ(journal.run().context.reference.first_ns, 77);
}

}  // namespace
}  // namespace peakmark
