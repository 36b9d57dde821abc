#include "test_worker.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

extern "C" int peakmark_abi_compiles_as_c();

namespace {

using namespace peakmark;

/// Returns the mistake that the test wants this process to make.
std::string mistake() {
  const char* const value = std::getenv("API_WORKER_MISTAKE");
  return value == nullptr ? "" : value;
}

[[maybe_unused]] const bool loaded = [] {
  if (mistake() == "crash at load") std::raise(SIGSEGV);
  return true;
}();

[[noreturn]] void end(const std::string& how) {
  if (how == "exits") std::exit(0);
  if (how == "_exits") ::_exit(7);
  if (how == "closes") ::close_range(3, ~0U, 0);
  if (how == "closes") std::exit(0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::abort();
}

/// An estimator that does something it must not do, and then answers.
Size known_bytes_after(const std::string& how, const Case& asked) {
  if (how == "forks") {
    static_cast<void>(::fork());  // the child returns, too
  } else if (how == "prints") {
    std::puts("{\"slices\": 1, \"bytes\": 1}");
    std::fflush(stdout);
  } else if (how != "closes and answers") {
    end(how);
  } else {
    ::close_range(3, ~0U, 0);
  }
  return kPlanBytes + asked["n"] * kSliceBytes;
}

class KnownBytes : public Computation {
 public:
  KnownBytes(Device& device, const Case& asked) : device_(device), n_(asked["n"]) {}

  void set_up() override { plan_ = device_.create<float>("plan", {1000}); }
  void create_inputs() override {
    input_ = device_.create<float>("input", {n_, 100});
    input_.fill(3);
  }
  void create_outputs() override { output_ = device_.create<float>("output", {n_, 300}); }
  void call() override {
    // The arrays are created one after the other, and work is still enqueued when one is destroyed; only one
    // is live at a time.
    for (int i = 0; i < 8; ++i) {
      Array<float> temporary = device_.create<float>("temporary", {n_, 100});
      temporary.fill(static_cast<float>(i));
    }
    output_.fill(4);
  }
  std::string verify() override {
    for (const float value : output_.read()) {
      if (value != 4) return "an element is " + std::to_string(value) + " instead of 4";
    }
    return "";
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return output_.bytes(); }
  [[nodiscard]] std::optional<double> flops() const override { return 2.0 * static_cast<double>(n_); }
  [[nodiscard]] std::vector<Metric> metrics() override {
    return {{"slices", static_cast<double>(n_)}, {"largest_error", 0.25, Better::lower}};
  }

 private:
  Device& device_;
  Size n_;
  Array<float> plan_;
  Array<float> input_;
  Array<float> output_;
};

class WrongAnswer final : public KnownBytes {
 public:
  using KnownBytes::KnownBytes;
  std::string verify() override { return "element 7 is 1 instead of 2"; }
};

/// It asks for an axis that the variant does not have.
class AsksForNz final : public KnownBytes {
 public:
  AsksForNz(Device& device, const Case& asked) : KnownBytes(device, asked), nz_(asked["nz"]) {}
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return nz_; }

 private:
  Size nz_;
};

/// A vector of the host is copied to the device and back.
class RoundTrip final : public Computation {
 public:
  RoundTrip(Device& device, const Case& asked) : device_(device), n_(asked["n"]) {}
  void create_inputs() override {
    for (Size i = 0; i < n_; ++i) host_.push_back(static_cast<std::int16_t>(i - 5));
    array_ = device_.create<std::int16_t>("numbers", {n_});
    array_.write(host_);
  }
  void call() override { device_.finish(); }
  std::string verify() override { return array_.read() == host_ ? "" : "other numbers came back"; }

