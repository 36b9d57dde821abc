/// A worker of peakmark: a program that measures variants of your own. This header is all it includes: no
/// device's headers, no JSON, no Google Benchmark. docs/own-kernels.md begins with a program of 30 lines.
///
/// A variant says its axes, and how to make one case of it: a Computation, a class of yours, or Steps, a
/// handful of lambdas. peakmark calls the steps in order, records what they allocate on the device, verifies,
/// and times `call`.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "peakmark/worker_seam.h"

// As the vendors' headers declare them, so that what is handed out has its type and none of them is needed
// here.
struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct CUstream_st;

namespace peakmark {
// A name of its own for each version: two of them never meet in one program unseen.
inline namespace api_1 {

using Size = std::int64_t;

/// Throw it where the device has no room: the outcome is `out_of_memory`, and nobody's fault.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throw it for a case that this device or this variant cannot do: the outcome is `unsupported`.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Anything else that is thrown is the outcome `crashed`, and the case after it gets a new process.

/// An axis of a variant: a number, as {"nx", 512}, or a word, as {"mode", "edge", {"edge", "wrap"}}.
struct Axis {
  /// `least`: a smaller number is a mistake of the suite.
  Axis(std::string axis, Size default_number, std::string what = "",
       std::optional<Size> at_least = std::nullopt)
      : name(std::move(axis)),
        default_value(default_number),
        help(std::move(what)),
        least(at_least.value_or(default_number < 1 ? default_number : 1)) {}
  /// Without choices any word goes.
  Axis(std::string axis, std::string default_word, std::vector<std::string> words = {}, std::string what = "")
      : name(std::move(axis)),
        default_value(std::move(default_word)),
        choices(std::move(words)),
        help(std::move(what)) {}

  std::string name;
  std::variant<Size, std::string> default_value;
  std::vector<std::string> choices;
  std::string help;
  Size least = 1;
};

/// The values of a case, one an axis. Throws std::invalid_argument for an axis that is not there, or of the
/// other kind.
class Case {
 public:
  explicit Case(const peakmark_case& seam) {
    for (const peakmark_value& value : std::span(seam.values, seam.count)) {
      if (value.word != nullptr) {
        values_.emplace_back(value.axis, std::string(value.word));
      } else {
        values_.emplace_back(value.axis, Size{value.number});
      }
    }
  }

  [[nodiscard]] Size operator[](std::string_view axis) const {
    const auto* number = std::get_if<Size>(&value(axis));
    if (number == nullptr)
      throw std::invalid_argument("axis '" + std::string(axis) + "' is a word, no number");
    return *number;
  }
  [[nodiscard]] const std::string& word(std::string_view axis) const {
    const auto* word = std::get_if<std::string>(&value(axis));
    if (word == nullptr) throw std::invalid_argument("axis '" + std::string(axis) + "' is a number, no word");
    return *word;
  }

 private:
  [[nodiscard]] const std::variant<Size, std::string>& value(std::string_view axis) const {
    for (const auto& [name, value] : values_) {
      if (name == axis) return value;
    }
    throw std::invalid_argument("the variant has no axis '" + std::string(axis) + "'");
  }

  std::vector<std::pair<std::string, std::variant<Size, std::string>>> values_;
};

namespace detail {

/// Throws what the library reported.
inline void raise(const peakmark_failure& failure) {
  switch (failure.kind) {
    case PEAKMARK_FINE:
      return;
    case PEAKMARK_OUT_OF_MEMORY:
      throw OutOfMemory(failure.message);
    case PEAKMARK_UNSUPPORTED:
      throw Unsupported(failure.message);
    case PEAKMARK_USAGE:
      throw std::invalid_argument(failure.message);
    default:
      throw std::runtime_error(failure.message);
  }
}

inline void note(peakmark_failure* failure, std::int32_t kind, const char* message) {
  failure->kind = kind;
  std::strncpy(failure->message, message, sizeof(failure->message) - 1);
  failure->message[sizeof(failure->message) - 1] = '\0';
}

/// Runs `step`; what it throws is noted. No exception crosses the seam.
template <typename Step>
void guard(peakmark_failure* failure, Step&& step) noexcept {
  try {
    step();
  } catch (const OutOfMemory& error) {
    note(failure, PEAKMARK_OUT_OF_MEMORY, error.what());
  } catch (const Unsupported& error) {
    note(failure, PEAKMARK_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    note(failure, PEAKMARK_USAGE, error.what());
  } catch (const std::bad_alloc&) {
    note(failure, PEAKMARK_HOST_OUT_OF_MEMORY, "the host has not the memory for this case");
  } catch (const std::exception& error) {
    note(failure, PEAKMARK_BROKEN, error.what());
  } catch (...) {
    note(failure, PEAKMARK_BROKEN, "it threw what is no std::exception");
  }
}

/// numpy's short name of an element type.
template <typename T>
constexpr const char* dtype_name() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8,
                "arrays are of integers, float or double");
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  constexpr const char* kSigned[] = {"i8", "i16", "i32", "i64"};
  constexpr const char* kUnsigned[] = {"u8", "u16", "u32", "u64"};
  constexpr int kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return std::is_signed_v<T> ? kSigned[kSize] : kUnsigned[kSize];
}

}  // namespace detail

/// An array of the device, released when it dies. That waits for what was enqueued, as cudaFree does: else
/// its bytes would stay for as long as the driver pleases, and a peak with them. An offer: memory of your own
/// counts just the same.
template <typename T>
class Array {
 public:
  Array() = default;
  Array(const peakmark_device* device, void* array) : device_(device), array_(array) {}
  Array(Array&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), array_(std::exchange(other.array_, nullptr)) {}
  Array& operator=(Array&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = std::exchange(other.device_, nullptr);
    array_ = std::exchange(other.array_, nullptr);
    return *this;
  }
  ~Array() { reset(); }

