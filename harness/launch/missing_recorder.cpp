#include "launch/missing_recorder.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string_view>

#include "base/program.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// What is to be said against a recorder: it cannot be loaded, or is something else. Empty where it is in
/// order.
std::string refusal_of(const fs::path& recorder, const char* door) {
  void* const library = dlopen(recorder.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return fmt::format("the recorder {} cannot be loaded ({})", recorder.string(),
                       why == nullptr ? "the loader does not say why" : why);
  }
  const bool has_export = dlsym(library, door) != nullptr;
  dlclose(library);
  return has_export ? "" : fmt::format("{} is no recorder: it lacks {}", recorder.string(), door);
}

std::string refusals(const RecorderLibraries& libraries) {
  std::string text;
  const auto add = [&](const std::optional<fs::path>& library, const char* door) {
    const std::string refusal = library ? refusal_of(*library, door) : "";
    if (!refusal.empty()) text += (text.empty() ? "" : "; ") + refusal;
  };
  add(libraries.opencl, "clInitLayer");
  add(libraries.cuda, "InitializeInjection");
  return text;
}

bool is_loadable(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

std::string what_is_missing(const RecorderLibraries& libraries) {
  std::vector<std::string> folders;
  for (const fs::path& folder : libraries.folders) folders.push_back(folder.string());
  return fmt::format(
      "the recorders {} and {} are missing from {}: install peakmark whole, or set PEAKMARK_LIBRARY_DIR to "
      "their folder",
      kOpenclRecorder, kCudaRecorder, fmt::join(folders, ", "));
}

bool is_opencl(const std::string& loader) {
  return fs::path(loader).filename().string().starts_with("libOpenCL");
}

/// Whether a loader of OpenCL would find a driver's file in the folders where it looks. True where it is told
/// by other variables.
bool has_driver_files() {
  for (const char* const variable : {"OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"}) {
    if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0') return true;
  }
  const char* const vendors = std::getenv("OCL_ICD_VENDORS");
  const fs::path folder = vendors == nullptr || *vendors == '\0' ? "/etc/OpenCL/vendors" : vendors;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fs::exists(folder, error);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".icd") return true;
  }
  return false;
}

/// A loader takes OPENCL_LAYERS apart at colons.
std::string colon_in(const RecorderLibraries& libraries) {
  if (!libraries.opencl || libraries.opencl->string().find(':') == std::string::npos) return "";
  return fmt::format(
      "the path of the recorder {} has a colon, at which loaders of OpenCL take OPENCL_LAYERS apart: install "
      "peakmark in another folder, or set PEAKMARK_LIBRARY_DIR to a link to this one without a colon",
      libraries.opencl->string());
}

std::string of_process(pid_t process, const SeenProcess& seen) {
  return fmt::format("{} (process {})", seen.program.string(), process);
}

constexpr std::string_view kCleared =
    "started without the variables that load the recorder, as sudo and env -i do: start `peakmark record` "
    "behind them (sudo peakmark record ...), or let them keep PEAKMARK_PROFILE, OPENCL_LAYERS and "
    "CUDA_INJECTION64_PATH";

std::string why_without_variables(const SeenProcess& seen) {
  if (seen.other_profile.empty()) return std::string(kCleared);
  return fmt::format(
      "started with a PEAKMARK_PROFILE of its own, as a `peakmark record` within the program does: what it "
      "recorded is in {}",
      seen.other_profile);
}

/// A process that had a loader, and why it did not bring a recorder.
std::string why_not_with(pid_t process, const SeenProcess& seen, const RecorderLibraries& libraries) {
  const std::string& loader = *seen.loaders.begin();
  const std::string who = fmt::format("{} loaded {}", of_process(process, seen), loader);
  if (!seen.has_variables) return fmt::format("{}, but was {}", who, why_without_variables(seen));
  if (!is_opencl(loader)) {
    if (!libraries.cuda)
      return who + ", and the CUDA recorder is not built: build peakmark with a CUDA toolkit";
    return who + ", and did not bring CUDA up with a driver (see `nvidia-smi`)";
  }
  if (!libraries.opencl) {
    return fmt::format(
        "{}, and the OpenCL recorder, {}, is not there: install peakmark whole, or build it with OpenCL", who,
        kOpenclRecorder);
  }
  if (!knows_layers(loader)) {
    return who +
           ", which knows no layers: put one that does before it, with LD_PRELOAD=libOpenCL.so.1 of ocl-icd "
           "2.3 or Khronos";
  }
  if (!has_driver_files()) return who + ", which found no OpenCL driver: install one (see `clinfo -l`)";
  return who + ", and made no call into it, or it found no OpenCL driver (see `clinfo -l`)";
}

