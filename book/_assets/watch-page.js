// The page on which a GPT learns: it asks for a guess, starts and stops the worker, and shows the loss
// and what the model writes on the way. The words stand in book/_ext/play/watch.py.
"use strict";

globalThis.bookWatch = (() => {
  const root = document.querySelector(".watch");
  if (!root) return null;
  const find = (name) => root.querySelector(name),
    field = (name) => find(`[name="${name}"]`);
  const data = JSON.parse(find(".watch-data").textContent);
  const SAID = [0, 100, 400]; // steps at which a screen reader is told
  const here = document.currentScript.src;

  const small = matchMedia("(max-width: 600px)").matches,
    asked = { ...data, ...(small && data.small) };
  let [learner, going, texts, own] = [null, false, null, false];
  let run = null; // { seed, about, seen: [[step, loss]], unseen, samples: [{ step, text }], step }

  const seedOf = () => Number(new URLSearchParams(location.hash.slice(1)).get("seed")) || 1;
  const say = (words) => (find(".watch-said").textContent = words);
  const trouble = (words) => (find(".watch-trouble").textContent = words);

  // The tales, once; a page that is opened from a disk may load a script, but may not fetch a file.
  function tales() {
    return new Promise((done, fail) => {
      if (globalThis.bookTales) return done(bookTales);
      const script = document.createElement("script");
      script.src = new URL(root.dataset.tales, here);
      script.addEventListener("load", () => done(bookTales));
      script.addEventListener("error", fail);
      document.head.append(script);
    });
  }

  // --- a run

  async function ready() {
    if (learner) return true;
    try {
      texts ??= await tales();
    } catch {
      trouble("The tales could not be read. They stand in the folder _static, beside the pages.");
      return false;
    }
    begin(run?.seed ?? seedOf());
    return true;
  }

  function begin(seed) {
    learner?.terminate();
    trouble("");
    run = { seed, about: null, seen: [], unseen: [], samples: [], step: 0 };
    learner = bookLearner({ about, events, file, goes: (on) => (root.dataset.goes = on) });
    learner.postMessage({ begin: { ...asked, ...texts, seed } });
    find(".watch-after").hidden = false;
    show();
  }

  function about(given) {
    run.about = given;
    const found = { ...given.baselines, ...(texts.entropy && { entropy: texts.entropy }) };
    run.baselines = Object.fromEntries(
      Object.entries(found).map(([name, loss]) => [data.names[name], loss]),
    );
  }

  function events(given, { ended }) {
    for (const { step, loss, unseen, text } of given) {
      run.step = step;
      if (loss !== undefined) run.seen.push([step, loss]);
      if (unseen !== undefined) run.unseen.push([step, unseen]);
      if (text === undefined) continue;
      run.samples.push({ step, text: text.trim() });
      const li = document.createElement("li"),
        b = document.createElement("b"),
        span = document.createElement("span");
      [b.textContent, span.textContent] = [`step ${step}`, text.trim() || "(only spaces)"];
      li.append(b, " ", span);
      find(".watch-live .watch-samples").prepend(li);
      if (SAID.includes(step) || ended)
        say(`Step ${step}. ${inNumbers()} It writes: ${text.trim()}`);
    }
    if (ended) go(false);
    show();
  }

  // --- what is seen

  const last = (points) => points.at(-1)?.[1].toFixed(2) ?? "–";
  const recent = () => {
    const part = run.seen.slice(-20);
    return (part.reduce((sum, [, loss]) => sum + loss, 0) / part.length).toFixed(2);
  };
  const inNumbers = () =>
    `Loss ${run.step ? `${recent()} on text seen, ` : ""}${last(run.unseen)} on text unseen.`;

  let drawing = null;
  const show = () => (drawing ??= requestAnimationFrame(draw));
  function draw() {
    drawing = null;
    if (!run?.about) return;
    find(".watch-state").textContent =
      `Step ${run.step} of ${asked.steps}, seed ${run.seed}, ` +
      `${run.about.parameters.toLocaleString("en")} parameters. ${inNumbers()}`;
    find(".watch-chart").innerHTML = bookChart.html({
      steps: asked.steps,
      baselines: run.baselines,
      lines: [
        { name: "text seen", look: "seen", points: run.seen, smooth: true },
        { name: "text unseen", look: "unseen", points: run.unseen },
      ],
    });
    if (run.step >= 200 && !own) {
      const guess = find('[name="guess"][aria-pressed="true"]')?.value;
      find(".watch-reply").textContent = bookSaid.reply(run, texts, guess);
    }
  }

  // --- what the reader does

  async function go(on) {
    if (on && !(await ready())) return;
    if (on && run.step >= asked.steps) return reset(run.seed + 1);
    going = on;
    field("go").textContent = going ? "Pause" : run.step ? "Go on" : "Start";
    learner.postMessage({ go: going });
    if (!going && run.about) say(`Step ${run.step}. ${inNumbers()}`);
  }

  function reset(seed) {
    find(".watch-live .watch-samples").replaceChildren();
    find(".watch-reply").textContent = "";
    history.replaceState(null, "", own ? "#" : `#seed=${seed}`);
    begin(seed);
    go(true);
  }

  function train(text) {
    const words = field("pattern").value === "words",
      cut = Math.floor(0.9 * text.length);
    if (text.length < 4000) return trouble("It takes at least 4,000 characters to learn from.");
    own = true;
    texts = { seen: text.slice(0, cut), unseen: text.slice(cut), prompt: text.slice(0, 10) };
    texts.pattern = words ? data.pattern : "(?s).";
    texts.length = words ? data.length : 150;
    reset(run?.seed ?? seedOf());
  }

  let wanted = null; // what is to be done with the model that the worker was asked for
  const model = (use) => {
    wanted = use;
    learner.postMessage({ file: true });
  };
  const file = (given) => wanted(given);

  function save(given) {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([bookFile.write(given)]));
    a.download = "my.safetensors";
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
  }

  const presses = {
    guess: ({ target }) => {
      root
        .querySelectorAll('[name="guess"]')
        .forEach((one) => one.setAttribute("aria-pressed", one === target));
      if (!run) go(true);
    },
    go: () => go(!going),
    step: async () => {
      if (going) await go(false);
      if (await ready()) learner.postMessage({ step: true });
    },
    again: async () => {
      texts ??= await tales();
      reset((run?.seed ?? seedOf()) + 1);
    },
    train: () => train(field("own").value),
    save: () => model(save),
    copy: async () => {
      await navigator.clipboard.writeText(bookSaid.copied(run, own ? null : texts, inNumbers()));
      say("Copied.");
    },
  };
  for (const [name, press] of Object.entries(presses))
    root
      .querySelectorAll(`[name="${name}"]`)
      .forEach((one) => one.addEventListener("click", press));
  find(".watch-seed").textContent = seedOf();
  return {
    root,
    find,
    field,
    data,
    asked,
    tales,
    train,
    trouble,
    model,
    say,
    seed: () => run?.seed ?? seedOf(),
  };
})();
