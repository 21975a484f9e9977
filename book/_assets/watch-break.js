// Below the run: one piece taken away, beside a healthy run with the same seed; and models that come
// from a file.
"use strict";

if (globalThis.bookWatch) {
  (({ root, find, field, data, asked, tales, trouble, say, seed }) => {
    // --- break it

    let pair = []; // the broken run and the healthy one
    const broken = find(".watch-broken");

    function choose(target) {
      pair.forEach(({ learner }) => learner?.terminate());
      pair = [];
      root
        .querySelectorAll('[name="break"]')
        .forEach((one) => one.setAttribute("aria-pressed", one === target));
      broken.dataset.without = target.value;
      broken.hidden = false;
      find(".watch-asks").textContent =
        `With ${target.textContent}, will the loss be higher or lower?`;
      for (const part of [".watch-chart", ".watch-verdict", "dl"])
        broken.querySelector(part).replaceChildren();
      betting(null);
      field("bet").focus({ preventScroll: true });
    }

    const betting = (chosen) =>
      root
        .querySelectorAll('[name="bet"]')
        .forEach((one) => one.setAttribute("aria-pressed", one === chosen));

    async function bet(target) {
      if (pair.length) return;
      betting(target);
      const { without } = broken.dataset,
        texts = await tales();
      const name = find('[name="break"][aria-pressed="true"]').textContent;
      pair = [
        { name, without, look: "broken" },
        { name: "healthy", look: "unseen" },
      ].map((one) => ({ ...one, points: [], text: "", ended: false }));
      for (const one of pair) {
        one.learner = bookLearner({
          about: (given) => (one.about = given),
          events: (events, { ended }) => hear(one, events, ended),
        });
        const steps = data.brokenSteps;
        one.learner.postMessage({
          begin: { ...asked, ...texts, steps, seed: seed(), without: one.without },
        });
        one.learner.postMessage({ go: true });
      }
    }

    function hear(one, events, ended) {
      if (!pair.includes(one)) return;
      for (const { step, unseen, text } of events) {
        if (unseen !== undefined) one.points.push([step, unseen]);
        one.text = text ?? one.text;
      }
      one.ended ||= ended;
      const { baselines } = pair.find(({ about }) => about).about;
      broken.querySelector(".watch-chart").innerHTML = bookChart.html({
        steps: data.brokenSteps,
        baselines: {
          [data.names.unigram]: baselines.unigram,
          [data.names.bigram]: baselines.bigram,
        },
        lines: pair.map(({ name, look, points }) => ({ name, look, points })),
      });
      if (pair.every(({ ended }) => ended)) verdict();
    }

    function verdict() {
      const [of, healthy] = pair.map(({ points }) => points.at(-1)[1]);
      const what = of < healthy ? "lower" : "higher",
        said = find('[name="bet"][aria-pressed="true"]').value;
      const { chapter, href, [what]: because } = data.breaks[broken.dataset.without];
      const a = document.createElement("a");
      [a.href, a.textContent] = [href, chapter];
      broken
        .querySelector(".watch-verdict")
        .replaceChildren(
          `${what === said ? "As you said, it is" : "It is"} ${what}: ${of.toFixed(2)} against ` +
            `${healthy.toFixed(2)} on text unseen. ${because} `,
          a,
        );
      broken.querySelector("dl").replaceChildren(
        ...pair.flatMap(({ name, text, learner }) => {
          learner.terminate();
          const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
          [dt.textContent, dd.textContent] = [`${name} writes`, text.trim()];
          return [dt, dd];
        }),
      );
    }

    // --- a model from a file

    let brought = null,
      writer = null;

    async function take(file) {
      if (!file) return;
      trouble("");
      if (!file.name.endsWith(".safetensors")) {
        find(".watch-own").open = true;
        field("own").value = (await file.text()).replaceAll(/\r\n?/g, "\n");
        return say(`${file.name} is in the text field.`);
      }
      try {
        brought = bookFile.read(await file.arrayBuffer());
      } catch (error) {
        return trouble(error.message);
      }
      field("prompt").value ||= brought.vocab.includes(" The") ? "The" : "";
      write();
    }

    function write() {
      if (!brought) return trouble("Drop a file first, or choose one under “A text of your own”.");
      writer?.terminate();
      const prompt = field("prompt").value,
        shown = find(".watch-written");
      shown.textContent = prompt;
      writer = bookLearner({
        token: (token) => (shown.textContent += token),
        written: () => say(shown.textContent),
      });
      const length = brought.pattern === data.pattern ? 60 : 240,
        how = { temperature: data.temperature, code: data.code, seed: seed() };
      writer.postMessage({ write: { ...how, model: brought, prompt, length } });
      find(".watch-bring").scrollIntoView({ block: "nearest" });
    }

    root.addEventListener("click", ({ target }) => {
      const press = {
        break: choose,
        bet,
        write,
      }[target.name];
      press?.(target);
    });
    field("file").addEventListener("change", ({ target }) => take(target.files[0]));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      take(event.dataTransfer.files[0]);
    });
  })(globalThis.bookWatch);
}