/// Of a script with marks that failed; empty for any other program.
std::string what_a_missing_module_says(const MissingRecorder& evidence) {
  if (!evidence.script_with_marks || evidence.program_code == 0) return "";
  const auto folder = python_module_folder();
  return fmt::format(
      "the program ended with exit code {} before it used OpenCL or CUDA, so nothing was recorded; {} "
      "imports "
      "the Python module peakmark: if Python did not find that (as with -I and -E, which ignore PYTHONPATH), "
      "install it for that Python: python -m pip install {}",
      evidence.program_code, evidence.script_with_marks->string(),
      folder ? folder->string() : "PREFIX/share/peakmark/python, where peakmark is installed in PREFIX");
}

std::string what_was_seen(const MissingRecorder& evidence) {
  for (const auto& [process, seen] : evidence.seen) {
    if (!seen.loaders.empty()) return why_not_with(process, seen, evidence.libraries);
  }
  for (const auto& [process, seen] : evidence.seen) {
    if (!seen.has_variables)
      return fmt::format("{} was {}", of_process(process, seen), why_without_variables(seen));
  }
  for (const auto& [process, seen] : evidence.seen) {
    if (seen.is_static) {
      return fmt::format(
          "{} is linked statically, so nothing can be loaded into it: link it to the shared "
          "loader (libOpenCL.so, libcuda.so)",
          of_process(process, seen));
    }
  }
  return "";
}

std::string what_this_system_lacks(const RecorderLibraries& libraries) {
  const bool opencl = libraries.opencl && is_loadable("libOpenCL.so.1");
  const bool cuda = libraries.cuda && is_loadable("libcuda.so.1");
  if (!opencl && !cuda) {
    return "the program loaded no loader of OpenCL or CUDA, and there is none on this system for which a "
           "recorder was built (libOpenCL.so.1, libcuda.so.1)";
  }
  std::string text =
      "the program was not seen to load a loader of OpenCL or CUDA (libOpenCL, libcuda): it made no "
      "call into them";
  if (opencl && !has_driver_files())
    text += ", or found no OpenCL driver, for none is installed (see `clinfo -l`)";
  return text;
}

}  // namespace

std::optional<fs::path> script_that_imports_peakmark(const std::vector<std::string>& command) {
  static const std::regex import_line(R"((^|\n)[ \t]*(import|from)[ \t]+peakmark\b)");
  constexpr std::streamsize kMaxBytes = 1 << 20;
  for (const std::string& word : command) {
    std::error_code error;
    if (!word.ends_with(".py") || !fs::is_regular_file(word, error)) continue;
    std::string text(kMaxBytes, '\0');
    std::ifstream file(word, std::ios::binary);
    file.read(text.data(), kMaxBytes);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (std::regex_search(text, import_line)) return word;
  }
  return std::nullopt;
}

bool knows_layers(const fs::path& loader) {
  std::ifstream file(loader, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.find("OPENCL_LAYERS") != std::string::npos;
}

std::string why_no_recorder(const MissingRecorder& evidence) {
  const RecorderLibraries& libraries = evidence.libraries;
  if (!libraries.opencl && !libraries.cuda) return what_is_missing(libraries);
  const std::string head = "no recorder came up: ";
  if (const std::string text = refusals(libraries); !text.empty()) {
    return head + text + "; install peakmark whole";
  }
  if (const std::string text = colon_in(libraries); !text.empty()) return head + text;
  if (evidence.static_program) {
    return fmt::format(
        "{}{} is linked statically, so nothing can be loaded into it: link it to the shared loader "
        "(libOpenCL.so, libcuda.so)",
        head, evidence.static_program->string());
  }
  if (!evidence.still_running.empty()) {
    return fmt::format(
        "{}the program has ended, but process {} that it left behind runs on: keep it in the "
        "foreground to have it recorded",
        head, fmt::join(evidence.still_running, ", "));
  }
  if (std::string text = what_a_missing_module_says(evidence); !text.empty()) return text;
  if (const std::string text = what_was_seen(evidence); !text.empty()) return head + text;
  return head + what_this_system_lacks(libraries);
}

}  // namespace peakmark