  [[nodiscard]] Size bytes() const { return array_ == nullptr ? 0 : device_->bytes(device_->self, array_); }
  [[nodiscard]] Size elements() const { return bytes() / Size{sizeof(T)}; }
  /// A cl_mem; null on other backends.
  [[nodiscard]] _cl_mem* opencl() const {
    return is_on("opencl") ? reinterpret_cast<_cl_mem*>(handle()) : nullptr;
  }
  /// A pointer of the device; null on other backends.
  [[nodiscard]] T* cuda() const { return is_on("cuda") ? reinterpret_cast<T*>(handle()) : nullptr; }

  /// From the host, all of it; std::invalid_argument where the number of elements differs.
  void write(std::span<const T> from) {
    call([&](peakmark_failure* failure) {
      device_->write(device_->self, array_, from.data(), static_cast<Size>(from.size_bytes()), failure);
    });
  }
  /// To the host, all of it; waits. Unsupported on `dry`, which holds no data.
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> to(static_cast<std::size_t>(elements()));
    call([&](peakmark_failure* failure) {
      device_->read(device_->self, array_, to.data(), bytes(), failure);
    });
    return to;
  }
  /// Every element becomes `value`, which a double must hold exactly.
  void fill(T value) {
    call([&](peakmark_failure* failure) {
      device_->fill(device_->self, array_, static_cast<double>(value), failure);
    });
  }
  /// Releases the memory now, and waits for that.
  void reset() {
    if (array_ != nullptr) device_->release(device_->self, std::exchange(array_, nullptr));
  }

 private:
  [[nodiscard]] bool is_on(std::string_view backend) const {
    return array_ != nullptr && backend == device_->backend;
  }
  [[nodiscard]] std::uintptr_t handle() const {
    return static_cast<std::uintptr_t>(device_->handle(device_->self, array_));
  }
  template <typename Function>
  void call(Function&& function) const {
    if (array_ == nullptr) throw std::invalid_argument("the array has not been created");
    peakmark_failure failure{};
    function(&failure);
    detail::raise(failure);
  }

  const peakmark_device* device_ = nullptr;
  void* array_ = nullptr;
};

/// The device of a case, with one queue, in order. Work that you enqueue there is timed by the device's own
/// clock. Work on a queue or stream of your own is right too, if `call` waits for it before it returns.
class Device {
 public:
  explicit Device(const peakmark_device& seam) : seam_(seam) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// `opencl`, `cuda` or `dry`.
  [[nodiscard]] std::string_view backend() const { return seam_.backend; }
  [[nodiscard]] std::string_view name() const { return seam_.name; }
  [[nodiscard]] bool is_cpu() const { return seam_.is_cpu != 0; }

  /// cl_context, cl_device_id, cl_command_queue; null on other backends. They are not yours to release.
  [[nodiscard]] _cl_context* opencl_context() const { return of_opencl<_cl_context>(seam_.context); }
  [[nodiscard]] _cl_device_id* opencl_device() const { return of_opencl<_cl_device_id>(seam_.device); }
  [[nodiscard]] _cl_command_queue* opencl_queue() const { return of_opencl<_cl_command_queue>(seam_.queue); }
  /// cudaStream_t; null on other backends. It does not wait for the default stream.
  [[nodiscard]] CUstream_st* cuda_stream() const {
    return backend() == "cuda" ? static_cast<CUstream_st*>(seam_.queue) : nullptr;
  }

