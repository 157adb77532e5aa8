/** Users and files in the dashboard, in a real browser. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { png } from "../packages/server/test/images.ts";
import { complaintsOf, leave, openDashboard, settled, violationsOf } from "./dashboard.ts";
import { post, temporaryFolder, until } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [{ name: "covers", fields: [{ name: "image", type: "file" }], permissions: { read: "admin" } }],
});
afterAll(() => dashboard.server.stop());
const { api, server } = dashboard;
const folder = temporaryFolder();

interface Listed {
  items: { id: string; filename: string; visibility: string; email: string; role: string }[];
  total: number;
}
const files = async (): Promise<Listed> => (await api("GET", "/api/admin/storage")) as Listed;

test("an uploaded image shows its picture, becomes public after a question, names its records, and is deleted", async () => {
  const path = join(folder, "column.png");
  await Bun.write(path, png(300, 200));
  const page = await dashboard.open("/storage");
  await page.getByText("No files yet").waitFor();
  await page.locator("input[type=file]").first().setInputFiles(path);
  await page.getByText("1 upload over").waitFor();
  const { items } = await files();
  expect(items.map(({ filename, visibility }) => [filename, visibility])).toEqual([["column.png", "protected"]]);
  const id = items[0]?.id ?? "";
  await api("POST", "/api/covers", { image: id });
  await page.getByText("Pictures", { exact: true }).click();
  await page.locator('li img[src^="blob:"]').waitFor();
  expect(new URL(page.url()).searchParams.get("view")).toBe("grid");
  await page.getByRole("button", { name: /^column\.png/ }).click();
  const drawer = page.getByRole("dialog", { name: "column.png", exact: true });
  await drawer.getByRole("img", { name: "Preview of column.png" }).waitFor();
  await drawer.getByRole("link", { name: /^covers\.image/ }).waitFor();
  await drawer.getByText("Public", { exact: true }).click();
  const question = page.getByRole("dialog", { name: "Make column.png public?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  expect((await files()).items[0]?.visibility).toBe("protected");
  expect((await fetch(`${server.url}/api/storage/${id}`)).status).toBe(401);
  await drawer.getByText("Public", { exact: true }).click();
  await question.getByRole("button", { name: "Make the file public" }).click();
  await question.waitFor({ state: "detached" });
  expect((await fetch(`${server.url}/api/storage/${id}`)).status).toBe(200);
  await drawer.getByRole("button", { name: "Delete the file" }).click();
  const deletion = page.getByRole("dialog", { name: "Delete column.png?" });
  await deletion.getByText(/1 record uses the file/).waitFor();
  await deletion.getByRole("button", { name: "Delete the file" }).click();
  await page.getByText("No files yet").waitFor();
  expect((await files()).total).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a file that is too large is not sent, and the others are", async () => {
  await Bun.write(join(folder, "large.bin"), new Uint8Array(10 * 1_024 * 1_024 + 1));
  await Bun.write(join(folder, "note.txt"), "A note.");
  const page = await dashboard.open("/storage");
  await settled(page);
  await page
    .locator("input[type=file]")
    .first()
    .setInputFiles([join(folder, "large.bin"), join(folder, "note.txt")]);
  await page.getByText(/The file was not sent/).waitFor();
  await page.getByRole("button", { name: /^note\.txt/ }).click();
  await page.getByRole("dialog", { name: "note.txt", exact: true }).getByText("A note.").waitFor();
  expect((await files()).items.map(({ filename }) => filename)).toEqual(["note.txt"]);
  await leave(page);
});

test("a user is made, gets another role, another password, loses a session, and is deleted with the email typed", async () => {
  const page = await dashboard.open("/users?user=new");
  const form = page.getByRole("dialog", { name: "New user" });
  await form.getByLabel("Email").fill("no address");
  await form.getByLabel("Password", { exact: true }).fill("a long password");
  await form.getByRole("button", { name: "Create the user" }).click();
  expect(((await api("GET", "/api/admin/users")) as Listed).total).toBe(1);
  await form.getByLabel("Email").fill("grace@example.com");
  await form.getByRole("button", { name: "Create the user" }).click();
  const drawer = page.getByRole("dialog", { name: "grace@example.com", exact: true });
  await drawer.getByText("grace@example.com").first().waitFor();
  const login = (password: string) => post(`${server.url}/api/auth/login`, { email: "grace@example.com", password });
  const { accessToken } = (await (await login("a long password")).json()) as { accessToken: string };

  const roleOf = async (): Promise<string | undefined> =>
    ((await api("GET", "/api/admin/users?search=grace")) as Listed).items[0]?.role;
  await drawer.getByRole("combobox", { name: "Role" }).or(drawer.getByLabel("Role")).first().click();
  await page.getByRole("option", { name: /^Admin/ }).click();
  // A single click makes no user an admin.
  const promotion = page.getByRole("dialog", { name: "Make grace@example.com an admin?" });
  await promotion.getByRole("button", { name: "Cancel" }).click();
  await promotion.waitFor({ state: "detached" });
  expect(await roleOf()).toBe("authenticated");
  await drawer.getByRole("combobox", { name: "Role" }).or(drawer.getByLabel("Role")).first().click();
  await page.getByRole("option", { name: /^Admin/ }).click();
  await promotion.getByRole("button", { name: "Make admin" }).click();
  await until(async () => (await roleOf()) === "admin");

  await page.reload();
  await settled(page);
  await drawer.getByRole("button", { name: "End", exact: true }).first().click();
  const me = () => fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${accessToken}` } });
  await until(async () => (await me()).status === 401);

  await drawer.getByRole("button", { name: "Delete the user" }).click();
  const question = page.getByRole("dialog", { name: "Delete grace@example.com?" });
  const confirm = question.getByRole("button", { name: "Delete the user" });
  expect(await confirm.isDisabled()).toBe(true);
  await question.getByRole("textbox").fill("grace@example.com");
  await confirm.click();
  await question.waitFor({ state: "detached" });
  expect((await login("a long password")).status).toBe(401);
  await leave(page);
});

async function upload(file: Blob, name: string): Promise<string> {
  const form = new FormData();
  form.set("file", file, name);
  const headers = { Authorization: `Bearer ${dashboard.token}` };
  const response = await fetch(`${server.url}/api/storage/upload`, { method: "POST", headers, body: form });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

test("a picture without a preview is named as unpreviewable; a text is read no further than shown", async () => {
  const signature = new TextEncoder().encode("GIF89a");
  const large = new Uint8Array(2 * 1_024 * 1_024 + 1);
  large.set(signature);
  const gif = await upload(new Blob([large], { type: "image/gif" }), "large.gif");
  const broken = await upload(new Blob([signature], { type: "image/gif" }), "broken.gif");
  const cut = await upload(new Blob([png(300, 200).slice(0, 60)], { type: "image/png" }), "cut.png");
  const long = await upload(new Blob([`${"é".repeat(512 * 1_024)}The end`], { type: "text/plain" }), "long.txt");
  const page = await dashboard.open(`/storage?file=${gif}`);
  const fetched: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith(gif)) fetched.push(request.url());
  });
  await page.getByText(/Pictures of this type have a preview up to 2(\.0)? MiB/).waitFor();
  for (const id of [broken, cut]) {
    await page.goto(`${server.url}/_/storage?file=${id}`);
    await page.getByText("The picture cannot be shown.", { exact: false }).waitFor();
    // The parts of the drawer that load beside the picture may take longer; nothing goes on loading.
    await page.waitForFunction("document.querySelector('[role=dialog] .mantine-Skeleton-root') === null");
  }
  expect(fetched).toEqual([]);
  const answer = page.waitForResponse((response) => response.url().endsWith(`/api/storage/${long}`));
  await page.goto(`${server.url}/_/storage?file=${long}`);
  expect((await answer).status()).toBe(206);
  await page.getByText("Only the first 100 KiB are shown.").waitFor();
  const shown = await page.getByLabel("Preview of long.txt").innerText();
  expect(shown).toBe("é".repeat(50 * 1_024));
  for (const id of [gif, broken, cut, long]) await api("DELETE", `/api/storage/${id}`);
  await leave(page);
});

test("files of an owner are chosen on the page", async () => {
  const id = await upload(new Blob(["mine"]), "mine.txt");
  await api("POST", "/api/admin/users", { email: "other@example.com", password: "correct horse battery" });
  const page = await dashboard.open("/storage");
  await page.getByRole("button", { name: /^mine\.txt/ }).waitFor();
  const owner = page.getByPlaceholder("Any owner");
  await owner.click();
  await page.getByRole("option", { name: "other@example.com" }).click();
  await page.getByText("No file matches").waitFor();
  expect(new URL(page.url()).searchParams.get("user")).toStartWith("usr_");
  await owner.click();
  await page.getByRole("option", { name: "admin@example.com" }).click();
  await page.getByRole("button", { name: /^mine\.txt/ }).waitFor();
  await page.locator('button[aria-label="Any owner"]').click();
  await until(async () => !new URL(page.url()).searchParams.has("user"));
  expect(await violationsOf(page)).toEqual([]);
  await api("DELETE", `/api/storage/${id}`);
  await leave(page);
});

test("leaving the page asks while an upload is under way, and ends the upload only after a confirmation", async () => {
  const path = join(folder, "slow.bin");
  await Bun.write(path, new Uint8Array(64 * 1_024));
  const page = await dashboard.open("/storage");
  const release = Promise.withResolvers<void>();
  await page.route("**/api/storage/upload", async (route) => {
    await release.promise;
    await route.continue().catch(() => undefined);
  });
  await page.locator("input[type=file]").first().setInputFiles(path);
  await page.getByText("1 file on the way").waitFor();
  // Another view is the same page.
  await page.getByText("Pictures", { exact: true }).click();
  await page.waitForURL("**/storage?view=grid");
  await page.getByRole("link", { name: "Users" }).click();
  const question = page.getByRole("dialog", { name: "Files are on the way" });
  await question.getByText("the upload stops", { exact: false }).waitFor();
  await question.getByRole("button", { name: "Stay" }).click();
  await question.waitFor({ state: "detached" });
  await page.getByText("1 file on the way").waitFor();
  await page.getByRole("link", { name: "Users" }).click();
  await question.getByRole("button", { name: "Leave and stop" }).click();
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  release.resolve();
  // Once the uploads are over, nothing asks.
  await page.unroute("**/api/storage/upload");
  await page.getByRole("link", { name: "Storage" }).click();
  await page.locator("input[type=file]").first().setInputFiles(path);
  await page.getByText("1 upload over").waitFor();
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect((await files()).items.map(({ filename }) => filename).filter((name) => name === "slow.bin")).toHaveLength(1);
  await leave(page);
});
