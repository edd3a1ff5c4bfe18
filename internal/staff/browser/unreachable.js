// Evaluates to a list of what stands between a user and the actions of the page: links, buttons and fields that are
// covered, off screen or, under a finger, too small, and a page that scrolls sideways. One menu, dialog and panel of
// each kind is opened and looked at, too.
(() => {
  const problems = [], small = [];
  const name = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 110);
  const reach = matchMedia("(pointer: coarse)").matches ? 21 : 0; // a finger needs 44 pixels, 21 on each side of the middle
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const largest = (element) => [...element.getClientRects()].reduce((a, b) => (a.width * a.height < b.width * b.height ? b : a));
  // Rows of a table and lines of a list are alike, so the first ones are enough.
  for (const row of document.querySelectorAll("main :is(tbody > tr:not(.more), li):nth-child(n+11)")) row.remove();
  // A link in a sentence is as high as its line.
  const inSentence = (element) => element.matches("a") && getComputedStyle(element).display === "inline" &&
    [...element.parentElement.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());

  function check(root, where) {
    for (const element of root.querySelectorAll("a[href], button, summary, input:not([type=hidden]), select, textarea")) {
      if (!element.checkVisibility({ visibilityProperty: true }) || element.matches(".skip-link")) continue;
      element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
      const hits = (x, y) => {
        const hit = document.elementFromPoint(x, y);
        return hit && (element.contains(hit) || hit.closest("label")?.control === element);
      };
      const box = largest(element), [x, y] = middle(box);
      if (box.left + scrollX < -0.5 || box.right + scrollX > innerWidth + 0.5 || y < 0 || y > innerHeight) {
        problems.push(where + "off screen: " + name(element));
        continue;
      }
      if (!hits(x, y)) {
        problems.push(where + "covered: " + name(element) + " by " + name(document.elementFromPoint(x, y) ?? document.body));
        continue;
      }
      if (!reach || inSentence(element)) continue;
      const target = element.matches("[type=checkbox], [type=radio], [type=file]") ? element.closest("label") ?? element : element;
      const [tx, ty] = middle(largest(target));
      for (const [side, dx, dy] of [["above", 0, -reach], ["below", 0, reach], ["left", -reach, 0], ["right", reach, 0]]) {
        if (hits(tx + dx, ty + dy)) continue;
        small.push(where + `too small, ${Math.round(box.width)} by ${Math.round(box.height)}: ` + name(element) + ` (${side} is ` + name(document.elementFromPoint(tx + dx, ty + dy) ?? document.body).slice(0, 50) + ")");
        break;
      }
    }
  }

  check(document, "");
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) problems.push(`the page is ${wide} pixels wider than the screen`);
  for (const box of document.querySelectorAll(".card, .card > table")) {
    if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) problems.push("the content runs out of " + name(box));
  }
  const seen = new Set();
  for (const hidden of document.querySelectorAll("details:not([open]), [popover]")) {
    const kind = hidden.closest("tr, li") ? hidden.closest("table, ul").className + hidden.id.replace(/\d+/g, "") : hidden;
    const isMenu = hidden.matches("details");
    let opener = isMenu ? hidden : document.querySelector(`[popovertarget="${hidden.id}"]`);
    if (!isMenu) opener = opener?.closest("details") ?? opener;
    if (seen.has(kind) || !opener?.checkVisibility({ visibilityProperty: true })) continue;
    seen.add(kind);
    if (isMenu) hidden.open = true;
    else hidden.showPopover();
    check(hidden, `in ${hidden.id || hidden.className} “${(hidden.querySelector("summary") ?? hidden).textContent.trim().slice(0, 12)}”, `);
    if (isMenu) hidden.open = false;
    else hidden.hidePopover();
  }
  scrollTo(0, 0);
  return [...problems, ...small].slice(0, 20);
})()
