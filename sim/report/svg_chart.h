#pragma once

#include <string>
#include <vector>

namespace headway {

// One panel of an SVG with two logarithmic axes, drawn from its own corner.
class LogPanel {
 public:
  struct Range {
    double low, high;  // above 0
  };
  // The ranges are widened to what is asked for; ticks stand at powers of ten, and
  // between them where fewer than three of those are in sight.
  LogPanel(double width, double height, Range x, Range y);

  double x(double value) const;
  double y(double value) const;
  double width() const { return width_; }
  double height() const { return height_; }
  // Grid, ticks, the axes' names.
  std::string frame(const std::string& x_name, const std::string& y_name) const;
  // A path through the points; `css` names its class, `style` adds to it.
  std::string path(const std::vector<std::pair<double, double>>& points, const std::string& css,
                   const std::string& style = "") const;

 private:
  double width_, height_;
  double x_low_, x_high_, y_low_, y_high_;  // log10
};

// Values from 10^low to 10^high at which a scale is written: the powers of ten, or, where fewer than
// three of them are in sight, finer steps of each decade.
std::vector<double> log_ticks(double low, double high);
// Text for SVG.
std::string svg_escaped(const std::string& text);
// "10", "1k", "2.5M": a tick's or a label's number.
std::string svg_number(double value);
// Okabe and Ito's colours, told apart by most colour-blind readers.
const char* svg_colour(std::size_t index);
// Opens a picture of that size: title, description, a style that follows light and dark themes.
std::string svg_open(double width, double height, const std::string& title,
                     const std::string& description);

}  // namespace headway
