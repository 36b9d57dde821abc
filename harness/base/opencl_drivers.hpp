#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace peakmark {

/// A driver that OpenCL loaders load.
struct OpenclDriver {
  std::string library;             ///< a path or the name of a library
  std::filesystem::path named_in;  ///< the file NAME.icd that names it; empty if a variable does
};

/// Returns the drivers that OpenCL loaders find: the libraries in OCL_ICD_FILENAMES, and what
/// OPENCL_VENDOR_PATH or OCL_ICD_VENDORS names (a folder of files NAME.icd, such a file, or a library);
/// without these two, those of /etc/OpenCL/vendors. Sorted by file in each folder.
std::vector<OpenclDriver> opencl_drivers();

}  // namespace peakmark
