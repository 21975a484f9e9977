// A plane with vectors that a reader drags by their tips, for the figures of chapters 02 and 05.
"use strict";

(() => {
  const { html, at, number, clamp } = Play;
  const none = (vector) => vector.every((x) => x === 0);

  function plane({ reach, side, middle = 0 }) {
    const x = (value) => (((value - middle) / reach + 1) * side) / 2;
    const y = (value) => ((1 - (value - middle) / reach) * side) / 2;
    return {
      reach,
      side,
      middle,
      x,
      y,
      points: (corners) => corners.map(([a, b]) => `${at(x(a))},${at(y(b))}`).join(" "),
      move: ([a, b]) => `translate(${at(x(a))} ${at(y(b))})`,
      line: (name, a, b) =>
        html`
          <line x1=${x(a[0])} y1=${y(a[1])} x2=${x(b[0])} y2=${y(b[1])} class=${name} />`,
      // The two ends, in the square, of the line through the origin; twice the origin for (0, 0).
      through: (way) =>
        [-1, 1].map((sign) => {
          const room = way
            .filter((x) => x !== 0)
            .map((x) => (sign * x > 0 ? middle + reach : middle - reach) / (sign * x));
          return way.map((x) => (room.length ? sign * x * Math.min(...room) : 0));
        }),
      // The place in the plane that a pointer is over.
      under(picture, { clientX, clientY }) {
        const place = new DOMPoint(clientX, clientY).matrixTransform(
          picture.getScreenCTM().inverse(),
        );
        const [across, up] = [(2 * place.x) / side - 1, 1 - (2 * place.y) / side];
        return [middle + across * reach, middle + up * reach];
      },
    };
  }

  const picture = (plane, label, kind, ...inside) =>
    html`
      <svg viewBox=${`0 0 ${plane.side} ${plane.side}`} role="group" aria-label=${label} class=${kind}>
        ${inside}
      </svg>`;

  function origin({ x, y }) {
    const [across, down] = [at(x(0)), at(y(0))];
    return html`<path d=${`M${across} ${down}m-6 0h12m-6 -6v12`} class="origin" />`;
  }

  function arrow(plane, end) {
    const turn = at((Math.atan2(end[0], end[1]) * 180) / Math.PI);
    return html`
        <g class="arrow" visibility=${none(end) && "hidden"}>
          ${plane.line(null, [0, 0], end)}
          <polygon points="0,-1 5,11 -5,11" transform=${`${plane.move(end)} rotate(${turn})`} />
        </g>`;
  }

  // What a reader takes hold of, the n-th of a figure's points.
  function handle(live, plane, n, [a, b], label) {
    const rings = html`<circle r="20" class="reach" /><circle r="8" class="ring" />`;
    const where = plane.move([a, b]);
    if (!live) return html`<g class="play-handle" transform=${where}>${rings}</g>`;
    return html`
        <g class="play-handle" transform=${where} data-handle=${n} tabindex="0" role="slider"
          aria-label=${label} aria-roledescription="point in the plane" aria-valuenow=${a}
          aria-valuemin=${plane.middle - plane.reach} aria-valuemax=${plane.middle + plane.reach}
          aria-valuetext=${`${number(a)} across, ${number(b)} up`}>${rings}</g>`;
  }

  // A vector so many times as long, or as long as it may be with entries from `least` to `most`.
  function stretched(vector, times, least, most) {
    const room = vector.map((x) => (x ? (x > 0 ? most : least) / x : Infinity));
    return vector.map((x) => clamp(x * Math.min(times, ...room), least, most) + 0); // no −0
  }

  Object.assign(Play, { none, plane, picture, origin, arrow, handle, stretched });
})();
