/** The page of a trace in the dashboard: the waterfall, reached from an event, a run, a mail and a line of the log. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: ["orders", "bills"].map((name) => ({ name, fields: [{ name: "title", type: "string" }] })),
  files: {
    "functions/orders/bill.ts": `export const options = { retries: 0 };
export const onCreate = async ({ record, db, mail }) => {
  await db.collection("bills").create({ title: record.title });
  await mail.send({ to: "ann@example.com", subject: "A bill", text: "Thanks" });
  throw new Error("no printer for " + record.title);
};
`,
    "endpoints/fails.ts":
      'export const access = "public";\nexport const POST = () => {\n  throw new Error("no");\n};\n',
  },
  config: { mail: { from: "Shop <shop@example.com>" } },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
const words = ["POST /api/orders", "orders.created", "functions/orders/bill.ts:onCreate", "bills.created"];

interface Listed {
  readonly items: readonly { id: string; runId: string; status: string }[];
}

test("a trace is a waterfall with an error, and is reached from an event, a run and a mail", async () => {
  await api("POST", "/api/orders", { title: "one" });
  const runs = async (): Promise<Listed> => (await api("GET", "/api/admin/functions/runs")) as Listed;
  while ((await runs()).items[0]?.status !== "failed") await Bun.sleep(20);
  const [run] = (await runs()).items;
  const [event] = ((await api("GET", "/api/admin/events?type=orders.created")) as Listed).items;
  const [mail] = ((await api("GET", "/api/admin/mails")) as Listed).items;
  const places = [`/functions?tab=runs&run=${run?.runId}`, `/events?event=${event?.id}`, `/mails?mail=${mail?.id}`];
  for (const place of places) {
    const page = await dashboard.open(place);
    await page.getByRole("link", { name: "Show the trace" }).click();
    for (const word of words) await page.getByRole("row").filter({ hasText: word }).first().waitFor();
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  for (const look of looks) {
    const page = await dashboard.open(`/trace/${mail?.id}`, look);
    await page.getByRole("row").filter({ hasText: "no printer for one" }).getByText("Failed").waitFor();
    await page.getByRole("link", { name: "custom to ann@example.com" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});

test("a line of the log leads to the trace of the request, and an unknown trace is an error", async () => {
  await fetch(`${dashboard.server.url}/api/function/fails`, { method: "POST" });
  const page = await dashboard.open("/logs?search=fails.ts");
  await page.getByText("POST of endpoints/fails.ts failed").first().click();
  await page.getByRole("link", { name: "Show the trace" }).click();
  await page.getByRole("row").filter({ hasText: "POST /api/function/fails" }).getByText("Failed").waitFor();
  await leave(page);
  const unknown = await dashboard.open("/trace/none");
  await unknown.getByText('No trace has the part "none"', { exact: false }).waitFor();
  await leave(unknown);
});
