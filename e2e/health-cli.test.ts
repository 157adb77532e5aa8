/** `socle health`: the exit code says whether a service is ready. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { project, serve, socle, temporaryFolder } from "./kit.ts";

test("0 for a service that is ready, by its address or by the configuration; 1 after its stop", async () => {
  const server = await serve(await project());
  const port = new URL(server.url).port;
  // A service on this machine is not asked through a proxy.
  const env = { SERVICE_PORT: port, HTTP_PROXY: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1" };
  const ready = { code: 0, stdout: "ready\n", stderr: "" };
  expect(await socle(["health", server.url])).toEqual(ready);
  expect(await socle(["health", `http://127.0.0.1:${port}/`], { env })).toEqual(ready);
  expect(await socle(["health"], { env })).toEqual(ready);
  expect(await socle(["health"], { env: { ...env, SERVICE_HOST: "127.0.0.1", SERVICE_LOG_FORMAT: "json" } })).toEqual(
    ready,
  );
  const file = join(temporaryFolder(), "config.json");
  await Bun.write(file, JSON.stringify({ port: Number(port), host: "::" }));
  expect((await socle(["health", "--config", file], { env: { SERVICE_HOST: "0.0.0.0" } })).code).toBe(0);
  expect(await server.stop()).toBe(0);
  const gone = await socle(["health", server.url]);
  expect([gone.code, gone.stdout]).toEqual([1, ""]);
  expect(gone.stderr).toMatch(/^socle: http:\S+ is not ready: [^\n]+\n$/);
});

test("1 with the reason for a service that is not ready, and for another service", async () => {
  const server = await serve(await project({ config: { limits: { diskFree: "1000000GiB" } } }));
  const { code, stderr } = await socle(["health", server.url]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/is not ready: the disk has \d+ MiB free/)]);
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("no", { status: 404 }) });
  expect(await socle(["health", `http://127.0.0.1:${other.port}`])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not ready: it answers 404"),
  });
  await other.stop(true);
});

test.each<[words: string[], env: Record<string, string>, message: RegExp]>([
  [["health", "localhost:8080"], {}, /"localhost:8080" is not the address of a service/],
  [["health", "http://localhost:1", "2"], {}, /unexpected "2"; usage: socle health \[URL\]/],
  [["health"], { SERVICE_PORT: "0" }, /port of the configuration is 0 .*give the URL/],
  [["health"], { SERVICE_PORT: "http" }, /SERVICE_PORT: "http" is not valid/],
])("wrong usage is 2: %j %j", async (words, env, message) => {
  const { code, stdout, stderr } = await socle(words, { env, cwd: temporaryFolder() });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(message);
});
