# peakmark_add_worker(NAME SOURCES a.cpp b.cpp … [LINK lib…])
# Adds your own worker program; its sources include <peakmark/worker.hpp>. `peakmark run SUITE --worker …/NAME` measures with it.
# Its description has the build type and the commit of its folder at build time.
function(peakmark_add_worker name)
  cmake_parse_arguments(PARSE_ARGV 1 WORKER "" "" "SOURCES;LINK")
  if(WORKER_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "peakmark_add_worker(${name}): unexpected argument '${WORKER_UNPARSED_ARGUMENTS}'; write SOURCES before "
      "sources and LINK before libraries")
  endif()
  if(NOT WORKER_SOURCES)
    message(FATAL_ERROR "peakmark_add_worker(${name}): no SOURCES")
  endif()
  set(info ${CMAKE_CURRENT_BINARY_DIR}/${name}_info.cpp)
  add_custom_target(${name}_info
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${info} -DBUILD_TYPE=$<CONFIG>
            -DTEMPLATE=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/PeakmarkWorkerInfo.cpp.in -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/PeakmarkBuildInfo.cmake
    BYPRODUCTS ${info} COMMENT "Commit of ${name}" VERBATIM)
  add_executable(${name} ${WORKER_SOURCES} ${info})
  add_dependencies(${name} ${name}_info)
  set_source_files_properties(${info} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${name} PRIVATE peakmark::worker ${WORKER_LINK})
  get_target_property(is_installed peakmark::worker IMPORTED)
  if(NOT is_installed)
    # In the source tree, also builds the programs that measure with it.
    foreach(part peakmark peakmark-opencl peakmark-cupti)
      if(TARGET ${part})
        add_dependencies(${name} ${part})
      endif()
    endforeach()
  endif()
  # An installed worker finds libpeakmark-worker.
  set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  # The header needs C++20 in CUDA sources too, but CMake 3.25 does not support CUDA_STANDARD 20.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>)
endfunction()
