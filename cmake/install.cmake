# `make install PREFIX=DIR`: the program, the library with its headers, shared and
# static, and the experiments.
include(GNUInstallDirs)
file(RELATIVE_PATH EG_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # so that the tree can be moved
configure_file(cmake/engram.pc.in engram.pc @ONLY)
set(EG_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/engram)
file(RELATIVE_PATH EG_UP_CMAKE /${EG_CMAKE} /)
configure_file(cmake/engramConfig.cmake.in engramConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(engramConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS engram_cli engram engram_shared)
if(TARGET engram_mpi)
  install(TARGETS engram_mpi LIBRARY DESTINATION lib/engram) # where the program looks for it
endif()
install(FILES ${PROJECT_BINARY_DIR}/engramConfig.cmake
              ${PROJECT_BINARY_DIR}/engramConfigVersion.cmake DESTINATION ${EG_CMAKE})
install(DIRECTORY include/engram DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/engram)
install(FILES ${PROJECT_BINARY_DIR}/engram.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
