#include "sim/report/compare_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "sim/core/errors.h"
#include "sim/report/compare_columns.h"
#include "sim/report/names.h"
#include "sim/report/terminal_block.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBestOn = "\x1b[1;32m", kBestOff = "\x1b[0m";  // bold green

using Value = std::optional<double>;

struct Cell {
  Value mean;
  double deviation = 0;  // ddof 1; 0 for one run
  bool best = false;
};

struct Grid {
  std::vector<const CompareColumn*> columns;    // those with a value in any row
  std::vector<std::vector<Cell>> cells;  // [row][column]
};

Cell cell_of(const CompareColumn& column, const CompareRow& row) {
  Cell cell;
  double sum = 0, squares = 0;
  std::size_t n = 0;
  for (const RunSummary& run : row.runs) {
    const Value value = column.of(run);
    if (!value) continue;
    sum += *value;
    ++n;
  }
  if (n == 0) return cell;
  const double mean = sum / static_cast<double>(n);
  for (const RunSummary& run : row.runs) {
    const Value value = column.of(run);
    if (value) squares += (*value - mean) * (*value - mean);
  }
  cell.mean = mean;
  if (n > 1) cell.deviation = std::sqrt(squares / static_cast<double>(n - 1));
  return cell;
}

void mark_best(std::vector<std::vector<Cell>>& cells, std::size_t column,
               CompareColumn::Better better) {
  using Better = CompareColumn::Better;
  if (better == Better::kNone || cells.size() < 2) return;
  Value best;
  bool differ = false;
  for (const auto& row : cells) {
    const Value& value = row[column].mean;
    if (!value) continue;
    differ = differ || (best && *best != *value);
    if (!best || (better == Better::kLow ? *value < *best : *value > *best)) best = value;
  }
  if (!differ) return;
  for (auto& row : cells) row[column].best = row[column].mean == best;
}

Grid grid_of(const std::vector<CompareRow>& rows, bool wide = true) {
  Grid grid;
  grid.cells.resize(rows.size());
  for (const CompareColumn& column : compare_columns()) {
    if (column.wide && !wide) continue;
    std::vector<Cell> made;
    bool any = false;
    for (const CompareRow& row : rows) {
      SIM_CHECK(!row.runs.empty(), "a comparison row without a run");
      made.push_back(cell_of(column, row));
      const Value& mean = made.back().mean;
      any = any || (mean && (*mean != 0 || !column.hide_zero));
    }
    if (!any) continue;
    grid.columns.push_back(&column);
    for (std::size_t i = 0; i < rows.size(); ++i) grid.cells[i].push_back(made[i]);
    mark_best(grid.cells, grid.columns.size() - 1, column.better);
  }
  return grid;
}

std::string number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 1000 ? 0 : size >= 100 ? 1 : 2);
}

std::string text_of(const Cell& cell, bool replicated) {
  if (!cell.mean) return "-";
  if (!replicated) return number(*cell.mean);
  return fmt::format("{}±{}", number(*cell.mean), number(cell.deviation));
}

// The worst of a row's runs.
Load load_of(const CompareRow& row) {
  Load load = Load::kStable;
  for (const RunSummary& run : row.runs) load = std::max(load, run.verdict.load);
  return load;
}

std::string load_text(const CompareRow& row) {
  const bool storm = std::any_of(row.runs.begin(), row.runs.end(), [](const RunSummary& run) {
    return run.verdict.preemption_storm;
  });
  return std::string(load_name(load_of(row))) + (storm ? ", preemption storm" : "");
}

bool replicated(const std::vector<CompareRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CompareRow& r) { return r.runs.size() > 1; });
}

// Columns on a terminal: bytes less UTF-8 continuation bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + std::string(text);
}
std::string padded_right(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string explanations(const std::vector<CompareRow>& rows, std::string_view bullet,
                         std::size_t width) {
  std::string out;
  for (const CompareRow& row : rows) {
    if (row.explanation.empty()) continue;
    out += fmt::format("{}{}  {}\n", bullet, padded_right(row.label, width), row.explanation);
  }
  return out;
}

}  // namespace