  /// Waits until everything enqueued is done.
  void finish() {
    peakmark_failure failure{};
    seam_.finish(seam_.self, &failure);
    detail::raise(failure);
  }
  /// What reports call an allocation of your own: a cl_mem, a pointer of the device or of SVM.
  void name_allocation(const void* allocation, const std::string& name) {
    seam_.name_allocation(seam_.self, reinterpret_cast<std::uintptr_t>(allocation), name.c_str());
  }
  /// An array of zeros, in C order, under the name that reports call it. Throws OutOfMemory;
  /// std::invalid_argument where the bytes do not fit 64 bits.
  template <typename T>
  [[nodiscard]] Array<T> create(const std::string& name, const std::vector<Size>& extents) {
    peakmark_failure failure{};
    void* array = seam_.create(seam_.self, name.c_str(), detail::dtype_name<T>(), extents.data(),
                               extents.size(), &failure);
    detail::raise(failure);
    return Array<T>(&seam_, array);
  }

 private:
  template <typename T>
  [[nodiscard]] T* of_opencl(void* handle) const {
    return backend() == "opencl" ? static_cast<T*>(handle) : nullptr;
  }

  peakmark_device seam_;
};

/// One case on one device. The steps are called in this order: set_up, create_inputs, create_outputs, then
/// call (with restore_inputs before each further call of a variant that destroys its input), verify. What a
/// step allocates belongs to this object: release it in the destructor, or it is a leak.
class Computation {
 public:
  Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  virtual ~Computation() = default;

  /// The variant's own lasting memory: plans, coordinates, templates; and compiled kernels.
  virtual void set_up() {}
  virtual void create_inputs() {}
  virtual void create_outputs() {}
  /// The work. It need not wait for the device's own queue.
  virtual void call() = 0;
  virtual void restore_inputs() {}
  /// What is wrong with the result of one call on fresh inputs; empty where it is right. An answer that is
  /// wrong is not timed.
  virtual std::string verify() = 0;
  /// Bytes read and written by one call at the least.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const { return std::nullopt; }
};

/// A Computation of lambdas; a step left out does nothing, `call` and `verify` must be there. What the
/// lambdas share they hold by a std::shared_ptr.
struct Steps {
  std::function<void()> set_up = nullptr;
  std::function<void()> create_inputs = nullptr;
  std::function<void()> create_outputs = nullptr;
  std::function<void()> call = nullptr;
  std::function<void()> restore_inputs = nullptr;
  std::function<std::string()> verify = nullptr;
  std::optional<Size> bytes_moved = std::nullopt;
};

/// A part of what a variant needs, as its allocation is called.
struct Part {
  std::string name;
  Size bytes_a_slice = 0;
  Size fixed_bytes = 0;
};

/// A formula under test: what a case needs, said without running it. What it throws is the estimator's
/// failure, not the case's.
struct Estimator {
  /// Named parts: so much a slice, so much whatever the number of slices.
  static Estimator of_parts(std::function<std::vector<Part>(const Case&)> formula, std::string name = "own") {
    return {std::move(name), std::move(formula), nullptr, nullptr};
  }
  /// Bytes of a case, which do not fall as the slices grow.
  static Estimator of_bytes(std::function<Size(const Case&)> formula, std::string name = "own") {
    return {std::move(name), nullptr, std::move(formula), nullptr};
  }
  /// The most slices that fit so many bytes; the slice axis of the case says nothing.
  static Estimator of_slices(std::function<Size(const Case&, Size available_bytes)> formula,
                             std::string name = "own") {
    return {std::move(name), nullptr, nullptr, std::move(formula)};
  }

  std::string name;
  std::function<std::vector<Part>(const Case&)> parts;
  std::function<Size(const Case&)> bytes;
  std::function<Size(const Case&, Size)> slices;
};

