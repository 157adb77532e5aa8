/** The page of the example tracker: people in separate browsers. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openWindow } from "./browser.ts";
import { overflowOf, violationsOf } from "./dashboard.ts";
import { until } from "./kit.ts";
import { proxyTo } from "./proxy.ts";
import { startTracker } from "./tracker-kit.ts";

const server = await startTracker();

const problems: string[] = [];

async function openPage(path = "", url = server.url): Promise<Page> {
  const page = await (await openWindow()).newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`${url}/${path}`);
  return page;
}

async function signUp(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "I am new here" }).click();
  await page.getByLabel("Email", { exact: true }).fill(`${name}@example.net`);
  await page.getByLabel("Password").fill("a long password");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Make an account" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

test("two people work in a workspace, and a third sees nothing of the workspace", async () => {
  const [carol, eve] = [await openPage(), await openPage()];
  await signUp(carol, "Carol");
  await signUp(eve, "Eve");
  await carol.getByLabel("Name of a new workspace").fill("Garden <b>1</b>");
  await carol.locator("#new-workspace button").click();
  await carol.getByRole("heading", { name: "Garden <b>1</b>" }).waitFor();
  await carol.getByLabel("Name of a new project").fill("Greenhouse");
  await carol.locator("#new-project button").click();
  await carol.getByLabel("Title of a new issue").fill("Mend the roof");
  await carol.getByRole("button", { name: "Create" }).click();
  await carol.getByRole("region", { name: "To do" }).getByText("Mend the roof").waitFor();

  // By a link, for an address.
  await carol.getByRole("button", { name: "Members" }).click();
  await carol.getByLabel("Email, or nothing").fill("dave@example.net");
  await carol.getByRole("button", { name: "Invite" }).click();
  const link = await carol.getByLabel("Link of the invitation").inputValue();
  const token = new URL(link).hash;
  await eve.goto(`${server.url}/${token}`);
  await eve.getByText(/This invitation is over/).waitFor();
  expect(await violationsOf(carol)).toEqual([]);
  const dave = await openPage(token);
  await signUp(dave, "Dave");
  await dave.getByRole("heading", { name: "Garden <b>1</b>" }).waitFor();
  expect(dave.url()).not.toContain("join");
  await carol.getByText("Dave", { exact: true }).waitFor();
  await carol.locator("#members .close").click();

  // Changes by one user arrive at the other.
  await dave.getByRole("button", { name: "Start “Mend the roof”" }).click();
  await carol.getByRole("region", { name: "In progress" }).getByText("Mend the roof").waitFor();
  await carol.getByRole("button", { name: "Mend the roof", exact: true }).click();
  await carol.getByLabel("Assigned to").selectOption("Dave");
  await carol.getByLabel("Description").fill("Before winter");
  await carol.getByLabel("Comment", { exact: true }).fill("Can you?");
  await carol.getByRole("button", { name: "Send" }).click();
  await dave.getByText("Greenhouse · Dave").waitFor();
  await dave.getByRole("button", { name: "Mend the roof", exact: true }).click();
  await dave.getByText("Can you?").waitFor();
  expect(await violationsOf(dave)).toEqual([]);
  expect(await dave.getByLabel("Title", { exact: true }).inputValue()).toBe("Mend the roof");
  // The comment and the description are two requests, shown by two live queries: the comment may be shown first.
  await until(async () => (await dave.getByLabel("Description").inputValue()) === "Before winter");
  await dave.locator("#issue .close").click();
  await dave.getByRole("button", { name: "Close “Mend the roof”" }).click();
  await carol.locator("#issue .close").click();
  await carol.getByRole("region", { name: "Done" }).getByText("Mend the roof").waitFor();
  expect(await violationsOf(carol)).toEqual([]);
  await carol.setViewportSize({ width: 390, height: 800 });
  expect(await overflowOf(carol)).toBeLessThanOrEqual(0);

  // A role counts at once; a removed member sees nothing any more.
  await carol.getByRole("button", { name: "Members" }).click();
  await carol.getByLabel("Role of Dave").selectOption("guest");
  await dave.getByLabel("Title of a new issue").waitFor({ state: "hidden" });
  await carol.getByRole("button", { name: "Remove Dave" }).click();
  await dave.getByText("You are in no workspace yet").waitFor();
  await carol.locator("#members .close").click();
  await carol.locator(".foot", { hasText: /^GreenhouseReopen$/ }).waitFor();

  // The third user saw nothing all the while, and a reload brings the first user back to the same place.
  await eve.getByText("You are in no workspace yet").waitFor();
  expect(await eve.content()).not.toContain("Greenhouse");
  await carol.reload();
  await carol.getByRole("region", { name: "Done" }).getByText("Mend the roof").waitFor();
  await carol.getByRole("button", { name: "Sign out" }).click();
  await carol.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await carol.content()).not.toContain("Greenhouse");
  expect(problems).toEqual([]);
});

test("a browser that was offline shows the missed changes, with the rights of that moment", async () => {
  const network = await proxyTo(server.url);
  const ann = await openPage();
  await signUp(ann, "Ann");
  await ann.getByLabel("Name of a new workspace").fill("Orchard");
  await ann.locator("#new-workspace button").click();
  await ann.getByLabel("Name of a new project").fill("Apples");
  await ann.locator("#new-project button").click();
  const add = async (title: string): Promise<void> => {
    await ann.getByLabel("Title of a new issue").fill(title);
    await ann.getByRole("button", { name: "Create" }).click();
    await ann.getByRole("region", { name: "To do" }).getByText(title).waitFor();
  };
  await add("Prune");
  await add("Pick");
  await ann.getByRole("button", { name: "Members" }).click();
  await ann.getByRole("button", { name: "Invite" }).click();
  const link = await ann.getByLabel("Link of the invitation").inputValue();
  const ben = await openPage(new URL(link).hash, network.url);
  await signUp(ben, "Ben");
  await ben.getByRole("region", { name: "To do" }).getByText("Prune").waitFor();
  expect(await ben.getByLabel("Title of a new issue").isVisible()).toBe(true);

  await network.cut();
  await ben.getByText("offline, reconnecting").waitFor();
  // A change without the service is taken back, with the reason.
  await ben.getByRole("button", { name: "Start “Pick”" }).click();
  await ben.getByText("The service cannot be reached").waitFor();
  await ben.getByRole("region", { name: "To do" }).getByText("Pick").waitFor();
  expect(await ben.getByRole("region", { name: "In progress" }).getByRole("listitem").count()).toBe(0);

  await ann.getByLabel("Role of Ben").selectOption("guest");
  await ann.locator("#members .close").click();
  await ann.getByRole("button", { name: "Start “Prune”" }).click();
  await add("Press");
  // The browser without a connection shows the former lists.
  expect(await ben.getByRole("region", { name: "To do" }).getByRole("listitem").allInnerTexts()).toHaveLength(2);

  await network.restore();
  await ben.getByRole("region", { name: "In progress" }).getByText("Prune").waitFor();
  await ben.getByRole("region", { name: "To do" }).getByText("Press").waitFor();
  await ben.getByLabel("Title of a new issue").waitFor({ state: "hidden" });
  await ben.getByText("offline, reconnecting").waitFor({ state: "hidden" });
  expect(await ben.getByRole("button", { name: "Start “Press”" }).count()).toBe(0);
  await add("Store");
  await ben.getByRole("region", { name: "To do" }).getByText("Store").waitFor();
  expect(await ben.getByRole("region", { name: "To do" }).getByRole("listitem").count()).toBe(3);
  expect(problems).toEqual([]);
});
