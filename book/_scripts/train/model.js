// helpers/minigpt.py in plain JavaScript, forward and backward by hand: the same pieces in the same
// order, with the same names. A piece keeps what its backward needs; `backward` takes the gradient
// of its output, adds to those of its parameters, and returns that of its input.
//
// Arrays hold rows, one for each token of the batch. Axes as in helpers/: B batch, T position,
// C width, H heads, D head width, V vocabulary, L layers; `n` rows, `t` positions that are in use.
// GELU of x, x·Φ(x), and its slope, Φ(x) + x·φ(x): Φ to 7.5e-8 (Abramowitz and Stegun 1964,
// 26.2.17), for erf is not in JavaScript.
function gelu(x, y, slope, size, exp) {
  for (let i = 0; i < size; i++) slope[i] = (x[i] * x[i]) / -2;
  exp(slope, size);
  for (let i = 0; i < size; i++) {
    const density = slope[i] / Math.sqrt(2 * Math.PI),
      s = 1 / (1 + 0.2316419 * Math.abs(x[i]));
    let tail = -1.821255978 + s * 1.330274429;
    tail = density * s * (0.31938153 + s * (-0.356563782 + s * (1.781477937 + s * tail)));
    const cdf = x[i] < 0 ? tail : 1 - tail;
    y[i] = x[i] * cdf;
    slope[i] = cdf + x[i] * density;
  }
}

