// What every page of the book does by itself: folds, paper, the keyboard, narrow windows.
"use strict";

// --- what a reload and Back leave as it was, of this page and release: guesses, and what is open

const KEPT = `${location.pathname} ${typeof DOCUMENTATION_OPTIONS === "undefined" ? "" : DOCUMENTATION_OPTIONS.VERSION}`;

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

function keep(change) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...kept(), ...change }));
  } catch {
    /* forbidden */
  }
}

function keepOpen() {
  const folds = [...document.querySelectorAll("article details")];
  for (const at of kept().open ?? []) if (folds[at]) folds[at].open = true;
  const note = () => keep({ open: [...folds.keys()].filter((at) => folds[at].open) });
  for (const fold of folds) fold.addEventListener("toggle", note);
}

// A link may lead into what is folded; not every browser opens the fold.
function openTarget() {
  let target = null;
  try {
    target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    /* it names nothing */
  }
  let folded = target && target.parentElement.closest("details:not([open])");
  if (!folded) return;
  for (; folded; folded = folded.parentElement.closest("details:not([open])")) folded.open = true;
  target.scrollIntoView();
}

// --- paper is white

let chosen = null;
addEventListener("beforeprint", () => {
  chosen ??= document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = chosen;
  chosen = null;
});

// --- what scrolls can be reached by the keyboard

const SCROLLS = "pre, .math, mjx-container, .cell_output, .output, .pst-scrollable-table-container";

// Sizes are read when the browser has them anyway: reading them earlier would have it lay out all.
function makeFocusable() {
  const sizes = new ResizeObserver((changed) => {
    const found = changed.map(({ target: e }) => [
      e,
      e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1,
    ]);
    for (const [e, scrolls] of found) {
      if (scrolls) e.tabIndex = 0;
      else e.removeAttribute("tabindex");
    }
  });
  const all = document.querySelectorAll(SCROLLS),
    look = () =>
      all.forEach((e) => {
        sizes.unobserve(e); // who is observed anew is looked at, though its own size has not changed
        sizes.observe(e);
      });
  look();
  document.fonts.addEventListener("loadingdone", look); // letters of another width
}

// --- the lists of contents, which open over the page in a narrow window

// The theme gives them no way out that can be seen, leaves them open when a link leads to a place on
// the page below, and loses the focus when they close.
function drawer(dialog, toggle) {
  const shut = document.createElement("button");
  shut.type = "button";
  shut.className = "drawer-shut";
  shut.textContent = "Close";
  shut.addEventListener("click", () => dialog.close());
  new MutationObserver(() => dialog.open && dialog.prepend(shut)).observe(dialog, {
    attributeFilter: ["open"],
  });
  let led = false;
  dialog.addEventListener("click", ({ target }) => {
    led = Boolean(target.closest('a[href^="#"]:not([href="#"])'));
    if (led) dialog.close();
  });
  dialog.addEventListener("close", () => {
    shut.remove();
    if (!led) setTimeout(() => toggle.focus({ preventScroll: true }));
    led = false;
  });
}

function drawers() {
  for (const which of ["primary", "secondary"]) {
    const dialog = document.getElementById(`pst-${which}-sidebar-modal`);
    const toggle = document.querySelector(`.${which}-toggle`);
    if (dialog && toggle) drawer(dialog, toggle);
  }
}

const BAR = 48; // pixels at the top of a page that its bar covers, a few more where it is narrow

// Once its title has gone, the bar of a narrow page says which page this is, and leads to its top.
function showTitleInBar() {
  const title = document.querySelector("article h1");
  const bar = document.querySelector(".header-article-items__start");
  if (!title || !bar) return;
  const link = document.createElement("a");
  link.className = "bar-title";
  link.href = "#";
  link.hidden = true;
  title.tabIndex = -1; // takes the focus from the link, which goes as the title comes
  link.addEventListener("click", (event) => {
    event.preventDefault();
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  });
  link.innerHTML = '<span class="visually-hidden">To the top of </span>';
  link.append(
    [...title.childNodes]
      .filter((part) => part.className !== "headerlink")
      .map((part) => part.textContent)
      .join("")
      .trim(),
  );
  bar.append(link);
  new IntersectionObserver(
    (seen) => {
      const { isIntersecting, boundingClientRect } = seen.at(-1);
      link.hidden = isIntersecting || boundingClientRect.top > 0;
    },
    { rootMargin: `-${BAR}px 0px 0px` },
  ).observe(title);
}

// --- the pencil's fields take more than their patterns (helpers/explore/pencil.py), as the page says

function judgePencils() {
  for (const field of document.querySelectorAll(".pencil input")) {
    const fits = new RegExp(`^(?:${field.pattern})$`);
    field.removeAttribute("pattern");
    field.addEventListener("input", () => {
      const typed = field.value.trim();
      const number = Number(typed.replace(",", ".").replace(/^[−–]/, "-") || NaN);
      const near = /[.,]\d\d$/.test(typed) ? 0.005 : 0;
      const right = [-near, 0, near].some((by) => fits.test((number + by).toFixed(3)));
      field.setCustomValidity(right ? "" : "It doesn’t fit yet.");
    });
  }
}

function start() {
  keepOpen();
  makeFocusable();
  drawers();
  showTitleInBar();
  judgePencils();
  addEventListener("hashchange", openTarget);
  openTarget();
}
document.addEventListener("DOMContentLoaded", start); // when predictions have taken their places
