# PEAKMARK_HAS_HISTORY, and the target peakmark_soci: SOCI with its backend for SQLite. That for PostgreSQL is loaded by
# SOCI when a history is asked for there, so that it is no dependency of every command. Debian's libsoci-dev brings no
# CMake package.
set(PEAKMARK_HISTORY AUTO CACHE STRING "Build `peakmark history` and what rests on it: ON, OFF, or AUTO where SOCI is found")
set_property(CACHE PEAKMARK_HISTORY PROPERTY STRINGS AUTO ON OFF)
# SOCI's backends are libraries of the system, which load the system's SOCI. Where a SOCI of its own travels with the
# program, as in a wheel, both would be in one process, and crash.
option(PEAKMARK_SQLITE_ONLY "Refuse histories in PostgreSQL" OFF)

set(PEAKMARK_HAS_HISTORY FALSE)
if(PEAKMARK_HISTORY)
  find_path(PEAKMARK_SOCI_INCLUDE soci/soci.h)
  find_library(PEAKMARK_SOCI_CORE soci_core)
  find_library(PEAKMARK_SOCI_SQLITE soci_sqlite3)
  find_path(PEAKMARK_SQLITE_INCLUDE sqlite3.h)
  # SOCI's headers include Boost's where it was built with them, as Debian's is, whose package does not bring them.
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
      # This check wants the types of SOCI's classes, which its library keeps to itself.
      target_compile_options(peakmark_soci INTERFACE -fno-sanitize=vptr)
    endif()
  elseif(PEAKMARK_HISTORY STREQUAL "AUTO")
    message(STATUS "No history: SOCI is not there (Debian 12: libsoci-dev libboost-dev libsqlite3-dev)")
  else()
    message(FATAL_ERROR "PEAKMARK_HISTORY=ON, and SOCI with its SQLite backend is not there (Debian 12: libsoci-dev libboost-dev libsqlite3-dev)")
  endif()
endif()