/// What a variant says of itself.
struct Variant {
  std::string name;  ///< OPERATION/WAY, of letters, digits and - _ . +
  std::vector<std::string>
      backends;  ///< those that its code is for: opencl, cuda; dry where it uses our arrays only
  std::vector<Axis> axes;
  std::string help = {};
  std::string slice_axis = {};  ///< along which work is cut: an axis of numbers; an estimator needs one
  int slice_dimension = 0;      ///< httomo's number for it: 0 projection, 1 sinogram
  bool destroys_input = false;  ///< then restore_inputs puts it back
  std::vector<Estimator> estimators = {};
  std::string output_dtype = {};  ///< empty: what the axis dtype says, else f32
  /// What is wrong with a case whatever the device, empty where nothing is: told before anything is measured.
  std::function<std::string(const Case&)> mistake = nullptr;
};

// Of the program's build, written by peakmark_add_worker; null where another rule built it.
extern "C" __attribute__((weak)) const char* peakmark_worker_build();
extern "C" __attribute__((weak)) const char* peakmark_worker_commit();

/// The variants of a program.
class Worker {
 public:
  /// `name`: how run files call it; empty: the file name of the program.
  explicit Worker(std::string name = {}) : name_(std::move(name)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// A variant whose cases are objects of class T, constructed from (Device&, const Case&): the constructor
  /// allocates nothing on the device yet.
  template <typename T>
  Worker& add(Variant variant) {
    static_assert(std::is_base_of_v<Computation, T>, "T is no Computation");
    return add_made(std::move(variant),
                    [](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
                      return std::make_unique<T>(device, asked);
                    });
  }
  /// A variant of lambdas. `make` allocates nothing on the device yet.
  Worker& add(Variant variant, std::function<Steps(Device&, const Case&)> make) {
    return add_made(
        std::move(variant),
        [make = std::move(make)](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
          return std::make_unique<OfSteps>(make(device, asked));
        });
  }

  /// The whole of main(): describes the variants, answers for their estimators, or measures. Returns the exit
  /// code; throws nothing.
  int run(int argc, char** argv) {
    std::vector<const peakmark_variant*> variants;
    for (const auto& held : held_) variants.push_back(&held->seam);
    peakmark_worker worker{};
    worker.api_major = PEAKMARK_API_MAJOR;
    worker.api_minor = PEAKMARK_API_MINOR;
    worker.name = name_.empty() ? nullptr : name_.c_str();
    worker.build = peakmark_worker_build != nullptr ? peakmark_worker_build() : nullptr;
    worker.commit = peakmark_worker_commit != nullptr ? peakmark_worker_commit() : nullptr;
    worker.variants = variants.data();
    worker.variant_count = variants.size();
    return peakmark_worker_run(&worker, argc, argv);
  }

 private:
  using Make = std::function<std::unique_ptr<Computation>(Device&, const Case&)>;

  class OfSteps final : public Computation {
   public:
    explicit OfSteps(Steps steps) : steps_(std::move(steps)) {
      if (!steps_.call) throw std::invalid_argument("its Steps have no `call`");
      if (!steps_.verify)
        throw std::invalid_argument("its Steps have no `verify`: no speed of a wrong answer is told");
    }
    void set_up() override { take(steps_.set_up); }
    void create_inputs() override { take(steps_.create_inputs); }
    void create_outputs() override { take(steps_.create_outputs); }
    void call() override { steps_.call(); }
    void restore_inputs() override { take(steps_.restore_inputs); }
    std::string verify() override { return steps_.verify(); }
    [[nodiscard]] std::optional<Size> bytes_moved() const override { return steps_.bytes_moved; }

   private:
    static void take(const std::function<void()>& step) {
      if (step) step();
    }
    Steps steps_;
  };

  /// A case that was made: the device lives as long as what was made on it.
  struct Made {
    explicit Made(const peakmark_device& seam) : device(seam) {}
    Device device;
    std::unique_ptr<Computation> computation;
  };

  /// A variant, and the seam's view of it, whose texts are the variant's.
  struct Held {
    Variant variant;
    Make make;
    std::vector<const char*> backends;
    std::vector<std::vector<const char*>> choices;
    std::vector<peakmark_axis> axes;
    std::vector<peakmark_estimator> estimators;
    peakmark_variant seam{};
  };

  Worker& add_made(Variant variant, Make make) {
    auto held = std::make_unique<Held>();
    held->variant = std::move(variant);
    held->make = std::move(make);
    view(*held);
    held_.push_back(std::move(held));
    return *this;
  }

  static void view(Held& held) {
    const Variant& variant = held.variant;
    for (const std::string& backend : variant.backends) held.backends.push_back(backend.c_str());
    for (const Axis& axis : variant.axes) {
      std::vector<const char*>& choices = held.choices.emplace_back();
      for (const std::string& choice : axis.choices) choices.push_back(choice.c_str());
      const auto* word = std::get_if<std::string>(&axis.default_value);
      held.axes.push_back({axis.name.c_str(), word == nullptr ? nullptr : word->c_str(),
                           word == nullptr ? std::get<Size>(axis.default_value) : 0, axis.least,
                           choices.data(), choices.size(), axis.help.c_str()});
    }
    for (const Estimator& estimator : variant.estimators) held.estimators.push_back(view(estimator));
    peakmark_variant& seam = held.seam;
    seam.name = variant.name.c_str();
    seam.help = variant.help.c_str();
    seam.backends = held.backends.data();
    seam.backend_count = held.backends.size();
    seam.axes = held.axes.data();
    seam.axis_count = held.axes.size();
    seam.slice_axis = variant.slice_axis.empty() ? nullptr : variant.slice_axis.c_str();
    seam.slice_dimension = variant.slice_dimension;
    seam.destroys_input = variant.destroys_input ? 1 : 0;
    seam.output_dtype = variant.output_dtype.empty() ? nullptr : variant.output_dtype.c_str();
    seam.estimators = held.estimators.data();
    seam.estimator_count = held.estimators.size();
    seam.self = &held;
    if (variant.mistake) seam.check = check;
    seam.make = make_case;
  }

  static peakmark_estimator view(const Estimator& estimator) {
    peakmark_estimator seam{};
    seam.name = estimator.name.c_str();
    seam.self = const_cast<Estimator*>(&estimator);
    if (estimator.parts) seam.parts = parts;
    if (estimator.bytes) seam.bytes = bytes;
    if (estimator.slices) seam.slices = slices;
    return seam;
  }

  // What the library calls.

  static void check(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      const std::string mistake = static_cast<Held*>(self)->variant.mistake(Case(*asked));
      if (!mistake.empty()) detail::note(failure, PEAKMARK_USAGE, mistake.c_str());
    });
  }
  static void make_case(void* self, const peakmark_device* device, const peakmark_case* asked,
                        peakmark_computation* made, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      auto one = std::make_unique<Made>(*device);
      one->computation = static_cast<Held*>(self)->make(one->device, Case(*asked));
      *made = {one.release(), step, bytes_moved, destroy};
    });
  }
  static void step(void* self, std::int32_t which, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      Computation& computation = *static_cast<Made*>(self)->computation;
      switch (which) {
        case PEAKMARK_SET_UP:
          return computation.set_up();
        case PEAKMARK_CREATE_INPUTS:
          return computation.create_inputs();
        case PEAKMARK_CREATE_OUTPUTS:
          return computation.create_outputs();
        case PEAKMARK_CALL:
          return computation.call();
        case PEAKMARK_RESTORE_INPUTS:
          return computation.restore_inputs();
        case PEAKMARK_VERIFY: {
          const std::string wrong = computation.verify();
          if (!wrong.empty()) detail::note(failure, PEAKMARK_WRONG_ANSWER, wrong.c_str());
          return;
        }
        default:
          throw std::logic_error("a step that this program does not know");
      }
    });
  }
  static std::int64_t bytes_moved(void* self, peakmark_failure* failure) {
    std::int64_t bytes = -1;
    detail::guard(failure,
                  [&] { bytes = static_cast<Made*>(self)->computation->bytes_moved().value_or(-1); });
    return bytes;
  }
  static void destroy(void* self) { delete static_cast<Made*>(self); }

  static std::int64_t bytes(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    std::int64_t answer = -1;
    detail::guard(failure, [&] { answer = static_cast<const Estimator*>(self)->bytes(Case(*asked)); });
    return answer;
  }
  static void parts(void* self, const peakmark_case* asked,
                    void (*part)(void* sink, const char* name, std::int64_t bytes_a_slice,
                                 std::int64_t fixed_bytes),
                    void* sink, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      for (const Part& one : static_cast<const Estimator*>(self)->parts(Case(*asked)))
        part(sink, one.name.c_str(), one.bytes_a_slice, one.fixed_bytes);
    });
  }
  static std::int64_t slices(void* self, const peakmark_case* asked, std::int64_t available_bytes,
                             peakmark_failure* failure) {
    std::int64_t answer = -1;
    detail::guard(failure, [&] {
      answer = static_cast<const Estimator*>(self)->slices(Case(*asked), available_bytes);
    });
    return answer;
  }

  std::string name_;
  std::vector<std::unique_ptr<Held>> held_;
};

}  // namespace api_1
}  // namespace peakmark
