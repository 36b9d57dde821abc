#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "selftest_computation.hpp"

namespace peakmark::selftest {

namespace {

/// What a call does instead of its work, or in addition to it.
class Crash final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  // Writes to null, since raise(SIGSEGV) returns if a driver (PoCL) has installed its handlers. Both are
  // volatile, or the compiler would remove the write; a sanitizer would end the program cleanly instead.
  __attribute__((no_sanitize("undefined"))) void call() override {
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference)
  }
};

class Hang final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override {
    for (;;) pause();
  }
};

class SilentExit final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override { _exit(0); }
};

class WrongAnswer final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  std::string verify() override { return "element 7 is 1 instead of 2"; }
};

class Throw final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override { throw std::runtime_error("planted device error"); }
};

class Leak final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  // Never destroyed, because the device is destroyed before static objects.
  void set_up() override {
    static auto& leaked = *new std::vector<Array<float>>;
    SelftestComputation::set_up();
    leaked.push_back(device().create<float>("leaked", {16}));
  }
};

class Slow final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override {
    SelftestComputation::call();
    device().finish();
    std::this_thread::sleep_for(std::chrono::milliseconds(asked()["ms"]));
  }
};

class OutOfMemoryInCall final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override { throw OutOfMemory("planted: no memory for 1 byte more"); }
};

class UnsupportedInSetUp final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void set_up() override { throw Unsupported("planted: this variant cannot do this case"); }
};

/// Each setup needs 64 bytes more, like a method with a growing cache.
class Unsteady final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void set_up() override {
    static Size grown = 0;
    SelftestComputation::set_up();
    grown += 16;
    cache_ = device().create<float>("cache", {grown});
  }

 private:
  Array<float> cache_;
};

template <typename T>
void add(Worker& worker, std::string name, std::string help) {
  worker.add<T>(selftest_variant(std::move(name), std::move(help)));
}

}  // namespace

void add_misbehaving(Worker& worker) {
  add<Crash>(worker, "selftest/crash", "writes through a null pointer in its call");
  add<Hang>(worker, "selftest/hang", "never ends its call");
  add<SilentExit>(worker, "selftest/exit", "ends the process with 0 in its call");
  add<WrongAnswer>(worker, "selftest/wrong_answer", "computes a wrong result");
  add<Throw>(worker, "selftest/throw", "reports a device error in its call");
  add<Leak>(worker, "selftest/leak", "leaves 64 bytes on the device each time");
  add<OutOfMemoryInCall>(worker, "selftest/out_of_memory", "runs out of memory in its call");
  add<UnsupportedInSetUp>(worker, "selftest/unsupported", "cannot do any case");
  add<Unsteady>(worker, "selftest/unsteady", "needs 64 bytes more each time");
  Variant slow = selftest_variant("selftest/slow", "waits in its call");
  slow.axes.emplace_back("ms", 50, "how long a call waits", 0);
  worker.add<Slow>(std::move(slow));
}

void add_selftest(Worker& worker) {
  add_known_bytes(worker);
  worker.add<SelftestComputation>(
      selftest_variant("selftest/estimate_high", "its estimator is 30 % too high", 130));
  worker.add<SelftestComputation>(
      selftest_variant("selftest/estimate_low", "its estimator is 5 % too low", 95));
  add_misbehaving(worker);
  add_raw_allocation(worker);
  add_loops(worker);
}

}  // namespace peakmark::selftest
