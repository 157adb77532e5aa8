/** The dashboard in a real browser, on the built executable: the shared code of the end-to-end tests. */
import { afterAll } from "bun:test";
import type { Page } from "playwright-core";
import { analyze } from "./axe.ts";
import { newWindow } from "./browser.ts";
import { isLong, patience, post, project, type Running, serve } from "./kit.ts";

export const admin = { email: "admin@example.com", password: "correct horse battery" };

export interface Dashboard {
  readonly server: Running;
  readonly folder: string;
  /** The token of the admin. */
  readonly token: string;
  /** A request of the admin; fails the test when the service refuses the request. */
  api(method: string, path: string, body?: object): Promise<unknown>;
  /** Opens a signed-in window at a page. */
  open(path: string, options?: WindowOptions): Promise<Page>;
}

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

export interface WindowOptions {
  theme?: "light" | "dark";
  width?: number;
  height?: number;
}

const narrowAndDark = { theme: "dark", width: 390 } as const;

/**
 * The looks at a page: dark and narrow; in the long form, each theme in each width. `dashboard-pages.test.ts` has both themes and
 * both widths in each form.
 */
export const looks: readonly Required<Pick<WindowOptions, "theme" | "width">>[] = isLong
  ? [{ theme: "light", width: 1_280 }, narrowAndDark, { theme: "dark", width: 1_280 }, { theme: "light", width: 390 }]
  : [narrowAndDark];

/** Everything that a page has complained about: errors of scripts, refused requests of the content security policy. */
const complaints = new WeakMap<Page, string[]>();

export function complaintsOf(page: Page): string[] {
  return complaints.get(page) ?? [];
}

function listen(page: Page): void {
  const heard: string[] = [];
  complaints.set(page, heard);
  page.on("pageerror", (error) => heard.push(String(error)));
  page.on("console", (message) => {
    // A request that the service refuses is told by the page.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) heard.push(message.text());
  });
}

/** The pages that tests have left: without cookies, storage, listeners and mocks, at an address that asks the service for nothing. */
const leftPages = new Set<Page>();

/** An address at the origin of the service, without the dashboard. */
function quietAddress(url: string): string {
  return `${new URL(url).origin}/health`;
}

/**
 * Leaves a page for a later `open`, also of another file. A new window would start a process that compiles the scripts of the
 * dashboard again, which takes most of the time of a short test.
 */
export async function leave(page: Page): Promise<void> {
  await page.unrouteAll();
  for (const event of ["console", "pageerror", "request", "response"]) page.removeAllListeners(event);
  // A draft asks before the page goes.
  page.on("dialog", (dialog) => dialog.accept());
  await page.context().clearCookies();
  await page.goto(quietAddress(page.url()));
  await page.evaluate(() => {
    sessionStorage.clear();
    localStorage.clear();
  });
  page.removeAllListeners("dialog");
  leftPages.add(page);
}

/** A page that a test has left, or a page in a new window. Closed after the test, unless the test leaves the page. */
async function newPage(options: WindowOptions): Promise<Page> {
  const { theme = "light", width = 1_280, height = 860 } = options;
  const left = [...leftPages].find((page) => !page.isClosed());
  if (left !== undefined) leftPages.delete(left);
  const page = left ?? (await (await newWindow({})).newPage());
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme });
  afterAll(async () => {
    if (!leftPages.has(page)) await page.context().close();
  });
  return page;
}

/** A page without a signed-in user, in a window of its own or in a window that a test has left. */
export async function openAnonymously(url: string, options: WindowOptions = {}): Promise<Page> {
  const page = await newPage(options);
  listen(page);
  await page.goto(url);
  return page;
}

/** Starts a service with an admin. @param options.files paths in the folder with the content: functions, jobs. */
export async function openDashboard(
  options: { collections?: readonly object[]; config?: object; files?: Readonly<Record<string, string>> } = {},
): Promise<Dashboard> {
  const folder = await project(options);
  for (const [path, content] of Object.entries(options.files ?? {})) await Bun.write(`${folder}/${path}`, content);
  const env = { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password };
  return dashboardOf(await serve(folder, { env }), folder);
}

