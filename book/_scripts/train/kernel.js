// Matrix products for the page that trains: kernel.wat, four numbers at a time, or the same in
// JavaScript where a browser has no SIMD. Rows begin `la`, `lb` and `lc` numbers apart, so that a head
// is read where it stands.

// c (n, m) = a (n, k) · b (k, m), added to what c holds if `more`; from one row of a to the next are
// `ai` numbers, from one column to the next `ap`, and of b `bp` and `bj`.
function product(a, ai, ap, b, bp, bj, c, lc, [n, m, k], more) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let sum = more ? c[i * lc + j] : 0;
      for (let p = 0; p < k; p++) sum += a[i * ai + p * ap] * b[p * bp + j * bj];
      c[i * lc + j] = sum;
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
