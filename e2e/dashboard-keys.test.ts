/** Service keys in the dashboard: made with scopes and an end, shown once, deleted; and the sign-in that a new key may need. */
import { afterAll, expect, test } from "bun:test";
import type { ApiKey, EventEntry, Page } from "@socle/protocol";
import { admin, complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "authenticated" } }],
});
afterAll(() => dashboard.server.stop());

async function keys(): Promise<ApiKey[]> {
  return ((await dashboard.api("GET", "/api/admin/keys")) as Page<ApiKey>).items;
}

/** The status of a list of posts with a key. */
async function statusWith(key: string): Promise<number> {
  const answer = await fetch(`${dashboard.server.url}/api/posts`, { headers: { Authorization: `Bearer ${key}` } });
  return answer.status;
}

test("a key is made with scopes and an end, shown once, works, and ends with its deletion", async () => {
  const page = await dashboard.open("/keys");
  await page.getByText("No service keys yet").waitFor();
  await page.getByRole("button", { name: "New key" }).first().click();
  const drawer = page.getByRole("dialog", { name: "New key" });
  await drawer.getByRole("textbox", { name: "Name" }).fill("deployment");
  const scopes = drawer.getByRole("combobox", { name: "Scopes" });
  await scopes.fill("nonsense");
  // The list of scopes closes, and covers no button.
  await page.keyboard.press("Tab");
  await drawer.getByRole("button", { name: "Create the key" }).click();
  await drawer.getByText(/scopes\[0\] must be/).waitFor();
  expect(await keys()).toEqual([]);
  await scopes.focus();
  await page.keyboard.press("Backspace");
  await scopes.fill("posts:r");
  await page.getByRole("option", { name: "posts:read" }).click();
  await page.keyboard.press("Tab");
  await drawer.getByRole("button", { name: "Create the key" }).click();
  await drawer.getByText("Copy the key now: it is not shown again.").waitFor();
  const key = (await drawer.getByRole("region", { name: "Key", exact: true }).locator("pre").textContent()) ?? "";
  expect(key).toMatch(/^sk_[\w-]{43}$/);
  expect(await statusWith(key)).toBe(200);
  expect(page.url()).not.toContain(key);
  await drawer.getByRole("button", { name: "Done" }).click();
  await drawer.waitFor({ state: "hidden" });
  await page.getByRole("cell", { name: "deployment", exact: true }).waitFor();
  expect(await page.content()).not.toContain(key);
  // The form begins anew.
  await page.keyboard.press("n");
  expect(await drawer.getByRole("textbox", { name: "Name" }).inputValue()).toBe("");
  expect(await page.content()).not.toContain(key);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });

  await page.getByRole("button", { name: "Delete the key deployment" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await statusWith(key)).toBe(200);
  await page.getByRole("button", { name: "Delete the key deployment" }).click();
  await page.getByRole("button", { name: "Delete the key", exact: true }).click();
  await page.getByText("No service keys yet").waitFor();
  expect(await statusWith(key)).toBe(401);
  const { items } = (await dashboard.api("GET", "/api/admin/events?type=admin.key.*")) as Page<EventEntry>;
  expect(items.map(({ type }) => type)).toEqual(["admin.key.deleted", "admin.key.created"]);
  expect(JSON.stringify(items)).not.toContain(key);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a key needs a recent sign-in: the page asks for the password, and goes on with the same values", async () => {
  const page = await dashboard.open("/keys?key=new");
  // The service refuses the first request as for a sign-in of an hour ago.
  let isFirst = true;
  await page.route("**/api/admin/keys", async (route) => {
    if (route.request().method() !== "POST" || !isFirst) return route.continue();
    isFirst = false;
    const message = "This needs a sign-in that is at most 10 minutes old: sign in again.";
    const error = { code: "forbidden", message, details: [{ field: "", rule: "recent_login", message }] };
    return route.fulfill({ status: 403, json: { error } });
  });
  const drawer = page.getByRole("dialog", { name: "New key" });
  await drawer.getByRole("textbox", { name: "Name" }).fill("report");
  await drawer.getByRole("combobox", { name: "Scopes" }).fill("function:/report");
  await page.keyboard.press("Tab");
  await drawer.getByLabel("Expires").fill("2020-01-31");
  await drawer.getByRole("button", { name: "Create the key" }).click();
  const question = page.getByRole("dialog", { name: "Sign in again to go on" });
  await question.waitFor();
  await question.locator("input[type=password]:focus").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // Without the sign-in, the refusal stands in the form.
  await question.getByRole("button", { name: "Cancel" }).click();
  await drawer.getByText("This needs a sign-in that is at most 10 minutes old", { exact: false }).waitFor();
  isFirst = true;
  await drawer.getByRole("button", { name: "Create the key" }).click();
  expect(await question.getByLabel("Email").inputValue()).toBe(admin.email);
  await question.getByLabel("Password", { exact: true }).fill("wrong horse");
  await question.getByRole("button", { name: "Sign in" }).click();
  await question.getByText("The email or the password is wrong.").waitFor();
  expect(await keys()).toEqual([]);
  await question.getByLabel("Password", { exact: true }).fill(admin.password);
  await question.getByRole("button", { name: "Sign in" }).click();
  await question.waitFor({ state: "hidden" });
  // The first request did not reach the service: the refusal of the day comes now.
  await drawer.getByText(/expiresAt must be a datetime in the future/).waitFor();
  expect(await drawer.getByRole("textbox", { name: "Name" }).inputValue()).toBe("report");
  await drawer.getByLabel("Expires").fill("2040-01-31");
  await drawer.getByRole("button", { name: "Create the key" }).click();
  await drawer.getByText("Copy the key now: it is not shown again.").waitFor();
  const [made] = await keys();
  expect(made).toMatchObject({
    name: "report",
    scopes: ["function:/report"],
    expiresAt: expect.stringMatching(/^2040-(01-31|02-01)T/),
  });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the page of keys is accessible and fits in each look", async () => {
  const name = "a key with a name that is rather long for a phone";
  await dashboard.api("POST", "/api/admin/keys", {
    name,
    scopes: ["posts:read", "posts:write", "function:/a/long/path"],
  });
  for (const { theme, width } of looks)
    for (const path of ["/keys", "/keys?key=new"]) {
      const page = await dashboard.open(path, { theme, width, height: 800 });
      await settled(page);
      expect([path, theme, width, await overflowOf(page)]).toEqual([path, theme, width, 0]);
      expect([path, theme, width, await violationsOf(page)]).toEqual([path, theme, width, []]);
      const folder = process.env["SHOTS"];
      if (folder !== undefined) await page.screenshot({ path: `${folder}/keys${path.length}-${theme}-${width}.png` });
      await leave(page);
    }
});
