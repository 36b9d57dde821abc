#include "analyse/fit/oom.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SequencedAllocation allocation(const std::string& where, Size bytes, std::optional<Size> released_at = 9) {
  return {"", "", where, bytes, 0, released_at, true};
}

Observation observation(Outcome outcome, const std::string& message = "") {
  Observation observation;
  observation.outcome = outcome;
  observation.message = message;
  if (outcome == Outcome::ok) observation.allocation_sequence = {allocation("a.py:1", 100)};
  observation.failed_allocations = 1;
  return observation;
}

RefusalOutcome judged(const Observation& refused, std::optional<bool> is_same_result = std::nullopt) {
  return judge_refusal(1, observation(Outcome::ok), refused, is_same_result).outcome;
}

/// A program that ended with another exit code than 0.
Observation failed(Outcome outcome, std::optional<int> exit_code, std::vector<std::string> last_lines) {
  Observation failed = observation(outcome, "the program ended after 1 allocation was refused");
  failed.program_failure = ProgramFailure{exit_code, std::move(last_lines)};
  return failed;
}

TEST(JudgeRefusal, AnEndWithAMessageThatNamesMemoryIsHandled) {
  for (const char* const message :
       {"pyopencl._cl.MemoryError: create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE", "std::bad_alloc",
        "cannot ALLOCATE the sinogram", "error: CL_OUT_OF_RESOURCES"}) {
    const Refusal refusal = judge_refusal(1, observation(Outcome::ok),
                                          failed(Outcome::out_of_memory, 1, {message, "Aborting."}), {});
    EXPECT_EQ(refusal.outcome, RefusalOutcome::handled) << message;
    EXPECT_EQ(refusal.exit_code, 1);
  }
  EXPECT_EQ(judged(observation(Outcome::unsupported, "too large for this device")), RefusalOutcome::handled);
}

TEST(JudgeRefusal, AnEndThatDoesNotNameMemoryIsACrash) {
  EXPECT_EQ(judged(failed(Outcome::out_of_memory, 3, {})), RefusalOutcome::crashed)
      << "only peakmark's own words name an allocation";
  EXPECT_EQ(judged(failed(Outcome::crashed, 1, {"KeyError: 'image'"})), RefusalOutcome::crashed);
  const Refusal refusal = judge_refusal(1, observation(Outcome::ok),
                                        failed(Outcome::out_of_memory, std::nullopt, {"out of memory"}), {});
  EXPECT_EQ(refusal.outcome, RefusalOutcome::crashed) << "a signal, whatever was written before";
  EXPECT_EQ(refusal.exit_code, std::nullopt);
}

TEST(JudgeRefusal, AnErrorCodeOfMemoryNamesMemory) {
  for (const char* const message :
       {"openmm.OpenMMException: Error creating array posq: clCreateBuffer (-4)", "mean: OpenCL error -4",
        "ERROR: clEnqueueNDRangeKernel returned -5.", "[OpenCL] status=-6", "cl::Error -4 in Filter",
        "error -4 of clEnqueueWriteBuffer", "OpenCL Error in 'clCreateImage' (fft.cpp:88): -4",
        "CUDA error 2 at fft.cu:31", "cudaMalloc failed: 2", "cuMemAlloc_v2 returned 2", "hipMalloc = 2",
        "Cuda failure: status(2)"})
    EXPECT_EQ(judged(failed(Outcome::crashed, 1, {message})), RefusalOutcome::handled) << message;
  for (const char* const message :
       {"OpenCL error -48", "clBuildProgram (-11)", "clSetKernelArg: -50", "clEnqueueCopyBuffer: -4.5",
        "error -4", "lines 3-4 of the OpenCL program", "class -4", "OpenCL 1.2-4",
        "cudaSetDevice(2) failed: 101", "CUDA error 209", "CUDA 12 failed", "error at kernel.cu:2",
        "cuda error in line 2"})
    EXPECT_EQ(judged(failed(Outcome::crashed, 1, {message})), RefusalOutcome::crashed) << message;
}

