#include "measure/external/program_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Events as a program makes them, 10 ns apart.
class Program {
 public:
  Program& phase(std::string_view name) {
    Event& event = add(EventType::phase, 0);
    event.text_bytes = static_cast<std::uint16_t>(name.size());
    std::memset(event.text, 0, sizeof(event.text));
    std::memcpy(event.text, name.data(), name.size());
    return *this;
  }
  Program& allocate(std::uint64_t address, Size bytes, MemoryKind kind = MemoryKind::buffer) {
    Event& event = add(EventType::allocation, address);
    event.kind = kind;
    event.amounts.bytes = bytes;
    return *this;
  }
  /// The events that follow belong to the process with this index, as in the result of merge_by_time.
  Program& process(std::uint64_t place) {
    place_ = place << 48U;
    return *this;
  }
  /// The device worked for `ns` on work that was enqueued `ago` ns before.
  Program& work(std::int64_t ns, std::int64_t ago = 0) {
    Event& event = add(EventType::work, 1);
    event.amounts.bytes = ns;
    event.amounts.auxiliary = event.time_ns - ago;
    return *this;
  }
  Program& release(std::uint64_t address) {
    add(EventType::release, address);
    return *this;
  }
  Program& refuse(Size bytes, std::int32_t result = -4) {
    Event& event = add(EventType::failed_allocation, 0);
    event.kind = MemoryKind::buffer;
    event.amounts.bytes = bytes;
    event.amounts.result = result;
    return *this;
  }
  [[nodiscard]] ProgramRecord record() const { return record_of_program(events_, summarise(events_)); }

 private:
  Event& add(EventType type, std::uint64_t address) {
    Event& event = events_.emplace_back();
    event.type = type;
    event.address = address ^ place_;
    event.time_ns = static_cast<std::int64_t>(10 * events_.size());
    return event;
  }
  std::vector<Event> events_;
  std::uint64_t place_ = 0;
};

TEST(ProgramRecord, WithoutMarksIsOfTheWholeProgram) {
  const ProgramRecord record = Program().allocate(1, 100).allocate(2, 50).release(1).allocate(3, 20).record();
  EXPECT_EQ(150, record.summary.peak_bytes);
  EXPECT_EQ(3, record.summary.allocations);
  EXPECT_EQ(std::nullopt, record.setup_bytes);
  EXPECT_EQ(std::nullopt, record.input_bytes);
  EXPECT_EQ(std::nullopt, record.first_call_peak_bytes);
  EXPECT_EQ(std::nullopt, record.leaked_bytes);
  EXPECT_THAT(record.calls_ns, IsEmpty());
}

TEST(ProgramRecord, WhatIsCountedEndsWithTheLastCall) {
  // The events are: allocate, phase, allocate, phase, and then events that do not count.
  const ProgramRecord record =
      Program().allocate(1, 7).phase("call").allocate(2, 30).phase("").allocate(3, 1000).record();
  EXPECT_EQ(3, record.counted_events);
  EXPECT_EQ(37, record.summary.peak_bytes);
}

TEST(ProgramRecord, PhasesAreSetUpInputsOutputsAndCalls) {
  const ProgramRecord record = Program()
                                   .allocate(1, 7)  // before any mark: setup
                                   .phase("setup")
                                   .allocate(2, 100)
                                   .phase("inputs")
                                   .allocate(3, 30)
                                   .phase("outputs")
                                   .allocate(4, 20)
                                   .phase("")
                                   .phase("call")
                                   .allocate(5, 1000)
                                   .release(5)
                                   .phase("")
                                   .phase("call")
                                   .allocate(5, 2000)
                                   .release(5)
                                   .phase("")
                                   .allocate(6, 9999)  // a check of the result is no need of the method
                                   .record();
  EXPECT_EQ(2157, record.summary.peak_bytes);
  EXPECT_EQ(1157, record.first_call_peak_bytes);
  EXPECT_EQ(107, record.setup_bytes);
  EXPECT_EQ(30, record.input_bytes);
  EXPECT_EQ(20, record.output_bytes);
  EXPECT_THAT(record.calls_ns, ElementsAre(30, 30));
  EXPECT_EQ(std::nullopt, record.leaked_bytes);
}

