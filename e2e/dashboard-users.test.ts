/** Users with fields in the dashboard: the drawer of a user, the form of a new user, the grid, and the schema. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry, StoredRecord, User } from "@socle/protocol";
import { complaintsOf, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const users = {
  name: "users",
  fields: [
    { name: "name", type: "string", required: true, max: 40, default: "somebody" },
    { name: "phone", type: "string", regex: "^[0-9 +]*$" },
    { name: "manager", type: "relation", collection: "users" },
    { name: "plan", type: "string", values: ["free", "pro"], default: "free" },
    { name: "about", type: "text" },
  ],
  permissions: { read: "authenticated" },
};
const dashboard = await openDashboard({ collections: [users] });
afterAll(() => dashboard.server.stop());

async function makeUser(email: string, fields: object): Promise<User> {
  const body = { email, password: "correct horse", ...fields };
  return (await dashboard.api("POST", "/api/admin/users", body)) as User;
}

async function fieldsOf(id: string): Promise<StoredRecord> {
  return (await dashboard.api("GET", `/api/users/${id}`)) as StoredRecord;
}

test("the drawer of a user shows the fields and saves changes; a refusal stands at the field", async () => {
  const { id } = await makeUser("ann@example.com", { name: "Ann", phone: "030 123" });
  const page = await dashboard.open(`/users?user=${id}`);
  const drawer = page.getByRole("dialog");
  const name = drawer.getByRole("textbox", { name: "name", exact: true });
  await name.fill("Anna");
  await drawer.getByRole("textbox", { name: "phone" }).fill("none");
  await drawer.getByRole("button", { name: "Save the fields" }).click();
  await drawer.getByText(/phone.*match/).waitFor();
  expect(await fieldsOf(id)).toMatchObject({ name: "Ann", phone: "030 123" });
  await drawer.getByRole("textbox", { name: "phone" }).fill("040 9");
  await drawer.getByRole("button", { name: "Save the fields" }).click();
  await page.getByText("The fields are saved").waitFor();
  expect(await fieldsOf(id)).toMatchObject({ name: "Anna", phone: "040 9", email: "ann@example.com" });
  expect(await drawer.getByRole("textbox", { name: "email" }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
});

test("a new user gets the fields with the account; problems of both stand at their controls", async () => {
  const page = await dashboard.open("/users?user=new");
  const drawer = page.getByRole("dialog");
  await drawer.getByRole("textbox", { name: "Email" }).fill("ben@example.com");
  await drawer.getByRole("textbox", { name: "Password" }).fill("short");
  await drawer.getByRole("textbox", { name: "name", exact: true }).fill("x".repeat(41));
  await drawer.getByRole("button", { name: "Create the user" }).click();
  await drawer.getByText(/at least 8 characters long/).waitFor();
  await drawer.getByText(/name.*at most 40/).waitFor();
  expect(await drawer.getByText("Not saved").count()).toBe(0);
  await drawer.getByRole("textbox", { name: "Password" }).fill("correct horse");
  await drawer.getByRole("textbox", { name: "name", exact: true }).fill("Ben");
  await drawer.getByRole("button", { name: "Create the user" }).click();
  await drawer.getByText("ben@example.com").first().waitFor();
  const id = new URL(page.url()).searchParams.get("user") ?? "";
  expect(await fieldsOf(id)).toMatchObject({ name: "Ben", plan: "free", email: "ben@example.com" });
  await page.context().close();
});

test("the grid of users edits fields, and makes and deletes no user", async () => {
  await makeUser("cay@example.com", { name: "Cay" });
  const page = await dashboard.open("/collections/users");
  await page.getByText("cay@example.com").waitFor();
  await page.getByText("cay@example.com").click();
  // In a cell that is edited, the letter would be a part of the value.
  await page.keyboard.press("Enter");
  await page.keyboard.press("o");
  const drawer = page.getByRole("dialog");
  await drawer.getByRole("textbox", { name: "name", exact: true }).waitFor();
  expect(await drawer.getByRole("textbox", { name: "email" }).count()).toBe(0);
  expect(await drawer.getByRole("button", { name: "Delete" }).count()).toBe(0);
  await drawer.getByRole("link", { name: "Account" }).waitFor();
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Actions" }).first().click();
  await page.getByRole("menuitem", { name: /Export/ }).waitFor();
  expect(await page.getByRole("menuitem", { name: /Import/ }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "New user" }).click();
  await page.waitForURL(/\/users\?user=new/);
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
});

test("the schema of users locks the fields of the account, and has rules for reading and changing alone", async () => {
  const page = await dashboard.open("/collections/users/schema");
  await page.getByRole("list", { name: "Fields of the account" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Name of field email" }).count()).toBe(0);
  await page.getByRole("button", { name: "Options of email" }).click();
  await page.getByRole("combobox", { name: "Who may read the value" }).click();
  await page.getByRole("option", { name: "Authenticated" }).click();
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply changes" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByText("read: authenticated").waitFor();
  const stored = (await dashboard.api("GET", "/api/admin/collections/users")) as { fields: { permissions?: object }[] };
  expect(stored.fields[0]?.permissions).toEqual({ read: "authenticated" });
  await page.getByRole("tab", { name: "Permissions" }).click();
  await page.getByRole("radio", { name: "Update: Owner" }).waitFor();
  expect(await page.getByRole("radio", { name: /^(Create|Delete):/ }).count()).toBe(0);
  expect(await page.getByRole("radio", { name: /Not set/ }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
});

test("the page of the users leads to the first definition, which the users of the service take over", async () => {
  const fresh = await openDashboard();
  const page = await fresh.open("/users");
  await page.getByRole("link", { name: "Add fields to users" }).click();
  await page.getByRole("textbox", { name: "Name of the field" }).fill("nick");
  await page.getByRole("button", { name: "Create collection" }).click();
  await page.getByText("admin@example.com").first().waitFor();
  const stored = (await fresh.api("GET", "/api/admin/collections/users")) as CollectionEntry;
  expect(stored.definition.permissions).toEqual({ read: "owner", update: "owner" });
  expect(stored.fields.map(({ name }) => name)).toEqual(["email", "role", "verified", "nick"]);
  expect(stored.records).toBe(1);
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
  await fresh.server.stop();
});

test("the pages of users with fields are whole in both themes, wide and narrow", async () => {
  const { id } = await makeUser("dot@example.com", { name: "Dot", about: "A text.\n".repeat(4) });
  for (const theme of ["light", "dark"] as const)
    for (const width of [1_280, 390])
      for (const [name, path] of [
        ["drawer", `/users?user=${id}`],
        ["new", "/users?user=new"],
        ["grid", "/collections/users"],
        ["record", `/collections/users?record=${id}`],
        ["schema", "/collections/users/schema"],
        ["rules", "/collections/users/schema?tab=permissions"],
      ] as const) {
        const page = await dashboard.open(path, { theme, width, height: 860 });
        await settled(page);
        expect([name, theme, width, await overflowOf(page)]).toEqual([name, theme, width, 0]);
        expect([name, theme, width, await violationsOf(page)]).toEqual([name, theme, width, []]);
        const folder = process.env["SHOTS"];
        if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${theme}-${width}.png` });
        await page.context().close();
      }
});
