// Matrix products for the page that trains: kernel.wat, four numbers at a time, or the same in
// JavaScript where a browser has no SIMD. Rows begin `la`, `lb` and `lc` numbers apart, so that a head
// is read where it stands.

// c (n, m) = a (n, k) · b (k, m), added to what c holds if `more`; from one row of a to the next are
// `ai` numbers, from one column to the next `ap`, and of b `bp` and `bj`. Two rows and two columns at a
// time, for a number that is read is then used twice; at an odd end the last is computed twice.
function product(a, ai, ap, b, bp, bj, c, lc, [n, m, k], more) {
  for (let i = 0; i < n; i++) if (!more) c.fill(0, i * lc, i * lc + m);
  for (let i = 0; i < n; i += 2) {
    const down = i + 1 < n ? 1 : 0;
    for (let j = 0; j < m; j += 2) {
      const right = j + 1 < m ? 1 : 0,
        at = i * lc + j,
        under = at + down * lc;
      let s0 = c[at],
        s1 = c[at + right],
        t0 = c[under],
        t1 = c[under + right];
      for (let p = 0, x = i * ai, y = j * bj; p < k; p++, x += ap, y += bp) {
        const s = a[x],
          t = a[x + down * ai],
          b0 = b[y],
          b1 = b[y + right * bj];
        s0 += s * b0;
        s1 += s * b1;
        t0 += t * b0;
        t1 += t * b1;
      }
      c[at] = s0;
      c[at + right] = s1;
      c[under] = t0;
      c[under + right] = t1;
    }
  }
}

export const products = {
  // a · b, a · bᵀ, and aᵀ · b added to c
  ab: (a, la, b, lb, c, lc, ...nmk) => product(a, la, 1, b, lb, 1, c, lc, nmk, false),
  abT: (a, la, b, lb, c, lc, ...nmk) => product(a, la, 1, b, 1, lb, c, lc, nmk, false),
  aTb: (a, la, b, lb, c, lc, ...nmk) => product(a, 1, la, b, lb, 1, c, lc, nmk, true),
  // Each of the first n numbers x becomes e^(scale·(x − most)).
  exp(x, n, most = 0, scale = 1, from = 0) {
    for (let i = from; i < n; i++) x[i] = Math.exp(scale * (x[i] - most));
  },
};

// Bytes of all arrays of a model, and some more: what is not written to is never there.
const bytes = ({ V, T, C, H, L }, B) =>
  4 * B * T * (2 * V + (L + 1) * (40 * C + H * T)) + 16 * (V + T + 14 * L * C) * C + 2 ** 20;

// What a kernel in base64 exports, on this memory. Throws where a browser has no SIMD.
export function instance(code, memory) {
  const module = new WebAssembly.Module(Uint8Array.from(atob(code), (c) => c.charCodeAt(0)));
  return new WebAssembly.Instance(module, { js: { memory } }).exports;
}

// The products, on arrays in that memory.
export function productsOf(kernel) {
  const call = (name) => (a, la, b, lb, c, lc, n, m, k) =>
    kernel[name](a.byteOffset, 4 * la, b.byteOffset, 4 * lb, c.byteOffset, 4 * lc, n, m, k);
  function exp(x, n, most = 0, scale = 1) {
    const rest = n - (n % 4);
    kernel.exp(x.byteOffset, rest, most, scale);
    products.exp(x, n, most, scale, rest);
  }
  return { ab: call("ab"), abT: call("abT"), aTb: call("aTb"), exp };
}

// The products for a model of these sizes, and the memory in which the kernel wants its arrays. code:
// the kernel in base64; without it, or SIMD, or heads of a multiple of four numbers, there is no memory.
export function startKernel(code, sizes, B) {
  if ((sizes.C / sizes.H) % 4) return { products };
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes(sizes, B) / 2 ** 16) });
    return { products: productsOf(instance(code, memory)), memory };
  } catch {
    return { products };
  }
}
