/** Parts of the client that are loaded on use: without the code of a part, live queries go on, and a room is left with the reason. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Late } from "./late.ts";
import { LiveServer } from "./testing/live-server.ts";

test("an app whose parts cannot be loaded has a socket of its own, and leaves rooms with an error", async () => {
  const server = new LiveServer();
  const app = join(import.meta.dir, "testing/late-parts.ts");
  const child = Bun.spawn([process.execPath, app, server.url], { stdout: "pipe", stderr: "pipe" });
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const isOver = child.exited.then(() => true);
  if (await Promise.race([server.next(0).then(() => false), isOver])) throw new Error((await output)[1]);
  server.send({ type: "result", id: server.asked[0]?.id, seq: 1, items: [] });
  const [stdout, stderr] = await output;
  server.stop();
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ errors: ["offline"], statuses: ["joining", "left"], connection: "idle" });
  expect(server.asked.length).toBe(1);
});

test("a subscription that ends before the part is loaded is never opened; a loaded part opens each subscription at once", async () => {
  const opened: string[] = [];
  const coming = Promise.resolve("part");
  const late = new Late(coming);
  const open = (name: string) => (part: string) => {
    opened.push(`${name} at ${part}`);
    return () => opened.push(`${name} ends`);
  };
  const early = late.open(open("early"));
  const kept = late.open(open("kept"));
  early();
  await Bun.sleep(0);
  late.open(open("later"));
  kept();
  expect(opened).toEqual(["kept at part", "later at part", "kept ends"]);
});