 private:
  Device& device_;
  Size n_;
  std::vector<std::int16_t> host_;
  Array<std::int16_t> array_;
};

Variant variant(std::string name) {
  Variant variant;
  variant.name = std::move(name);
  variant.backends = {"opencl", "dry"};
  variant.axes = {{"n", 20, "slices"}, {"mode", "edge", {"edge", "wrap"}}, {"offset", 0}, {"note", "none"}};
  variant.slice_axis = "n";
  return variant;
}

Variant known_bytes() {
  Variant known = variant("known/bytes");
  known.help = "44,000 bytes at n = 20";
  known.estimators = {
      Estimator::of_parts([](const Case&) -> std::vector<Part> {
        return {{"plan", 0, kPlanBytes}, {"input", 400, 0}, {"output", 1200, 0}, {"temporary", 400, 0}};
      }),
      Estimator::of_bytes([](const Case& asked) { return kPlanBytes + asked["n"] * kSliceBytes; }, "bytes"),
      Estimator::of_slices(
          [](const Case&, Size available) {
            return std::max<Size>(0, (available - kPlanBytes) / kSliceBytes);
          },
          "slices"),
      Estimator::of_bytes([](const Case& asked) { return asked["depth"]; }, "wrong"),
  };
  known.mistake = [](const Case& asked) -> std::string {
    return asked.word("mode") == "wrap" && asked["n"] % 2 == 1 ? "wrap wants an even n" : "";
  };
  return known;
}

/// Needs the same bytes, but its steps are lambdas.
Steps known_steps(Device& device, const Case& asked) {
  struct Arrays {
    Array<float> plan, input, output;
  };
  const auto arrays = std::make_shared<Arrays>();
  const Size n = asked["n"];
  return {
      .set_up = [=, &device] { arrays->plan = device.create<float>("plan", {1000}); },
      .create_inputs =
          [=, &device] {
            arrays->input = device.create<float>("input", {n, 100});
          },
      .create_outputs =
          [=, &device] {
            arrays->output = device.create<float>("output", {n, 300});
          },
      .call =
          [=, &device] {
            const auto temporary = device.create<float>("temporary", {n, 100});
          },
      .verify = [] { return std::string(); },
      .metrics =
          [] {
            return std::vector<Metric>{{"temporaries", 1, Better::higher}};
          },
  };
}

/// Has an axis of floating-point numbers, on which the length of its array depends.
Size weights(const Case& asked) {
  return 2 * static_cast<Size>(std::ceil(3 * asked.real("sigma"))) + 1;
}

Variant float_axis() {
  Variant blur = variant("known/sigma");
  blur.axes = {{"n", 20}, {"sigma", 1.5, "in pixels"}, {"scale", 0.5F}};
  blur.slice_axis = "n";
  blur.estimators = {Estimator::of_bytes([](const Case& asked) { return 4 * asked["n"] * weights(asked); })};
  blur.mistake = [](const Case& asked) {
    return asked.real("sigma") > 0 ? std::string() : "sigma must be above 0";
  };
  return blur;
}

Steps float_axis_steps(Device& device, const Case& asked) {
  const auto array = std::make_shared<Array<float>>();
  const Size n = asked["n"], length = weights(asked);
  return {.create_inputs =
              [=, &device] {
                *array = device.create<float>("weights", {n, length});
              },
          .call = [] {},
          .verify = [] { return std::string(); }};
}

/// Its estimator waits for a FIFO that nobody writes to.
Variant waiting_estimator() {
  Variant waiting = variant("waits/estimator");
  waiting.estimators = {Estimator::of_bytes(
      [](const Case&) -> Size {
        const char* const fifo = std::getenv("API_WORKER_FIFO");
        if (fifo == nullptr) return 0;
        Size bytes = 0;
        std::ifstream(fifo) >> bytes;
        return bytes;
      },
      "waiting")};
  return waiting;
}

void add_throwing(Worker& worker, const std::string& name, const std::function<void()>& call) {
  worker.add(variant(name), [call](Device&, const Case&) {
    return Steps{.call = call, .verify = [] { return std::string(); }};
  });
}

}  // namespace

