// The page for marking: shows one answer at a time, keeps its points and comment in the browser, and
// saves marks.csv as the grader reads it (homework/report/marking.py makes the page).
"use strict";
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const [POINTS, REMARK] = ["points", "remark"].map((name) => data.head.indexOf(name));
  const PLACE = `marks ${data.place} ${location.pathname}`;
  const TICKED = /^\[(\d+(?:, \d+)*)\]\s*/;
  const sections = [...document.querySelectorAll(".response")];
  const said = document.getElementById("said");
  let at = 0;

  const parts = (section) => ({
    boxes: [...section.querySelectorAll("[type=checkbox]")],
    points: section.querySelector("[type=number]"),
    comment: section.querySelector("textarea"),
  });
  const row = (section) => data.rows[section.dataset.row];

  function kept() {
    try {
      return JSON.parse(localStorage.getItem(PLACE)) || {};
    } catch {
      return {};
    }
  }

  // What stands in the fields: the cells of marks.csv for points and remark.
  function given(section) {
    const { boxes, points, comment } = parts(section);
    const ticks = boxes.filter((box) => box.checked).map((box) => box.value);
    const value = points.value === "" ? "" : String(Number(points.value));
    const numbers = ticks.length ? ticks : value === "0" ? ["0"] : [];
    const head = numbers.length ? `[${numbers.join(", ")}] ` : "";
    return [value, (head + comment.value.trim()).trim()];
  }

  function fill(section, [value, remark]) {
    const { boxes, points, comment } = parts(section);
    const found = remark.match(TICKED);
    const numbers = found ? found[1].split(", ").map(Number) : [];
    const fits = numbers.every((number) => number <= boxes.length);
    boxes.forEach((box) => (box.checked = fits && numbers.includes(Number(box.value))));
    points.value = value;
    comment.value = found && fits ? remark.slice(found[0].length) : remark;
  }

  const isMarked = (section) => {
    const { points } = parts(section);
    return points.value !== "" && points.validity.valid;
  };

  function show() {
    const done = sections.filter(isMarked).length;
    sections.forEach((section, place) => {
      const { points } = parts(section);
      section.hidden = place !== at;
      section.querySelector(".state").textContent = isMarked(section)
        ? `${points.value} of ${points.max} points`
        : "not marked";
    });
    document.querySelectorAll(".pile").forEach((pile) => {
      pile.hidden = !pile.contains(sections[at]);
    });
    document.querySelector("progress").value = done;
    document.getElementById("count").textContent = `${done} of ${sections.length} marked`;
  }

  function changed(section) {
    const base = [row(section)[POINTS], row(section)[REMARK]];
    const drafts = { ...kept(), [section.dataset.id]: { base, now: given(section) } };
    try {
      localStorage.setItem(PLACE, JSON.stringify(drafts));
      said.textContent = parts(section).points.validity.valid
        ? ""
        : `The points go from 0 to ${parts(section).points.max}.`;
    } catch {
      said.textContent = "This browser keeps nothing: save before you close the page.";
    }
    section.dataset.changed = "";
    show();
  }

  function go(place) {
    at = Math.max(0, Math.min(sections.length - 1, place));
    show();
    sections[at].querySelector("h3").focus();
    said.textContent = "";
  }

  function goOpen() {
    const after = [...sections.slice(at + 1), ...sections.slice(0, at + 1)];
    const next = after.find((section) => !isMarked(section));
    if (next) go(sections.indexOf(next));
    else said.textContent = "All are marked.";
  }

  // As homework/intake/tables.py writes a cell: no formula, quotation marks where they must be.
  const formula = new RegExp(data.formula, "g"),
    number = new RegExp(data.number);
  function cell(text) {
    const plain = number.test(text.trim()) ? text : text.replace(formula, "$1'");
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  }

  function save() {
    const wrong = sections.find((section) => !parts(section).points.validity.valid);
    if (wrong) {
      go(sections.indexOf(wrong));
      said.textContent = `Not saved: the points go from 0 to ${parts(wrong).points.max}.`;
      return;
    }
    const rows = data.rows.map((cells) => [...cells]);
    for (const section of sections.filter((one) => "changed" in one.dataset)) {
      [rows[section.dataset.row][POINTS], rows[section.dataset.row][REMARK]] = given(section);
    }
    const text = [data.head, ...rows].map((cells) => `${cells.map(cell).join(",")}\n`).join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "marks.csv";
    link.click();
    URL.revokeObjectURL(link.href);
    said.textContent = "Saved as marks.csv: put it beside this page, and run the command again.";
  }

  function none(section) {
    parts(section).boxes.forEach((box) => (box.checked = false));
    parts(section).points.value = "0";
    changed(section);
  }

  const deeds = {
    on: () => go(at + 1),
    back: () => go(at - 1),
    open: goOpen,
    save,
    none: () => none(sections[at]),
    comment: () => parts(sections[at]).comment.focus(),
  };
  const KEYS = {
    n: "on",
    ArrowRight: "on",
    p: "back",
    ArrowLeft: "back",
    u: "open",
    s: "save",
    c: "comment",
    0: "none",
  };

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea, [type=number]")) {
      if (event.key === "Escape") sections[at].querySelector("h3").focus();
      return;
    }
    if (!document.getElementById("keys").checked) return;
    const box = /^[1-9]$/.test(event.key) && parts(sections[at]).boxes[event.key - 1];
    if (!box && !(event.key in KEYS)) return;
    event.preventDefault();
    if (box) box.click();
    else deeds[KEYS[event.key]]();
  }

  function begin() {
    const drafts = kept();
    for (const section of sections) {
      const base = [row(section)[POINTS], row(section)[REMARK]];
      const draft = drafts[section.dataset.id];
      const isNewer = draft && String(draft.base) === String(base); // else marks.csv was changed
      fill(section, isNewer ? draft.now : base);
      if (isNewer) section.dataset.changed = "";
      section.addEventListener("input", ({ target }) => {
        const { boxes, points } = parts(section);
        if (target.type === "checkbox") {
          const ticks = boxes.filter((box) => box.checked);
          const sum = ticks.reduce((total, box) => total + Number(box.dataset.points), 0);
          points.value = ticks.length ? Number(sum.toPrecision(6)) : "";
        }
        changed(section);
      });
    }
    document.addEventListener("keydown", pressed);
    document.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-do]");
      if (button) deeds[button.dataset.do]();
    });
    at = Math.max(
      0,
      sections.findIndex((section) => !isMarked(section)),
    );
    show();
  }

  if (sections.length) begin();
}
