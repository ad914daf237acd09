# cpack -G DEB (or TGZ): the program with its data, its manual page and completions.
set(CPACK_PACKAGE_NAME headway)
set(CPACK_PACKAGE_VENDOR "the Headway authors")
set(CPACK_PACKAGE_CONTACT "the Headway authors <headway@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "discrete-event simulator of LLM serving")
set(CPACK_PACKAGE_DESCRIPTION
    "Replays a request trace through the scheduler of a serving engine (vLLM, SGLang,
 TensorRT-LLM, Orca ...), prices every engine step with kernel times measured on
 a GPU, and reports latencies, throughput and goodput, with the reason behind
 each number. Needs no GPU.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Which packages the binary's libraries are in, where there is a tool that knows.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
