/** The outbox in the dashboard: finding and reading mails, hostile HTML, another attempt; and the panels of mail and providers. */
import { afterAll, expect, test } from "bun:test";
import type { EventEntry, MailEntry, Page } from "@socle/protocol";
import { headerOf } from "../packages/server/test/smtp-sink.ts";
import { openAccountWorld } from "./account-world.ts";
import {
  admin,
  complaintsOf,
  type Dashboard,
  leave,
  looks,
  openDashboard,
  overflowOf,
  settled,
  violationsOf,
} from "./dashboard.ts";
import { post, until } from "./kit.ts";

const files = {
  "endpoints/send.ts": `export const access = "public";
export const POST: Endpoint = async (request, { mail }) => {
  await mail.send((await request.json()) as Parameters<typeof mail.send>[0]);
  return new Response(null, { status: 204 });
};
`,
};
const world = await openAccountWorld(files);
const { dashboard, sink, publicUrl } = world;
const development = await openDashboard({
  files,
  config: { mail: { from: "shop@example.com" }, publicUrl: "https://shop.example.com" },
});
afterAll(() => Promise.all([dashboard.server.stop(), development.server.stop()]));

async function send({ server }: Dashboard, mail: object): Promise<void> {
  const answer = await post(`${server.url}/api/function/send`, { subject: "News", text: "News\n", ...mail });
  expect(answer.status).toBe(204);
}

async function mailsOf({ api }: Dashboard, query: string): Promise<MailEntry[]> {
  return ((await api("GET", `/api/admin/mails?${query}`)) as Page<MailEntry>).items;
}

/** The number of readings in the audit. */
async function readings({ api }: Dashboard): Promise<number> {
  return ((await api("GET", "/api/admin/events?type=admin.mail.read")) as Page<EventEntry>).total;
}

test("mails are found by recipient and status, and read without the link; the audit notes each reading once", async () => {
  await dashboard.api("POST", "/api/admin/invitations", { email: "ann@example.com" });
  await send(dashboard, { to: "bob@example.com" });
  await until(() => sink.taken.length >= 2);
  const page = await dashboard.open("/");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("heading", { level: 1, name: "Mails" }).waitFor();
  await page.getByRole("button", { name: "bob@example.com" }).waitFor();
  await page.getByPlaceholder("Search by recipient").fill("ANN@");
  await page.getByRole("button", { name: "bob@example.com" }).waitFor({ state: "hidden" });
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Failed" }).click();
  await page.getByText("No mail matches").waitFor();
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Sent" }).click();
  const before = await readings(dashboard);
  await page.getByRole("button", { name: "ann@example.com" }).click();
  const drawer = page.getByRole("dialog", { name: "You are invited to The Shop" });
  await drawer.getByText("[removed]").waitFor();
  await drawer.getByText("Links and codes of the service are removed").waitFor();
  await drawer.getByText("HTML", { exact: true }).click();
  await drawer.frameLocator("iframe").getByText("[removed]").waitFor();
  expect(await drawer.getByRole("button", { name: "Send again" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "ann@example.com" }).click();
  await drawer.getByText("[removed]").waitFor();
  expect(await readings(dashboard)).toBe(before + 1);
  expect(await page.content()).not.toContain("token=");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the HTML of a mail runs nothing, loads nothing and opens nothing", async () => {
  const requests: string[] = [];
  const trap = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      requests.push(new URL(request.url).pathname);
      return new Response("caught");
    },
  });
  afterAll(() => trap.stop(true));
  const at = `http://127.0.0.1:${trap.port}`;
  const html = `<html><head><meta http-equiv="refresh" content="0;url=${at}/refresh"><base href="${at}/base/">
    <link rel="stylesheet" href="${at}/link.css"><link rel="preconnect" href="${at}"><link rel="prefetch" href="${at}/prefetch">
    <style>@import url(${at}/import.css); body { background: url(${at}/background) } @font-face { font-family: f; src: url(${at}/font) }</style>
    <script>document.title = "run"; fetch("${at}/fetch")</script></head>
    <body onload="new Image().src='${at}/onload'"><p style="font-family: f; color: rgb(1, 2, 3)">Dear reader</p>
    <img src="${at}/image" onerror="location='${at}/onerror'"><img srcset="${at}/srcset 2x"><video src="${at}/video" poster="${at}/poster"></video>
    <iframe src="${at}/frame"></iframe><object data="${at}/object"></object><embed src="${at}/embed">
    <svg width="9" height="9"><image href="${at}/svg"/><a href="${at}/svg-link" target="_self"><text y="9">S</text></a></svg>
    <template shadowrootmode="open"><img src="${at}/shadow"></template>
    <a href="${at}/out" target="_top">leave</a> <a href="javascript:parent.document.title='run'">script</a> <a href="${at}/self" ping="${at}/ping">stay</a>
    <form action="${at}/form" target="_self"><button>submit</button></form></body></html>`;
  await send(dashboard, { to: "mallory@example.com", subject: "A <b>trap</b>", html });
  const [mail] = await mailsOf(dashboard, "to=mallory@example.com");
  const page = await dashboard.open(`/mails?mail=${mail?.id}`);
  const drawer = page.getByRole("dialog", { name: "A <b>trap</b>" });
  await drawer.getByText("HTML", { exact: true }).click();
  const frame = drawer.frameLocator("iframe");
  await frame.getByText("Dear reader").waitFor();
  // The styles of the mail stay.
  expect(await frame.getByText("Dear reader").getAttribute("style")).toContain("rgb(1, 2, 3)");
  const [address, title] = [page.url(), await page.title()];
  for (const name of ["leave", "script", "stay"]) await frame.getByRole("link", { name }).click();
  await frame.getByText("S", { exact: true }).click();
  await frame.getByRole("button", { name: "submit" }).click();
  await frame.getByText("Dear reader").waitFor();
  // A request of the frame would have come before an answer to the page.
  await page.evaluate("fetch('/health').then((answer) => answer.text())");
  expect([page.url(), await page.title(), page.context().pages().length]).toEqual([address, title, 1]);
  expect(requests).toEqual([]);
  expect(await drawer.locator("iframe").getAttribute("sandbox")).toBe("");
  await leave(page);
});