/** The dashboard of a running service with the admin `admin`. */
export async function dashboardOf(server: Running, folder: string): Promise<Dashboard> {
  const signIn = async (): Promise<Tokens> =>
    (await (await post(`${server.url}/api/auth/login`, admin)).json()) as Tokens;
  const { accessToken } = await signIn();
  let session: Tokens | undefined;
  /** The session of all windows: a sign-in costs a computation of the password's hash. Another session after the end of a session. */
  async function tokensOfWindow(): Promise<Tokens> {
    const headers = { Authorization: `Bearer ${session?.accessToken}` };
    if (session === undefined || !(await fetch(`${server.url}/api/auth/me`, { headers })).ok) session = await signIn();
    const { accessToken, refreshToken } = session;
    return { accessToken, refreshToken };
  }
  return {
    server,
    folder,
    token: accessToken,
    async api(method, path, body) {
      const response = await fetch(server.url + path, {
        method,
        headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.status === 204 ? null : response.json();
    },
    async open(path, window = {}) {
      const page = await newPage(window);
      const tokens = JSON.stringify(await tokensOfWindow());
      const quiet = quietAddress(server.url);
      if (page.url() !== quiet) await page.goto(quiet);
      await page.evaluate((kept) => sessionStorage.setItem("socle.tokens", kept), tokens);
      listen(page);
      await page.goto(`${server.url}/_${path}`);
      await settled(page);
      return page;
    },
  };
}

/** Resolves when the page shows its content, and no skeleton any more. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1:visible").first().waitFor();
  await loaded(page);
}

async function loaded(page: Page): Promise<void> {
  // Not by a function in the page: the content security policy allows no text to become code.
  const busy = page.locator('[aria-busy="true"]');
  for (const end = performance.now() + patience; (await busy.count()) > 0; await page.waitForTimeout(20))
    if (performance.now() > end) throw new Error(`${page.url()} still loads`);
}

/** Resolves when no dropdown is left that closes: a dropdown that fades out stands outside of the landmarks. */
async function closed(page: Page): Promise<void> {
  const closing = `[...document.querySelectorAll('[id$="-dropdown"]')].some((dropdown) =>
    dropdown.checkVisibility() && ![...document.querySelectorAll('[aria-expanded="true"][aria-controls]')]
      .some((owner) => dropdown.contains(document.getElementById(owner.getAttribute("aria-controls")))))`;
  for (const end = performance.now() + patience; await page.evaluate<boolean>(closing); await page.waitForTimeout(20))
    if (performance.now() > end) throw new Error(`${page.url()} has a dropdown that stays open without an owner`);
}

/** The violations that axe finds, a line per violation (WCAG 2.2 AA and best practices). */
export async function violationsOf(page: Page): Promise<string[]> {
  // A dialog that still fades in has other colours. Spinners turn without an end.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations()
       .filter(({ playState, effect }) => playState === "running" && effect?.getTiming().iterations !== Infinity)
       .map(({ finished }) => finished))`,
  );
  await loaded(page);
  await closed(page);
  const { violations } = await analyze(page);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes
      // A tooltip opens under a pointer that rests. The described element stands in a landmark.
      .filter(({ html }) => id !== "region" || !html.includes('role="tooltip"'))
      .map(({ target, failureSummary }) => `${id}: ${help} at ${target.join(" ")}: ${failureSummary}`),
  );
}

/**
 * Stops the ten seconds after which the open page sends a deletion, until the page loads again: on a busy machine, the test would
 * come to the buttons of the deletion too late.
 */
export async function keepUndo(page: Page): Promise<void> {
  await page.evaluate(`{
    const wait = window.setTimeout;
    window.setTimeout = (run, ms, ...rest) => (ms === 10_000 ? 0 : wait(run, ms, ...rest));
  }`);
}

/** Pixels by which the page is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
}
