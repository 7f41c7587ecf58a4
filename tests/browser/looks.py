"""How a page must look at any width: nothing overflows, nobody is shut out."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import SCREENSHOTS

FIND_OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > width) found.push("the page scrolls sideways");
  for (const one of document.querySelectorAll("main *, header *, footer *")) {
    const box = one.getBoundingClientRect();
    if (!box.width || box.right <= width + 1) continue;
    const style = getComputedStyle(one);
    if (style.clipPath !== "none" || style.position === "absolute") continue;
    if (one.closest(".scroller, pre, thead, details:not([open])")) continue;
    found.push(one.tagName + "." + one.className + " ends at " + Math.round(box.right));
  }
  return found.slice(0, 8);
}"""


def list_problems(page: Page, name: str = "") -> list[str]:
    """Return what overflows and what axe finds; keep a screenshot under the name."""
    width = page.viewport_size["width"]
    if name:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}-{width}.png", full_page=True)
    problems = page.evaluate(FIND_OVERFLOW)
    for one in Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]:
        for node in one["nodes"]:
            problems.append(f"{one['impact']} {one['id']}: {' '.join(node['html'].split())[:150]}")
    return [f"{page.url} at {width}: {problem}" for problem in problems]
