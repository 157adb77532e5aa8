/** Users in the dashboard: the whole account in the drawer, invitations, fields, the form of a new user, the grid, and the schema. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry, EventEntry, Page, StoredRecord, User, UserEntry, UserFactors } from "@socle/protocol";
import { bodyOf } from "../packages/server/test/smtp-sink.ts";
import { makeWholeUser, openAccountWorld, password } from "./account-world.ts";
import { admin, complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { post, until } from "./kit.ts";

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
const world = await openAccountWorld();
afterAll(() => world.dashboard.server.stop());

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
  await leave(page);
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
  await leave(page);
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
  await leave(page);
});

test("the schema of users locks the fields of the account, and has rules for reading and changing alone", async () => {
  const page = await dashboard.open("/collections/users/schema");
  await page.getByRole("list", { name: "Fields of the account" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Name of field email" }).count()).toBe(0);
  await page.getByRole("button", { name: "Options of email" }).click();
  await page.getByRole("combobox", { name: "Readers of the value" }).click();
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
  await leave(page);
});

test("the page of the users leads to the first definition, which the users of the service take over", async () => {
  const fresh = await openDashboard();
  const page = await fresh.open("/users");
  await page.getByRole("link", { name: "Add fields to users" }).click();
  await page.getByRole("textbox", { name: "Name of the field" }).fill("nick");
  await page.getByRole("button", { name: "Create collection" }).click();
  await page.getByRole("button", { name: "Create collection" }).waitFor({ state: "hidden" });
  await page.getByText("admin@example.com").first().waitFor();
  const stored = (await fresh.api("GET", "/api/admin/collections/users")) as CollectionEntry;
  expect(stored.definition.permissions).toEqual({ read: "owner", update: "owner" });
  expect(stored.fields.map(({ name }) => name)).toEqual(["email", "role", "verified", "nick"]);
  expect(stored.records).toBe(1);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
  await fresh.server.stop();
});

/** The types of the audit about a user, oldest first. */
async function auditOf(id: string): Promise<string[]> {
  const path = `/api/admin/events?type=admin.*&about=${id}`;
  const { items } = (await world.dashboard.api("GET", path)) as Page<EventEntry>;
  return items.map(({ type }) => type).reverse();
}