TEST(JudgeRefusal, AProgramThatGoesOnIsJudgedByItsResultAndItsMemory) {
  EXPECT_EQ(judged(observation(Outcome::timeout)), RefusalOutcome::hung);
  EXPECT_EQ(judged(observation(Outcome::wrong_answer)), RefusalOutcome::wrong_result);
  const Refusal wrong = judge_refusal(1, observation(Outcome::ok), observation(Outcome::ok), false);
  EXPECT_EQ(wrong.outcome, RefusalOutcome::wrong_result);
  EXPECT_THAT(wrong.message, HasSubstr("the compared file differs"));
  EXPECT_EQ(judged(observation(Outcome::ok), true), RefusalOutcome::retried);
  EXPECT_EQ(judged(observation(Outcome::ok)), RefusalOutcome::retried);
  Observation leaking = observation(Outcome::ok);
  leaking.allocation_sequence->push_back(allocation("a.py:7", 64, std::nullopt));
  const Refusal refusal = judge_refusal(1, observation(Outcome::ok), leaking, true);
  EXPECT_EQ(refusal.outcome, RefusalOutcome::leaked);
  EXPECT_EQ(refusal.message, "64 bytes more live at the end");
  EXPECT_EQ(judge_refusal(1, leaking, leaking, true).outcome, RefusalOutcome::retried)
      << "it always keeps them";
}

TEST(JudgeRefusal, ARunWithoutAFailedAllocationIsNoRefusal) {
  Observation refused = observation(Outcome::ok);
  refused.failed_allocations = std::nullopt;
  EXPECT_EQ(judged(refused, true), RefusalOutcome::not_refused);
}

TEST(JudgeRefusal, MemoryAtAnEndInOrderIsKnownIfItWasRecorded) {
  Observation refused = failed(Outcome::out_of_memory, 1, {"out of memory"});
  EXPECT_EQ(judge_refusal(1, observation(Outcome::ok), refused, {}).leaked_bytes, std::nullopt);
  refused.allocation_sequence = {allocation("a.py:1", 48, std::nullopt), allocation("a.py:2", 16)};
  const Refusal refusal = judge_refusal(1, observation(Outcome::ok), refused, {});
  EXPECT_EQ(refusal.outcome, RefusalOutcome::handled);
  EXPECT_EQ(refusal.leaked_bytes, 48);
}

TEST(JudgeRefusal, WhatIsNotAsBeforeAfterwardsIsUnusable) {
  Observation reference = observation(Outcome::ok);
  reference.requested_peak_bytes = 100;
  Refusal refusal;
  add_next_case(refusal, reference, reference);
  EXPECT_EQ(refusal.outcome, RefusalOutcome::handled);
  Observation next = reference;
  next.requested_peak_bytes = 164;
  refusal.message = "refused";
  add_next_case(refusal, reference, next);
  EXPECT_EQ(refusal.outcome, RefusalOutcome::unusable);
  EXPECT_EQ(refusal.message, "refused; afterwards, without a refusal: another peak: 164 bytes");
  refusal = {};
  add_next_case(refusal, reference, observation(Outcome::crashed, "signal SIGSEGV"));
  EXPECT_EQ(refusal.outcome, RefusalOutcome::unusable);
  EXPECT_TRUE(is_failure(refusal.outcome));
}

