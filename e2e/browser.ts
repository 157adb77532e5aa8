/** The browser of the tests: a single browser for all windows of a file. */
import { afterAll } from "bun:test";
import type { Browser, BrowserContext } from "playwright-core";
import { launchBrowser } from "./chromium.ts";
import { patience } from "./kit.ts";

let browser: Promise<Browser> | undefined;

type Options = Parameters<Browser["newContext"]>[0];

/** The browser; another browser in place of a browser that has ended, or that did not start. */
async function openBrowser(): Promise<Browser> {
  const known = await browser?.catch(() => undefined);
  if (known?.isConnected() === true) return known;
  browser = launchBrowser();
  return browser;
}

/** A window that the caller closes. */
export async function newWindow(options: Options): Promise<BrowserContext> {
  const context = await (await openBrowser()).newContext(options);
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

afterAll(async () => {
  const opened = browser;
  // Another file of tests may follow.
  browser = undefined;
  await (await opened)?.close();
});
