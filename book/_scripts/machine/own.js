// A model of the reader's own, from a file that is dropped here or from the page that trained it.

import { onFile, readModel, toGPT } from "../gpt/file.js";
import { written } from "../gpt/reading.js";
import { CHARACTERS } from "../gpt/tokens.js";
import { parse } from "./address.js";
import { forget } from "./inquiry.js";
import { arrive } from "./navigation.js";
import { fit } from "./picture.js";
import { undo } from "./reader.js";
import { data, field, find, root, say, state } from "./state.js";

// Begin with a model of the reader's own, on a text of theirs or one that it writes up to a word, if the
// address has none. theirs: undefined of a file.
function bring(given, use, theirs) {
  const model = toGPT(given),
    { L, H, C, T, V } = model.sizes,
    [length, tokens] = model.pattern === CHARACTERS ? [40, "characters"] : [12, "words and marks"],
    mine = theirs === undefined ? "This model has" : "This is the model that you trained:",
    opens = theirs ? "It opens with your words" : "It wrote the text that it opens with";
  data.means = Array.from({ length: L }, () => Array(H).fill(Array(C / H).fill(0)));
  find('[value="mean"]').disabled = true; // of which no text is known to take it over
  find("#machine-said").textContent =
    `${mine} ${L} layers of ${H} heads. It knows ${V} tokens, ${tokens}, and reads ${T}. ` +
    `${opens}. Type others, or press a token to follow it.`;
  for (const name of ["why", "over"]) field(name).lastElementChild.replaceChildren();
  find(".machine-most").textContent = Math.min(root.dataset.places, T);
  fit(model.sizes);
  if (state.machine || parse(location.hash).text === null) {
    const next = written(model, [], 1),
      text = Array.from({ length: Math.min(T, length) }, () => next.next().value).join("");
    field("text").value = theirs || text.trim().replace(/(?<=\p{L})\P{L}+$/u, "");
    forget();
    undo();
    Object.assign(state, { opened: null, followed: true });
  } else arrive();
  use(model);
}

// Hear of models; `use` begins with one.
export function hearModels(use) {
  onFile(field("file"), async (file) => {
    try {
      bring(readModel(await file.arrayBuffer()), use);
    } catch (error) {
      say(error.message);
    }
  });
  addEventListener("message", ({ source, data: says }) => {
    if (opener && source === opener && says?.model) bring(says.model, use, says.text);
  });
  opener?.postMessage("model", "*"); // the page that trained it answers
}
