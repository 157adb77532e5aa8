/** The host of services under test: what a test file asks over HTTP, and the service that does the work. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestRequest, testHostVariable, testTokenVariable } from "@socle/protocol";
import { temporaryFolder } from "../../test/kit.ts";
import { TestHost } from "./test-host.ts";

const notes = { name: "notes", fields: [{ name: "text", type: "string" }], permissions: { create: "public" } };

function openHost(
  content: { readonly [path: string]: string },
  files = 1,
): {
  host: TestHost;
  data: string;
  log: string[];
  ask: (request: unknown, token?: string) => Promise<{ status: number; value?: unknown; error?: string }>;
} {
  const cwd = temporaryFolder();
  for (const [path, text] of Object.entries({
    "config.json": "{}",
    "collections/notes.json": JSON.stringify(notes),
    ...content,
  })) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const data = temporaryFolder();
  const log: string[] = [];
  const host = new TestHost({
    folder: data,
    files,
    service: { config: join(cwd, "config.json"), logLevel: "WARN" },
    cwd,
    environment: { PATH: process.env["PATH"], SERVICE_PORT: "not a port", GIVEN: "by the command" },
    onLog: (line) => log.push(line),
  });
  afterAll(() => host.stop());
  const { [testHostVariable]: address = "", [testTokenVariable]: own = "" } = host.variables;
  return {
    host,
    data,
    log,
    async ask(request, token = own) {
      const answer = await fetch(address, {
        method: "POST",
        headers: { Authorization: token },
        body: JSON.stringify(request),
      });
      const body = answer.ok ? ((await answer.json()) as { value?: unknown; error?: string }) : {};
      return { status: answer.status, ...body };
    },
  };
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

const open: TestRequest = { kind: "open" };

describe("a service under test", () => {
  test("has a configuration of its own: no data, address, bucket or secret of the real service", async () => {
    const config = {
      port: 1,
      host: "192.0.2.1",
      database: "./data/socle.db",
      storage: "s3://bucket/prefix",
      backup: { target: "s3://bucket/backups", schedule: "* * * * *" },
      admin: { email: "root@example.com", password: "a long password" },
      tls: { cert: "missing.pem", key: "missing.pem" },
      auth: { registration: false },
    };
    const { data, ask } = openHost({ "config.json": JSON.stringify(config) });
    const { value } = await ask(open);
    const { url, service } = value as { url: string; service: number };
    expect(url).toStartWith("http://127.0.0.1:");
    expect(value).toMatchObject({ endpointsPrefix: "/api/function" });
    const call = (user: object) => ask({ kind: "call", service, call: { name: "user", user } });
    expect(await call({ email: "root@example.com", role: "admin", password: "another password" })).toMatchObject({
      value: { email: "root@example.com", password: "another password" },
    });
    const login = await post(`${url}/api/auth/login`, { email: "root@example.com", password: "another password" });
    expect(login.status).toBe(200);
    const register = await post(`${url}/api/auth/register`, { email: "eva@example.com", password: "another password" });
    expect(register.status).toBe(403);
    expect(readdirSync(join(data, String(service)))).toContain("socle.db");
    expect(await ask({ kind: "close", service })).toEqual({ status: 200, value: null });
    expect(readdirSync(data)).toEqual([]);
    expect(await ask({ kind: "call", service, call: { name: "idle" } })).toEqual({
      status: 200,
      error: "This service under test has ended",
    });
  });

  test("starts while the tests of the file before run, and never starts in vain", async () => {
    const { ask, data } = openHost({}, 2);
    const address = async () => (await ask(open)).value as { url: string; service: number };
    const first = await address();
    expect(readdirSync(data).sort()).toEqual(["1", "2"]);
    const second = await address();
    expect(readdirSync(data).sort()).toEqual(["1", "2"]);
    expect(new Set([first.url, second.url]).size).toBe(2);
    expect([first.service, second.service]).toEqual([1, 2]);
    // A file that asks beyond the number, as a rerun does, gets a service all the same.
    expect((await address()).service).toBe(3);
  });

  test("refuses requests without the token, and unknown requests", async () => {
    const { ask, data } = openHost({});
    expect(await ask(open, "wrong")).toEqual({ status: 401 });
    expect(readdirSync(data)).toEqual([]);
    expect(await ask({ kind: "else" })).toEqual({ status: 200, error: "There is no such request" });
    expect(await ask({ kind: "call", service: 1, call: { name: "idle" } })).toMatchObject({
      error: "This service under test has ended",
    });
  });

  test("reports each reason of a failed start", async () => {
    const bad = openHost({ "jobs/a.ts": "throw new Error('one');", "jobs/b.ts": "export const schedule = 'two';" });
    const message = await bad.host.prepare().then(String, (error: Error) => error.message);
    expect(message).toMatch(/^jobs\/a\.ts does not load: one .*\njobs\/b\.ts does not load: /);
    const broken = openHost({ "collections/notes.json": '{ "name": "notes", "fields": 5 }' });
    expect(await broken.host.prepare().then(String, (error: Error) => error.message)).toContain("notes.json");
  });

  test("reports a wrong duration or user to the test", async () => {
    const { ask } = openHost({});
    const { service } = (await ask(open)).value as { service: number };
    const call = (asked: object) => ask({ kind: "call", service, call: asked });
    expect((await call({ name: "advance", duration: "a day" })).error).toContain('"a day" is no duration; allowed: ');
    expect((await call({ name: "advance", duration: "-1d" })).error).toContain("is no duration");
    expect((await call({ name: "user", user: { email: "nobody" } })).error).toContain("email");
    expect((await call({ name: "seed", file: "seed.json" })).error).toContain("seed.json");
  });

  test("sees the variables of the command, and no settings of a service", async () => {
    const code = `export const access = "public";
      export const GET = () => Response.json([process.env.GIVEN, process.env.ONLY, process.env.NODE_ENV, process.env.SERVICE_PORT ?? null]);`;
    const { ask } = openHost({
      "endpoints/env.ts": code,
      ".env.test": "GIVEN=no\nONLY=for tests\n",
    });
    const { url } = (await ask(open)).value as { url: string };
    expect(await (await fetch(`${url}/api/function/env`)).json()).toEqual([
      "by the command",
      "for tests",
      "test",
      null,
    ]);
  });

  test("shows warnings and errors of the code, and its end does not leave a call unanswered", async () => {
    const code = `export const onCreate = async ({ logger }) => { logger.info("quiet"); logger.warn("loud"); };`;
    const { ask, log, host, data } = openHost({ "functions/notes/say.ts": code });
    const { url, service } = (await ask(open)).value as { url: string; service: number };
    expect((await post(`${url}/api/notes`, {})).status).toBe(201);
    await ask({ kind: "call", service, call: { name: "idle" } });
    expect(log.join("")).toContain("loud");
    expect(log.join("")).not.toContain("quiet");
    const waiting = ask({ kind: "call", service, call: { name: "idle" } });
    await host.stop();
    await waiting.catch(() => undefined);
    expect(await fetch(url).then(String, ({ code: reason }) => reason)).toMatch(/REFUSED|Refused/);
    // The folder of the run goes as a whole.
    expect(existsSync(join(data, String(service)))).toBe(true);
  });
});
