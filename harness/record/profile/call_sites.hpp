#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "record/profile/call_frames.hpp"

namespace peakmark {

// The name of the place that asked for an allocation: in tables, JSON and messages of all commands.

/// A frame of a chain of callers, as a site shows it.
struct SiteFrame {
  std::string text;
  bool is_python = false;
  std::string package;  ///< package_of(); empty: the user's own code
};

/// Frames, innermost first, and the bytes that were allocated through them.
struct WeighedChain {
  std::vector<SiteFrame> frames;
  double bytes = 0;  ///< of many shapes, so they may exceed Size
};

/// Returns the frames of a chain by which a site can be named: native_frames() and lines of Python, with
/// text_of(). If Python called only functions that a user does not recognise: the innermost.
std::vector<SiteFrame> site_frames(const std::vector<CallFrame>& chain);

/// Returns for each chain the places of the frames that name its site, innermost first.
///
/// The site is the innermost frame of the user's own code that is not a wrapper. A wrapper is a frame with
/// different callers through which more than half of the chains, or of the bytes, go. If the site is native,
/// the innermost own line of Python follows. If all frames belong to packages, the site is the outermost one
/// that calls another package, except frames that most chains share and frames of the standard library and of
/// launchers. If chains of one site go through different frames of packages, the first frame that
/// distinguishes them is added.
///
/// `frames`: unless 0, returns this number of innermost lines of Python and of native frames instead, and the
/// innermost own line. Sites depend on all chains: pass those that are shown together.
std::vector<std::vector<std::size_t>> name_sites(const std::vector<WeighedChain>& chains,
                                                 std::size_t frames = 0);

/// Returns the frames at these places as text, separated by kCallerSign.
std::string site_text(const std::vector<SiteFrame>& frames, const std::vector<std::size_t>& places);

/// Returns the site of each call_chain() as text: `padding.py:88`, or `Filter::make < padding.py:88`. The
/// keys are the chains with their bytes.
std::map<std::string, std::string> short_call_sites(const std::map<std::string, double>& chains,
                                                    std::size_t frames = 0);

/// Returns the user's own frames of a call_chain(), innermost first, at most 4: `sharpen.py:12 < main.py:4`.
/// For a chain of packages only, returns its site. For messages on one allocation, such as a leak.
std::string own_lines(const std::string& chain);

}  // namespace peakmark
