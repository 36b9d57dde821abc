#include "show/recorded_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "profile/call_frames.hpp"
#include "show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kStack =
    "P\tArray.__init__\t210\t/home/me/site-packages/array.py\n"
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
              ElementsAre(SequencedAllocation{"row coordinates", "setup", "array.py:210 < padding.py:88", 100,
                                              0, std::nullopt},
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
  EXPECT_EQ(sequence[1].where, "array.py:210 < padding.py:88");
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

TEST(CallChain, OfNativeFramesBeginsAtTheCallerOfTheDriver) {
  EXPECT_EQ(call_chain("N\tclCreateBuffer\t0\t/lib/libOpenCL.so.1\t10\n"
                       "N\t_ZN4plan4makeEi\t1f\t/home/me/libplan.so\t2a10\n"
                       "N\tmain\t1f\t/home/me/program\t10\n",
                       nullptr),
            "plan::make < main");
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "P\tf\t" + std::to_string(i) + "\t/a/b.py\n";
  EXPECT_EQ(call_chain(deep, nullptr),
            "b.py:0 < b.py:1 < b.py:2 < b.py:3 < b.py:4 < b.py:5 < b.py:6 < b.py:7");
  EXPECT_EQ(call_chain("", nullptr), "");
  EXPECT_EQ(call_chain("N\t\t0\t/opt/program\t1234\n", nullptr), "program+0x1234");
  // As the demangler of GCC 12 writes them.
  const auto short_name = [](const std::string& function) {
    return call_chain("N\t" + function + "\t0\t/opt/program\t1234\n", nullptr);
  };
  EXPECT_EQ(short_name("peakmark::(anonymous namespace)::OpenClDevice::allocate(long)"),
            "peakmark::OpenClDevice::allocate");
  EXPECT_EQ(short_name("void detail::guard<Held::step(void*, int)::{lambda()#1}>(Failure*, Held&&)"),
            "detail::guard");
  EXPECT_EQ(
      short_name("Shift::operator()(Array&, std::span<float const, 18446744073709551615ul>)::{lambda(long, "
                 "std::span<Term const>)#1}::operator()(long, std::span<Term const>) const [clone "
                 ".constprop.0]"),
      "Shift::operator()::{lambda#1}::operator()");
  EXPECT_EQ(
      short_name("std::_Function_handler<void (), Trial::pass(bool)::{lambda()#1}>::_M_invoke(std::_Any_data "
                 "const&)"),
      "std::_Function_handler::_M_invoke");
  EXPECT_EQ(
      short_name("auto call<Held::step(int)::{lambda(Failure*)#1}>(Held::step(int)::{lambda(Failure*)#1}&&) "
                 "[clone .isra.0]"),
      "call");
}

}  // namespace
}  // namespace peakmark