TEST(ChooseRefusals, TakesAllASampleOrOneSite) {
  const AllocationSequence sequence{allocation("a.py:1", 10), allocation("a.py:1", 20),
                                    allocation("b.py:2", 5),  allocation("a.py:1", 90),
                                    allocation("b.py:2", 5),  allocation("a.py:1", 10)};
  EXPECT_THAT(choose_refusals(sequence, {}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(choose_refusals(sequence, {.sample = true}), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(choose_refusals(sequence, {.only = "b.py"}), ElementsAre(3, 5));
  try {
    choose_refusals(sequence, {.only = "c.py"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--only: no allocation is made at 'c.py'; write a part of a name or a call chain, such as "
                 "a.py:1, or b.py:2");
  }
  EXPECT_THAT(choose_refusals(sequence, {.indices = {5, 2}}), ElementsAre(2, 5));
  EXPECT_THROW(choose_refusals(sequence, {.indices = {7}}), UsageError);
  const auto drawn = choose_refusals(sequence, {.count = 3, .seed = 5});
  EXPECT_EQ(drawn.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(drawn));
  EXPECT_EQ(drawn, choose_refusals(sequence, {.count = 3, .seed = 5}));
  EXPECT_TRUE(choose_refusals({}, {.sample = true}).empty());
}

OomReport sample_oom_report() {
  OomReport report;
  report.program = "./solve";
  report.device = "pocl";
  report.allocations = 3;
  report.refusals = {
      {1, 1024, "", "solve.c:10", RefusalOutcome::handled, 1, std::nullopt, "out of memory"},
      {2, 4096, "", "solve.c:20", RefusalOutcome::crashed, std::nullopt, std::nullopt, "signal SIGSEGV"},
      {3, 2048, "", "solve.c:20", RefusalOutcome::crashed, std::nullopt, std::nullopt, "signal SIGSEGV"}};
  return report;
}

TEST(OomReport, TheWorstSiteIsFirst) {
  OomReport report = sample_oom_report();
  report.refusals[1].exit_code = 1;
  report.refusals[1].last_lines = {"Traceback / 3 lines", "KeyError: 'image'"};
  const std::string text = oom_text(report);
  EXPECT_LT(text.find("solve.c:20"), text.find("solve.c:10"));
  EXPECT_THAT(text, HasSubstr("./solve on pocl: 3 allocations, 3 refused"));
  EXPECT_THAT(text, HasSubstr("3 refusals: 2 failures"));
  EXPECT_THAT(text, HasSubstr("--compare-output"));
  EXPECT_THAT(text, HasSubstr("KeyError: 'image'; the message does not name memory"));
  OomReport good = sample_oom_report();
  good.refusals.resize(1);
  good.is_result_compared = true;
  EXPECT_THAT(oom_text(good), HasSubstr("1 refusal: none crashed, hung or changed the result"));
  EXPECT_THAT(oom_text(good), Not(HasSubstr("--compare-output")));
}

TEST(OomReport, TheMessageIsTheLastLineThatNamesMemory) {
  OomReport report = sample_oom_report();
  report.refusals.resize(1);
  report.refusals[0].last_lines = {"CLFFT_MEM_OBJECT_ALLOCATION_FAILURE at plan.cpp:7",
                                   "clfftBakePlan failed: out of memory", "Please call clfftTeardown( )."};
  EXPECT_THAT(oom_text(report), HasSubstr("1  clfftBakePlan failed: out of memory\n"));
  report.refusals[0].last_lines = {"one", "two"};
  EXPECT_THAT(oom_text(report), HasSubstr("1  two\n"));
}

TEST(OomReport, JsonHasEveryRefusal) {
  const auto json = nlohmann::json::parse(oom_json(sample_oom_report()));
  EXPECT_EQ(json["refusals"].size(), 3U);
  EXPECT_EQ(json["refusals"][0]["allocation"], 1);
  EXPECT_EQ(json["refusals"][0]["outcome"], "handled");
  EXPECT_EQ(json["refusals"][0]["exit_code"], 1);
  EXPECT_EQ(json["refusals"][1]["exit_code"], nullptr);
  EXPECT_EQ(json["refusals"][1]["where"], "solve.c:20");
}

TEST(OomReport, JsonIsReadAgain) {
  OomReport report = sample_oom_report();
  report.refusals[0].leaked_bytes = 64;
  report.refusals[0].last_lines = {"Traceback", "out of memory"};
  report.notes = {"a note"};
  OomReport read = parse_oom_json(oom_json(report));
  read.program = report.program;
  read.device = report.device;
  read.allocations = report.allocations;
  EXPECT_EQ(oom_json(read), oom_json(report));
}

TEST(OomReport, JunitHasAFailureForEachThatFails) {
  pugi::xml_document document;
  OomReport report = sample_oom_report();
  report.refusals[0].outcome = RefusalOutcome::not_refused;
  ASSERT_TRUE(document.load_string(oom_junit(report).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 3);
  EXPECT_EQ(suite.attribute("failures").as_int(), 2);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  EXPECT_STREQ(suite.first_child().child("skipped").attribute("message").value(), "out of memory");
  EXPECT_STREQ(suite.last_child().child("failure").attribute("type").value(), "crashed");
}

}  // namespace
}  // namespace peakmark
