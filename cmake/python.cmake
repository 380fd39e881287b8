# The Python package: one extension module under the stable interface, and what is written in
# Python beside it, in build/<preset>/python/engram. Debian's python3 alone is asked, since a
# path may hold others that lack headers and NumPy.
find_program(EG_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(EG_PYTHON)
  execute_process(
    COMMAND ${EG_PYTHON} -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE EG_PYTHON_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(EG_PYTHON AND EXISTS ${EG_PYTHON_INCLUDE}/Python.h AND NOT EG_FUZZ AND
   NOT EG_SANITIZE MATCHES "thread")
  set(made ${PROJECT_BINARY_DIR}/python)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/module/*.c)
  file(GLOB modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/engram/*)
  add_custom_command(
    OUTPUT ${made}/ops.inc
    COMMAND ${EG_PYTHON} ${PROJECT_SOURCE_DIR}/python/make_ops.py
            ${PROJECT_SOURCE_DIR}/include/engram/op.inc ${made}/ops.inc
    DEPENDS ${PROJECT_SOURCE_DIR}/python/make_ops.py ${PROJECT_SOURCE_DIR}/include/engram/op.inc)
  add_library(engram_python MODULE ${sources} ${made}/ops.inc)
  set_target_properties(engram_python PROPERTIES
    PREFIX "" OUTPUT_NAME _engram SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${made}/engram
    BUILD_RPATH "$ORIGIN;$ORIGIN/../.." INSTALL_RPATH "$ORIGIN;$ORIGIN/../../..;$ORIGIN/../../../${CMAKE_LIBRARY_ARCHITECTURE}")
  target_include_directories(engram_python SYSTEM PRIVATE ${EG_PYTHON_INCLUDE})
  target_include_directories(engram_python PRIVATE ${made} ${PROJECT_SOURCE_DIR}/python/module)
  target_link_libraries(engram_python PRIVATE engram_shared)
  add_custom_command(TARGET engram_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy ${modules} ${made}/engram)
  set_property(TARGET engram_python APPEND PROPERTY LINK_DEPENDS ${modules})
  if(TARGET engram_mpi)
    add_dependencies(engram_python engram_mpi)
  endif()
endif()

# Where Debian's python3 looks for packages below PREFIX; libengram is found from there.
if(TARGET engram_python)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(EG_PYTHON_FOLDER lib/python3/dist-packages/engram)
  else()
    execute_process(
      COMMAND ${EG_PYTHON} -c "import sys; print('lib/python%d.%d/dist-packages/engram' % sys.version_info[:2])"
      OUTPUT_VARIABLE EG_PYTHON_FOLDER OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  add_dependencies(installed engram_python)
  install(TARGETS engram_python LIBRARY DESTINATION ${EG_PYTHON_FOLDER})
  install(FILES ${modules} DESTINATION ${EG_PYTHON_FOLDER})
endif()
