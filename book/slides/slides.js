// Sets the letters of each slide as large as fit, cuts what is too long, and starts reveal.js, in
// whose 1280 × 720 pixels, scaled to the screen, a slide is laid out alike everywhere.
/* global Reveal */
const HEIGHT = 720;
const SIZES = [36, 32, 28];

const narrow = (slide) =>
  [...slide.children].every((part) => part.scrollWidth <= part.clientWidth + 1);

function fits(slide, size) {
  slide.style.fontSize = `${size}px`;
  return narrow(slide) && slide.scrollHeight <= HEIGHT;
}

function cut(slide) {
  if (SIZES.some((size) => fits(slide, size))) return;
  slide.classList.add("two"); // columns, of a key
  if (fits(slide, SIZES.at(-1))) return;
  slide.classList.remove("two");
  SIZES.some((size) => fits(slide, size) || narrow(slide));
  const next = slide.cloneNode(false);
  next.append(slide.firstElementChild.cloneNode(true));
  while (slide.scrollHeight > HEIGHT && slide.children.length > 2) {
    next.firstElementChild.after(slide.lastElementChild);
  }
  SIZES.some((size) => fits(slide, size)); // what stays may be one long list
  if (next.children.length > 1) {
    slide.after(next);
    cut(next);
  }
}

Promise.allSettled([...document.fonts].map((font) => font.load())).then(() => {
  document.body.classList.add("measured");
  document.querySelectorAll(".slides > section").forEach(cut);
  document.body.classList.remove("measured");
  Reveal.initialize({
    width: 1280,
    height: HEIGHT,
    margin: 0,
    center: false,
    controls: false,
    hash: true,
    slideNumber: true,
    transition: "none",
  });
});
