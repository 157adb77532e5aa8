/**
 * The first minute with Socle, recorded for the landing page of the site (`npm run screenshots`): the commands run in a new folder (the
 * executable in place of npx; with curl and jq), the answers are those of the executable, the pictures are of Chromium. Writes `site/first-minute/`.
 */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openWindow } from "../browser.ts";
import { admin } from "../dashboard.ts";
import { post, root, serve, socle, temporaryFolder, until } from "../kit.ts";

/** A step of the recording: a terminal with a text, or a picture in both themes. */
interface Step {
  readonly caption: string;
  readonly terminal?: string;
  readonly picture?: { readonly name: string; readonly alt: string; readonly width: number; readonly height: number };
}

const output = join(root, "site/first-minute");
const size = { width: 960, height: 600 };
const themes = ["light", "dark"] as const;

/** Lines without the times and the addresses of this run. */
function tidy(text: string, origin: string, folder: string): string {
  return text
    .replaceAll(origin, "http://127.0.0.1:8080")
    .replaceAll(folder, "my-app")
    .replaceAll(/^\d{4}-\S+Z /gm, "")
    .replaceAll(/token=\S+/g, "token=…")
    .replaceAll(/(rec|usr|evt)_[\w-]{30,}/g, "$1_…")
    .replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"…"')
    .trim();
}

/** Writes a picture of pages, side by side, as WebP, which Chromium makes in a canvas. */
async function shoot(pages: readonly Page[], name: string): Promise<void> {
  const shots = await Promise.all(pages.map(async (page) => (await page.screenshot()).toString("base64")));
  const [page] = pages;
  if (page === undefined) throw new Error("A picture needs a page");
  const canvas = await (await openWindow()).newPage();
  const url = await canvas.evaluate(
    `(async () => {
      const images = await Promise.all(${JSON.stringify(shots)}.map(async (shot) => {
        const image = new Image();
        image.src = "data:image/png;base64," + shot;
        await image.decode();
        return image;
      }));
      const canvas = document.createElement("canvas");
      canvas.width = images.reduce((sum, { width }) => sum + width, 0);
      canvas.height = images[0].height;
      const context = canvas.getContext("2d");
      context.fillStyle = "#808080";
      let x = 0;
      for (const image of images) {
        context.drawImage(image, x, 0);
        if (x > 0) context.fillRect(x - 1, 0, 2, canvas.height);
        x += image.width;
      }
      return canvas.toDataURL("image/webp", 0.85);
    })()`,
  );
  await Bun.write(join(output, name), Buffer.from(String(url).replace(/^data:image\/webp;base64,/, ""), "base64"));
  await canvas.context().close();
}

