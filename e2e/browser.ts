/** The browser of the tests: a single browser for all windows of a process, also of several files. */
import { afterAll } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import { atEndOfRun } from "../packages/server/test/run-end.ts";
import { launchBrowser } from "./chromium.ts";
import { patience } from "./kit.ts";

let browser: Promise<Browser> | undefined;

type Options = Parameters<Browser["newContext"]>[0];

/**
 * Starts a browser. The browser ends with this process, which holds the pipe of the browser: a hook of this module would end
 * the browser after the first of several files. The temporary files of the browser go after the end.
 */
async function launch(): Promise<Browser> {
  const files = mkdtempSync(join(tmpdir(), "socle-browser-"));
  atEndOfRun(`rm -rf '${files}'; sleep 5; rm -rf '${files}'`);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = files;
  try {
    return await launchBrowser();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}

function forget(): void {
  browser = undefined;
}

/** The browser; another browser in place of a browser that has ended, or that did not start. */
function openBrowser(): Promise<Browser> {
  browser ??= launch().then((launched) => launched.on("disconnected", forget));
  browser.catch(forget);
  return browser;
}

/** A window that the caller closes. The user wants little motion: an element that moves costs frames, and a click can miss the element. */
export async function newWindow(options: Options): Promise<BrowserContext> {
  const context = await (await openBrowser()).newContext({ reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(patience);
  return context;
}

/** A window of the test: no other test's cookies, storage or connections. Closed after the test. */
export async function openWindow(options: Options = {}): Promise<BrowserContext> {
  const context = await newWindow(options);
  // A page that stays open goes on asking the service of the test, and slows down the tests of later files.
  afterAll(() => context.close());
  return context;
}
