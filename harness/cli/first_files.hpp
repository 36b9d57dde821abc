#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark::cli {

/// A file that `peakmark init` writes.
struct FirstFile {
  std::string path;  ///< from the folder in which it is written
  std::string text;
  std::string_view what;  ///< what it is, in a few words
};

/// A project as `peakmark init` begins it.
struct FirstProject {
  std::vector<FirstFile> files;
  std::string needs;        ///< what must be there to build and to measure it, behind "It needs "
  std::string suite;        ///< as `list` and `run` take it: "scale.toml"
  std::string run_options;  ///< further ones of `run`: " --require cuda"
};

/// `kind`: "opencl" or "cuda", a worker; "program", a program that is measured as it is.
FirstProject first_project(std::string_view kind);

}  // namespace peakmark::cli
