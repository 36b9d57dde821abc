# Sets PEAKMARK_HAS_HISTORY, and creates the target peakmark_soci: SOCI with its SQLite backend. SOCI loads the PostgreSQL
# backend when a history needs it, so that other commands do not depend on it. Debian's libsoci-dev has no CMake package.
set(PEAKMARK_HISTORY AUTO CACHE STRING "Build `peakmark history` and the commands that need it: ON, OFF, or AUTO if SOCI is found")
set_property(CACHE PEAKMARK_HISTORY PROPERTY STRINGS AUTO ON OFF)
# SOCI's backends are system libraries, which load the system's SOCI. A program with its own SOCI, as in a wheel, would have both
# in one process and crash.
option(PEAKMARK_SQLITE_ONLY "Refuse histories in PostgreSQL" OFF)

set(PEAKMARK_HAS_HISTORY FALSE)
if(PEAKMARK_HISTORY)
  find_path(PEAKMARK_SOCI_INCLUDE soci/soci.h)
  find_library(PEAKMARK_SOCI_CORE soci_core)
  find_library(PEAKMARK_SOCI_SQLITE soci_sqlite3)
  find_path(PEAKMARK_SQLITE_INCLUDE sqlite3.h)
  # Debian's SOCI headers include Boost, which its package does not depend on.
  set(soci_config "")
  if(PEAKMARK_SOCI_INCLUDE)
    file(STRINGS ${PEAKMARK_SOCI_INCLUDE}/soci/soci-config.h soci_config REGEX "^#define SOCI_HAVE_BOOST$")
  endif()
  if(soci_config)
    find_path(PEAKMARK_BOOST_INCLUDE boost/fusion/algorithm/iteration/for_each.hpp)
  else()
    set(PEAKMARK_BOOST_INCLUDE ${PEAKMARK_SOCI_INCLUDE})
  endif()
  if(PEAKMARK_SOCI_INCLUDE AND PEAKMARK_BOOST_INCLUDE AND PEAKMARK_SOCI_CORE AND PEAKMARK_SOCI_SQLITE AND PEAKMARK_SQLITE_INCLUDE)
    set(PEAKMARK_HAS_HISTORY TRUE)
    add_library(peakmark_soci INTERFACE)
    target_include_directories(peakmark_soci SYSTEM INTERFACE ${PEAKMARK_SOCI_INCLUDE} ${PEAKMARK_BOOST_INCLUDE}
      ${PEAKMARK_SQLITE_INCLUDE})
    target_link_libraries(peakmark_soci INTERFACE ${PEAKMARK_SOCI_SQLITE} ${PEAKMARK_SOCI_CORE})
    if(PEAKMARK_SQLITE_ONLY)
      target_compile_definitions(peakmark_soci INTERFACE PEAKMARK_SQLITE_ONLY)
    endif()
    if(PEAKMARK_SANITIZE)
      # This check needs type information that SOCI's library hides.
      target_compile_options(peakmark_soci INTERFACE -fno-sanitize=vptr)
    endif()
  elseif(PEAKMARK_HISTORY STREQUAL "AUTO")
    message(STATUS "No history: SOCI not found (Debian 12: libsoci-dev libboost-dev libsqlite3-dev)")
  else()
    message(FATAL_ERROR "PEAKMARK_HISTORY=ON, but SOCI with its SQLite backend is missing (install on Debian 12: libsoci-dev libboost-dev libsqlite3-dev)")
  endif()
endif()