TEST(ProgramRecord, ThePhasesOfAllProcessesAreListedOnce) {
  const ProgramRecord record = Program()
                                   .phase("Call")
                                   .phase("")
                                   .phase("Call")
                                   .process(1)
                                   .phase("fft")
                                   .process(0)
                                   .phase("Call/fft")
                                   .record();
  EXPECT_THAT(record.phases, ElementsAre("Call", "fft", "Call/fft"));
  EXPECT_THAT(record.calls_ns, IsEmpty());
  EXPECT_THAT(Program().allocate(1, 10).record().phases, IsEmpty());
}

TEST(ProgramRecord, APhaseWithinACallBelongsToIt) {
  const ProgramRecord record = Program()
                                   .phase("benchmark/call")
                                   .phase("benchmark/call/fft")
                                   .allocate(1, 10)
                                   .release(1)
                                   .phase("benchmark/call")
                                   .phase("benchmark")
                                   .record();
  EXPECT_THAT(record.calls_ns, ElementsAre(50));
  EXPECT_EQ(10, record.summary.peak_bytes);
  EXPECT_EQ(0, record.setup_bytes);
}

TEST(ProgramRecord, TheSameMarkTwiceIsTwoCalls) {
  const ProgramRecord record =
      Program().phase("call").allocate(1, 10).phase("call").release(1).phase("").record();
  EXPECT_THAT(record.calls_ns, ElementsAre(20, 20));
}

TEST(ProgramRecord, ACallWithoutAnEndEndsWithTheProgram) {
  const ProgramRecord record = Program().phase("call").allocate(1, 10).allocate(2, 20).record();
  EXPECT_EQ(30, record.summary.peak_bytes);
  EXPECT_THAT(record.calls_ns, ElementsAre(20));
}

TEST(ProgramRecord, WhatLivesAfterTheMarkEndIsLeaked) {
  const ProgramRecord record =
      Program().phase("call").allocate(1, 10).allocate(2, 20).release(1).phase("end").record();
  EXPECT_EQ(20, record.leaked_bytes);
  EXPECT_EQ(0, Program().phase("call").phase("end").record().leaked_bytes);
}

TEST(ProgramRecord, TheDevicesTimeOfACallIsThatOfItsCommands) {
  EXPECT_EQ(std::nullopt, Program().phase("call").allocate(1, 10).phase("").record().device_ns);
  const ProgramRecord record = Program()
                                   .work(7)  // before the first call
                                   .phase("call")
                                   .work(1000)
                                   .work(200, 5)
                                   .phase("")
                                   .work(30, 12)  // reported late; of the call before
                                   .phase("call")
                                   .process(1)
                                   .work(5000)  // of another process, which is in no call
                                   .process(0)
                                   .phase("")
                                   .record();
  EXPECT_THAT(record.device_ns, testing::Optional(ElementsAre(1230, 0)));
  EXPECT_EQ(2U, record.calls_ns.size());
  EXPECT_THAT(Program().allocate(1, 10).work(40).work(2).record().device_ns,
              testing::Optional(ElementsAre(42)));
}

TEST(ProgramRecord, AProcessEndsOnlyItsOwnCall) {
  const ProgramRecord record = Program()
                                   .process(0)
                                   .phase("call")  // at 10 ns
                                   .process(1)
                                   .phase("setup")
                                   .allocate(1, 5)
                                   .phase("")  // ends no call of the other process
                                   .process(0)
                                   .allocate(1, 1000)
                                   .release(1)
                                   .process(1)
                                   .phase("call")  // at 70 ns
                                   .process(0)
                                   .phase("")  // at 80 ns
                                   .process(1)
                                   .allocate(2, 2000)
                                   .phase("")  // at 100 ns
                                   .process(0)
                                   .allocate(3, 9999)
                                   .record();
  EXPECT_EQ(2005, record.summary.peak_bytes);
  EXPECT_EQ(1005, record.first_call_peak_bytes);
  EXPECT_EQ(0, record.setup_bytes);
  EXPECT_THAT(record.calls_ns, ElementsAre(70, 30));
}

TEST(ProgramRecord, ACallWithoutAnEndEndsWithItsOwnProcess) {
  const ProgramRecord record = Program()
                                   .process(1)
                                   .phase("call")
                                   .allocate(1, 100)
                                   .release(1)  // at 30 ns
                                   .process(0)
                                   .allocate(1, 7)
                                   .allocate(2, 200)
                                   .record();
  EXPECT_THAT(record.calls_ns, ElementsAre(20));
  EXPECT_EQ(100, record.summary.peak_bytes);
}

