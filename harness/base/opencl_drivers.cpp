#include "base/opencl_drivers.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void add_icd_file(std::vector<OpenclDriver>& drivers, const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return;
  drivers.push_back({line.substr(first, line.find_last_not_of(" \t\r") + 1 - first), file});
}

void add_folder(std::vector<OpenclDriver>& drivers, const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".icd") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) add_icd_file(drivers, file);
}

}  // namespace

std::vector<OpenclDriver> opencl_drivers() {
  std::vector<OpenclDriver> drivers;
  std::istringstream libraries(variable("OCL_ICD_FILENAMES"));
  for (std::string library; std::getline(libraries, library, ':');) {
    if (!library.empty()) drivers.push_back({library, {}});
  }
  bool is_named = false;
  for (const char* const name : {"OPENCL_VENDOR_PATH", "OCL_ICD_VENDORS"}) {
    const std::string vendors = variable(name);
    if (vendors.empty()) continue;
    is_named = true;
    std::error_code ignored;
    if (fs::is_directory(vendors, ignored)) {
      add_folder(drivers, vendors);
    } else if (vendors.ends_with(".icd")) {
      add_icd_file(drivers,
                   vendors.find('/') == std::string::npos ? "/etc/OpenCL/vendors/" + vendors : vendors);
    } else if (vendors.find('/') == std::string::npos || fs::exists(vendors, ignored)) {
      drivers.push_back({vendors, {}});
    }
  }
  if (!is_named) add_folder(drivers, "/etc/OpenCL/vendors");
  return drivers;
}

}  // namespace peakmark
