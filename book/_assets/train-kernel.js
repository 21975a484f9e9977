// Matrix products for the page that trains: train-kernel.wat, four numbers at a time, or the same in
// JavaScript where a browser has no SIMD. Rows begin `la`, `lb` and `lc` numbers apart, so that a head
// is read where it stands.
"use strict";

// A function, so that a worker can be given its text.
globalThis.bookKernelMade = () => {
  const products = {
    // c (n, m) = a (n, k) · b (k, m)
    ab(a, la, b, lb, c, lc, n, m, k) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) c[i * lc + j] = 0;
        for (let p = 0; p < k; p++) {
          const by = a[i * la + p];
          for (let j = 0, at = p * lb, to = i * lc; j < m; j++) c[to++] += by * b[at++];
        }
      }
    },
    // c (n, m) = a (n, k) · bᵀ, b (m, k)
    abT(a, la, b, lb, c, lc, n, m, k) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) {
          let sum = 0;
          for (let p = 0, at = i * la, by = j * lb; p < k; p++) sum += a[at++] * b[by++];
          c[i * lc + j] = sum;
        }
      }
    },
    // c (n, m) += aᵀ · b, a (k, n), b (k, m)
    aTb(a, la, b, lb, c, lc, n, m, k) {
      for (let p = 0; p < k; p++) {
        for (let i = 0; i < n; i++) {
          const by = a[p * la + i];
          for (let j = 0, at = p * lb, to = i * lc; j < m; j++) c[to++] += by * b[at++];
        }
      }
    },
    // Each of the first n numbers x becomes e^(scale·(x − most)).
    exp(x, n, most = 0, scale = 1, from = 0) {
      for (let i = from; i < n; i++) x[i] = Math.exp(scale * (x[i] - most));
    },
  };

  // Bytes of all arrays of a model, and some more: what is not written to is never there.
  const bytes = ({ V, T, C, H, L }, B) =>
    4 * B * T * (2 * V + (L + 1) * (40 * C + H * T)) + 16 * (V + T + 14 * L * C) * C + 2 ** 20;

  // The products for a model of these sizes, and the memory in which the kernel wants its arrays.
  // code: the kernel in base64; without it, or SIMD, or heads of a multiple
  // of four numbers, there is no memory.
  function start(code, sizes, B) {
    if ((sizes.C / sizes.H) % 4) return { products };
    try {
      const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes(sizes, B) / 2 ** 16) });
      const module = new WebAssembly.Module(Uint8Array.from(atob(code), (c) => c.charCodeAt(0)));
      const kernel = new WebAssembly.Instance(module, { js: { memory } }).exports;
      const call = (name) => (a, la, b, lb, c, lc, n, m, k) =>
        kernel[name](a.byteOffset, 4 * la, b.byteOffset, 4 * lb, c.byteOffset, 4 * lc, n, m, k);
      function exp(x, n, most = 0, scale = 1) {
        const rest = n - (n % 4);
        kernel.exp(x.byteOffset, rest, most, scale);
        products.exp(x, n, most, scale, rest);
      }
      return { products: { ab: call("ab"), abT: call("abT"), aTb: call("aTb"), exp }, memory };
    } catch {
      return { products };
    }
  }

  return { products, start };
};
