// Makes MathML of formulas, with MathJax in Node (prose.py runs it). Standard input holds JSON with
// {root, formulas: [[tex, display], ...]}; standard output gets a list with the MathML of each, or
// null where MathJax cannot read it. No macros, no links, no styles: formulas are students'.
"use strict";
const { root, formulas } = JSON.parse(require("fs").readFileSync(0, "utf-8"));

async function main() {
  await require(`${root}/node-main.js`).init({
    loader: { load: ["input/tex-base", "[tex]/ams", "adaptors/liteDOM"] },
    tex: { packages: ["base", "ams"] },
    startup: { typeset: false },
  });
  const made = formulas.map(([tex, display]) => {
    try {
      const html = globalThis.MathJax.tex2mml(tex, { display });
      return /<merror| (style|href|id|class)="/.test(html) ? null : html; // \mmlToken can set these
    } catch {
      return null;
    }
  });
  process.stdout.write(JSON.stringify(made));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
