// Sets formulas with MathJax in Node (book_mathjax.py runs it). Standard input holds JSON with
// {root, config, formulas: [[tex, display], ...]}; standard output gets {html: [...], css}.
"use strict";
const { root, config, formulas } = JSON.parse(require("fs").readFileSync(0, "utf-8"));

async function main() {
  await require(`${root}/node-main.js`).init({
    ...config,
    loader: { load: ["input/tex", "output/chtml", "output/chtml/fonts/tex", "a11y/assistive-mml"] },
    startup: { typeset: false },
  });
  const { MathJax } = globalThis, { adaptor } = MathJax.startup;
  const html = [];
  for (const [tex, display] of formulas) {
    html.push(adaptor.outerHTML(await MathJax.tex2chtmlPromise(tex, { display })));
  }
  const css = adaptor.textContent(MathJax.chtmlStylesheet());
  process.stdout.write(JSON.stringify({ html, css }));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
