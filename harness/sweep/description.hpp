#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/parameters.hpp"

namespace peakmark {

/// One axis of a variant.
struct AxisDescription {
  std::string name;
  AxisValue default_value;           ///< its type is the type of the axis
  std::vector<std::string> choices;  ///< of a word; empty: any word
  Size least = 0;                    ///< of an integer; also of pads, which may be 0
  std::string help;                  ///< one line for people
};

/// What a variant tells of itself. The command line knows no more of a kernel than this.
struct VariantDescription {
  std::string name;  ///< `padding/coords1d`
  std::string help;
  std::vector<std::string>
      backends;  ///< `opencl`, `cuda`, `dry`: those the worker was built with and it can use
  std::vector<AxisDescription> axes;  ///< in the order of case names
  std::string slice_axis;             ///< the axis along which chunks are cut
  int slice_dimension = 0;            ///< httomo's number for it: 0 projection, 1 sinogram
  bool destroys_input = false;
  struct EstimatorDescription {
    std::string name;
    std::string form;  ///< `direct`, `module`, `iterative`, `documented`
  };
  std::vector<EstimatorDescription> estimators;  ///< the first is the variant's own

  [[nodiscard]] const AxisDescription* axis(std::string_view axis_name) const;
};

/// What `WORKER --describe` prints.
struct Description {
  static constexpr int kProtocol = 1;
  int protocol = kProtocol;
  std::string worker;  ///< name and version of the program
  std::string build;   ///< `Release`, `Debug`, with sanitizers named
  std::string commit;  ///< of the sources; empty where unknown
  std::vector<VariantDescription> variants;

  [[nodiscard]] const VariantDescription* variant(std::string_view name) const;
};

}  // namespace peakmark
