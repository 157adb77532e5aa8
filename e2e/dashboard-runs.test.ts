/** Failed runs of functions in the dashboard: mended runs look mended, and a retry of many runs asks first. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

/** A function with a side effect before its error: a line in a file. */
const mail = (end: string): string => `import { appendFileSync } from "node:fs";
export const options = { retries: 0 };
export const onCreate: OnCreate<"orders"> = async ({ record }) => {
  appendFileSync("sent.txt", record.title + "\\n");
  ${end}
};
`;
const broken = 'if (record.title !== "fine") throw new Error("No receipt");';
const failingJob = `export const schedule = "0 0 1 1 *";
const job: Job = () => {
  throw new Error("No night");
};
export default job;
`;
const path = "functions/orders/mail.ts";
const dashboard = await openDashboard({
  collections: [{ name: "orders", fields: [{ name: "title", type: "string" }] }],
  files: { [path]: mail(broken) },
});
afterAll(() => dashboard.server.stop());
const { api, folder, server } = dashboard;

interface Run {
  readonly runId: string;
  readonly status: string;
  readonly canRetry: boolean;
}

async function runs(status: string, wanted: number): Promise<Run[]> {
  for (;;) {
    const { items } = (await api("GET", `/api/admin/functions/runs?status=${status}`)) as { items: Run[] };
    if (items.length >= wanted) return items;
    await Bun.sleep(20);
  }
}

const sent = async (): Promise<string[]> => (await Bun.file(join(folder, "sent.txt")).text()).trim().split("\n");

