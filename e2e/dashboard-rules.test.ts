/** The rules of a collection in the dashboard: expressions in the matrix, and the trial as another user. */
import { afterAll, describe, expect, test } from "bun:test";
import type { CollectionEntry, RecordList, StoredRecord, User } from "@socle/protocol";
import type { Page } from "playwright-core";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { post } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }], permissions: { read: "admin" } },
    {
      name: "members",
      fields: [
        { name: "team", type: "relation", collection: "teams", required: true },
        { name: "user", type: "relation", collection: "users", required: true },
        { name: "role", type: "string", regex: "^(owner|guest)$" },
      ],
      permissions: { read: "admin" },
    },
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "team", type: "relation", collection: "teams" },
        { name: "author", type: "relation", collection: "users", owner: true },
      ],
      permissions: {
        read: "team.members(team).user = @user.id",
        create: 'team.members(team)[user = @user.id && role != "guest"]',
        delete: "owner",
      },
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api, server } = dashboard;

async function register(email: string): Promise<User> {
  const answer = await post(`${server.url}/api/auth/register`, { email, password: "a long password" });
  return ((await answer.json()) as { user: User }).user;
}

async function make(name: string, body: object): Promise<string> {
  return ((await api("POST", `/api/${name}`, body)) as StoredRecord).id;
}

const guest = await register("guest@example.com");
const team = await make("teams", { name: "Garden" });
await make("members", { team, user: guest.id, role: "guest" });
const task = await make("tasks", { title: "Mend the roof", team });

const path = "/collections/tasks/schema?tab=permissions";

async function permissions(): Promise<CollectionEntry["permissions"]> {
  return ((await api("GET", "/api/admin/collections/tasks")) as CollectionEntry).permissions;
}

const editorOf = (page: Page, operation: string) => page.getByRole("textbox", { name: `Expression of ${operation}` });

/** Takes the marked completion. A list that has just opened takes no key, so that a user chooses no completion by accident. */
async function accept(page: Page, key = "Tab"): Promise<void> {
  await page.waitForTimeout(150);
  await page.keyboard.press(key);
}

describe("the matrix", () => {
  test("an expression is written with completion, corrected at the place that the service names, and applied", async () => {
    const page = await dashboard.open(path);
    const update = editorOf(page, "Update");
    expect(await update.count()).toBe(0);
    await page.getByText("By the rules above").waitFor();
    // By keyboard: the arrow goes on from the chosen word.
    await page.getByRole("radio", { name: "Update: Admin" }).click();
    await page.keyboard.press("ArrowRight");
    await update.waitFor();
    await page.waitForFunction("document.activeElement?.getAttribute('aria-label') === 'Expression of Update'");
    expect(await update.textContent()).toBe('@user.role = "admin"');
    await page.keyboard.press("Control+a");
    await page.keyboard.type("te");
    await page.getByRole("option", { name: /^team / }).waitFor();
    await page.keyboard.type("am.mem");
    await page.getByRole("option", { name: /^team\.members\(team\)/ }).waitFor();
    await accept(page);
    await page.keyboard.type("[ro");
    await page.getByRole("option", { name: /^role/ }).waitFor();
    await accept(page);
    await page.keyboard.type(" = ");
    await page.getByRole("option", { name: '"owner"' }).waitFor();
    await accept(page, "Enter");
    await page.keyboard.type(" && user = @us");
    await page.getByRole("option", { name: /^@user\.id/ }).waitFor();
    await accept(page);
    await page.keyboard.press("Control+End");
    await page.keyboard.type(' && titel = "x"');
    await page.keyboard.press("Escape");
    await page.getByRole("alert").filter({ hasText: 'did you mean "title"?' }).waitFor();
    expect(await page.locator(".cm-lintRange-error").textContent()).toBe("titel");
    expect(await update.getAttribute("aria-invalid")).toBe("true");
    for (let n = 0; n < ' && titel = "x"'.length; n++) await page.keyboard.press("Backspace");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByText("Checked before and after the change").waitFor();
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Collection tasks was changed").waitFor();
    expect((await permissions())?.update).toBe('team.members(team)[role = "owner" && user = @user.id]');
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  });

  test("a word on the way to an expression keeps the editor, and a word in its place gives the expression back", async () => {
    const page = await dashboard.open(path);
    const remove = editorOf(page, "Delete");
    await page.getByRole("radio", { name: "Delete: Expression" }).check();
    await remove.waitFor();
    expect(await remove.textContent()).toBe("author = @user.id");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("owner");
    await page.getByText("“owner” alone is the word, and no field.", { exact: false }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Backspace");
    await page.getByRole("alert").filter({ hasText: "An expression is missing" }).waitFor();
    expect(await page.getByRole("button", { name: "Review changes" }).isDisabled()).toBe(true);
    await page.keyboard.type("title = 'mine'");
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "Delete: Public" }).check();
    await remove.waitFor({ state: "detached" });
    await page.getByText("Anyone may delete any record.").waitFor();
    await page.getByRole("radio", { name: "Delete: Expression" }).check();
    expect(await remove.textContent()).toBe("title = 'mine'");
    expect((await permissions())?.delete).toBe("owner");
    await leave(page);
  });
});

