// The loss as it falls, drawn as SVG: lines over steps, and dashed baselines to pass.

const [WIDE, HIGH, LEFT, RIGHT, LOW] = [640, 300, 34, 8, 26];

// lines: { name, look, points: [[step, loss]] }. baselines: { id: loss }, those that there are of names.
export function chart({ steps, lines, baselines, names }) {
  const passed = Object.entries(names)
    .map(([id, name]) => [name, baselines[id]])
    .filter(([, loss]) => loss !== undefined);
  const all = [...passed, ...lines.flatMap(({ points }) => points)].map(([, loss]) => loss),
    top = 1.06 * Math.max(1, ...all.filter(Number.isFinite));
  const x = (step) => LEFT + (step / steps) * (WIDE - LEFT - RIGHT),
    y = (loss) => (1 - loss / top) * (HIGH - LOW - 6) + 6;
  const ticks = Array.from({ length: Math.floor(top) + 1 }, (_, loss) => loss)
    .filter((loss) => top < 5 || loss % 2 === 0)
    .map((loss) => `<text class="tick" x="${LEFT - 6}" y="${y(loss) + 4}">${loss}</text>`);
  let above; // where the last name at the right stands
  const marks = passed.map(([name, loss]) => {
    const near = Math.abs(y(loss) - above) < 26;
    const [side, at] =
      loss < top / 8 ? ["start", LEFT + 8] : ["end", near ? 0.57 * WIDE : WIDE - RIGHT]; // off the curve
    if (!near) above = y(loss);
    return (
      `<path class="baseline" d="M${LEFT} ${y(loss)}H${WIDE - RIGHT}"/>` +
      `<text class="${side}" x="${at}" y="${y(loss) - 4}">${name}, ${loss.toFixed(2)}</text>`
    );
  });
  const paths = lines.map(({ look, points }) => {
    const d = points.map(([step, loss]) => `${x(step).toFixed(1)} ${y(loss).toFixed(1)}`);
    return d.length ? `<path class="line ${look}" d="M${d.join("L")}"/>` : "";
  });
  const now = lines.flatMap(({ name, points }) => points.slice(-1).map((last) => [name, last[1]])),
    said = [...now, ...passed].map(([name, loss]) => `${name} ${loss.toFixed(2)}`);
  const key = lines.map(({ name, look }) => `<span class="key ${look}">${name}</span>`);
  return (
    `<p class="watch-key">loss, nats a token: ${key.join(" ")}</p>` +
    `<svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="Loss over steps. ${said.join("; ")}.">` +
    `<path class="axis" d="M${LEFT} 6V${HIGH - LOW}H${WIDE - RIGHT}"/>${ticks.join("")}` +
    `<text class="tick" x="${WIDE - RIGHT}" y="${HIGH - 6}">step ${steps}</text>` +
    `${marks.join("")}${paths.join("")}</svg>`
  );
}