int main(int argc, char** argv) {
  Worker worker("api test 1");
  worker.add<KnownBytes>(known_bytes());
  worker.add(variant("known/lambdas"), known_steps);
  worker.add(float_axis(), float_axis_steps);
  worker.add<WrongAnswer>(variant("known/wrong"));
  worker.add<RoundTrip>(variant("known/round_trip"));
  add_throwing(worker, "throws/out_of_memory", [] { throw OutOfMemory("no memory for the plan"); });
  add_throwing(worker, "throws/unsupported", [] { throw Unsupported("no textures here"); });
  add_throwing(worker, "throws/error", [] { throw std::runtime_error("the library answers 7"); });
  add_throwing(worker, "throws/number", [] { throw 7; });
  worker.add(variant("throws/no_verify"), [](Device&, const Case&) { return Steps{.call = [] {}}; });
  worker.add(waiting_estimator(), known_steps);
  add_kernels(worker);
#ifdef PEAKMARK_HAS_OPENCL
  add_opencl(worker);
#endif
  if (mistake() == "one name twice") worker.add(variant("known/lambdas"), known_steps);
  if (mistake() == "no backend")
    worker.add<KnownBytes>({.name = "bad/one", .backends = {}, .axes = {{"n", 1}}});
  if (mistake() == "no name")
    worker.add<KnownBytes>({.name = "bad", .backends = {"dry"}, .axes = {{"n", 1}}});
  if (mistake() == "slices of words") {
    worker.add<KnownBytes>(
        {.name = "bad/one", .backends = {"dry"}, .axes = {{"mode", "edge"}}, .slice_axis = "mode"});
  }
  if (mistake() == "nothing that makes")
    worker.add(variant("bad/one"), std::function<Steps(Device&, const Case&)>());
  if (mistake() == "a constructor's axis") worker.add<AsksForNz>(variant("bad/one"));
  if (mistake() == "a constructor aborts") {
    worker.add(variant("bad/one"), [](Device&, const Case&) -> Steps { end("aborts"); });
  }
  if (mistake().starts_with("an estimator ")) {
    Variant bad = variant("bad/one");
    bad.estimators = {Estimator::of_bytes(
        [](const Case& asked) { return known_bytes_after(mistake().substr(13), asked); }, "ending")};
    worker.add(std::move(bad), known_steps);
  }
  if (mistake() == "prints") {
    worker.add(variant("bad/set_up"), [](Device& device, const Case& asked) {
      Steps steps = known_steps(device, asked);
      steps.set_up = [set_up = steps.set_up] {
        std::printf("half a line");
        set_up();
      };
      return steps;
    });
    worker.add(variant("bad/call"), [](Device& device, const Case& asked) {
      Steps steps = known_steps(device, asked);
      steps.call = [call = steps.call] {
        std::puts("a call");
        call();
      };
      return steps;
    });
  }
  if (mistake() == "an axis in mistake") {
    Variant bad = variant("bad/one");
    bad.mistake = [](const Case& asked) -> std::string { return asked["mode"] == 1 ? "1" : ""; };
    worker.add(std::move(bad), known_steps);
  }
  if (mistake() == "steps without a call")
    worker.add(variant("bad/one"), [](Device&, const Case&) { return Steps{}; });
  if (mistake() == "no such output dtype") {
    Variant bad = variant("bad/one");
    bad.output_dtype = "f33";
    worker.add(std::move(bad), known_steps);
  }
  if (mistake() == "no such dtype") {
    Variant bad = variant("bad/one");
    bad.axes.emplace_back("dtype", "f32", std::vector<std::string>{"f32", "f33"});
    worker.add(std::move(bad), known_steps);
  }
  if (mistake() == "a dtype of its own") {
    Variant own = variant("bad/one");
    own.output_dtype = "f32";
    own.axes.emplace_back("dtype", "packed12", std::vector<std::string>{"packed12", "f32"});
    worker.add(std::move(own), known_steps);
  }
  if (mistake() == "a third dimension") {
    Variant bad = variant("bad/one");
    bad.slice_dimension = 7;
    worker.add(std::move(bad), known_steps);
  }
  if (mistake() == "no slice axis") {
    worker.add<KnownBytes>({.name = "bad/one",
                            .backends = {"dry"},
                            .axes = {{"n", 1}},
                            .estimators = {Estimator::of_bytes([](const Case&) -> Size { return 1; })}});
  }
  if (mistake() == "two estimators of one name") {
    Variant bad = variant("bad/one");
    bad.estimators = {Estimator::of_bytes([](const Case&) -> Size { return 1; }),
                      Estimator::of_bytes([](const Case&) -> Size { return 2; })};
    worker.add(std::move(bad), known_steps);
  }
  const std::map<std::string, std::pair<int, int>> versions{
      {"a later minor", {0, 1}}, {"a later major", {1, 0}}, {"an earlier major", {-1, 0}}};
  if (const auto found = versions.find(mistake()); found != versions.end()) {
    const peakmark_worker other{.api_major = PEAKMARK_API_MAJOR + found->second.first,
                                .api_minor = PEAKMARK_API_MINOR + found->second.second,
                                .name = nullptr,
                                .build = nullptr,
                                .commit = nullptr,
                                .variants = nullptr,
                                .variant_count = 0};
    return peakmark_worker_run(&other, argc, argv);
  }
  return peakmark_abi_compiles_as_c() == PEAKMARK_API_MAJOR ? worker.run(argc, argv) : 1;
}
