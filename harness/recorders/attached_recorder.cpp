#include "recorders/attached_recorder.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "profile/profile.hpp"
#include "recorders/marks.h"

namespace peakmark {
namespace {

class AttachedRecorder final : public EventSource {
 public:
  explicit AttachedRecorder(const std::filesystem::path& library)
      : library_(library), profile_(connect()), reader_(profile_) {}

  void phase(std::string_view name) override { phase_(std::string(name).c_str()); }

  void name(std::uint64_t address, std::string_view name) override {
    name_(address, std::string(name).c_str());
  }

  [[nodiscard]] std::uint64_t count() const override { return count_(); }

  [[nodiscard]] std::vector<Event> events(std::uint64_t first) override {
    auto events = reader_.events_given_out(first, count_());
    if (const std::string invalid = invalid_note(events); !invalid.empty()) {
      throw RecorderError(fmt::format("{}: {}", profile_, invalid));
    }
    return events;
  }

 private:
  /// Looks the C interface up; gives the profile's path.
  const char* connect() {
    // RTLD_NOLOAD: a recorder that the loader did not load must not come up behind its back.
    void* const handle = dlopen(library_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) {
      throw RecorderError(
          fmt::format("the recorder {} was not loaded: {}", library_.string(), why_not_loaded()));
    }
    const auto version = symbol<peakmark_marks_version_t>(handle, PEAKMARK_MARKS_VERSION_SYMBOL);
    phase_ = symbol<peakmark_phase_t>(handle, PEAKMARK_PHASE_SYMBOL);
    name_ = symbol<peakmark_name_t>(handle, PEAKMARK_NAME_SYMBOL);
    count_ = symbol<peakmark_event_count_t>(handle, PEAKMARK_EVENT_COUNT_SYMBOL);
    const auto path = symbol<peakmark_profile_path_t>(handle, PEAKMARK_PROFILE_PATH_SYMBOL);
    if (const int speaks = version(); speaks != PEAKMARK_MARKS_VERSION && speaks != 0) {
      throw RecorderError(
          fmt::format("{} speaks version {} of the marks, this program version {}: build and "
                      "install both from the same sources",
                      library_.string(), speaks, PEAKMARK_MARKS_VERSION));
    }
    const char* const profile = path();
    if (version() == 0 || profile == nullptr) {
      throw RecorderError(
          fmt::format("the recorder {} was loaded but records nothing: PEAKMARK_PROFILE must "
                      "name a file that can be written",
                      library_.string()));
    }
    const char* const compact = std::getenv("PEAKMARK_COMPACT");
    if (compact != nullptr && std::string_view(compact) == "1") {
      throw RecorderError(
          "this program reads its own profile, and `record --compact` removes events from it: record without "
          "--compact");
    }
    return profile;
  }

  /// Whether a variable that a loader reads names the library: then setting it is no advice.
  [[nodiscard]] bool is_asked_for() const {
    for (const char* const variable : {"OPENCL_LAYERS", "CUDA_INJECTION64_PATH"}) {
      const char* const value = std::getenv(variable);
      if (value != nullptr && std::string_view(value).find(library_.native()) != std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  /// Called when all is lost already, so that to load the library for its error does no harm.
  [[nodiscard]] std::string why_not_loaded() const {
    if (!is_asked_for()) {
      return "is OPENCL_LAYERS (or CUDA_INJECTION64_PATH) set to this absolute path before the first call "
             "into OpenCL (or CUDA), and has there been such a call?";
    }
    if (void* const handle = dlopen(library_.c_str(), RTLD_LAZY | RTLD_LOCAL); handle != nullptr) {
      dlclose(handle);
      return "the library is in order, so the loader of OpenCL (or the CUDA driver) did not ask for it; "
             "OpenCL needs a loader that knows layers, such as ocl-icd 2.3 or Khronos's";
    }
    const char* const error = dlerror();
    return fmt::format("it cannot be loaded ({}); build and install peakmark again",
                       error == nullptr ? "no reason is given" : error);
  }

  template <typename Function>
  Function symbol(void* handle, const char* name) const {
    void* const address = dlsym(handle, name);
    if (address == nullptr) {
      throw RecorderError(
          fmt::format("{} is no recorder of peakmark: it has no {}", library_.string(), name));
    }
    return reinterpret_cast<Function>(address);
  }

  std::filesystem::path library_;
  peakmark_phase_t phase_ = nullptr;
  peakmark_name_t name_ = nullptr;
  peakmark_event_count_t count_ = nullptr;
  const char* profile_;
  ProfileReader reader_;
};

}  // namespace

std::unique_ptr<EventSource> attach_recorder(const std::filesystem::path& library) {
  return std::make_unique<AttachedRecorder>(library);
}

}  // namespace peakmark
