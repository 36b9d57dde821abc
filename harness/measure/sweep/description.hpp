#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/sweep/parameters.hpp"

namespace peakmark {

/// One axis of a variant.
struct AxisDescription {
  std::string name;
  AxisValue default_value;           ///< its type is the type of the axis
  std::vector<std::string> choices;  ///< of a word axis; empty: any word
  Size min = 0;                      ///< of an integer axis; a floating-point axis has none
  std::string help;                  ///< one line for users
};

/// Returns `integer`, `word` or `float`.
std::string_view type_name(const AxisDescription& axis);
/// Parses a value of the axis. Throws UsageError, with the nearest word, if `text` is not one.
AxisValue parse_axis_value(const AxisDescription& axis, std::string_view text);
/// Throws UsageError if the value has the wrong type, is too small, is not a choice of the axis, is not
/// finite, or is a word that case names cannot contain: empty, or with `/`, `:`, blanks or control
/// characters.
void check_axis_value(const AxisDescription& axis, const AxisValue& value);
/// Returns a value from a suite, which may have an integer for a floating-point axis, with the type of the
/// axis. Throws as check_axis_value() does.
AxisValue typed_axis_value(const AxisDescription& axis, AxisValue value);

/// Returns true for OPERATION/NAME with letters, digits and `- _ . +`: the beginning of case names.
bool is_variant_name(std::string_view name);
/// Returns true for a name of letters, digits and `- _ . +`, also used for labels of workers.
bool is_axis_name(std::string_view name);

/// The description of a variant: everything that the command line knows about it.
struct VariantDescription {
  std::string name;  ///< `padding/coords1d`
  std::string help;
  /// The label of its worker if a run has several, else empty. The name ends with it: `padding/coords1d.old`.
  std::string label = {};
  std::vector<std::string>
      backends;  ///< `opencl`, `cuda`, `dry`: the backends that both worker and variant support
  std::vector<AxisDescription> axes;  ///< in the order of case names
  std::string slice_axis;             ///< the axis along which data is divided into chunks
  int slice_dimension = 0;            ///< httomo's number for it: 0 projection, 1 sinogram
  bool destroys_input = false;
  struct EstimatorDescription {
    std::string name;
    std::string form;  ///< `direct`, `module`, `iterative`, `documented`
  };
  std::vector<EstimatorDescription> estimators;  ///< the first is the default

  /// Returns the name without the label.
  [[nodiscard]] std::string_view plain_name() const;
  /// Returns nullptr if the variant has no such axis.
  [[nodiscard]] const AxisDescription* axis(std::string_view axis_name) const;
  /// Throws UsageError with the nearest name if the variant has no such axis.
  [[nodiscard]] const AxisDescription& known_axis(std::string_view axis_name) const;
  /// Returns an axis that formulas may read: of integers or floating-point numbers. Throws UsageError.
  [[nodiscard]] const AxisDescription& number_axis(std::string_view axis_name) const;
  [[nodiscard]] std::vector<std::string> axis_names() const;
  /// Returns the default of every axis, in order.
  [[nodiscard]] Parameters defaults() const;
};

/// Returns `n` and `20` of `n=20`. Throws UsageError for a text without `=`.
std::pair<std::string, std::string> split_key_value(const std::string& text);
/// Returns the values of a variant's axes from `key=value` texts; omitted axes have their default. Throws
/// UsageError for an axis that is unknown (with the nearest name), is given twice, or has an invalid value.
Parameters parse_parameters(const VariantDescription& variant, const std::vector<std::string>& texts);

/// Throws UsageError if cases of the variant could not be named: malformed names, duplicate axes, a default
/// that is not a choice.
void check_variant(const VariantDescription& variant);

/// The output of `WORKER --describe`.
struct Description {
  static constexpr int kProtocol = 1;
  static constexpr int kApiMajor = 1;  ///< of the public API (api/include/peakmark/worker_abi.h)
  int protocol = kProtocol;
  std::string api;     ///< version of the public API that the worker uses, `1.0`; empty: none
  std::string worker;  ///< name and version of the program
  std::string build;   ///< `Release`, `Debug`, with sanitizers named
  std::string commit;  ///< of the sources; empty if unknown
  std::vector<VariantDescription> variants;

  /// Returns nullptr if there is no such variant.
  [[nodiscard]] const VariantDescription* variant(std::string_view name) const;
  /// Throws UsageError with the nearest name if there is no such variant.
  [[nodiscard]] const VariantDescription& known_variant(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> variant_names() const;
  /// Returns the end of an error message about an unknown variant, if the worker is peakmark's own: the user
  /// may have forgotten to name another one. Otherwise empty.
  [[nodiscard]] std::string_view hint_at_own_worker() const;
};

/// Returns the backends that a case may name, including those that this worker lacks: a suite for CUDA is
/// valid without CUDA, and its cases are `unsupported`. `auto` is the backend of the device; every variant
/// has `dry`.
const std::vector<std::string>& known_backends();

/// A variant with values for its axes, on a backend.
struct SweepCase {
  std::string variant;  ///< `padding/coords1d`
  std::string backend;  ///< `opencl`, `cuda`, `dry`; `auto` until a device is known
  Parameters parameters;

  friend bool operator==(const SweepCase&, const SweepCase&) = default;
};

/// Returns `padding/coords1d/opencl/mode:wrap/n:24/ny:511`: axes in the variant's order, without those that
/// have their default. Throws UsageError for a value that a name cannot contain.
std::string case_name(const SweepCase& sweep_case, const VariantDescription& variant);

/// Returns the name with every axis, in the order of the parameters:
/// `padding/coords1d/opencl/mode:edge/n:20/…`.
std::string full_case_name(const SweepCase& sweep_case);

/// Returns BACKEND of operation/variant/BACKEND/axis:value/…
std::string_view case_backend(std::string_view case_name);

/// Parses both forms, with axes in any order. Throws UsageError with the nearest variant, backend, axis or
/// word.
SweepCase parse_case(std::string_view name, const Description& description);

}  // namespace peakmark
