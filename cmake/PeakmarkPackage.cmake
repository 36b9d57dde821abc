# The CMake package: find_package(peakmark) gives peakmark::worker, peakmark::benchmark, peakmark::peakmark (the command)
# and peakmark_add_worker. Everything in it is relative to where it stands, so an install prefix may be moved.
include(CMakePackageConfigHelpers)
set(package lib/cmake/peakmark)
install(EXPORT peakmarkTargets NAMESPACE peakmark:: DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/peakmarkConfig.cmake.in ${PROJECT_BINARY_DIR}/peakmarkConfig.cmake
  INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may break what was before.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/peakmarkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/peakmarkConfig.cmake
  ${PROJECT_BINARY_DIR}/peakmarkConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/PeakmarkAddWorker.cmake
  ${CMAKE_CURRENT_LIST_DIR}/PeakmarkBuildInfo.cmake
  ${CMAKE_CURRENT_LIST_DIR}/PeakmarkWorkerInfo.cpp.in
  DESTINATION ${package})
