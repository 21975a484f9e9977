// The figure in which rewards change a GPT: who pays, and sixteen answers as rows of tiles.

import { all, data, find, listen, press, root, say } from "../watch/elements.js";
import { learner } from "../watch/state.js";

let [worker, seed] = [null, 0];

// An answer as a row of tiles, with a sign; what is read aloud are its words.
function row({ answer, right }) {
  const [kind, sign] = right ? ["right", "✓"] : ["wrong", "✗"],
    tiles = answer.match(/\w+/g)?.map((word) => `<i class="${word}"></i>`) ?? [],
    read = `<span class="visually-hidden">${kind}: ${answer}</span>`;
  return `<li class="${kind}"><b aria-hidden="true">${sign}</b>${tiles.join("")}${read}</li>`;
}

function show({ update, reward, look }) {
  const name = update ? `update ${update}` : "at first";
  find(".watch-state").textContent = update ? `Mean reward of ${name}: ${reward.toFixed(2)}.` : "";
  if (!look) return;
  const caption = `${name}: ${look.filter(({ right }) => right).length} of ${look.length} right`,
    rows = look.toSorted((a, b) => b.answer.length - a.answer.length).map(row),
    panel = `<figure><figcaption>${caption}</figcaption><ol>${rows.join("")}</ol></figure>`;
  find(".reward-looks").insertAdjacentHTML("beforeend", panel);
  say(caption);
}

// Eight answers to one question, for the reader to accept.
function judge(rows) {
  const box = '<input type="checkbox" name="accept">',
    items = rows.map(({ answer }) => `<li><label>${box} ${answer}</label></li>`);
  find(".reward-question").textContent = rows[0].question;
  find(".reward-judge ol").innerHTML = items.join("");
}

function begin({ target }) {
  press("who", target);
  worker?.terminate();
  find(".reward-looks").replaceChildren();
  find(".reward-judge").hidden = target.value !== "you";
  worker = learner({ update: (_, message) => show(message), judge });
  worker.postMessage({ asked: { ...data, who: target.value, seed: ++seed } });
}

if (root) {
  listen({ who: begin });
  find(".reward-judge").addEventListener("submit", (event) => {
    event.preventDefault();
    worker.postMessage({ rewards: Array.from(all("accept"), ({ checked }) => Number(checked)) });
  });
}
