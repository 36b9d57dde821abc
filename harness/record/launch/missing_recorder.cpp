#include "record/launch/missing_recorder.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/opencl_drivers.hpp"
#include "base/pattern.hpp"
#include "base/program.hpp"
#include "record/recorders/elf_file.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Returns why a recorder cannot be used: it cannot be loaded, or is a different library. Empty if it can be
/// used.
std::string library_error(const fs::path& recorder, const char* symbol) {
  void* const library = dlopen(recorder.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return fmt::format("the recorder {} cannot be loaded ({})", recorder.string(),
                       why == nullptr ? "the loader gives no reason" : why);
  }
  const bool has_export = dlsym(library, symbol) != nullptr;
  dlclose(library);
  return has_export ? ""
                    : fmt::format("{} is not a recorder: it does not export {}", recorder.string(), symbol);
}

std::string library_errors(const RecorderLibraries& libraries) {
  std::string text;
  const auto add = [&](const std::optional<fs::path>& library, const char* symbol) {
    const std::string refusal = library ? library_error(*library, symbol) : "";
    if (!refusal.empty()) text += (text.empty() ? "" : "; ") + refusal;
  };
  add(libraries.opencl, "clInitLayer");
  add(libraries.cuda, "InitializeInjection");
  return text;
}

/// Returns why a library cannot be loaded; empty if it can be.
std::string load_error(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return why == nullptr ? fmt::format("{} cannot be loaded", library) : why;
  }
  dlclose(handle);
  return "";
}

std::string missing_libraries(const RecorderLibraries& libraries) {
  std::vector<std::string> folders;
  for (const fs::path& folder : libraries.folders) folders.push_back(folder.string());
  return fmt::format(
      "the recorders {} and {} are missing from {}: reinstall peakmark, or set PEAKMARK_LIBRARY_DIR to "
      "their folder",
      kOpenclRecorder, kCudaRecorder, fmt::join(folders, ", "));
}

bool is_named(const std::string& library, std::string_view name) {
  return fs::path(library).filename().string().starts_with(name);
}

/// OpenCL loaders split OPENCL_LAYERS at colons.
std::string colon_error(const RecorderLibraries& libraries) {
  if (!libraries.opencl || libraries.opencl->string().find(':') == std::string::npos) return "";
  return fmt::format(
      "the path of the recorder {} contains a colon, at which OpenCL loaders split OPENCL_LAYERS: install "
      "peakmark in another folder, or set PEAKMARK_LIBRARY_DIR to a link without a colon",
      libraries.opencl->string());
}

std::string describe(pid_t process, const SeenProcess& seen) {
  return fmt::format("{} (process {})", seen.program.string(), process);
}

constexpr std::string_view kCleared =
    "started without the variables that load the recorder, as by sudo or env -i: call them first "
    "(sudo peakmark record ...), or keep PEAKMARK_PROFILE, OPENCL_LAYERS and CUDA_INJECTION64_PATH";

std::string cleared_environment(const SeenProcess& seen) {
  if (seen.other_profile.empty()) return std::string(kCleared);
  return fmt::format(
      "started with another PEAKMARK_PROFILE, as by a `peakmark record` within the program: see the profile "
      "{}",
      seen.other_profile);
}

/// Returns why a process that loaded a loader was not recorded.
std::string why_not_recorded(pid_t process, const SeenProcess& seen, const RecorderLibraries& libraries) {
  const std::string& loader = *seen.loaders.begin();
  const std::string who = fmt::format("{} loaded {}", describe(process, seen), loader);
  if (!seen.has_variables) return fmt::format("{}, but was {}", who, cleared_environment(seen));
  if (is_named(loader, "libcuda.so")) {
    if (!libraries.cuda)
      return who + ", but the CUDA recorder is not built: build peakmark with a CUDA toolkit";
    return who + ", but CUDA did not start: check the driver with `nvidia-smi`";
  }
  if (!libraries.opencl) {
    return fmt::format(
        "{}, but the OpenCL recorder {} is missing: reinstall peakmark, or build it with OpenCL", who,
        kOpenclRecorder);
  }
  if (!is_named(loader, "libOpenCL") && !supports_layers(ElfFile(loader.c_str()))) {
    const std::string error = load_error("libOpenCL.so.1");
    return fmt::format(
        "{}, into which an OpenCL loader without layers is linked: {}set LD_PRELOAD=libOpenCL.so.1, or link "
        "it "
        "to that",
        who, error.empty() ? "" : fmt::format("install libOpenCL.so.1 ({}), then ", error));
  }
  if (!supports_layers(ElfFile(loader.c_str()))) {
    return who +
           ", which does not support layers: preload a loader that does, with LD_PRELOAD=libOpenCL.so.1 of "
           "ocl-icd 2.3 or Khronos";
  }
  if (opencl_drivers().empty())
    return who + ", which found no OpenCL driver: install one, and check with `clinfo -l`";
  return who + ", but did not call it, or it found no OpenCL driver: check with `clinfo -l`";
}

