/** The sign-in of an admin with a second factor: a code, a recovery code, and the sign-in over a page. */
import { expect, test } from "bun:test";
import { codeOf, wrongCodeOf } from "../packages/server/test/authenticator.ts";
import {
  admin,
  complaintsOf,
  leave,
  looks,
  openAnonymously,
  openDashboard,
  overflowOf,
  violationsOf,
} from "./dashboard.ts";

const { server, api, open } = await openDashboard();
// Before the second factor: later sign-ins of the kit would need a code.
const pages = [await open("/users"), await open("/users")];
const { secret } = (await api("POST", "/api/auth/totp")) as { secret: string };
const confirmed = (await api("POST", "/api/auth/totp/confirm", { code: codeOf(secret, -1) })) as {
  recoveryCodes: string[];
};
const [recoveryCode = "", secondCode = ""] = confirmed.recoveryCodes;

async function openForm(options: Parameters<typeof openAnonymously>[1] = {}) {
  const page = await openAnonymously(`${server.url}/_/users`, options);
  await page.getByLabel("Email").fill(admin.email);
  await page.getByLabel("Password", { exact: true }).fill(admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Code", { exact: true }).waitFor();
  return page;
}

test("after the password, a code of the app opens the page; a wrong code does not", async () => {
  const page = await openForm();
  await page.locator("input[autocomplete=one-time-code]:focus").waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("socle.tokens"))).toBeNull();
  await page.keyboard.type(wrongCodeOf(secret));
  await page.keyboard.press("Enter");
  await page.getByText("The code is wrong, or was used before.").waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("socle.tokens"))).toBeNull();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel("Code", { exact: true }).fill(codeOf(secret));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a recovery code leads to the page, and Back to email and password", async () => {
  const page = await openForm();
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("The recovery code is wrong, or was used before.").waitFor();
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByLabel("Password", { exact: true }).fill(admin.password);
  await page.getByLabel("Email").fill(admin.email);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill(recoveryCode.toUpperCase());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the sign-in over a page asks for the second factor, and the page stays", async () => {
  const [page] = pages;
  if (page === undefined) throw new Error("There is no page");
  await page
    .getByPlaceholder(/search/i)
    .first()
    .fill("adm");
  const { items } = (await api("GET", "/api/auth/sessions")) as { items: { id: string; current: boolean }[] };
  for (const { id, current } of items) if (!current) await api("DELETE", `/api/auth/sessions/${id}`);
  await page.getByText("Your session has ended").waitFor();
  await page.getByLabel("Password", { exact: true }).fill(admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill(secondCode);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Your session has ended").waitFor({ state: "hidden" });
  expect(
    await page
      .getByPlaceholder(/search/i)
      .first()
      .inputValue(),
  ).toBe("adm");
});

test.each([...looks])("the form is accessible and fits: $theme, $width px", async ({ theme, width }) => {
  const page = await openForm({ theme, width, height: 800 });
  expect(await overflowOf(page)).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  const folder = process.env["SOCLE_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/factor-${theme}-${width}.png` });
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  expect(await violationsOf(page)).toEqual([]);
  if (folder !== undefined) await page.screenshot({ path: `${folder}/recovery-${theme}-${width}.png` });
  await leave(page);
});
