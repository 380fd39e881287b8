# The library and the program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBS REQUIRED IMPORTED_TARGET yaml-0.1 jansson zlib libpng libjpeg
                  libmicrohttpd libcurl)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C) # only to tell oneDNN to stay on one thread

add_library(engram STATIC)
set_target_properties(engram PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(engram PUBLIC include PRIVATE src)
target_link_libraries(engram PUBLIC PkgConfig::LIBS Threads::Threads OpenMP::OpenMP_C dnnl m)

foreach(folder base io tensor tensor/conv)
  eg_folder(src/${folder})
endforeach()
eg_version_of(src/base/version.c)
eg_family(src/op include/engram/op.inc)
eg_family(src/optim src/optim/list.inc)
eg_family(src/model src/model/list.inc)
eg_family(src/data src/data/list.inc)
eg_folder(src/scenario)
eg_family(src/scenario/kind src/scenario/kind/list.inc)
eg_family(src/scenario/partition src/scenario/partition/list.inc)
eg_folder(src/memory)
eg_family(src/metric src/metric/list.inc)
eg_folder(src/log)
eg_folder(src/exchange)
eg_family(src/generator src/generator/list.inc)
eg_family(src/method src/method/list.inc)
foreach(folder store experiment pretrain client)
  eg_folder(src/${folder})
endforeach()
eg_family(src/transport src/transport/list.inc)
eg_folder(src/fed)
eg_folder(src/report)

eg_kernels(plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  eg_kernels(avx2 -mavx2 -mfma)
  eg_kernels(avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma
             -mprefer-vector-width=512)
endif()

# The same objects once more, for programs that link at run time. While the first number of the
# version is 0, the second tells what does not fit together.
add_library(engram_shared SHARED $<TARGET_OBJECTS:engram> ${EG_KERNELS})
set_target_properties(engram_shared PROPERTIES
  OUTPUT_NAME engram
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(engram_shared INTERFACE include)
target_link_libraries(engram_shared PRIVATE PkgConfig::LIBS Threads::Threads OpenMP::OpenMP_C
                      dnnl m)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
add_executable(engram_cli ${sources})
set_target_properties(engram_cli PROPERTIES OUTPUT_NAME engram)
target_compile_definitions(engram_cli PRIVATE ENGRAM_TOOLS="${PROJECT_SOURCE_DIR}/tools")
target_link_libraries(engram_cli PRIVATE engram)

# The module that speaks MPI, where Open MPI is installed. The program opens it when mpirun has
# started it, and links nothing of it.
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
  add_library(engram_mpi MODULE src/transport/module/engram_mpi.c)
  set_target_properties(engram_mpi PROPERTIES PREFIX "")
  target_include_directories(engram_mpi PRIVATE src)
  target_link_libraries(engram_mpi PRIVATE MPI::MPI_C)
  add_dependencies(engram_cli engram_mpi)
endif()