/// Explains the failure of a script that imports peakmark; empty for any other program.
std::string missing_module(const MissingRecorder& evidence) {
  if (!evidence.script_with_marks || evidence.program_code == 0) return "";
  const auto folder = python_module_folder();
  return fmt::format(
      "the program ended with exit code {} before it used OpenCL or CUDA, so nothing was recorded; {} "
      "imports the Python module peakmark: if Python did not find it (-I and -E ignore PYTHONPATH), install "
      "it for "
      "that Python: python -m pip install {}",
      evidence.program_code, evidence.script_with_marks->string(),
      folder ? folder->string() : "PREFIX/share/peakmark/python, where peakmark is installed in PREFIX");
}

/// Explains a process with a driver but no loader: its loader is hidden, or it calls the driver itself.
std::string driver_without_loader(pid_t process, const SeenProcess& seen) {
  const auto hidden = std::ranges::find_if(seen.files, [&](const std::string& file) {
    return !seen.drivers.contains(file) && !is_named(file, kOpenclRecorder) &&
           asks_opencl_drivers(ElfFile(file.c_str()));
  });
  return fmt::format(
      "{} uses the OpenCL driver {} without a loader that supports layers{}: link it to libOpenCL.so.1",
      describe(process, seen), *seen.drivers.begin(),
      hidden == seen.files.end() ? "" : fmt::format(", from {}", *hidden));
}

std::string seen_reason(const MissingRecorder& evidence) {
  for (const auto& [process, seen] : evidence.seen) {
    if (!seen.loaders.empty()) return why_not_recorded(process, seen, evidence.libraries);
  }
  for (const auto& [process, seen] : evidence.seen) {
    if (!seen.drivers.empty() && seen.has_variables) return driver_without_loader(process, seen);
  }
  for (const auto& [process, seen] : evidence.seen) {
    if (!seen.has_variables)
      return fmt::format("{} was {}", describe(process, seen), cleared_environment(seen));
  }
  for (const auto& [process, seen] : evidence.seen) {
    if (seen.is_static) {
      return fmt::format(
          "{} is linked statically, so no recorder can be loaded into it: link it to the shared loader "
          "(libOpenCL.so, libcuda.so)",
          describe(process, seen));
    }
  }
  return "";
}

std::string missing_on_system(const RecorderLibraries& libraries) {
  std::string errors;
  const auto can_load = [&](bool has_recorder, const char* loader) {
    if (!has_recorder) return false;
    const std::string error = load_error(loader);
    if (!error.empty()) errors += (errors.empty() ? "" : "; ") + error;
    return error.empty();
  };
  const bool opencl = can_load(libraries.opencl.has_value(), "libOpenCL.so.1");
  const bool cuda = can_load(libraries.cuda.has_value(), "libcuda.so.1");
  if (!opencl && !cuda) {
    return fmt::format(
        "the program did not load OpenCL or CUDA, and this system has no loader that works and for which a "
        "recorder was built ({})",
        errors);
  }
  std::string text = "the program did not load OpenCL or CUDA (libOpenCL, libcuda)";
  if (opencl && opencl_drivers().empty())
    text += ", or found no OpenCL driver: none is installed, check with `clinfo -l`";
  return text;
}

}  // namespace

std::optional<fs::path> script_that_imports_peakmark(const std::vector<std::string>& command) {
  static const Pattern import_line(R"((^|\n)[ \t]*(import|from)[ \t]+peakmark\b)");
  constexpr std::streamsize kMaxBytes = 1 << 20;
  for (const std::string& word : command) {
    std::error_code error;
    if (!word.ends_with(".py") || !fs::is_regular_file(word, error)) continue;
    std::string text(kMaxBytes, '\0');
    std::ifstream file(word, std::ios::binary);
    file.read(text.data(), kMaxBytes);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (import_line.is_in(text)) return word;
  }
  return std::nullopt;
}

std::string why_no_recorder(const MissingRecorder& evidence) {
  const RecorderLibraries& libraries = evidence.libraries;
  if (!libraries.opencl && !libraries.cuda) return missing_libraries(libraries);
  const std::string head = "no recorder came up: ";
  if (const std::string text = library_errors(libraries); !text.empty()) {
    return head + text + "; reinstall peakmark";
  }
  if (const std::string text = colon_error(libraries); !text.empty()) return head + text;
  if (evidence.static_program) {
    return fmt::format(
        "{}{} is linked statically, so no recorder can be loaded into it: link it to the shared loader "
        "(libOpenCL.so, libcuda.so)",
        head, evidence.static_program->string());
  }
  if (!evidence.still_running.empty()) {
    return fmt::format(
        "{}the program has ended, but its process {} is still running: keep it in the foreground to record "
        "it",
        head, fmt::join(evidence.still_running, ", "));
  }
  if (std::string text = missing_module(evidence); !text.empty()) return text;
  if (const std::string text = seen_reason(evidence); !text.empty()) return head + text;
  return head + missing_on_system(libraries);
}

}  // namespace peakmark