test("mended runs look mended; a retry of many names its effect and leaves out the mended runs", async () => {
  for (const title of ["one", "two", "three"]) await api("POST", "/api/orders", { title });
  await runs("failed", 3);
  const page = await dashboard.open("/functions?tab=runs&status=failed");
  const rows = page.getByRole("row").filter({ hasText: "orders/mail.ts" });
  await rows.nth(2).waitFor();
  await page.getByRole("button", { name: "Retry 3 failed runs" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry 3 failed runs?" });
  await dialog.getByText("happen again").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect((await sent()).sort()).toEqual(["one", "three", "two"]);

  await page.getByRole("button", { name: "Retry 3 failed runs" }).click();
  await dialog.waitFor();
  // While the question is open, another admin mends a run.
  await Bun.write(join(folder, path), mail(""));
  server.signal("SIGHUP");
  while (!server.output().includes("Reloaded functions and jobs")) await Bun.sleep(10);
  const [first] = await runs("failed", 3);
  await api("POST", `/api/admin/functions/runs/${first?.runId}/retry`);
  await runs("completed", 1);
  await dialog.getByRole("button", { name: "Retry 3 runs" }).click();
  await page.getByText("2 runs start again; 1 run was mended already").waitFor();
  await dialog.waitFor({ state: "detached" });
  await runs("completed", 3);
  expect((await sent()).length).toBe(6);

  await rows.filter({ hasText: "mended since" }).nth(2).waitFor();
  expect(await page.locator('[data-tone="bad"]').count()).toBe(0);
  expect(await page.getByRole("button", { name: /^Retry/ }).count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("tab", { name: "Handlers" }).click();
  await page.getByRole("row").filter({ hasText: path }).getByText("none lately").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a failed run shows the source around its error, as the file was when loaded, in each look", async () => {
  await Bun.write(join(folder, path), mail(broken));
  await Bun.write(join(folder, "jobs/nightly.ts"), failingJob);
  const before = server.output().split("Reloaded functions and jobs").length;
  server.signal("SIGHUP");
  while (server.output().split("Reloaded functions and jobs").length === before) await Bun.sleep(10);
  await api("POST", "/api/orders", { title: "four" });
  // The runs of the test before are in the list, too.
  let run: Run | undefined;
  while (run === undefined) run = (await runs("failed", 1)).find(({ canRetry }) => canRetry);
  const { runId } = (await api("POST", "/api/admin/jobs/nightly/run")) as { runId: string };
  const jobRuns = async () => ((await api("GET", "/api/admin/jobs/nightly/runs")) as { items: Run[] }).items;
  while ((await jobRuns())[0]?.status !== "failed") await Bun.sleep(20);
  // The page does not show the version on the disk.
  await Bun.write(join(folder, path), mail("// another line"));

  for (const window of looks) {
    const page = await dashboard.open(`/functions?tab=runs&run=${run.runId}`, window);
    const source = page.getByRole("region", { name: `Source of ${path}` });
    await source.waitFor();
    expect(await source.locator("mark").textContent()).toBe(`> 5 |   ${broken}\n`);
    expect(await source.locator("pre").textContent()).toBe(
      `  3 | export const onCreate: OnCreate<"orders"> = async ({ record }) => {\n` +
        `  4 |   appendFileSync("sent.txt", record.title + "\\n");\n> 5 |   ${broken}\n  6 | };\n  7 | \n`,
    );
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`${server.url}/_/jobs?job=nightly&run=${runId}`);
    const ofJob = page.getByRole("region", { name: "Source of jobs/nightly.ts" });
    await ofJob.waitFor();
    expect(await ofJob.locator("mark").textContent()).toBe('> 3 |   throw new Error("No night");\n');
    expect(await violationsOf(page)).toEqual([]);
    // Long lines scroll in the block, and not the page.
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});

test("a preview tells the effects with the present code; the replay names the effects first", async () => {
  const kept = `await db.orders.update(record.id, { title: "paid" });
  await fetch("http://127.0.0.1:9/pay", { method: "POST", body: "the order " + record.title });`;
  const code = (end: string): string =>
    `export const options = { retries: 0 };
export const onCreate: OnCreate<"orders"> = async ({ record, db }) => {
  ${end}
};
`;
  const load = async (content: string): Promise<void> => {
    const loads = server.output().split("Reloaded functions and jobs").length;
    await Bun.write(join(folder, path), content);
    server.signal("SIGHUP");
    while (server.output().split("Reloaded functions and jobs").length === loads) await Bun.sleep(10);
  };
  await load(code('throw new Error("No payment");'));
  // The runs of the tests before are in the list, too.
  const before = new Set((await runs("failed", 0)).map(({ runId }) => runId));
  const order = (await api("POST", "/api/orders", { title: "seven" })) as { id: string };
  let run: Run | undefined;
  while (run === undefined) run = (await runs("failed", 0)).find(({ runId }) => !before.has(runId));
  await load(code(kept));
  const titleOf = async () => ((await api("GET", `/api/orders/${order.id}`)) as { title: string }).title;

  for (const window of looks) {
    const page = await dashboard.open(`/functions?tab=runs&run=${run.runId}`, window);
    await page.getByRole("button", { name: "Preview with the present code" }).click();
    await page.getByText("orders: 1 changed").waitFor();
    await page.getByText("POST http://127.0.0.1:9/pay").first().waitFor();
    await page.getByText("the order seven").waitFor();
    expect(await titleOf()).toBe("seven");
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Replay this run?" });
    await dialog.getByText("orders: 1 changed").waitFor();
    await dialog.getByText("1 call: POST http://127.0.0.1:9/pay").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  expect(await titleOf()).toBe("seven");
  // The request of the real run fails: nothing listens there.
  await load(code(kept.replace(/await fetch.*/, "")));
  const page = await dashboard.open(`/functions?tab=runs&run=${run.runId}`);
  await page.getByRole("button", { name: "Preview with the present code" }).click();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByRole("dialog", { name: "Replay this run?" }).getByRole("button", { name: "Replay" }).click();
  while ((await titleOf()) !== "paid") await Bun.sleep(20);
  await leave(page);
  await load(mail(broken));
});

test("the overview counts the failed runs of functions, jobs and queues, and each run once", async () => {
  await Bun.write(join(folder, "jobs/nightly.ts"), failingJob.replace("0 0 1 1 *", "0 0 2 2 *"));
  await Bun.write(
    join(folder, "jobs/letters.ts"),
    `export const queue = { retries: 0 };
     export default () => { throw new Error("No letter"); };\n`,
  );
  await Bun.write(
    join(folder, "endpoints/letters.ts"),
    'export const access = "public";\nexport const POST = async (request, { jobs }) => Response.json(await jobs.enqueue("letters", 1));\n',
  );
  const before = server.output().split("Reloaded functions and jobs").length;
  server.signal("SIGHUP");
  while (server.output().split("Reloaded functions and jobs").length === before) await Bun.sleep(10);
  type Failed = { failedRuns: { functions: number; jobs: number; queues: number }; deliveries: { failed: number } };
  const failed = async () => (await api("GET", "/api/admin/overview")) as Failed;
  const { failedRuns: start } = await failed();
  for (let n = 0; n < 2; n++) await api("POST", "/api/admin/jobs/nightly/run");
  for (let n = 0; n < 3; n++) await api("POST", "/api/function/letters", {});
  for (;;) {
    const { failedRuns, deliveries } = await failed();
    expect(failedRuns.jobs).toBeLessThanOrEqual(start.jobs + 2);
    expect(failedRuns.queues).toBeLessThanOrEqual(3);
    expect(failedRuns.functions).toBe(deliveries.failed);
    if (failedRuns.jobs === start.jobs + 2 && failedRuns.queues === 3) break;
    await Bun.sleep(20);
  }
  const { failedRuns } = await failed();
  const page = await dashboard.open("/");
  const figure = page.getByRole("region", { name: "At a glance" }).getByRole("link", { name: /^Failures/ });
  await figure.getByText(`jobs ${failedRuns.jobs}`).waitFor();
  await figure.getByText(`queues 3`).waitFor();
  // The panel has the failures by their cause, the status has the remedy.
  await page
    .getByRole("link", { name: /No letter/ })
    .first()
    .waitFor();
  await page.getByRole("heading", { name: /needs? attention/ }).waitFor();
  const condition = page.getByRole("listitem").filter({ hasText: /\d+ causes of failures are open/ });
  await condition.getByText("socle failures lists them").waitFor();
  await leave(page);
});
