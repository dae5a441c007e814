#include "cli/report/page.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "cli/report/html.h"

namespace tcc {
namespace {

// Text has a contrast of 4.5 to its background at least, in either scheme (WCAG 2.2, 1.4.3).
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --page: #ffffff; --text: #1a1c20; --quiet: #565d68;
  --line: #d5d9e0; --box: #f6f7f9; --differs: #ffe9a8; --bad: #b3261e; --good: #1b6e3c;
  --shade: #8089978c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171c; --text: #e7e9ee; --quiet: #a4acb9; --line: #3a404b; --box: #1c2027;
    --differs: #4d4210; --bad: #ff9b94; --good: #7fd6a2; --shade: #000000d0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1240px; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; margin: 8px 0; }
h2 { font-size: 18px; margin: 28px 0 8px; }
h3 { font-size: 14px; margin: 0 0 4px; font-weight: 600; }
p { margin: 6px 0; }
.note { color: var(--quiet); }
.bad { color: var(--bad); white-space: pre-wrap; }
.state { display: inline-block; padding: 2px 10px; border: 1px solid currentColor;
  border-radius: 12px; font-weight: 600; }
.ended { color: var(--good); }
.failed { color: var(--bad); }
.running, .interrupted { color: var(--quiet); }
dl { display: grid; grid-template-columns: minmax(90px, max-content) minmax(0, 1fr);
  gap: 4px 16px; margin: 8px 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
/* A shadow at each side beyond which a table goes on; covers move with the table and hide the
  shadow at its ends. */
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px;
  background: linear-gradient(to right, var(--page) 60%, transparent) left / 48px 100% local,
    linear-gradient(to left, var(--page) 60%, transparent) right / 48px 100% local,
    linear-gradient(to right, var(--shade), transparent) left / 20px 100% scroll,
    linear-gradient(to left, var(--shade), transparent) right / 20px 100% scroll;
  background-repeat: no-repeat; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; font-size: 14px; }
th, td { padding: 5px 8px; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td { max-width: 420px; min-width: 60px; overflow-wrap: anywhere; }
td:first-child { min-width: 130px; }
th { vertical-align: bottom; border-bottom-width: 2px; }
tr:last-child td { border-bottom: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
.plots, .small { display: grid; gap: 16px; margin: 8px 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); }
.small { grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr)); }
figure { margin: 0; min-width: 0; max-width: 742px; padding: 10px; border: 1px solid var(--line);
  border-radius: 6px; background: var(--box); }
figcaption { font-size: 14px; margin-bottom: 4px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; }
.wide { max-width: none; }
@media (max-width: 700px) { .wide svg text { font-size: 19px; } }
.grid { stroke: var(--line); fill: none; }
.level { stroke: var(--quiet); fill: none; stroke-dasharray: 5 4; }
.line { fill: none; stroke: var(--own); stroke-width: 2; stroke-linejoin: round; }
.whole { --own: var(--text); }
.mark { fill: var(--own); fill-opacity: 0.8; }
.box { fill: var(--own); fill-opacity: 0.6; stroke: var(--own); stroke-width: 0.5; }
.cross { stroke: var(--own); fill: none; stroke-width: 1.2; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; list-style: none; padding: 0;
  margin: 8px 0; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 50%;
  margin-right: 6px; background: var(--own); }
details { border: 1px solid var(--line); border-radius: 6px; padding: 6px 12px; margin: 8px 0; }
summary { cursor: pointer; }
.pair { display: grid; gap: 12px; margin: 10px 0 6px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.pair > div { min-width: 0; }
pre { margin: 0; padding: 8px; overflow-x: auto; background: var(--box); border-radius: 6px;
  font: 13px/1.45 ui-monospace, monospace; overflow-wrap: normal; }
.differs { background: var(--differs); }
)";

// Colours of a contrast of 3 at least to the page in either scheme (WCAG 2.2, 1.4.11).
constexpr const char* kColours[] = {"#2f86c9", "#d55e00", "#0c8f6a", "#c0649a",
                                    "#a87400", "#7a68d8", "#00868b", "#6b7280"};
// Turns the hue so that colours that follow each other are far apart.
constexpr double kGoldenDegrees = 137.508;

std::string ColourOf(size_t number) {
  if (number < std::size(kColours)) return kColours[number];
  double hue = std::fmod(kGoldenDegrees * static_cast<double>(number), 360);
  return fmt::format("hsl({:.0f} 55% 47%)", hue);
}

std::string PageStyle(size_t colours) {
  std::string style = kStyle;
  for (size_t s = 0; s < colours; ++s) {
    style += fmt::format(".{} {{ --own: {}; }}\n", ColourStyle(s), ColourOf(s));
  }
  return style;
}

}  // namespace

std::string ColourStyle(size_t number) {
  return fmt::format("s{}", number);
}

std::string HtmlPage(std::string_view title, size_t colours, const std::string& content) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n"
      "</html>\n",
      Escaped(title), PageStyle(colours), content);
}

}  // namespace tcc
