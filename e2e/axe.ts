/** Axe in a page of the tests: one run of all rules, with one element of each style for the contrast, and copies of the frames. */
import { type AxeResults, type PartialResult, type RunOptions, source } from "axe-core";
import type { Frame, Page } from "playwright-core";
import { isLong } from "./kit.ts";

const options: RunOptions = { resultTypes: ["violations"] };

/** A document has axe already when a test looks at the document a second time. */
async function inject(page: Page): Promise<void> {
  if (await page.evaluate<boolean>("window.axe === undefined")) await page.evaluate(source);
}

/**
 * Marks one element of each style, and limits the rule `color-contrast` to the marked elements: this rule alone takes two thirds of
 * a run. A style is all that the rule reads: the text, the layers behind the text by the ancestors and by the place, and whether a
 * control is disabled. Elements with the same classes, too: two components are never one style.
 */
const markStyles = `(() => {
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-contrast]" }] });
  const layers = new Map();
  const layerOf = (element) => {
    const known = layers.get(element);
    if (known !== undefined) return known;
    const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(element);
    const isClear = backgroundColor === "rgba(0, 0, 0, 0)" && backgroundImage + filter === "nonenone" && opacity === "1";
    const layer = isClear ? "" : [backgroundColor, backgroundImage, opacity, filter].join();
    layers.set(element, layer);
    return layer;
  };
  const behind = new Map([[null, ""]]);
  const ancestorsOf = (element) => {
    const known = behind.get(element);
    if (known !== undefined) return known;
    const all = ancestorsOf(element.parentElement) + layerOf(element) + ";";
    const chain = all.endsWith(";;") ? all.slice(0, -1) : all;
    behind.set(element, chain);
    return chain;
  };
  const disabled = new Set([...document.querySelectorAll(":disabled, [aria-disabled='true']")].flatMap((control) => [
    control,
    ...(control.labels ?? []),
    ...(control.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)),
  ]));
  const isDisabled = (element) => element !== null && (disabled.has(element) || isDisabled(element.parentElement));
  const textOf = (element) => [...element.childNodes]
    .map((node) => (node.nodeType === Node.TEXT_NODE ? node.data : "")).join("").trim();
  const seen = new Set();
  for (const element of document.querySelectorAll("[data-contrast]")) element.removeAttribute("data-contrast");
  for (const element of document.querySelectorAll("body, body *")) {
    const text = textOf(element);
    if (text === "" && !element.matches("input, select, textarea")) continue;
    const { x, y, width, height } = element.getBoundingClientRect();
    const { color, fontSize, fontWeight, textShadow, visibility } = getComputedStyle(element);
    const stack = document.elementsFromPoint(x + width / 2, y + height / 2);
    const place = stack.map((other) => (other === element ? "*" : layerOf(other))).join(";");
    const style = [
      element.tagName, element.getAttribute("class"), color, fontSize, fontWeight, textShadow, visibility,
      text.length > 1, isDisabled(element), ancestorsOf(element), place,
    ].join("|");
    if (seen.has(style)) continue;
    seen.add(style);
    element.setAttribute("data-contrast", "");
  }
})()`;

/**
 * The results of axe in a frame of a page. Axe runs in a copy of the frame, because the sandbox of a frame stops the timers of axe.
 * @param context of the frame, from `axe.utils.getFrameContexts`.
 */
async function analyzeFrame(frame: Frame, context: unknown): Promise<PartialResult> {
  const page = frame.page();
  const copy = await page.context().newPage();
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  await copy.emulateMedia({ colorScheme: isDark ? "dark" : "light" });
  const box = await (await frame.frameElement()).boundingBox();
  if (box !== null) await copy.setViewportSize({ width: Math.ceil(box.width), height: Math.ceil(box.height) });
  await copy.setContent(await frame.content());
  await inject(copy);
  const partial = await copy.evaluate<PartialResult>(
    `axe.runPartial(${JSON.stringify(context)}, ${JSON.stringify(options)})`,
  );
  await copy.close();
  return partial;
}

interface FrameContext {
  readonly frameSelector: string;
  readonly frameContext: unknown;
}

/** The violations in a page and in its frames. In the long form, the contrast of each element. */
export async function analyze(page: Page): Promise<Pick<AxeResults, "violations">> {
  await inject(page);
  if (!isLong) await page.evaluate(markStyles);
  const given = JSON.stringify(options);
  if (page.frames().length === 1) return page.evaluate<AxeResults>(`axe.run(document, ${given})`);
  const frames = await page.evaluate<FrameContext[]>("axe.utils.getFrameContexts(document)");
  const partials = [await page.evaluate<PartialResult>(`axe.runPartial(document, ${given})`)];
  for (const { frameSelector, frameContext } of frames) {
    const frame = await (await page.locator(frameSelector).elementHandle())?.contentFrame();
    if (!frame) throw new Error(`${page.url()} has no frame at ${frameSelector}`);
    partials.push(await analyzeFrame(frame, frameContext));
  }
  return page.evaluate<AxeResults>(`axe.finishRun(${JSON.stringify(partials)}, ${given})`);
}
