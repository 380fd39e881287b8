# The library and the program.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBS REQUIRED IMPORTED_TARGET yaml-0.1 jansson zlib libpng libjpeg)
find_package(Threads REQUIRED)

add_library(engram STATIC)
target_include_directories(engram PUBLIC include PRIVATE src)
target_link_libraries(engram PUBLIC PkgConfig::LIBS Threads::Threads dnnl m)

foreach(folder base io)
  eg_folder(src/${folder})
endforeach()
