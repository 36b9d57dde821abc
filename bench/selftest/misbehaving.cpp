#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "selftest_computation.hpp"

namespace peakmark::selftest {

namespace {

/// What a call does instead of, or beside, its work.
class Crash final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  // A null write, for drivers (PoCL) install handlers under which raise(SIGSEGV) returns. Both are volatile,
  // or the compiler leaves the write out; a sanitizer would end the program in good order instead.
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
  Verification verify() override { return {false, "element 7 is 1 instead of 2"}; }
};

class Throw final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override { throw MeasurementError("planted device error"); }
};

class Leak final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  // Never destroyed: at exit the device is gone before statics are.
  void set_up() override {
    static auto& leaked = *new std::vector<Array>;
    SelftestComputation::set_up();
    leaked.push_back(device().create("leaked", {16}, DType::f32));
  }
};

class Slow final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override {
    SelftestComputation::call();
    device().finish();
    std::this_thread::sleep_for(std::chrono::milliseconds(parameters().integer("ms")));
  }
};

class OutOfMemoryInCall final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void call() override { throw OutOfMemory("planted: the device has no room for 1 byte more"); }
};

class UnsupportedInSetUp final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void set_up() override { throw Unsupported("planted: this variant cannot do this case"); }
};

/// Needs 64 bytes more each time it is set up, as a method with a cache that grows.
class Unsteady final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;
  void set_up() override {
    static Size grown = 0;
    SelftestComputation::set_up();
    grown += 16;
    cache_ = device().create("cache", {grown}, DType::f32);
  }

 private:
  Array cache_;
};

template <typename T>
void add(Registry& registry, std::string name, std::string help) {
  Variant variant = selftest_variant(std::move(name), std::move(help));
  variant.make = maker<T>();
  registry.add(std::move(variant));
}

}  // namespace

void add_misbehaving(Registry& registry) {
  add<Crash>(registry, "selftest/crash", "writes through a null pointer in its call");
  add<Hang>(registry, "selftest/hang", "never ends its call");
  add<SilentExit>(registry, "selftest/exit", "ends the process with 0 in its call");
  add<WrongAnswer>(registry, "selftest/wrong_answer", "computes something else");
  add<Throw>(registry, "selftest/throw", "has an error of the device in its call");
  add<Leak>(registry, "selftest/leak", "leaves 64 bytes on the device each time");
  add<OutOfMemoryInCall>(registry, "selftest/out_of_memory", "finds no room in its call");
  add<UnsupportedInSetUp>(registry, "selftest/unsupported", "cannot do any case");
  add<Unsteady>(registry, "selftest/unsteady", "needs 64 bytes more each time");
  Variant slow = selftest_variant("selftest/slow", "waits in its call");
  slow.description.axes.push_back({"ms", Size{50}, {}, 0, "how long a call waits"});
  slow.make = maker<Slow>();
  registry.add(std::move(slow));
}

}  // namespace peakmark::selftest
