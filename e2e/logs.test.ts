/** `socle log level` and `socle logs`: the level of a running service until the next start, and its entries, in all processes. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { post, project, serve, singleService, socle, until } from "./kit.ts";
import { executable } from "./service-process.ts";

singleService("process");

for (const processes of [1, 3])
  test(`the level of the log is changed at once, audited, and not kept, with processes: ${processes}`, async () => {
    const cwd = await project({ config: { processes } });
    let server = await serve(cwd);
    const level = (...words: string[]) => socle(["log", "level", ...words], { cwd });
    expect((await level()).stdout).toBe("The service logs from INFO on\n");
    await socle(["read-only", "on"], { cwd });
    await until(() => server.output().includes("An admin: readOnly.on"));
    expect((await level("warn")).stdout).toBe(
      "The service logs from WARN on until the next start, then from INFO on\n",
    );
    await socle(["read-only", "off"], { cwd });
    const wrong = await level("loud");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('not "loud"')]);
    expect((await level("debug")).code).toBe(0);
    await socle(["read-only", "on"], { cwd });
    await until(() => server.output().split("An admin: readOnly.on").length === 3);
    expect(server.output()).not.toContain("An admin: readOnly.off");
    const { stdout } = await socle(["audit", "export"], { cwd });
    expect(stdout).toContain('"type":"admin.log.level"');
    expect(await server.stop()).toBe(0);
    const gone = await level("debug");
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("no service runs on it")]);
    server = await serve(cwd);
    expect((await level()).stdout).toBe("The service logs from INFO on\n");
    expect(await server.stop()).toBe(0);
  });

const boom = `export const onCreate = async (): Promise<void> => {
  throw new Error("boom");
};
`;

for (const processes of [1, 3])
  test(`socle logs prints and follows the entries of all, of levels and of a request, with processes: ${processes}`, async () => {
    const cwd = await project({
      config: { processes, log: { access: 100 } },
      collections: [
        { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: { create: "public", read: "public" } },
      ],
    });
    await Bun.write(join(cwd, "functions/posts/boom.ts"), boom);
    const server = await serve(cwd);
    const logs = (...words: string[]) => socle(["logs", ...words], { cwd });
    const following = (...words: string[]) => {
      const child = Bun.spawn([executable, "logs", "--follow", ...words], { cwd, stdout: "pipe", stderr: "pipe" });
      afterAll(() => child.kill());
      return child;
    };
    const ask = (): Promise<Response> => fetch(`${server.url}/api/posts`);
    const id = (await ask()).headers.get("x-request-id") ?? "";
    const other = (await ask()).headers.get("x-request-id") ?? "";
    await until(async () => (await logs("--request", id)).stdout.includes(id));
    const ofRequest = (await logs("--request", id)).stdout;
    expect(ofRequest).toMatch(/^\S+Z INFO {2}.*\n$/);
    expect(ofRequest).not.toContain(other);
    const all = (await logs()).stdout;
    expect([all.includes(id), all.includes(other)]).toEqual([true, true]);
    expect((await logs("--limit", "1")).stdout.split("\n")).toHaveLength(2);
    expect((await logs("--limit", "0")).stdout).toBe("");

    const follower = following("--level", "warn,error", "--json");
    const both = following();
    const heard = { errors: "", all: "" };
    const read = async (stream: ReadableStream<Uint8Array>, to: keyof typeof heard): Promise<void> => {
      for await (const chunk of stream) heard[to] += new TextDecoder().decode(chunk);
    };
    const reading = [read(follower.stdout, "errors"), read(both.stdout, "all")];
    await until(() => heard.all.includes(other));
    const created = await post(`${server.url}/api/posts`, { n: 1 });
    expect(created.status).toBe(201);
    await until(() => heard.errors.includes("boom"));
    const [line = ""] = heard.errors.split("\n").filter((each) => each.includes("boom"));
    expect(JSON.parse(line)).toMatchObject({
      level: "ERROR",
      timestamp: expect.any(String),
      source: expect.any(String),
    });
    expect(heard.errors).not.toContain("INFO");
    await until(() => heard.all.includes(created.headers.get("x-request-id") ?? "none"));
    // A follower that is gone leaves nothing behind, and the other follower goes on.
    follower.kill();
    await follower.exited;
    const last = (await ask()).headers.get("x-request-id") ?? "none";
    await until(() => heard.all.includes(last));

    for (const [words, reason] of [
      [["--level", "loud"], 'The level must be DEBUG, INFO, WARN or ERROR, not "loud"'],
      [["--limit", "2001"], "--limit 2001: allowed: 0 to 2000"],
      [["--limit", "x"], "--limit x: allowed: 0 to 2000"],
    ] as const) {
      const wrong = await logs(...words);
      expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([2, "", expect.stringContaining(reason)]);
    }
    expect(await server.stop()).toBe(0);
    // The service has ended, and so has the command.
    expect(await both.exited).toBe(2);
    await Promise.all(reading);
    const gone = await logs();
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("no service runs on it")]);
  });

const noise = `export const access = "public";
export const GET = (_request, { logger }) => {
  for (let n = 0; n < 50; n++) logger.warn("noise", { n });
  for (let n = 0; n < 50; n++) logger.info("all of it", { n });
  return Response.json({ done: true });
};
`;

test("lines with the same text are bounded by log.repeats, also of user code", async () => {
  const cwd = await project({
    config: { log: { repeats: 5 } },
  });
  await Bun.write(join(cwd, "endpoints/noise.ts"), noise);
  const server = await serve(cwd);
  expect((await fetch(`${server.url}/api/function/noise`)).status).toBe(200);
  await until(() => server.output().split("all of it").length === 51);
  expect(server.output().split("noise n=")).toHaveLength(6);
  expect(await server.stop()).toBe(0);
});
