#include "record/show/recorded_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "record/profile/call_frames.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kStack =
    "P\tArray.__init__\t210\t/home/me/site-packages/pyopencl/array.py\n"
    "P\tpad\t88\t/home/me/padding.py\n"
    "N\t_PyEval_EvalFrameDefault\t1f\t/usr/bin/python3\t2a10\n";

TEST(RecordedSequence, HasCallChainsWithoutFolders) {
  SampleProcess process(1);
  process.say(EventType::phase, 1, 0, "setup")
      .say(EventType::stack, 2, 0x77, kStack)
      .allocate(3, 10, 100)
      .from(0x77)
      .say(EventType::name, 4, 10, "row coordinates")
      .allocate(5, 20, 30)
      .release(6, 20);
  EXPECT_THAT(recorded_sequence({{process.process()}}),
              ElementsAre(SequencedAllocation{"row coordinates", "setup",
                                              "pyopencl/array.py:210 < padding.py:88", 100, 0, std::nullopt},
                          SequencedAllocation{"", "setup", "", 30, 1, 2}));
}

TEST(RecordedSequence, OfSeveralProcessesIsThatOfTheTree) {
  SampleProcess parent(1);
  parent.allocate(1, 10, 100).allocate(5, 11, 7);
  SampleProcess child(2);
  child.say(EventType::stack, 2, 0x77, kStack).allocate(3, 10, 30).from(0x77).release(4, 10);
  const RecordedTree tree{{parent.process(), child.process()}};
  const AllocationSequence sequence = recorded_sequence(tree);
  ASSERT_EQ(sequence.size(), 3);
  EXPECT_EQ(sequence[1].where, "pyopencl/array.py:210 < padding.py:88");
  EXPECT_EQ(peak_bytes(sequence), 130);
  EXPECT_EQ(peak_bytes(sequence), summarise_together(tree).peak_bytes);
}

TEST(RecordedSequence, NamesTheProcessesThatTheProgramStarted) {
  SampleProcess launcher(1);
  launcher.allocate(1, 10, 100);
  SampleProcess worker(2);
  worker.allocate(2, 10, 30).release(4, 10);
  SampleProcess next(1);  // the launcher executed another program in its place
  next.allocate(5, 12, 7);
  RecordedTree tree{{launcher.process(), worker.process(), next.process()}};
  tree.processes[1].command_line = {"/usr/bin/python3", "-u", "/home/me/worker.py", "--chunk", "3"};
  tree.processes[2].command_line = {"/opt/next"};
  std::vector<std::string> processes;
  for (const SequencedAllocation& one : recorded_sequence(tree)) processes.push_back(one.process);
  EXPECT_THAT(processes, ElementsAre("", "worker.py", ""));
}

TEST(RecordedSequence, AnIncompleteProfileHasNone) {
  SampleProcess sample(1);
  RecordedProcess process = sample.allocate(1, 10, 100).process();
  process.header.closed = 1;
  process.lost_events = 3;
  EXPECT_THAT([&] { recorded_sequence({{process}}); }, testing::ThrowsMessage<UsageError>(HasSubstr("3")));
}

}  // namespace
}  // namespace peakmark
