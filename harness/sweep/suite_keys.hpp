#pragma once

#include <string>
#include <vector>

namespace peakmark::suite_keys {

// The keys of each table of a suite file, and the words of closed sets. The readers take no other, and
// suites/suite.schema.json, by which editors complete and check, has the same: a test holds it against these.

using Keys = std::vector<std::string>;

/// Of the file.
inline const Keys& suite() {
  static const Keys keys{"name",    "worker",  "window",    "expect", "estimators",
                         "backend", "program", "estimator", "sweep"};
  return keys;
}

/// Of `[[sweep]]`.
inline const Keys& sweep() {
  static const Keys keys{"variants", "backend", "figure",     "axes", "zip",
                         "window",   "expect",  "estimators", "rule"};
  return keys;
}

/// Of `[[sweep.rule]]`.
inline const Keys& rule() {
  static const Keys keys{"when", "skip", "window", "expect", "estimators"};
  return keys;
}

/// Of an axis that is a table: a range, powers of two, or a formula.
inline const Keys& axis() {
  static const Keys keys{"formula", "from", "pow2", "step", "to"};
  return keys;
}

/// Of `[[program]]`.
inline const Keys& program() {
  static const Keys keys{"variant", "help",      "command",    "shell",           "environment",
                         "python",  "backends",  "sync",       "python_made_by",  "time",
                         "axes",    "estimator", "slice_axis", "slice_dimension", "destroys_input"};
  return keys;
}

/// Of an axis of a program that is a table.
inline const Keys& program_axis() {
  static const Keys keys{"default", "least", "choices", "help"};
  return keys;
}

/// Of `[[estimator]]`.
inline const Keys& estimator() {
  static const Keys keys{"name",       "call",    "form",   "other_dimensions", "dtype", "output_dimensions",
                         "parameters", "padding", "python", "seconds"};
  return keys;
}

/// What `expect` may be.
inline const Keys& outcomes() {
  static const Keys words{"ok", "wrong_answer", "out_of_memory", "timeout", "crashed", "unsupported"};
  return words;
}

/// What an estimator's `dtype` may be, beside numpy's codes such as "<f4".
inline const Keys& dtypes() {
  static const Keys words{"float32",    "float64",    "float16", "float128", "complex64", "complex128",
                          "complex256", "int8",       "int16",   "int32",    "int64",     "uint8",
                          "uint16",     "uint32",     "uint64",  "bool",     "single",    "double",
                          "half",       "longdouble", "csingle", "cdouble",  "int",       "float",
                          "complex",    "intp",       "uintp",   "byte",     "ubyte",     "short",
                          "ushort",     "intc",       "uintc",   "longlong", "ulonglong"};
  return words;
}

}  // namespace peakmark::suite_keys
