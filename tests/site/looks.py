"""What an eye and a finger meet: contrast over tints and hatching, faces, sizes, a swipe."""

CLEAR = """selector => {
    const parse = text => {
        const [r, g, b, a = 1] = (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
        return text.startsWith("color(srgb") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
    };
    const over = (top, ground) =>
        [0, 1, 2].map(i => top[i] * top[3] + ground[i] * (1 - top[3]));
    const light = rgb => {
        const [r, g, b] = rgb.map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    // The colour behind an element, tints laid over one another; then with its hatching.
    const ground = e => {
        const behind = e.parentElement ? ground(e.parentElement)[0] : [255, 255, 255];
        const style = getComputedStyle(e), plain = over(parse(style.backgroundColor), behind);
        const stripes = style.backgroundImage.match(/(rgba?|color)\\([^)]*\\)/);
        return stripes ? [plain, over(parse(stripes[0]), plain)] : [plain];
    };
    const poor = [];
    for (const e of document.querySelectorAll(`${selector} *`)) {
        const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        if (!own || !e.checkVisibility() || e.closest("script, .visually-hidden")) continue;
        const style = getComputedStyle(e);
        const ink = parse(e instanceof SVGElement ? style.fill : style.color);
        for (const behind of ground(e)) {
            const [a, b] = [light(over(ink, behind)), light(behind)];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            const what = `${e.tagName}.${e.getAttribute("class")} ${ratio.toFixed(2)}`;
            if (ratio < 4.5) poor.push(`${what}: ${e.textContent.trim().slice(0, 30)}`);
        }
    }
    return poor.slice(0, 8);
}"""


def faces(page, selector: str) -> set[str]:
    """The faces in which the letters of an element are drawn."""
    page.evaluate("document.fonts.ready.then(() => null)")
    session = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        session.send(f"{domain}.enable")
    within = session.send("DOM.getDocument")["root"]["nodeId"]
    found = session.send("DOM.querySelector", {"nodeId": within, "selector": selector})
    fonts = session.send("CSS.getPlatformFontsForNode", {"nodeId": found["nodeId"]})["fonts"]
    session.detach()
    return {font["familyName"] for font in fonts}


LOADED = "e => e.complete || new Promise(done => { e.onload = e.onerror = done; })"
SMALLEST = 8  # pixels
SMALL = """least => {  // figures whose smallest text is less, and that do not open large
    const poor = [];
    for (const e of document.querySelectorAll("article svg text")) {
        if (!e.checkVisibility() || !e.textContent.trim() || e.closest(".gpt")) continue;
        const size = parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a,
            e.getScreenCTM().b);
        if (size < least - 0.05) poor.push(`${size.toFixed(1)}: ${e.textContent}`);
    }
    for (const e of document.querySelectorAll("article img")) {
        if (!e.checkVisibility() || e.closest(".explore-panels, a")) continue;
        const shrunk = e.clientWidth / Number(e.getAttribute("width")) < 0.95;
        const link = e.parentElement.querySelector(":scope > a.enlarge");  // panels may lie between
        if (shrunk && !link) poor.push(e.src.slice(-40));
    }
    return poor;
}"""


def too_small(page) -> list[str]:
    """What cannot be read of the figures of an open page, as narrow as a telephone."""
    for _ in range(100):  # links to enlarge come when a picture is seen to be shrunk
        if not (poor := page.evaluate(SMALL, SMALLEST)):
            break
        page.wait_for_timeout(100)
    return poor


def bring_to_middle(element) -> None:
    """Scroll an element to the middle of the window, until it stays there with all its fonts."""
    element.evaluate(
        """async element => {
            let at = "", still = 0;
            while (still < 3) {
                element.scrollIntoView({ block: "center", behavior: "instant" });
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                await document.fonts.ready;
                const now = `${scrollY} ${element.getBoundingClientRect().top}`;
                [at, still] = [now, now === at ? still + 1 : 0];
            }
        }"""
    )


def swipe(page, start, across: float, up: float = 0) -> float:
    """Put a finger on an element, draw it so many CSS pixels across and up, and lift it.

    Gives how far the page has scrolled under it.
    """
    bring_to_middle(start)
    scrolled = page.evaluate("scrollY")
    box = start.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)

    def send(kind: str, *at: tuple[float, float]):
        points = [{"x": x, "y": y} for x, y in at]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", (x, y))
    for part in (0.25, 0.5, 0.75, 1):
        send("touchMove", (x + part * across, y - part * up))
    send("touchEnd")
    finger.detach()
    return page.evaluate("scrollY") - scrolled
