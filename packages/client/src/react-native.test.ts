/** The client in an environment like that of React Native: a process without the globals and methods that React Native lacks. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { LiveServer } from "./testing/live-server.ts";

const server = new LiveServer();
afterAll(() => server.stop());

const one = { id: "1", title: "one", n: 1 };
const two = { id: "2", title: "two", n: 2 };
const user = { id: "usr_1", email: "ada@example.com" };
const keys: (string | null)[] = [];
const addresses: string[] = [];
const forms: string[] = [];

async function answer(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (pathname === "/api/auth/login") return Response.json({ accessToken: "a.b&c", refreshToken: "r", user });
  if (pathname === "/api/storage/upload") {
    const form = await request.formData();
    const file = form.get("file");
    forms.push(`${form.get("visibility")} ${file instanceof File ? `${file.name} ${await file.text()}` : "no file"}`);
    return Response.json({ id: "file_1" }, { status: 201 });
  }
  if (request.method === "GET") {
    addresses.push(search);
    return Response.json({ items: [two], nextCursor: null });
  }
  if (request.method === "PUT")
    return Response.json({ error: { code: "validation_error", message: "no", details: [] } }, { status: 400 });
  keys.push(request.headers.get("idempotency-key"));
  const { title } = (await request.json()) as { title: string };
  if (title === "once") return Response.json({ error: { code: "unavailable", message: "no" } }, { status: 503 });
  return Response.json({ ...two, title }, { status: 201, headers: { "Socle-Position": "9" } });
}
server.answer = answer;

test("sign-in, a live query across a break, an optimistic change, files, aborts and refusals", async () => {
  const app = join(import.meta.dir, "testing/react-native-app.ts");
  const child = Bun.spawn([process.execPath, app, server.url], { stdout: "pipe", stderr: "pipe" });
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const isOver = child.exited.then(() => true);
  /** Waits for a frame, unless the process has ended. */
  const asked = async (count: number) => {
    if (await Promise.race([server.next(count - 1).then(() => false), isOver])) throw new Error((await output)[1]);
    return server.next(count - 1);
  };
  const { id, query } = await asked(1);
  expect(query).toEqual({ collection: "tasks", filter: "n >= 1", sort: "n" });
  server.send({ type: "result", id, seq: 1, items: [one] });
  while (keys.length === 0 && child.exitCode === null) await Bun.sleep(1);
  server.drop();
  const again = await asked(2);
  expect([again.since, server.tokens]).toEqual([1, ["a.b&c", "a.b&c"]]);
  server.send({ type: "change", id: again.id, seq: 9, order: ["1", "2"], items: [two] });
  const [stdout, stderr] = await output;
  expect([await child.exited, stderr]).toEqual([0, ""]);
  const { seen, ...found } = JSON.parse(stdout);
  expect(seen.filter((state: string, index: number) => state !== seen[index - 1])).toEqual([
    ...["loading ", "live one", "live one,ünï & <2>", "offline one,ünï & <2>", "live one,two"],
  ]);
  expect(found).toEqual({
    email: user.email,
    kept: expect.stringContaining("no"),
    found: ["two"],
    parts: [1],
    stored: { id: "file_1" },
    aborted: expect.stringContaining("Abort"),
    both: expect.stringContaining("Abort"),
    unsent: "AbortError: The request was aborted",
    problem: expect.stringContaining("has no crypto.subtle"),
    refused: true,
  });
  // Without random numbers nobody guesses no key: a change is sent once.
  expect(keys).toEqual([null, null]);
  // Requests that were aborted may have arrived, after the others.
  expect([...new Set(forms)]).toEqual(["protected a.txt content"]);
  expect(addresses.slice(0, 1).map((text) => [...new URLSearchParams(text)])).toEqual([
    [
      ["limit", "1"],
      ["filter", 'title ~ "a \\"b\\" & c"'],
    ],
  ]);
});
