#include "record/recorders/recorder_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/program.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/marks.h"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_next_to_program() {
  std::vector<fs::path> found;
  for (const fs::path& folder : own_program_prefixes()) found.push_back(folder / "lib" / "peakmark");
  return found;
}

std::optional<fs::path> find(const std::vector<fs::path>& folders, const char* name) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace

RecorderLibraries find_recorder_libraries() {
  return find_recorder_libraries(folders_next_to_program());
}

RecorderLibraries find_recorder_libraries(const std::vector<fs::path>& folders) {
  RecorderLibraries libraries;
  libraries.folders = folders;
  if (const char* const folder = std::getenv("PEAKMARK_LIBRARY_DIR"); folder != nullptr && *folder != '\0') {
    libraries.folders = {fs::absolute(folder)};
  }
  libraries.opencl = find(libraries.folders, kOpenclRecorder);
  libraries.cuda = find(libraries.folders, kCudaRecorder);
  return libraries;
}

void add_recorders(std::vector<std::string>& environment, const RecorderLibraries& libraries,
                   const std::filesystem::path& profile, bool sync, bool stacks) {
  set_variable(environment, "PEAKMARK_PROFILE", fs::absolute(profile).string());
  set_variable(environment, "PEAKMARK_SYNC", sync ? "1" : "0");
  set_variable(environment, "PEAKMARK_STACKS", stacks ? "1" : "0");
  if (libraries.opencl) {
    // Our recorder comes first: ocl-icd truncates the variable at the first colon, in place, so programs
    // started by this one see only the first layer.
    std::string layers = libraries.opencl->string();
    std::string_view rest;
    const std::string users = find_variable(environment, "OPENCL_LAYERS").value_or("");
    for (rest = users; !rest.empty();) {
      const std::string_view layer = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), layer.size() + 1));
      if (!layer.empty() && layer != libraries.opencl->string()) layers.append(":").append(layer);
    }
    set_variable(environment, "OPENCL_LAYERS", layers);
    // Loaders without layers load drivers: for them, the recorder is a driver without platforms. Only
    // Khronos's loaders read this variable.
    const std::string own = libraries.opencl->string();
    std::string drivers = find_variable(environment, "OCL_ICD_FILENAMES").value_or("");
    if (drivers.empty()) drivers = own;
    if (drivers != own && !drivers.starts_with(own + ":")) drivers.insert(0, own + ":");
    set_variable(environment, "OCL_ICD_FILENAMES", drivers);
  }
  if (libraries.cuda) set_variable(environment, "CUDA_INJECTION64_PATH", libraries.cuda->string());
}

void set_limits(std::vector<std::string>& environment, const MemoryLimits& limits) {
  const auto set = [&](const std::string& variable, const std::optional<Size>& bytes) {
    if (bytes) return set_variable(environment, variable, std::to_string(*bytes));
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(variable + "="); });
  };
  set("PEAKMARK_BUDGET", limits.budget);
  set("PEAKMARK_MAX_ALLOCATION", limits.max_allocation);
}

std::string replaced_injection(const std::vector<std::string>& environment,
                               const RecorderLibraries& libraries) {
  const std::string users = find_variable(environment, "CUDA_INJECTION64_PATH").value_or("");
  return libraries.cuda && users != libraries.cuda->string() ? users : "";
}

void add_ranges(std::vector<std::string>& environment, const RecorderLibraries& libraries) {
  constexpr const char* kVariable = "NVTX_INJECTION64_PATH";
  const auto& library = libraries.cuda ? libraries.cuda : libraries.opencl;
  if (library && find_variable(environment, kVariable).value_or("").empty())
    set_variable(environment, kVariable, library->string());
}

namespace {

class AttachedRecorder final : public EventSource {
 public:
  explicit AttachedRecorder(const std::filesystem::path& library)
      : library_(library), profile_(connect()), reader_(profile_) {}

  void phase(std::string_view name) override { phase_(std::string(name).c_str()); }

  void name(std::uint64_t address, std::string_view name) override {
    name_(address, std::string(name).c_str());
  }

  void guards(Size bytes) override {
    if (guards_ == nullptr) {
      throw RecorderError(
          fmt::format("the recorder {} does not know of guards: build and install it and this program from "
                      "the same sources",
                      library_.string()));
    }
    guards_(bytes);
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
  /// Looks up the C interface. Returns the path of the profile.
  const char* connect() {
    // RTLD_NOLOAD, because a recorder that the loader did not load must not be started here.
    void* const handle = dlopen(library_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) {
      throw RecorderError(
          fmt::format("the recorder {} was not loaded: {}", library_.string(), why_not_loaded()));
    }
    const auto version = symbol<peakmark_marks_version_t>(handle, PEAKMARK_MARKS_VERSION_SYMBOL);
    phase_ = symbol<peakmark_phase_t>(handle, PEAKMARK_PHASE_SYMBOL);
    name_ = symbol<peakmark_name_t>(handle, PEAKMARK_NAME_SYMBOL);
    count_ = symbol<peakmark_event_count_t>(handle, PEAKMARK_EVENT_COUNT_SYMBOL);
    guards_ = reinterpret_cast<peakmark_guards_t>(dlsym(handle, PEAKMARK_GUARDS_SYMBOL));
    const auto path = symbol<peakmark_profile_path_t>(handle, PEAKMARK_PROFILE_PATH_SYMBOL);
    if (const int found = version(); found != PEAKMARK_MARKS_VERSION && found != 0) {
      throw RecorderError(
          fmt::format("{} has version {} of the marks interface, this program needs version {}: build "
                      "and install both from the same sources",
                      library_.string(), found, PEAKMARK_MARKS_VERSION));
    }
    const char* const profile = path();
    if (version() == 0 || profile == nullptr) {
      throw RecorderError(
          fmt::format("the recorder {} was loaded but records nothing: set PEAKMARK_PROFILE to a "
                      "file that can be written",
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

  /// Returns true if a variable that a loader reads names the library: then the user need not set it.
  [[nodiscard]] bool is_requested() const {
    for (const char* const variable : {"OPENCL_LAYERS", "CUDA_INJECTION64_PATH"}) {
      const char* const value = std::getenv(variable);
      if (value != nullptr && std::string_view(value).find(library_.native()) != std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  /// Called only after attaching has failed: then loading the library, to get its error, does no harm.
  [[nodiscard]] std::string why_not_loaded() const {
    if (!is_requested()) {
      return "set OPENCL_LAYERS (or CUDA_INJECTION64_PATH) to this absolute path before the first call into "
             "OpenCL (or CUDA)";
    }
    if (void* const handle = dlopen(library_.c_str(), RTLD_LAZY | RTLD_LOCAL); handle != nullptr) {
      dlclose(handle);
      return "the library can be loaded, but the OpenCL loader (or the CUDA driver) did not load it; OpenCL "
             "needs a loader that supports layers, such as ocl-icd 2.3 or Khronos's";
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
          fmt::format("{} is not a peakmark recorder: it does not export {}", library_.string(), name));
    }
    return reinterpret_cast<Function>(address);
  }

  std::filesystem::path library_;
  peakmark_phase_t phase_ = nullptr;
  peakmark_name_t name_ = nullptr;
  peakmark_event_count_t count_ = nullptr;
  peakmark_guards_t guards_ = nullptr;  ///< null in an older recorder
  const char* profile_;
  ProfileReader reader_;
};

}  // namespace

std::unique_ptr<EventSource> attach_recorder(const std::filesystem::path& library) {
  return std::make_unique<AttachedRecorder>(library);
}

}  // namespace peakmark
