// The elements of the page, and what its modules do with them.

export const root = globalThis.document?.querySelector(".watch");
export const find = (name) => document.querySelector(`.watch ${name}`);
export const field = (name) => find(`[name="${name}"]`);
export const all = (name) => document.querySelectorAll(`.watch [name="${name}"]`);
export const data = root && JSON.parse(find(".watch-data").textContent);
export const say = (words) => (find(".watch-said").textContent = words);

// Tell of trouble, after what was pressed, and in view.
export function trouble(words) {
  const told = find(".watch-trouble");
  document.activeElement.closest(".watch p, .watch form")?.after(told);
  told.textContent = words;
  if (words) told.scrollIntoView({ block: "nearest" });
}
export const pressed = (name) => find(`[name="${name}"][aria-pressed="true"]`);
export const press = (name, button) =>
  all(name).forEach((one) => one.setAttribute("aria-pressed", one === button));

// What buttons do, by their names.
export function listen(presses) {
  for (const [name, does] of Object.entries(presses))
    all(name).forEach((one) => one.addEventListener("click", does));
}
