# The library and the program.
find_package(PkgConfig REQUIRED)
if(EG_CURL)
  set(EG_CURL_MODULE libcurl)
endif()
pkg_check_modules(LIBS REQUIRED IMPORTED_TARGET yaml-0.1 jansson zlib libpng libjpeg libwebp
                  libmicrohttpd ${EG_CURL_MODULE} libsodium libutf8proc)
pkg_check_modules(LAPACK REQUIRED openblas lapacke) # headers alone: io/lapack.c opens it
find_package(Threads REQUIRED)
if(EG_DNNL)
  find_package(OpenMP REQUIRED COMPONENTS C) # only to tell oneDNN to stay on one thread
  set(EG_DNNL_LIBRARIES OpenMP::OpenMP_C dnnl)
endif()

add_library(engram STATIC)
set_target_properties(engram PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(engram PUBLIC include PRIVATE src)
target_include_directories(engram SYSTEM PRIVATE ${LAPACK_INCLUDE_DIRS})
target_link_libraries(engram PUBLIC PkgConfig::LIBS Threads::Threads ${EG_DNNL_LIBRARIES} m ${CMAKE_DL_LIBS})

eg_folder(src/base)
find_library(EG_MBEDTLS_LIBRARY mbedtls)
set(EG_MBEDTLS mbedtls mbedx509 mbedcrypto)
if(EG_CURL)
  eg_folder(src/io http_small.c tls.c no_lapack.c)
else()
  eg_folder(src/io http_client.c no_lapack.c)
  target_link_libraries(engram PUBLIC ${EG_MBEDTLS})
endif()
eg_version_of(engram src/base/version.c)

# The world: what there is to learn from, who sees what when, and how it is judged.
eg_family(src/world/data src/world/data/list.inc)
eg_folder(src/world/text)
eg_folder(src/world/scenario)
eg_family(src/world/scenario/kind src/world/scenario/kind/list.inc)
eg_family(src/world/scenario/partition src/world/scenario/partition/list.inc)
eg_family(src/world/metric src/world/metric/list.inc)

# The engine: networks and how they are trained.
if(EG_DNNL)
  eg_folder(src/engine/graph no_dnnl.c)
else()
  eg_folder(src/engine/graph dnnl.c dnnl_calls.cc)
endif()
eg_folder(src/engine/conv)
eg_family(src/engine/op include/engram/op.inc)
foreach(family target optim model generator)
  eg_family(src/engine/${family} src/engine/${family}/list.inc)
endforeach()

eg_family(src/method src/method/list.inc)
eg_folder(src/method/lib)

# A run, from its file to its folder.
foreach(folder privacy store log experiment pretrain client server)
  eg_folder(src/run/${folder})
endforeach()
eg_family(src/run/transport src/run/transport/list.inc)

# What runs say: read, in tables, in charts, as a page, for other programs.
foreach(folder runs table chart page export)
  eg_folder(src/report/${folder})
endforeach()

# The portable kernels add and multiply one after the other, each rounded by itself, on every
# processor alike; the others may fuse.
eg_kernels(portable portable off -DEG_PORTABLE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  eg_kernels(portable_avx2 portable off -DEG_PORTABLE -mavx2)
  if(EG_DNNL)
    eg_kernels(plain plain fast)
    eg_kernels(avx2 avx2 fast -mavx2 -mfma)
    eg_kernels(avx512 avx512 fast -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma
               -mprefer-vector-width=512)
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  eg_kernels(neon neon fast)
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
target_link_libraries(engram_shared PRIVATE PkgConfig::LIBS Threads::Threads
                      ${EG_DNNL_LIBRARIES} m)
if(NOT EG_CURL)
  target_link_libraries(engram_shared PRIVATE ${EG_MBEDTLS})
endif()

# What `engram new` writes stands in the program, as bytes.
file(GLOB skeletons CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/skeleton/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${skeletons})
set(bytes "")
foreach(file IN LISTS skeletons)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text HEX)
  string(REGEX REPLACE "(..)" "0x\\1," text "${text}")
  string(APPEND bytes "{\"${name}\", (const char[]){${text}0}},\n")
endforeach()
file(CONFIGURE OUTPUT skeleton/skeletons.inc CONTENT "${bytes}" @ONLY)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/client.c) # a program of its own
add_executable(engram_cli ${sources})
set_target_properties(engram_cli PROPERTIES OUTPUT_NAME engram)
target_include_directories(engram_cli PRIVATE ${PROJECT_BINARY_DIR}/skeleton)
target_compile_definitions(engram_cli PRIVATE ENGRAM_TOOLS="${PROJECT_SOURCE_DIR}/tools")
target_link_libraries(engram_cli PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,engram>)
set_target_properties(engram_cli PROPERTIES ENABLE_EXPORTS ON) # plugins find the library in it
file(STRINGS include/engram/plugin.h plugin_version REGEX "EG_PLUGIN_VERSION \"")
if(NOT plugin_version MATCHES "\"${PROJECT_VERSION_MAJOR}[.]${PROJECT_VERSION_MINOR}\"")
  message(FATAL_ERROR "engram/plugin.h is of another version: ${plugin_version}")
endif()

# The module that speaks MPI, where Open MPI is installed. The program opens it when mpirun has
# started it, and links nothing of it.
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
  add_library(engram_mpi MODULE src/run/transport/module/engram_mpi.c)
  set_target_properties(engram_mpi PROPERTIES PREFIX "")
  target_include_directories(engram_mpi PRIVATE src)
  target_link_libraries(engram_mpi PRIVATE MPI::MPI_C)
  add_dependencies(engram_cli engram_mpi)
endif()
