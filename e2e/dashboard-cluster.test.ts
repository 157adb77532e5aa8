/** The overview of the dashboard in a cluster: the page of a replica shows the instances, then an engine that is away, then an instance that is lost. */
import { expect, test } from "bun:test";
import { startCluster } from "./cluster-kit.ts";
import { admin, complaintsOf, dashboardOf, leave, looks, violationsOf } from "./dashboard.ts";
import { post } from "./kit.ts";

const cluster = await startCluster(2, {
  settings: { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password },
});

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

test("the overview shows each instance with its role, an engine that is away, and the next leader", async () => {
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("no replica");
  const leader = await cluster.leader();
  const dashboard = await dashboardOf(replica.running, replica.folder);
  for (const look of looks) {
    const page = await dashboard.open("/", look);
    const panel = page.locator("section", { has: page.getByRole("heading", { name: "Cluster" }) });
    const facts = panel.locator("dl");
    await facts.getByText(leader.url).waitFor();
    const roles = async (): Promise<string[]> => (await facts.locator("dd").allInnerTexts()).toSorted();
    expect(await roles()).toEqual(["leader", "up to date"]);
    expect(await violationsOf(page)).toEqual([]);

    await cluster.engine.stop();
    await page.reload();
    await panel.getByText("The journal is not reached").waitFor();
    expect(complaintsOf(page)).toEqual([]);
    await cluster.engine.start();
    // A sign-in is a write.
    while (!(await post(`${replica.url}/api/auth/login`, admin)).ok) await Bun.sleep(50);
    await leave(page);
  }
  leader.running.signal("SIGKILL");
  while ((await cluster.leader()) !== replica) await Bun.sleep(50);
  // The service of the replica ends, and the service of the leader begins.
  const isLeading = (): boolean => replica.running.output().includes("This instance leads");
  while (!isLeading() || !(await isReady(replica.url))) await Bun.sleep(50);
  const page = await dashboard.open("/");
  const gone = page.locator("dl > *", { hasText: leader.url });
  await gone.getByText("gone").waitFor();
  expect(await page.locator("dl > *", { hasText: replica.url }).innerText()).toContain("leader");
});