test("the first minute", async () => {
  mkdirSync(output, { recursive: true });
  const steps: Step[] = [];
  const parent = temporaryFolder();
  const made = await socle(["init", "my-app"], { cwd: parent });
  expect(made.code).toBe(0);
  const files = made.stdout.split("\n\n")[0] ?? "";
  steps.push({ caption: "Make a project", terminal: `$ npx socle init my-app\n${files}` });

  const cwd = join(parent, "my-app");
  const server = await serve(cwd, { args: ["dev", "--port", "0"] });
  await until(() => server.output().includes("The way to the first one"));
  const log = tidy(server.output(), server.url, cwd);
  const lines = log.split("\n").filter((line) => /Applied|Loaded|dashboard is|Listening/.test(line));
  steps.push({
    caption: "Serve the project: a changed file counts at once",
    terminal: `$ cd my-app && npx socle dev\n${lines.map((line) => line.replace(/^INFO +/, "").replace(/ \w+=.*$/, "")).join("\n")}`,
  });

  const shell = (...commands: string[]): string => {
    const script = commands.join("\n").replaceAll("localhost:8080", new URL(server.url).host);
    const child = Bun.spawnSync(["sh", "-e", "-c", script], { cwd });
    expect([script, child.exitCode]).toEqual([script, 0]);
    return child.stdout.toString();
  };
  const account = '{"email":"me@example.com","password":"a long password"}';
  const register = `TOKEN=$(curl -s localhost:8080/api/auth/register \\\n    --json '${account}' | jq -r .accessToken)`;
  const token = shell(register, 'printf "%s" "$TOKEN"');
  const create = (title: string): string =>
    `curl -s localhost:8080/api/notes -H "Authorization: Bearer $TOKEN" \\\n    --json '{"title":"${title}"}' | jq`;
  const withToken = `TOKEN='${token}'`;
  const body = tidy(shell(withToken, create("Hello")), server.url, cwd);
  steps.push({
    caption: "Create a record: the file collections/notes.json is the route",
    terminal: `$ ${register}\n$ ${create("Hello")}\n${body}`,
  });

  const code = `export const onCreate: OnCreate<"notes"> = async ({ record, db }) => {
  await db.notes.update(record.id, {
    title: record.title.toUpperCase(),
  });
};
`;
  await Bun.write(join(cwd, "functions/notes/shout.ts"), code);
  await until(() => server.output().includes("Reloaded functions"));
  await post(`${server.url}/api/notes`, { title: "Read the docs" }, { Authorization: `Bearer ${token}` });
  const second = `${create("Build something")} .title`;
  const first = shell(withToken, second);
  const newest = "curl -s 'localhost:8080/api/notes?limit=1' | jq .items[0].title";
  await until(() => shell(newest).includes("BUILD SOMETHING"));
  steps.push({
    caption: "Save a function: it runs after each change, in a process of its own",
    terminal: `$ cat functions/notes/shout.ts\n${code}$ ${second}\n${first}$ ${newest}\n${shell(newest).trim()}`,
  });

  expect((await socle(["admin", "create", admin.email, "--password", admin.password], { cwd })).code).toBe(0);
  const { accessToken, refreshToken } = (await (await post(`${server.url}/api/auth/login`, admin)).json()) as Record<
    "accessToken" | "refreshToken",
    string
  >;
  for (const colorScheme of themes) {
    const window = await openWindow({ viewport: size, colorScheme, deviceScaleFactor: 1.5 });
    await window.addInitScript(
      `sessionStorage.setItem("socle.tokens", ${JSON.stringify(JSON.stringify({ accessToken, refreshToken }))})`,
    );
    const page = await window.newPage();
    await page.goto(`${server.url}/_/collections/notes`);
    await page.getByText("BUILD SOMETHING").first().waitFor();
    await page.waitForTimeout(600);
    await shoot([page], `dashboard-${colorScheme}.webp`);
  }
  steps.push({
    caption: "See the records in the dashboard",
    picture: { name: "dashboard", alt: "The records of the collection notes in a table of the dashboard", ...size },
  });

  for (const colorScheme of themes) {
    const viewport = { width: size.width / 2, height: size.height };
    const open = async (): Promise<Page> => {
      const page = await (await openWindow({ viewport, colorScheme, deviceScaleFactor: 1.5 })).newPage();
      await page.goto(server.url);
      await page.getByText("BUILD SOMETHING").waitFor();
      return page;
    };
    const [ann, bob] = [await open(), await open()];
    for (const [page, name] of [
      [ann, "ann"],
      [bob, "bob"],
    ] as const) {
      await page.getByLabel("Email").fill(`${name}-${colorScheme}@example.com`);
      await page.getByLabel("Password").fill("a long password");
      await page.getByRole("button", { name: "Register" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
    }
    const title = colorScheme === "light" ? "Written in the left window" : "Seen in the right window";
    await ann.getByLabel("Title").fill(title);
    await ann.getByRole("button", { name: "Add" }).click();
    for (const page of [ann, bob]) await page.getByText(title.toUpperCase()).waitFor();
    await bob.getByLabel("Title").fill("Typed here");
    await shoot([ann, bob], `live-${colorScheme}.webp`);
  }
  steps.push({
    caption: "Open the page of the project in two windows: the list is live",
    picture: { name: "live", alt: "Two windows of the project's page show the same notes", ...size },
  });
  await Bun.write(join(output, "steps.json"), `${JSON.stringify(steps, null, 2)}\n`);
});
