# Compiler options of all targets. Warnings are in an interface target, so that users of an installed peakmark do not inherit
# them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(PEAKMARK_CCACHE ccache)
if(PEAKMARK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PEAKMARK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${PEAKMARK_CCACHE})
  # ccache does not cache compilations with precompiled headers by default.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects garbage only above 1 GB: this saves a tenth of its time for a whole module.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()

# nlohmann's messages name the place in the document. For all targets: the macro changes the layout of a JSON value, so that
# functions with JSON parameters work only between files that agree on it.
add_compile_definitions(JSON_DIAGNOSTICS=1)

add_library(peakmark_warnings INTERFACE)
target_compile_options(peakmark_warnings INTERFACE -Wall -Wextra $<$<BOOL:${PEAKMARK_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 at -O3 reports false overlaps in std::string's operator+ (bug 105651).
  target_compile_options(peakmark_warnings INTERFACE -Wno-restrict)
  if(PEAKMARK_SANITIZE)
    # False positives in instrumented <regex>; the plain builds keep the warning.
    target_compile_options(peakmark_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(PEAKMARK_SANITIZE)
  add_compile_options(-fsanitize=${PEAKMARK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PEAKMARK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PEAKMARK_SANITIZE MATCHES "address")
    # One sanitizer library for the program and the libraries that it loads (recorders, PoCL), as GCC does.
    # Not -print-runtime-dir: Clang 19 prints a folder that Debian 13 does not have.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    cmake_path(GET runtime PARENT_PATH runtime)
    add_link_options(-shared-libasan -Wl,-rpath,${runtime})
    # C libraries and their callers have different names for the same opaque types.
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

if(PEAKMARK_FUZZ AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PEAKMARK_SANITIZE MATCHES "address"))
  message(FATAL_ERROR "PEAKMARK_FUZZ=ON needs clang and PEAKMARK_SANITIZE=address,undefined: this is ${CMAKE_CXX_COMPILER_ID} with '${PEAKMARK_SANITIZE}'")
endif()
