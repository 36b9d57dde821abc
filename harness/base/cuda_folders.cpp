#include "base/cuda_folders.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace peakmark {
namespace {

namespace fs = std::filesystem;

using Folders = std::vector<std::string>;

constexpr const char* kLibraries[] = {"libcudart.so", "libnvrtc.so", "libcublas.so", "libcufft.so"};

/// Appends FOLDER/*/lib in the order of names: nvidia/cu13/lib, or nvidia/cufft/lib, nvidia/cuda_cupti/lib,
/// ….
void add_packages(const fs::path& nvidia, Folders& folders) {
  Folders found;
  std::error_code error;
  for (fs::directory_iterator entry(nvidia, error), end; !error && entry != end; entry.increment(error))
    found.push_back((entry->path() / "lib").string());
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

void add_toolkit(const std::string& root, Folders& folders) {
  for (const char* folder : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/extras/CUPTI/lib64"})
    folders.push_back(root + folder);
}

int add_folder_of_cuda(dl_phdr_info* info, std::size_t /*size*/, void* folders) {
  const fs::path path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string name = path.filename().string();
  if (std::any_of(std::begin(kLibraries), std::end(kLibraries),
                  [&](const char* library) { return name.starts_with(library); }))
    static_cast<std::vector<fs::path>*>(folders)->push_back(path.parent_path());
  return 0;
}

void add_loaded(Folders& folders) {
  std::vector<fs::path> loaded;
  dl_iterate_phdr(add_folder_of_cuda, &loaded);
  for (const fs::path& folder : loaded) {
    folders.push_back(folder.string());
    folders.push_back((folder / "../extras/CUPTI/lib64").string());
    // Pip packages: nvidia/cuda_runtime/lib is next to nvidia/cufft/lib.
    if (const fs::path nvidia = folder.parent_path().parent_path(); nvidia.filename() == "nvidia")
      add_packages(nvidia, folders);
  }
}

void add_virtual_environment(const fs::path& root, Folders& folders) {
  std::error_code error;
  for (fs::directory_iterator entry(root / "lib", error), end; !error && entry != end; entry.increment(error))
    add_packages(entry->path() / "site-packages" / "nvidia", folders);
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

std::vector<std::string> cuda_library_folders() {
  Folders folders;
  add_loaded(folders);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = variable(name)) add_toolkit(root, folders);
  if (const char* root = variable("VIRTUAL_ENV")) add_virtual_environment(root, folders);
  add_toolkit("/usr/local/cuda", folders);  // the default of NVIDIA's installers
  return folders;
}

std::vector<std::string> cuda_library_files(const std::vector<std::string>& names,
                                            const std::vector<std::string>& first) {
  std::vector<std::string> files = names;
  std::vector<std::string> folders = first;
  for (std::string& folder : cuda_library_folders()) folders.push_back(std::move(folder));
  for (const std::string& folder : folders)
    for (const std::string& name : names) files.push_back((fs::path(folder) / name).string());
  return files;
}

void* load_cuda_library(const std::string& name, int flags) {
  for (const std::string& file : cuda_library_files({name}))
    if (void* library = dlopen(file.c_str(), flags)) return library;
  return nullptr;
}

}  // namespace peakmark
