// Sets formulas with MathJax in Node (maths.py calls it): {root, config, formulas: [[tex, display], ...]}
// to {html: [...], css}. Formulas on lines of their own and long ones say their size, so that a
// browser can lay them out once they come near.
"use strict";
const LONG = 4000; // characters of HTML

globalThis.typeset = async ({ root, config, formulas }) => {
  await require(`${root}/node-main.js`).init({
    ...config,
    loader: { load: ["input/tex", "output/chtml", "output/chtml/fonts/tex", "a11y/assistive-mml"] },
    startup: { typeset: false },
  });
  const { MathJax } = globalThis,
    { adaptor, document, output } = MathJax.startup;
  const size = (tex, display) => {
    const formula = new document.options.MathItem(tex, document.inputJax[0], display);
    formula.setMetrics(16, 8, 1e6, 1e6, 1);
    formula.compile(document);
    const { w, h, d } = output.getBBox(formula, document);
    const box = `contain-intrinsic-size:${w.toFixed(2)}em ${(h + d).toFixed(2)}em`;
    return display ? box : `${box};vertical-align:${(-d).toFixed(3)}em`; // a box has no baseline
  };
  const html = [];
  for (const [tex, display] of formulas) {
    const node = await MathJax.tex2chtmlPromise(tex, { display });
    if (display || adaptor.outerHTML(node).length > LONG) {
      adaptor.setAttribute(adaptor.firstChild(node), "style", size(tex, display));
    }
    html.push(adaptor.outerHTML(node));
  }
  return { html, css: adaptor.textContent(MathJax.chtmlStylesheet()) };
};
