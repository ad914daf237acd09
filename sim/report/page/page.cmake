# The page of --report: npm brings what package-lock.json names, esbuild bundles it at build time, and
# the program carries the result as an array. Without Node.js and npm, or where npm cannot fetch, all
# else builds and --report says what is missing.
set(REPORT_SOURCE ${CMAKE_SOURCE_DIR}/sim/report/page)
set(REPORT_BUILD ${CMAKE_BINARY_DIR}/report-page)
set(REPORT_BUNDLE ${REPORT_BUILD}/report_page.cpp)
set(REPORT_NODE "")
set(REPORT_NPM "")
set(REPORT_FAULT "")
set(REPORT_FOUND_TEXT "no (switched off)")
if(HEADWAY_REPORT STREQUAL "OFF")
  set(REPORT_FAULT "built with -DHEADWAY_REPORT=OFF")
else()
  find_program(HEADWAY_NODE NAMES node nodejs)
  find_program(HEADWAY_NPM npm)
  mark_as_advanced(HEADWAY_NODE HEADWAY_NPM)
  if(HEADWAY_NODE AND HEADWAY_NPM)
    set(REPORT_NODE ${HEADWAY_NODE})
    set(REPORT_NPM ${HEADWAY_NPM})
    set(REPORT_FOUND_TEXT "yes (${HEADWAY_NODE})")
  elseif(HEADWAY_REPORT STREQUAL "ON")
    message(FATAL_ERROR "HEADWAY_REPORT is ON, but Node.js and npm were not both found. Install them, or "
                        "configure with -DHEADWAY_REPORT=AUTO.")
  else()
    set(REPORT_FAULT "no Node.js or no npm was found")
    set(REPORT_FOUND_TEXT "no (Node.js and npm not found; --report says so)")
  endif()
endif()
# What it was made with: another answer makes it anew. So does configuring after a failure.
file(CONFIGURE OUTPUT ${REPORT_BUILD}/settings.txt CONTENT
     "node @REPORT_NODE@\nnpm @REPORT_NPM@\nfault @REPORT_FAULT@\nreport @HEADWAY_REPORT@\n" @ONLY)
if(EXISTS ${REPORT_BUILD}/failed.txt)
  file(REMOVE ${REPORT_BUILD}/failed.txt ${REPORT_BUNDLE})
endif()

file(GLOB_RECURSE REPORT_FILES CONFIGURE_DEPENDS ${REPORT_SOURCE}/*.ts ${REPORT_SOURCE}/*.css)
add_custom_command(
  OUTPUT ${REPORT_BUNDLE}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${REPORT_SOURCE} -DBUILD=${REPORT_BUILD} -DBUNDLE=${REPORT_BUNDLE}
          "-DNODE=${REPORT_NODE}" "-DNPM=${REPORT_NPM}" "-DFAULT=${REPORT_FAULT}"
          -DNEEDED=${HEADWAY_REPORT} -P ${REPORT_SOURCE}/build_page.cmake
  DEPENDS ${REPORT_FILES} ${REPORT_SOURCE}/template.html ${REPORT_SOURCE}/build.mjs
          ${REPORT_SOURCE}/package.json ${REPORT_SOURCE}/package-lock.json
          ${REPORT_SOURCE}/build_page.cmake ${REPORT_BUILD}/settings.txt
  COMMENT "Bundling the report page"
  VERBATIM)
target_sources(headway_sim PRIVATE ${REPORT_BUNDLE})
set_source_files_properties(${REPORT_BUNDLE} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
