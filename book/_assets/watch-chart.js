// The loss as it falls, drawn as SVG: lines over steps, and dashed baselines to pass.
"use strict";

globalThis.bookChart = (() => {
  const [WIDE, HIGH, LEFT, RIGHT, LOW] = [640, 300, 34, 8, 26];
  const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

  // A line of one point for every few steps, their mean, so that the noise of batches stays readable.
  function smoothed(points, every = 5) {
    const found = [];
    for (let i = 0; i < points.length; i += every) {
      const part = points.slice(i, i + every);
      found.push([part.at(-1)[0], mean(part.map(([, loss]) => loss))]);
    }
    return found;
  }

  // lines: { name, look, points: [[step, loss]], smooth }. baselines: { name: loss }.
  function html({ steps, lines, baselines = {} }) {
    const drawn = lines.map(({ smooth, points, ...line }) => ({
      ...line,
      points: smooth ? smoothed(points) : points,
    }));
    const all = [
      ...Object.values(baselines),
      ...drawn.flatMap(({ points }) => points.map(([, y]) => y)),
    ];
    const top = Math.max(1, ...all.filter(Number.isFinite)) * 1.06;
    const x = (step) => LEFT + (step / steps) * (WIDE - LEFT - RIGHT),
      y = (loss) => (1 - loss / top) * (HIGH - LOW - 6) + 6;
    const ticks = Array.from({ length: Math.floor(top) + 1 }, (_, loss) => loss)
      .filter((loss) => top < 5 || loss % 2 === 0)
      .map((loss) => `<text class="tick" x="${LEFT - 6}" y="${y(loss) + 4}">${loss}</text>`);
    const marks = Object.entries(baselines).map(
      ([name, loss]) =>
        `<path class="baseline" d="M${LEFT} ${y(loss)}H${WIDE - RIGHT}"/>` +
        `<text class="name" x="${WIDE - RIGHT}" y="${y(loss) - 4}">${escaped(name)}, ${loss.toFixed(2)}</text>`,
    );
    const paths = drawn.map(({ look, points }) => {
      const d = points.map(([step, loss]) => `${x(step).toFixed(1)} ${y(loss).toFixed(1)}`);
      return d.length ? `<path class="line ${look}" d="M${d.join("L")}"/>` : "";
    });
    const key = drawn
      .map(({ name, look }) => `<span class="key ${look}">${escaped(name)}</span>`)
      .join(" ");
    return (
      `<p class="watch-key">loss, nats a token: ${key}</p>` +
      `<svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="${escaped(words(lines, baselines))}">` +
      `<path class="axis" d="M${LEFT} 6V${HIGH - LOW}H${WIDE - RIGHT}"/>${ticks.join("")}` +
      `<text class="tick" x="${WIDE - RIGHT}" y="${HIGH - 6}">step ${steps}</text>` +
      `${marks.join("")}${paths.join("")}</svg>`
    );
  }

  // The same in words.
  function words(lines, baselines) {
    const now = lines
      .filter(({ points }) => points.length)
      .map(
        ({ name, points }) => `${name} ${points.at(-1)[1].toFixed(2)} at step ${points.at(-1)[0]}`,
      );
    const marks = Object.entries(baselines).map(([name, loss]) => `${name} ${loss.toFixed(2)}`);
    return `Loss over steps. ${now.join("; ")}. Baselines: ${marks.join("; ")}.`;
  }

  return { html };
})();

// A model in training, in a worker of its own. heard: what to do with each kind of message.
globalThis.bookLearner = (heard) => {
  const parts = ["bookKernelMade", "bookModelMade", "bookLoopMade"].map(
    (name) => `(${globalThis[name]})()`,
  );
  const made = `"use strict";(${bookWatchWorker})((${bookRunMade})(${parts.join(",")}));`;
  const worker = new Worker(URL.createObjectURL(new Blob([made], { type: "text/javascript" })));
  worker.addEventListener("message", ({ data }) => {
    for (const [name, value] of Object.entries(data)) heard[name]?.(value, data);
  });
  return worker;
};