test("the drawer shows the factors, links, keys, sessions and mails of a user, and ends each part alone", async () => {
  const { dashboard, sink } = world;
  const [id, otherId] = [
    await makeWholeUser(world, "whole@example.com"),
    await makeWholeUser(world, "other@example.com"),
  ];
  const path = `/api/admin/users/${id}`;
  const factors = async (user = id): Promise<UserFactors> =>
    (await dashboard.api("GET", `/api/admin/users/${user}/factors`)) as UserFactors;
  const totalOf = async (noun: string): Promise<number> =>
    ((await dashboard.api("GET", `${path}/${noun}`)) as Page<object>).items.length;
  const page = await dashboard.open(`/users?user=${id}`);
  const drawer = page.getByRole("dialog", { name: "whole@example.com", exact: true });
  await drawer.getByText("10 recovery codes left").waitFor();
  await drawer.getByText("Verified", { exact: true }).waitFor();
  // The provider has proven the address.
  expect(await drawer.getByRole("button", { name: "Send verification" }).count()).toBe(0);
  const confirm = async (action: string): Promise<void> => {
    const button = page.getByRole("button", { name: action, exact: true });
    await button.click();
    await button.waitFor({ state: "hidden" });
  };

  await drawer.getByRole("button", { name: "Remove: Passkey Laptop" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect((await factors()).passkeys).toHaveLength(1);
  await drawer.getByRole("button", { name: "Remove: Passkey Laptop" }).click();
  await confirm("Remove the factor");
  await drawer.getByText("Passkey Laptop").waitFor({ state: "hidden" });
  expect(await factors()).toEqual({ totp: true, recoveryCodes: 10, passkeys: [] });
  await drawer.getByRole("button", { name: "Remove: Authenticator app" }).click();
  await confirm("Remove the factor");
  await drawer.getByText("No authenticator app and no passkey.").waitFor();

  await drawer.getByRole("button", { name: "Remove: my-oidc" }).click();
  await confirm("Remove the link");
  await drawer.getByText("The user signs in at no provider.").waitFor();
  expect(await totalOf("links")).toBe(0);

  await drawer.getByText("function:/report posts:read").waitFor();
  await drawer.getByRole("button", { name: "Delete the key nightly report" }).click();
  await confirm("Delete the key");
  await drawer.getByText("The user has no API key.").waitFor();
  expect(await totalOf("keys")).toBe(0);

  await drawer.getByText(/From 127\.0\.0\.1/).waitFor();
  await drawer.getByRole("button", { name: "End", exact: true }).click();
  await drawer.getByText("The user is not signed in anywhere.").waitFor();
  expect(((await dashboard.api("GET", path)) as UserEntry).sessions).toEqual([]);

  // Nothing of another user was touched.
  expect(await factors(otherId)).toMatchObject({ totp: true, recoveryCodes: 10, passkeys: [{ name: "Laptop" }] });
  expect(await auditOf(otherId)).toEqual([]);
  await until(() => sink.taken.filter((mail) => mail.to === "whole@example.com").length >= 8);
  await drawer.getByRole("link", { name: "All in the outbox" }).click();
  await page.getByRole("heading", { level: 1, name: "Mails" }).waitFor();
  await page.getByRole("button", { name: "whole@example.com" }).first().waitFor();
  expect(await page.getByRole("button", { name: "other@example.com" }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an admin sends a verification and a reset: only the user gets the links", async () => {
  const { dashboard, sink } = world;
  const email = "unproven@example.com";
  const made = (await dashboard.api("POST", "/api/admin/users", { email, password })) as User;
  const page = await dashboard.open(`/users?user=${made.id}`);
  const drawer = page.getByRole("dialog", { name: email, exact: true });
  await drawer.getByText("Not verified").waitFor();
  await drawer.getByRole("button", { name: "Send verification" }).click();
  await drawer.getByRole("link", { name: "Confirm your email address" }).first().waitFor();
  await drawer.getByRole("button", { name: "Send reset" }).click();
  await drawer.getByRole("link", { name: "Set a new password" }).waitFor();
  await until(
    () => sink.taken.filter((mail) => mail.to === email && /auth\/(verify|reset)/.test(bodyOf(mail))).length >= 2,
  );
  expect(sink.taken.filter((mail) => mail.to === "admin@example.com")).toEqual([]);
  const reset = sink.taken
    .map((mail) => (mail.to === email ? bodyOf(mail) : ""))
    .find((text) => /auth\/reset/.test(text));
  const token = /\?token=(\S+)/.exec(reset ?? "")?.[1] ?? "";
  expect(await page.content()).not.toContain(token);
  const changed = await post(`${dashboard.server.url}/api/auth/password/reset`, { token, password: "battery staple" });
  expect(changed.status).toBe(204);
  expect(await auditOf(made.id)).toEqual(["admin.user.created", "admin.user.verification", "admin.user.reset"]);
  await page.reload();
  // The link of the mail has proven the address.
  await drawer.getByText("Verified", { exact: true }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an invitation: a taken address is refused at the field, a free address gets the mail, and no user exists yet", async () => {
  const { dashboard, sink } = world;
  const page = await dashboard.open("/users");
  await page.getByRole("button", { name: "Invite" }).click();
  const drawer = page.getByRole("dialog", { name: "Invite a user" });
  expect(await drawer.getByLabel("Password").count()).toBe(0);
  const email = drawer.getByRole("textbox", { name: "Email" });
  await email.fill("admin@example.com");
  await drawer.getByRole("button", { name: "Send the invitation" }).click();
  await drawer.getByText(/already/).waitFor();
  await email.fill("guest@example.com");
  await drawer.getByRole("combobox", { name: "Role" }).click();
  await page.getByRole("option", { name: "Admin" }).click();
  await drawer.getByRole("button", { name: "Send the invitation" }).click();
  await page.getByText("guest@example.com is invited").waitFor();
  await drawer.waitFor({ state: "hidden" });
  await until(() => sink.taken.some(({ to }) => to === "guest@example.com"));
  const mail = sink.taken.find(({ to }) => to === "guest@example.com");
  const token = /auth\/invitation\?token=(\S+)/.exec(mail === undefined ? "" : bodyOf(mail))?.[1];
  const found = (await dashboard.api("GET", "/api/admin/users?search=guest")) as Page<User>;
  expect(found.total).toBe(0);
  const accepted = await post(`${dashboard.server.url}/api/auth/invitation`, { token, password });
  expect([accepted.status, ((await accepted.json()) as { user: User }).user.role]).toEqual([200, "admin"]);
  await leave(page);
});

test("a right that only a recent sign-in gives: the page asks, and changes nothing without the sign-in", async () => {
  const { dashboard } = world;
  const made = (await dashboard.api("POST", "/api/admin/users", { email: "rising@example.com", password })) as User;
  const roleOf = async (): Promise<string> =>
    ((await dashboard.api("GET", `/api/admin/users/${made.id}`)) as UserEntry).role;
  const page = await dashboard.open(`/users?user=${made.id}`);
  // The service refuses changes as for a sign-in of an hour ago, until the admin has signed in again.
  let isOld = true;
  await page.route(`**/api/admin/users/${made.id}`, async (route) => {
    if (route.request().method() !== "PATCH" || !isOld) return route.continue();
    const message = "This needs a sign-in that is at most 10 minutes old: sign in again.";
    const error = { code: "forbidden", message, details: [{ field: "", rule: "recent_login", message }] };
    return route.fulfill({ status: 403, json: { error } });
  });
  const question = page.getByRole("dialog", { name: "Sign in again to go on" });
  const promote = async (): Promise<void> => {
    await page.getByRole("combobox", { name: "Role" }).last().click();
    await page.getByRole("option", { name: "Admin" }).click();
    await page.getByRole("button", { name: "Make admin" }).click();
    await question.waitFor();
  };
  await promote();
  await question.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("This needs a sign-in that is at most 10 minutes old", { exact: false }).waitFor();
  expect(await roleOf()).toBe("authenticated");
  await promote();
  isOld = false;
  await question.getByLabel("Password", { exact: true }).fill(admin.password);
  await question.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("rising@example.com is an admin now").waitFor();
  expect(await roleOf()).toBe("admin");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("without mail, the buttons that mail give the reason", async () => {
  const { id } = await makeUser("mailless@example.com", { name: "Mo" });
  const page = await dashboard.open(`/users?user=${id}`);
  const drawer = page.getByRole("dialog", { name: "mailless@example.com", exact: true });
  await drawer.getByText("Needs mail.from and publicUrl in the configuration.").first().waitFor();
  for (const name of ["Send verification", "Send reset"])
    expect(await drawer.getByRole("button", { name }).isDisabled()).toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Invite" }).click();
  const form = page.getByRole("dialog", { name: "Invite a user" });
  await form.getByText("Needs mail.from and publicUrl in the configuration.").waitFor();
  expect(await form.getByRole("button", { name: "Send the invitation" }).isDisabled()).toBe(true);
  await leave(page);
});

test("the whole account is accessible and fits in each look", async () => {
  const id = await makeWholeUser(world, "looks@example.com");
  for (const { theme, width } of looks)
    for (const [name, path] of [
      ["account", `/users?user=${id}`],
      ["invite", "/users?user=invite"],
    ] as const) {
      const page = await world.dashboard.open(path, { theme, width, height: 1_600 });
      await page.getByRole("dialog").waitFor();
      expect([name, theme, width, await overflowOf(page)]).toEqual([name, theme, width, 0]);
      expect([name, theme, width, await violationsOf(page)]).toEqual([name, theme, width, []]);
      const folder = process.env["SHOTS"];
      if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${theme}-${width}.png` });
      await leave(page);
    }
});

test("the pages of users with fields are whole in each look", async () => {
  const { id } = await makeUser("dot@example.com", { name: "Dot", about: "A text.\n".repeat(4) });
  for (const { theme, width } of looks)
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
      await leave(page);
    }
});
