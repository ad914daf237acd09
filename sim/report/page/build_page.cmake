# cmake -DSOURCE= -DBUILD= -DBUNDLE= -DNODE= -DNPM= -DFAULT= -DNEEDED= -P build_page.cmake
# Writes BUNDLE, a C++ file with the page, or with the reason why there is none.

function(write_bundle bytes fault)
  file(WRITE ${BUNDLE}.new "// Generated from sim/report/page/.
#include \"sim/report/html_page.h\"

namespace headway {

ReportPage report_page() {
  static constexpr unsigned char kPage[] = {${bytes}0};
  return {{reinterpret_cast<const char*>(kPage), sizeof kPage - 1}, R\"fault(${fault})fault\"};
}

}  // namespace headway
")
  file(RENAME ${BUNDLE}.new ${BUNDLE})
endfunction()

function(give_up reason)
  if(NEEDED STREQUAL "ON")
    message(FATAL_ERROR "The report page (HEADWAY_REPORT is ON): ${reason}")
  endif()
  message(WARNING "The program is built without its report page, and --report will say so: ${reason}")
  file(WRITE ${BUILD}/failed.txt "${reason}\n")
  write_bundle("" "${reason}")
endfunction()

if(FAULT)
  write_bundle("" "${FAULT}")
  return()
endif()

# Beside the packages, since that is where Node.js looks for them.
file(COPY ${SOURCE}/ DESTINATION ${BUILD} PATTERN node_modules EXCLUDE PATTERN "*.cmake" EXCLUDE)
file(SHA256 ${SOURCE}/package-lock.json lock)
set(stamp ${BUILD}/node_modules/.headway-lock)
set(installed "")
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
endif()
if(NOT installed STREQUAL lock)
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
            --fetch-retry-mintimeout=2000 --fetch-timeout=60000
    WORKING_DIRECTORY ${BUILD} TIMEOUT 240 RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(STATUS "${out}")
    give_up("npm ci failed (${code}): no way to the npm registry?")
    return()
  endif()
  file(WRITE ${stamp} ${lock})
endif()
file(REMOVE ${BUILD}/page.html)
execute_process(COMMAND ${NODE} build.mjs page.html WORKING_DIRECTORY ${BUILD} TIMEOUT 60
                RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT code EQUAL 0 OR NOT EXISTS ${BUILD}/page.html)
  message(STATUS "${out}")
  give_up("bundling it failed (${code})")
  return()
endif()
file(READ ${BUILD}/page.html bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
write_bundle("${bytes}" "")