// minigpt's GPT for at most B windows of T tokens. without: what *Break it* takes away, "mask",
// "positions" or "residual". products, memory: those of kernel.js.
export function GPT({ V, T, C, H, L }, B, { without, products, memory, Floats = Float32Array }) {
  const D = C / H,
    parameters = [];
  const { ab, abT, aTb, exp } = products;
  let [t, n, ids, used] = [T, B * T, null, 0];

  // In the kernel's memory, if there is one.
  function array(size) {
    const at = used;
    used += 16 * Math.ceil(size / 4);
    return memory ? new Float32Array(memory.buffer, at, size) : new Floats(size);
  }

  function parameter(name, ...shape) {
    const size = shape.reduce((a, b) => a * b);
    const made = { name, shape, value: array(size), grad: array(size) };
    parameters.push(made);
    return made;
  }

  function Linear(name, I, O, biased = true) {
    const weight = parameter(`${name}.weight`, O, I),
      bias = biased && parameter(`${name}.bias`, O);
    const y = array(B * T * O),
      dx = array(B * T * I);
    let x;
    function forward(given) {
      x = given;
      abT(x, I, weight.value, I, y, O, n, O, I);
      for (let i = 0, at = 0; bias && i < n; i++) {
        for (let o = 0; o < O; o++) y[at++] += bias.value[o];
      }
      return y;
    }
    function backward(dy) {
      aTb(dy, O, x, I, weight.grad, I, O, I, n);
      for (let i = 0, at = 0; bias && i < n; i++) {
        for (let o = 0; o < O; o++) bias.grad[o] += dy[at++];
      }
      ab(dy, O, weight.value, I, dx, I, n, I, O);
      return dx;
    }
    return { forward, backward };
  }

  function LayerNorm(name) {
    const weight = parameter(`${name}.weight`, C),
      bias = parameter(`${name}.bias`, C);
    const [y, normal, dx] = [array(B * T * C), array(B * T * C), array(B * T * C)],
      rstd = array(B * T);
    function forward(x) {
      for (let i = 0; i < n; i++) {
        const at = i * C;
        let [mean, variance] = [0, 0];
        for (let j = 0; j < C; j++) mean += x[at + j] / C;
        for (let j = 0; j < C; j++) variance += (x[at + j] - mean) ** 2 / C;
        rstd[i] = 1 / Math.sqrt(variance + 1e-5);
        for (let j = 0; j < C; j++) {
          normal[at + j] = (x[at + j] - mean) * rstd[i];
          y[at + j] = weight.value[j] * normal[at + j] + bias.value[j];
        }
      }
      return y;
    }
    function backward(dy) {
      for (let i = 0; i < n; i++) {
        const at = i * C;
        let [mean, along] = [0, 0]; // of the gradient before γ, and of its product with x
        for (let j = 0; j < C; j++) {
          weight.grad[j] += dy[at + j] * normal[at + j];
          bias.grad[j] += dy[at + j];
          dx[at + j] = dy[at + j] * weight.value[j];
          mean += dx[at + j] / C;
          along += (dx[at + j] * normal[at + j]) / C;
        }
        for (let j = 0; j < C; j++)
          dx[at + j] = (dx[at + j] - mean - normal[at + j] * along) * rstd[i];
      }
      return dx;
    }
    return { forward, backward };
  }

  function CausalSelfAttention(name) {
    const qkv = Linear(`${name}.qkv`, C, 3 * C),
      out = Linear(`${name}.out`, C, C);
    const mixed = array(B * T * C),
      weights_BHTT = array(B * H * T * T);
    const dqkv = array(B * T * 3 * C),
      dscores = array(T * T);
    let qkv_BT3HD;
    // Each head of each window: where its q, k and v begin, its output, and its weights (T, T).
    function heads(work, d = qkv_BT3HD, mixed_BTC = mixed) {
      for (let head = 0; head < (n / t) * H; head++) {
        const [b, h] = [Math.floor(head / H), head % H],
          at = b * t * 3 * C + h * D;
        const [q, k, v] = [0, C, 2 * C].map((by) => qkv_BT3HD.subarray(at + by));
        const [dq, dk, dv] = [0, C, 2 * C].map((by) => d.subarray(at + by));
        const weights = weights_BHTT.subarray(head * t * t, (head + 1) * t * t);
        work({ q, k, v, dq, dk, dv, weights, m: mixed_BTC.subarray(b * t * C + h * D) });
      }
    }
    function softmax(weights) {
      for (let row = 0; row < t; row++) {
        const end = without === "mask" ? t : row + 1, // the tokens after it weigh nothing
          w = weights.subarray(row * t, (row + 1) * t);
        let [most, sum] = [-Infinity, 0];
        for (let s = 0; s < end; s++) most = Math.max(most, w[s]);
        exp(w, end, most, 1 / Math.sqrt(D));
        for (let s = 0; s < end; s++) sum += w[s];
        for (let s = 0; s < t; s++) w[s] = s < end ? w[s] / sum : 0;
      }
    }
    function forward(x) {
      qkv_BT3HD = qkv.forward(x);
      heads(({ q, k, v, weights, m }) => {
        abT(q, 3 * C, k, 3 * C, weights, t, t, t, D);
        softmax(weights);
        ab(weights, t, v, 3 * C, m, C, t, D, t);
      });
      return out.forward(mixed);
    }
    function backward(dy) {
      dqkv.fill(0);
      const dmixed = out.backward(dy);
      const work = ({ q, k, v, dq, dk, dv, weights, m: dm }) => {
        aTb(weights, t, dm, C, dv, 3 * C, t, D, t);
        abT(dm, C, v, 3 * C, dscores, t, t, t, D);
        for (let row = 0; row < t * t; row += t) {
          let along = 0;
          for (let s = row; s < row + t; s++) along += weights[s] * dscores[s];
          for (let s = row; s < row + t; s++)
            dscores[s] = (weights[s] * (dscores[s] - along)) / Math.sqrt(D);
        }
        ab(dscores, t, k, 3 * C, dq, 3 * C, t, D, t);
        aTb(dscores, t, q, 3 * C, dk, 3 * C, t, D, t);
      };
      heads(work, dqkv, dmixed);
      return qkv.backward(dqkv);
    }
    return { forward, backward };
  }

  function FeedForward(name) {
    const up = Linear(`${name}.up`, C, 4 * C),
      down = Linear(`${name}.down`, 4 * C, C);
    const [activation, slope] = [array(B * T * 4 * C), array(B * T * 4 * C)];
    function forward(x) {
      gelu(up.forward(x), activation, slope, n * 4 * C, exp);
      return down.forward(activation);
    }
    function backward(dy) {
      const dactivation = down.backward(dy);
      for (let i = 0; i < n * 4 * C; i++) dactivation[i] *= slope[i];
      return up.backward(dactivation);
    }
    return { forward, backward };
  }

  function Block(name) {
    const norm_1 = LayerNorm(`${name}.norm_1`),
      attention = CausalSelfAttention(`${name}.attention`),
      norm_2 = LayerNorm(`${name}.norm_2`),
      feed_forward = FeedForward(`${name}.feed_forward`);
    // What a layer adds to x; without the residual connection x is lost.
    const plus = (x, added) => {
      for (let i = 0; without !== "residual" && i < n * C; i++) added[i] += x[i];
      return added;
    };
    function forward(x) {
      x = plus(x, attention.forward(norm_1.forward(x)));
      return plus(x, feed_forward.forward(norm_2.forward(x)));
    }
    function backward(dy) {
      dy = plus(dy, norm_2.backward(feed_forward.backward(dy)));
      return plus(dy, norm_1.backward(attention.backward(dy)));
    }
    return { forward, backward };
  }

  // --- the whole

  const embedding = parameter("embedding.weight", V, C),
    position = parameter("position.weight", T, C);
  const blocks = Array.from({ length: L }, (_, l) => Block(`blocks.${l}`));
  const norm = LayerNorm("norm"),
    head = Linear("head", C, V, false),
    x = array(B * T * C);

  // Ids of b windows (b, t) to logits (b, t, V).
  function forward(ids_BT, b) {
    [ids, n, t] = [ids_BT, ids_BT.length, ids_BT.length / b];
    for (let i = 0, at = 0; i < n; i++) {
      for (let c = 0; c < C; c++) {
        const place = without === "positions" ? 0 : position.value[(i % t) * C + c];
        x[at++] = embedding.value[ids[i] * C + c] + place;
      }
    }
    return head.forward(norm.forward(blocks.reduce((x, block) => block.forward(x), x)));
  }

  // From the gradient of the logits to that of every parameter.
  function backward(dlogits) {
    for (const { grad } of parameters) grad.fill(0);
    const dx = blocks.reduceRight(
      (dy, block) => block.backward(dy),
      norm.backward(head.backward(dlogits)),
    );
    for (let i = 0, at = 0; i < n; i++) {
      for (let c = 0; c < C; c++, at++) {
        embedding.grad[ids[i] * C + c] += dx[at];
        if (without !== "positions") position.grad[(i % t) * C + c] += dx[at];
      }
    }
  }

  return { sizes: { V, T, C, H, L }, parameters, forward, backward, exp };
}