test("a mail that has failed is sent again", async () => {
  sink.behave = (step, text) => (step === "rcpt" && /carl/.test(text) ? "550 5.1.1 no such mailbox" : undefined);
  await send(dashboard, { to: "carl@example.com", subject: "Your order" });
  await until(() => sink.commands.some((line) => line.includes("carl@")));
  const page = await dashboard.open("/mails?search=carl");
  await page.getByRole("table").getByText("Failed", { exact: true }).waitFor();
  await page.getByRole("button", { name: "carl@example.com" }).click();
  const drawer = page.getByRole("dialog", { name: "Your order" });
  await drawer.getByText("550 5.1.1 no such mailbox").waitFor();
  sink.behave = () => undefined;
  await drawer.getByRole("button", { name: "Send again" }).click();
  await page.getByText("The mail to carl@example.com waits again").waitFor();
  await until(() => sink.taken.some(({ to }) => to === "carl@example.com"));
  await drawer.getByText("Sent", { exact: true }).first().waitFor();
  expect(await drawer.getByRole("button", { name: "Send again" }).count()).toBe(0);
  expect(sink.taken.filter(({ to }) => to === "carl@example.com")).toHaveLength(1);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("in development without a server, the mails stay in the outbox, and their links can be opened", async () => {
  await development.api("POST", "/api/admin/invitations", { email: "dev@example.com" });
  const page = await development.open("/mails");
  await page.getByText("Nothing leaves the machine without mail.smtp", { exact: false }).waitFor();
  await page.getByRole("button", { name: "dev@example.com" }).click();
  const drawer = page.getByRole("dialog", { name: "You are invited to shop.example.com" }).or(page.getByRole("dialog"));
  const link = drawer.getByRole("link", { name: /^https:\/\/shop\.example\.com\/_\/auth\/invitation\?token=/ });
  await link.waitFor();
  expect([await link.getAttribute("rel"), await link.getAttribute("target")]).toEqual([
    "noopener noreferrer",
    "_blank",
  ]);
  expect(await drawer.getByRole("button", { name: "Send again" }).count()).toBe(0);
  await page.goto(`${development.server.url}/_/settings`);
  await page.getByText("mail.smtp is not set: mails stay in the outbox.").waitFor();
  expect(await page.getByRole("button", { name: "Send a test" }).count()).toBe(0);
  await leave(page);
});

test("without a sender, the outbox says how to turn mail on", async () => {
  const off = await openDashboard();
  const page = await off.open("/mails");
  await page.getByText("Mail is off. Set mail.from in the configuration", { exact: false }).waitFor();
  await leave(page);
  await off.server.stop();
});

test("the settings show the sending of mails without secrets, and a test mail reports the outcome", async () => {
  const page = await dashboard.open("/settings");
  const panel = page.locator("section").filter({ has: page.getByRole("heading", { name: "Mail", exact: true }) });
  await panel.getByText("The Shop <shop@example.com>").waitFor();
  await panel.getByText(`smtp://127.0.0.1:${sink.port}`, { exact: true }).waitFor();
  await panel.getByText(publicUrl, { exact: true }).waitFor();
  const outbox = (await mailsOf(dashboard, "limit=1000")).length;
  await panel.getByRole("button", { name: "Send a test" }).click();
  await panel.getByText("The server has taken the mail: 250 taken").waitFor();
  const taken = sink.taken.filter(({ to }) => to === admin.email);
  expect(taken.map((mail) => headerOf(mail, "Subject"))).toEqual(["A test of the mails of The Shop"]);
  sink.behave = (step) => (step === "mail" ? "553 5.7.1 this sender is not yours" : undefined);
  await panel.getByLabel("Send a test mail to").fill("else@example.com");
  await panel.getByRole("button", { name: "Send a test" }).click();
  await panel.getByText(/The mail was not sent: .*553 5\.7\.1 this sender is not yours/).waitFor();
  sink.behave = () => undefined;
  expect((await mailsOf(dashboard, "limit=1000")).length).toBe(outbox);
  expect(await page.content()).not.toContain("hush");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the settings show each provider with its callback address, and the missing keys of the others", async () => {
  const page = await dashboard.open("/settings");
  const panel = page
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: "Sign-in at providers", exact: true }) })
    .first();
  const staff = panel.getByRole("listitem").filter({ hasText: "Staff" });
  await staff.getByText(`${publicUrl}/api/auth/oauth/callback/my-oidc`, { exact: true }).waitFor();
  await staff.getByText("Ready").waitFor();
  await panel.getByRole("listitem").filter({ hasText: "Google" }).getByText("google-client").waitFor();
  const others = panel.getByRole("region", { name: "Not configured" });
  await others.getByText("clientId, teamId, keyId, privateKey").waitFor();
  await others.getByRole("button", { name: `Copy ${publicUrl}/api/auth/oauth/callback`, exact: true }).waitFor();
  expect(await others.getByText("Google").count()).toBe(0);
  expect(await page.content()).not.toContain("hush");
  await leave(page);
  const bare = await openDashboard({
    config: { auth: { providers: { google: { clientId: "g", clientSecret: "hush" } } } },
  });
  const settings = await bare.open("/settings");
  const google = settings.getByRole("listitem").filter({ hasText: "Google" });
  await google.getByText("Incomplete").waitFor();
  await google.getByText("publicUrl", { exact: true }).last().waitFor();
  expect(await settings.content()).not.toContain("hush");
  await leave(settings);
  await bare.server.stop();
});

test("the pages of mails are accessible and fit in each look", async () => {
  const [mail] = await mailsOf(dashboard, "to=ann@example.com");
  for (const { theme, width } of looks)
    for (const [name, path] of [
      ["mails", "/mails"],
      ["mail", `/mails?mail=${mail?.id}`],
      ["settings", "/settings"],
    ] as const) {
      const page = await dashboard.open(path, { theme, width, height: 900 });
      await settled(page);
      if (name === "mail") {
        await page.getByRole("dialog").getByText("HTML", { exact: true }).click();
        await page.frameLocator("iframe").getByText("[removed]").waitFor();
      }
      expect([name, theme, width, await overflowOf(page)]).toEqual([name, theme, width, 0]);
      expect([name, theme, width, complaintsOf(page)]).toEqual([name, theme, width, []]);
      expect([name, theme, width, await violationsOf(page)]).toEqual([name, theme, width, []]);
      const folder = process.env["SHOTS"];
      if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${theme}-${width}.png` });
      await leave(page);
    }
});
