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

/// Reads `text` as a value of the axis. Throws UsageError, with the nearest word, when it is none.
AxisValue parse_axis_value(const AxisDescription& axis, std::string_view text);
/// Throws UsageError when the value is of the wrong type, too small, no choice of the axis, or a word that
/// would break a case name: empty, or with `/`, `:`, blanks or control characters.
void check_axis_value(const AxisDescription& axis, const AxisValue& value);

/// OPERATION/WAY, of letters, digits and `- _ . +`: the first parts of the names of cases.
bool is_variant_name(std::string_view name);
/// Of letters, digits and `- _ . +`. Labels of workers are such names too.
bool is_axis_name(std::string_view name);

/// What a variant tells of itself. The command line knows no more of a kernel than this.
struct VariantDescription {
  std::string name;  ///< `padding/coords1d`
  std::string help;
  /// Of its worker, where a run has several: the name ends with it, `padding/coords1d.old`. Else empty.
  std::string label = {};
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

  /// The name without the label.
  [[nodiscard]] std::string_view plain_name() const;
  /// nullptr when the variant has no such axis.
  [[nodiscard]] const AxisDescription* axis(std::string_view axis_name) const;
  [[nodiscard]] std::vector<std::string> axis_names() const;
  /// Every axis at its default, in order.
  [[nodiscard]] Parameters defaults() const;
};

/// Throws UsageError for a variant whose cases could not be named: its name, those of its axes, two axes of
/// one name, a default that is none of the choices.
void check_variant(const VariantDescription& variant);

/// What `WORKER --describe` prints.
struct Description {
  static constexpr int kProtocol = 1;
  static constexpr int kApiMajor = 1;  ///< of the public API (api/include/peakmark/worker_abi.h)
  int protocol = kProtocol;
  std::string api;             ///< `1.0`: the public API that the worker is built on; empty: none
  std::string worker;          ///< name and version of the program
  std::string build;           ///< `Release`, `Debug`, with sanitizers named
  std::string commit;          ///< of the sources; empty where unknown
  bool checks_cases = false;   ///< answers `--check`
  bool takes_blocks = false;   ///< understands `--blocks` and `--times-only`
  bool reports_steps = false;  ///< understands `--report-steps`
  bool takes_cache = false;    ///< understands `--cache`
  std::vector<VariantDescription> variants;

  [[nodiscard]] const VariantDescription* variant(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> variant_names() const;
};

/// The backends that a case may name. Not only those of this worker: a suite for CUDA is no mistake where
/// CUDA is missing, its cases are `unsupported` there. `auto` stands for the device's, `dry` is there for
/// every variant.
const std::vector<std::string>& known_backends();

/// A variant with a shape, a dtype and parameters, on a backend.
struct Case {
  std::string variant;  ///< `padding/coords1d`
  std::string backend;  ///< `opencl`, `cuda`, `dry`; `auto` until a device is known
  Parameters parameters;

  friend bool operator==(const Case&, const Case&) = default;
};

/// `padding/coords1d/opencl/mode:wrap/n:24/ny:511`: axes in the variant's order, those at their default (of
/// padding: `edge`, 20, 512) left out. Values hold no `/` or `:` (UsageError).
std::string case_name(const Case& sweep_case, const VariantDescription& variant);

/// The same with every axis, in the order of the parameters: `padding/coords1d/opencl/mode:edge/n:20/…`.
std::string full_case_name(const Case& sweep_case);

/// The inverse of both; axes may stand in any order, and at their default. Throws UsageError that says what
/// is wrong and suggests the nearest variant, backend, axis or word.
Case parse_case(std::string_view name, const Description& description);

}  // namespace peakmark