std::string compare_text(const std::vector<CompareRow>& rows, const std::string& title,
                         bool colour) {
  const Grid grid = grid_of(rows, false);
  const bool many = replicated(rows);
  std::size_t label_width = 0;
  for (const CompareRow& row : rows) label_width = std::max(label_width, width_of(row.label));
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::size_t w = std::max(grid.columns[c]->head.size(), grid.columns[c]->unit.size());
    for (const auto& row : grid.cells) w = std::max(w, width_of(text_of(row[c], many)));
    width.push_back(w);
  }
  std::string head(label_width, ' '), units(label_width, ' '), body;
  std::size_t total = label_width;
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    head += fmt::format(" {} ", padded_left(grid.columns[c]->head, width[c]));
    units += fmt::format(" {} ", padded_left(grid.columns[c]->unit, width[c]));
    total += width[c] + 2;
  }
  head += " verdict";
  total += 8;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    body += padded_right(rows[r].label, label_width);
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const Cell& cell = grid.cells[r][c];
      const std::string text = padded_left(text_of(cell, many), width[c]);
      const bool lit = cell.best && colour;
      body += fmt::format(" {}{}{}{}", lit ? kBestOn : "", text, cell.best ? "*" : " ",
                          lit ? kBestOff : "");
    }
    body += fmt::format(" {}\n", load_text(rows[r]));
  }
  std::string out = title.empty() ? "" : title + "\n";
  out += fmt::format("{}\n{}\n{:-<{}}\n{}", head, units, "", total, body);
  if (rows.size() > 1) out += "* best of its column\n";
  const std::string why = explanations(rows, "", label_width);
  return why.empty() ? out : fmt::format("{}\n{}", out, why);
}

std::string compare_markdown(const std::vector<CompareRow>& rows, const std::string& title) {
  const Grid grid = grid_of(rows);
  const bool many = replicated(rows);
  std::string out = title.empty() ? "" : title + "\n\n";
  std::string rule = "|---|";
  out += "| |";
  for (const CompareColumn* column : grid.columns) {
    out += fmt::format(" {} {} |", column->head, column->unit);
    rule += "---:|";
  }
  out += fmt::format(" verdict |\n{}---|\n", rule);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += fmt::format("| {} |", rows[r].label);
    for (const Cell& cell : grid.cells[r]) {
      const std::string text = text_of(cell, many);
      out += cell.best ? fmt::format(" **{}** |", text) : fmt::format(" {} |", text);
    }
    out += fmt::format(" {} |\n", load_text(rows[r]));
  }
  const std::string why = explanations(rows, "- ", 0);
  return why.empty() ? out : fmt::format("{}\n{}", out, why);
}

Json compare_json(const std::vector<CompareRow>& rows, const std::string& title) {
  const Grid grid = grid_of(rows);
  Json out = {{"schema_version", 1}, {"title", title}, {"rows", Json::array()}};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Json metrics = Json::object(), deviations = Json::object(), best = Json::array();
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const Cell& cell = grid.cells[r][c];
      const std::string tag(grid.columns[c]->tag);
      metrics[tag] = cell.mean ? Json(*cell.mean) : Json();
      if (rows[r].runs.size() > 1) deviations[tag] = cell.deviation;
      if (cell.best) best.push_back(tag);
    }
    Json row = {
        {"label", rows[r].label}, {"replicates", rows[r].runs.size()}, {"metrics", metrics}};
    if (rows[r].runs.size() > 1) row["std"] = deviations;
    row["best"] = best;
    row["load"] = std::string(load_name(load_of(rows[r])));
    row["verdict"] = verdict_line(rows[r].runs.front());
    row["explanation"] = rows[r].explanation;
    out["rows"].push_back(row);
  }
  return out;
}

}  // namespace headway
