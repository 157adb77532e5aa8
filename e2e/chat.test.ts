/** The example chat in a real browser, served by the executable. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { png } from "../packages/server/test/images.ts";
import { openWindow } from "./browser.ts";
import { copyExample, type Running, serve, temporaryFolder } from "./kit.ts";

const cwd = temporaryFolder();
copyExample("chat", cwd);

interface Tab {
  page: Page;
  /** Errors in the page. */
  problems: string[];
}

async function openTab(server: Running, options: Parameters<typeof openWindow>[0] = {}): Promise<Tab> {
  const page = await (await openWindow(options)).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(server.url);
  await page.getByText("live", { exact: true }).waitFor();
  return { page, problems };
}

async function signUp({ page }: Tab, name: string): Promise<void> {
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Email").fill(`${name}@example.com`);
  await page.getByLabel("Password").fill("a long password");
  await page.getByLabel("Name, if you are new").fill(name);
  await page.getByRole("button", { name: "Come in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

function texts({ page }: Tab): Promise<string[]> {
  return page.locator("#messages p").allTextContents();
}

test("two tabs see each other's messages and images, also across a restart", async () => {
  let server = await serve(cwd, { args: ["--port", "0"] });
  const port = new URL(server.url).port;
  const [ann, bob] = [await openTab(server), await openTab(server)];
  await signUp(ann, "ann");
  await ann.page.getByLabel("Name of a new room").fill("Garden");
  await ann.page.getByRole("button", { name: "Add" }).click();

  // A room, a message and a name arrive in the other tab without being asked for; markup stays text.
  await bob.page.getByRole("button", { name: "Garden" }).waitFor();
  await ann.page.getByLabel("Message").fill("Hello <b>Bob</b> 漢字");
  await ann.page.getByRole("button", { name: "Send" }).click();
  await bob.page.getByText("Hello <b>Bob</b> 漢字").waitFor();
  expect(await bob.page.locator("#messages b").count()).toBe(0);
  await bob.page.getByText(/^ann, /).waitFor();
  expect(await bob.page.getByLabel("Message").isVisible()).toBe(false);

  // The members of the room, and a member that types.
  for (const { page } of [ann, bob]) await page.getByText("2 here", { exact: true }).waitFor();
  await ann.page.getByLabel("Message").fill("typing");
  await bob.page.getByText("2 here, ann typing", { exact: true }).waitFor();
  await bob.page.getByText("2 here", { exact: true }).waitFor();
  await ann.page.getByLabel("Message").fill("");

  // An image, the other way.
  await signUp(bob, "bob");
  const image = { name: "garden.png", mimeType: "image/png", buffer: png(800, 400) };
  await bob.page.locator("#write input[type=file]").setInputFiles(image);
  await bob.page.getByRole("button", { name: "Send" }).click();
  const shown = ann.page.locator("#messages img");
  await shown.waitFor();
  await ann.page.waitForFunction("document.querySelector('#messages img').naturalWidth > 0");
  expect(await shown.evaluate((element: { naturalWidth: number }) => element.naturalWidth)).toBe(640);

  // A file that is no image is refused with a reason.
  await ann.page.getByLabel("Message").fill("x".repeat(10));
  await ann.page.locator("#write input[type=file]").setInputFiles({ ...image, buffer: Buffer.alloc(11_000_000) });
  await ann.page.getByRole("button", { name: "Send" }).click();
  await ann.page.getByText(/larger than 10485760 bytes/).waitFor();
  await ann.page.locator("#write input[type=file]").setInputFiles([]);

  const fake = { name: "fake.png", mimeType: "image/png", buffer: Buffer.from("only a text") };
  await ann.page.locator("#write input[type=file]").setInputFiles(fake);
  await ann.page.getByRole("button", { name: "Send" }).click();
  await ann.page.getByText("fake.png is not a PNG, JPEG or WebP image.").waitFor();
  await ann.page.locator("#write input[type=file]").setInputFiles([]);
  expect(await bob.page.locator("#messages li").count()).toBe(2);

  // A name that is taken: the dialog stays, and takes a further name.
  const eve = await openTab(server);
  await eve.page.getByRole("button", { name: "Sign in" }).click();
  await eve.page.getByLabel("Email").fill("eve@example.com");
  await eve.page.getByLabel("Password").fill("a long password");
  const nameField = eve.page.getByLabel("Name, if you are new");
  await nameField.fill("ann");
  await eve.page.getByRole("button", { name: "Come in" }).click();
  await eve.page.getByText("name is taken by another record").waitFor();
  await nameField.fill("eve");
  await eve.page.getByRole("button", { name: "Come in" }).click();
  await eve.page.locator("#me", { hasText: "eve" }).waitFor();

  // The service dies. Another user writes before the tabs are back; no message is missing, and no message appears twice.
  server.signal("SIGKILL");
  await server.exited;
  await bob.page.getByText("offline, reconnecting").waitFor();
  server = await serve(cwd, { args: ["--port", port] });
  await ann.page.getByRole("button", { name: "Send" }).click();
  await bob.page.getByText("x".repeat(10)).waitFor();
  await bob.page.getByText("live", { exact: true }).waitFor();
  await bob.page.getByLabel("Message").fill("back again");
  await bob.page.getByRole("button", { name: "Send" }).click();
  await ann.page.getByText("back again").waitFor();
  const expected = ["Hello <b>Bob</b> 漢字", "", "x".repeat(10), "back again"];
  expect(await texts(ann)).toEqual(expected);
  expect(await texts(bob)).toEqual(expected);

  // After signing out a user cannot write, and still reads.
  await bob.page.getByRole("button", { name: "Sign out" }).click();
  await bob.page.getByLabel("Message").waitFor({ state: "hidden" });
  await ann.page.getByLabel("Message").fill("still heard");
  await ann.page.getByRole("button", { name: "Send" }).click();
  await bob.page.getByText("still heard").waitFor();
  expect([...ann.problems, ...bob.problems]).toEqual([]);
  await server.stop();
});
