#pragma once

// What stands for an option's value in the help. Completion knows by these names what a shell should offer
// (command_words.hpp), so an option whose value is one of them has it as its type_name.

namespace peakmark::cli::value_name {

inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
inline constexpr const char* kProgram = "PROGRAM";
inline constexpr const char* kNamedProgram = "[LABEL=]PROGRAM";
inline constexpr const char* kBuild = "BUILD";  ///< a build tree, an install prefix or a worker
inline constexpr const char* kProfile = "PROFILE";
inline constexpr const char* kRun = "RUN";          ///< a run file, *.json
inline constexpr const char* kSuite = "SUITE";      ///< a suite, *.toml
inline constexpr const char* kHistory = "HISTORY";  ///< a file or a URL
inline constexpr const char* kVariant = "VARIANT";  ///< of the worker that the command would ask
inline constexpr const char* kCommand = "COMMAND";  ///< of peakmark; those below it may follow
// Of these a shell knows nothing.
inline constexpr const char* kRegex = "REGEX";
inline constexpr const char* kDevice = "DEVICE";
inline constexpr const char* kShard = "I/N";
inline constexpr const char* kSeconds = "SECONDS";
inline constexpr const char* kWindow = "WINDOW";
inline constexpr const char* kSize = "SIZE";
inline constexpr const char* kGrowth = "GROWTH";  ///< a size or a percentage
/// Not checked where the command line is read: a word that is none is told with the nearest one.
inline constexpr const char* kBackend = "{auto,opencl,cuda,dry}";

}  // namespace peakmark::cli::value_name