describe("the rules of a field", () => {
  test("are chosen in its options, and an expression is corrected at the place that the service names", async () => {
    const page = await dashboard.open("/collections/tasks/schema");
    await page.getByRole("button", { name: "Options of title" }).click();
    await page.getByText("No rule of its own.", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Writers of the value" }).click();
    await page.getByRole("option", { name: "Expression" }).click();
    const editor = page.getByRole("textbox", { name: "Expression: Writers of the value" });
    await editor.waitFor();
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("autor = @user.id");
    await page.keyboard.press("Escape");
    await page.getByRole("alert").filter({ hasText: 'did you mean "author"?' }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("author = @user.id");
    await page.keyboard.press("Escape");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByText("own rules", { exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByText("Change the readers or writers of").waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("Collection tasks was changed").waitFor();
    const { fields } = (await api("GET", "/api/admin/collections/tasks")) as CollectionEntry;
    expect(fields.find(({ name }) => name === "title")?.permissions).toEqual({ update: "author = @user.id" });
    await page.getByRole("combobox", { name: "Writers of the value" }).click();
    await page.getByRole("option", { name: "As for reading" }).click();
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("own rules", { exact: true }).waitFor({ state: "detached" });
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  });
});

describe("effect of a change", () => {
  test("tells before saving who gains and loses records, and by which part of the rule; nothing is saved", async () => {
    const before = await permissions();
    const page = await dashboard.open(path);
    const show = page.getByRole("button", { name: "Show the effect" });
    expect(await show.count()).toBe(0);
    await page.getByRole("radio", { name: "Read: Owner" }).check();
    await page.getByRole("radio", { name: "Create: Admin" }).check();
    await show.click();
    const read = page.getByRole("region", { name: "Effect on Read" });
    await read.getByText("0 callers gain").waitFor();
    await read.getByText("1 caller loses").waitFor();
    const row = read.getByRole("row").filter({ hasText: guest.email ?? "" });
    expect(await row.getByRole("cell").allTextContents()).toEqual(["1", "0", "0", expect.stringContaining("−1")]);
    await row.locator("summary").click();
    await row.getByText("owner", { exact: true }).waitFor();
    expect(await row.getByRole("link").getAttribute("href")).toContain(task);
    await read.getByText("No change for 1 caller.").waitFor();
    await page.getByRole("region", { name: "Effect on Create" }).getByText("some records → no record").waitFor();
    // The choice of a further user is that of the trial; another draft has another effect.
    await page.getByRole("combobox", { name: "Also for" }).click();
    await page.getByRole("option", { name: "admin@example.com" }).click();
    await read.getByText("No change for 2 callers.").waitFor();
    await page.getByRole("radio", { name: "Read: Public" }).check();
    await read.waitFor({ state: "detached" });
    await show.waitFor();
    expect(await permissions()).toEqual(before);
    await page.getByRole("button", { name: "Review changes" }).click();
    const review = page.getByRole("dialog").getByRole("region", { name: "Effect on Read" });
    await review.getByText("1 caller gains").waitFor();
    const nobody = review.getByRole("row").filter({ hasText: "An anonymous caller" });
    expect(await nobody.getByRole("cell").allTextContents()).toEqual(["0", "1", expect.stringContaining("+1"), "0"]);
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await permissions()).toEqual(before);
    await page.getByRole("button", { name: "Discard changes" }).click();
    expect(await show.count()).toBe(0);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  });
});

describe("try as", () => {
  test("a refused change shows the part of the rule that refuses the change", async () => {
    const page = await dashboard.open(path);
    await page.getByLabel("User", { exact: true }).click();
    await page.getByRole("option", { name: /guest@example.com/ }).click();
    await page.getByRole("combobox", { name: "Request" }).selectOption("Change a record");
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Choose a record.").waitFor();
    await page.getByLabel("Record", { exact: true }).click();
    await page.getByRole("option", { name: /Mend the roof/ }).click();
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Refused", { exact: true }).waitFor();
    const rule = page.getByRole("region", { name: "Rule of Update, on the present record" });
    await rule.getByText("refuses").waitFor();
    const parts = await rule.locator("li li").allTextContents();
    expect(parts).toEqual(['role = "owner" false', "user = @user.id false"]);
    await page.getByRole("region", { name: "Rule of Read, on the present record" }).getByText("allows").waitFor();
    // The address holds the tried request.
    await page.reload();
    await settled(page);
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Refused", { exact: true }).waitFor();
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  });

  test("a list, and a creation of which nothing stays", async () => {
    const list = await dashboard.open(`${path}&as=${guest.id}`);
    await list.getByRole("button", { name: "Try", exact: true }).click();
    await list.getByText("1 record of the first page").waitFor();
    await list.getByRole("region", { name: "Answer" }).getByText("Mend the roof", { exact: false }).waitFor();
    await list
      .getByRole("button", { name: "Set User to null" })
      .or(list.getByRole("button", { name: /User.*null|clear/i }))
      .first()
      .click();
    await list.getByRole("button", { name: "Try", exact: true }).click();
    await list.getByText("0 records of the first page").waitFor();
    await leave(list);

    const creation = await dashboard.open(`${path}&attempt=create`);
    const body = creation.getByRole("textbox", { name: "Body" });
    await body.click();
    await creation.keyboard.press("Control+a");
    // The click comes before the browser draws the text: the request has the text all the same.
    await creation.evaluate(`(async () => {
      document.execCommand("insertText", false, "[1");
      for (let n = 0; n < 10; n++) await null;
      [...document.querySelectorAll("button")].find(({ innerText }) => innerText === "Try").click();
    })()`);
    await creation.getByText("The body must be a JSON object.").waitFor();
    await body.click();
    await creation.keyboard.press("Control+a");
    await creation.keyboard.insertText(JSON.stringify({ title: "Tried", team }));
    await creation.getByRole("button", { name: "Try", exact: true }).click();
    await creation.getByText("Refused", { exact: true }).waitFor();
    await creation.getByText(/401/).waitFor();
    expect(((await api("GET", "/api/tasks")) as RecordList).items.map(({ id }) => id)).toEqual([task]);
    await leave(creation);
  });
});

test.each([...looks])(
  "in $theme at $width px: axe finds nothing, nothing scrolls sideways",
  async ({ theme, width }) => {
    const page = await dashboard.open(`${path}&as=${guest.id}&attempt=update&record=${task}`, { theme, width });
    await page.getByRole("radio", { name: "Delete: Expression" }).check();
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "Read: Owner" }).check();
    await page.getByRole("button", { name: "Show the effect" }).click();
    await page.locator("summary").first().click();
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Refused", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    await leave(page);
  },
);
