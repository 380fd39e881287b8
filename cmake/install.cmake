# `make install PREFIX=DIR`: the program, the library with its headers, and the experiments.
include(GNUInstallDirs)
file(RELATIVE_PATH EG_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # so that the tree can be moved
configure_file(cmake/engram.pc.in engram.pc @ONLY)

install(TARGETS engram_cli engram)
install(DIRECTORY include/engram DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/engram)
install(FILES ${PROJECT_BINARY_DIR}/engram.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
