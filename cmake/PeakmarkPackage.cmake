# The CMake package: find_package(peakmark) gives peakmark::worker, peakmark::benchmark, peakmark::peakmark (the command)
# peakmark_add_worker and peakmark_add_kernel_source. All paths are relative, so an install prefix may be moved.
include(CMakePackageConfigHelpers)
set(package lib/cmake/peakmark)
install(EXPORT peakmarkTargets NAMESPACE peakmark:: DESTINATION ${package})
# A build folder has the same layout: CMAKE_PREFIX_PATH may name either.
set(built ${PROJECT_BINARY_DIR}/${package})
export(EXPORT peakmarkTargets NAMESPACE peakmark:: FILE ${built}/peakmarkTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/peakmarkConfig.cmake.in ${built}/peakmarkConfig.cmake
  INSTALL_DESTINATION ${package})
# The package version is the API version: find_package(peakmark 1.0) needs the same MAJOR and at least that MINOR.
file(STRINGS ${PROJECT_SOURCE_DIR}/harness/api/include/peakmark/worker_abi.h api REGEX "define PEAKMARK_API_M[AI][JN]OR ")
list(TRANSFORM api REPLACE "^.* " "")
list(JOIN api "." api)
write_basic_package_version_file(${built}/peakmarkConfigVersion.cmake VERSION ${api} COMPATIBILITY SameMajorVersion)
foreach(file PeakmarkAddWorker.cmake PeakmarkBuildInfo.cmake PeakmarkWorkerInfo.cpp.in PeakmarkKernelSource.cmake PeakmarkHex.cmake)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${file} ${built}/${file} COPYONLY)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/${file} DESTINATION ${package})
endforeach()
# For the package of a build folder; if installed, it is next to the headers.
configure_file(${PROJECT_SOURCE_DIR}/harness/measure/device/kernel_language.h ${built}/kernel_language.h COPYONLY)
install(FILES ${built}/peakmarkConfig.cmake ${built}/peakmarkConfigVersion.cmake DESTINATION ${package})
