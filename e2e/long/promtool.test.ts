/** The rules for Prometheus, as promtool reads the rules. Needs promtool, which comes with Prometheus. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const docs = join(import.meta.dir, "../../docs");

test("promtool finds no fault in the rules of a service and of a cluster", async () => {
  const promtool = Bun.which("promtool");
  if (promtool === null) throw new Error("promtool is missing: install Prometheus, and put promtool into PATH");
  const run = Bun.spawn([promtool, "check", "rules", `${docs}/alerts.yml`, `${docs}/alerts-cluster.yml`], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = (await new Response(run.stdout).text()) + (await new Response(run.stderr).text());
  expect([await run.exited, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
});