TEST(ProgramRecord, InputsAndOutputsAreWhatLivesOfThemWhenTheFirstCallBegins) {
  const ProgramRecord record = Program()
                                   .allocate(1, 500)  // a cache, which the phase of the inputs clears
                                   .phase("inputs")
                                   .release(1)
                                   .allocate(2, 30)
                                   .allocate(3, 40)  // staging
                                   .phase("outputs")
                                   .release(3)
                                   .allocate(4, 20)
                                   .process(1)
                                   .allocate(2, 8)  // of a process that is in no phase
                                   .process(0)
                                   .phase("call")
                                   .allocate(5, 1000)
                                   .phase("inputs")
                                   .allocate(6, 60)
                                   .phase("call")
                                   .phase("")
                                   .record();
  EXPECT_EQ(30, record.input_bytes);
  EXPECT_EQ(20, record.output_bytes);
  EXPECT_EQ(8, record.setup_bytes);
}

TEST(ProgramRecord, WithoutACallInputsAreWhatTheirPhasesLeave) {
  const ProgramRecord record =
      Program().phase("inputs").allocate(1, 30).phase("").allocate(2, 100).release(1).release(2).record();
  EXPECT_EQ(30, record.input_bytes);
  EXPECT_EQ(std::nullopt, record.output_bytes);
}

TEST(ProgramRecord, OutputsMarkedOnlyAfterTheFirstCallBeganAreUnknown) {
  const ProgramRecord record = Program().phase("call").phase("outputs").allocate(1, 10).phase("").record();
  EXPECT_EQ(std::nullopt, record.output_bytes);
}

TEST(ProgramRecord, MemoryThatDoesNotCountIsNoSetUp) {
  EXPECT_EQ(0,
            Program().allocate(1, 10, MemoryKind::host_pointer).phase("call").phase("").record().setup_bytes);
}

TEST(ProgramRecord, RefusedAllocationsAreCounted) {
  EXPECT_EQ(1, Program().allocate(1, 10).refuse(1 << 30).record().failed_allocations);
}

/// CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE and
/// CUDA_ERROR_OUT_OF_MEMORY, by the numbers of cl.h and cuda.h.
TEST(ProgramRecord, WantOfMemoryIsInTheErrorCodeOfTheLastFailedAllocation) {
  for (const std::int32_t result : {-4, -5, -6, -61, 2}) {
    EXPECT_TRUE(Program().refuse(100, result).record().out_of_memory) << result;
  }
  // CL_INVALID_VALUE, CL_INVALID_CONTEXT, CL_INVALID_IMAGE_SIZE, CUDA_ERROR_INVALID_VALUE
  for (const std::int32_t result : {-30, -34, -40, 1}) {
    const ProgramRecord record = Program().refuse(100, result).record();
    EXPECT_FALSE(record.out_of_memory) << result;
    EXPECT_EQ(result, record.last_failure);
  }
  EXPECT_FALSE(Program().allocate(1, 10).record().out_of_memory);
  EXPECT_EQ(std::nullopt, Program().allocate(1, 10).record().last_failure);
  EXPECT_FALSE(Program().refuse(0, -61).record().out_of_memory) << "a buffer of 0 bytes is a mistake";
  // The program found a size that fits, and failed for another reason.
  EXPECT_FALSE(Program().refuse(100, -4).allocate(1, 10).refuse(100, -30).record().out_of_memory);
  EXPECT_TRUE(Program().refuse(100, -30).refuse(100, -4).record().out_of_memory);
}

TEST(ProgramRecord, OneOfSeveralProcessesOutOfMemoryIsEnough) {
  EXPECT_TRUE(Program().process(1).refuse(100, 2).process(0).refuse(100, 1).record().out_of_memory);
}

TEST(ProgramRecord, NoEventsAreNoPeak) {
  EXPECT_EQ(0, Program().record().summary.peak_bytes);
}

TEST(WorkOfTheDevice, IsLostWhereCuptiCouldNotHandItOver) {
  RecordedTree tree;
  const auto add = [&](const char* recorder, bool closed) {
    RecordedProcess& process = tree.processes.emplace_back();
    process.header.pid = 42;
    process.header.closed = closed ? 1 : 0;
    std::strcpy(process.header.recorder, recorder);
  };
  add("cupti 130001", true);
  add("opencl-layer 1", false);  // it asks for the times of commands that are done
  EXPECT_EQ(why_work_is_lost(tree), "");
  add("cupti 130001", false);
  EXPECT_THAT(why_work_is_lost(tree), testing::HasSubstr("process 42 was killed, or left by _exit"));
}

}  // namespace
}  // namespace peakmark
