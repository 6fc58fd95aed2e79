"""An SVG badge: what a run says of its target in two words and a level."""

from xml.sax.saxutils import escape

from conformance.gate.gate import Standing
from conformance.render.report import Report

COLOURS = {
    Standing.CERTIFIED: "#1a7f37",
    Standing.NOT_CERTIFIED: "#cf222e",
    Standing.PARTIAL: "#9a6700",
}
LABEL = "AMQP conformance"
_CHARACTER = 6.6
"""Width of a character in pixels, about; `textLength` makes it so in any font."""


def badge(report: Report) -> str:
    """Give the badge as a text of its own; the title names the target and says the whole sentence."""
    told = f"{report.standing}: {report.started.level}"
    left, right = (round(len(text) * _CHARACTER) for text in (LABEL, told))
    width = left + right + 40
    title = escape(f"{report.subject}: {report.summary()['sentence']}")
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">
  <title>{title}</title>
  <rect width="{left + 20}" height="20" fill="#444"/>
  <rect x="{left + 20}" width="{right + 20}" height="20" fill="{COLOURS[report.standing]}"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="10" y="14" textLength="{left}">{escape(LABEL)}</text>
    <text x="{left + 30}" y="14" textLength="{right}">{escape(told)}</text>
  </g>
</svg>
"""
