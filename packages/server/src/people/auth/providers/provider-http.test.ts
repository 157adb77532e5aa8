/** Answers that a provider must not give: slow, large, no JSON, redirects, other addresses; and the pause after failures. */
import { expect, test } from "bun:test";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { AppError, messageOf } from "../../../base/kernel/index.ts";
import { ProviderHttp } from "./provider-http.ts";

const request = { method: "GET", headers: {} };

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const thrown = await work.then(
    () => new Error("No failure"),
    (error: unknown) => error,
  );
  if (!(thrown instanceof AppError)) return String(thrown);
  expect(thrown.message).toBe("my-oidc does not answer as a provider of sign-ins; try again later.");
  return `${thrown.code}: ${messageOf(thrown.cause)}`;
}

function open(options: { timeLimitMs?: number; isLocal?: boolean; now?: () => number } = {}) {
  const fake = new FakeProvider();
  return { fake, http: new ProviderHttp({ name: "my-oidc", timeLimitMs: 60_000, isLocal: true, ...options }) };
}

const tenMegabytes = 10 * 1_024 ** 2;

test.each<[string, () => Response, RegExp]>([
  ["HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } }), /answered 200 with text\/html/],
  ["bytes", () => new Response(Buffer.from("{}")), /answered 200 with application\/octet-stream/],
  [
    "a type that only begins like JSON",
    () => new Response("{}", { headers: { "content-type": "application/jsonp" } }),
    /jsonp/,
  ],
  ["a redirect", () => Response.redirect("/elsewhere", 302), /answered 302/],
  ["a failure", () => Response.json({}, { status: 502 }), /answered 502/],
  ["10 MB", () => Response.json("x".repeat(tenMegabytes)), /more than 1048576 bytes/],
  [
    "10 MB that are compressed",
    () =>
      new Response(Bun.gzipSync(JSON.stringify("x".repeat(tenMegabytes))), {
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      }),
    /more than 1048576 bytes/,
  ],
])("%s is refused", async (_name, answer, reason) => {
  const { fake, http } = open();
  fake.faults = { answers: { "/token": answer } };
  const failure = await reasonOf(http.fetch(`${fake.issuer}/token`, request));
  expect(failure).toMatch(/^unavailable: http:\/\/127\.0\.0\.1:\d+\/token/);
  expect(failure).toMatch(reason);
  expect(fake.requests).toEqual(["/token"]);
});

test.each(["application/json", "application/json; charset=utf-8", "application/jwk-set+json"])(
  "%s is JSON",
  async (type) => {
    const { fake, http } = open();
    fake.faults = {
      answers: { "/token": () => new Response('{"a":1}', { status: 400, headers: { "content-type": type } }) },
    };
    const answer = await http.fetch(`${fake.issuer}/token`, request);
    expect([answer.status, await answer.json()]).toEqual([400, { a: 1 }]);
  },
);

test("a response that does not arrive, or does not end, is given up", async () => {
  const { fake, http } = open({ timeLimitMs: 200 });
  const never = Promise.withResolvers<Response>();
  const endless = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"a":')) });
  fake.faults = {
    answers: {
      "/never": () => never.promise,
      "/endless": () => new Response(endless, { headers: { "content-type": "application/json" } }),
    },
  };
  expect(await reasonOf(http.fetch(`${fake.issuer}/never`, request))).toMatch(/^unavailable: .*timed out/);
  expect(await reasonOf(http.fetch(`${fake.issuer}/endless`, request))).toMatch(/^unavailable: .*timed out/);
  never.resolve(new Response());
});

test("without HTTPS, only a provider on this machine is called, and only on this machine", async () => {
  const { fake, http } = open({ isLocal: false });
  expect(await reasonOf(http.fetch(`${fake.issuer}/token`, request))).toMatch(/^unavailable: .*is no HTTPS address/);
  const local = open();
  for (const address of ["http://id.example.com/token", "http://127.0.0.1.evil.example/token", "file:///etc/passwd"])
    expect(await reasonOf(local.http.fetch(address, request))).toMatch(/^unavailable: .*is no HTTPS address/);
  expect([...fake.requests, ...local.fake.requests]).toEqual([]);
});

test("after five failures in a row the provider is not called for half a minute; responses to wrong codes are no failures", async () => {
  let now = 0;
  const { fake, http } = open({ now: () => now });
  const ask = (): Promise<Response> => http.fetch(`${fake.issuer}/token`, request);
  fake.faults = { answers: { "/token": () => Response.json({ error: "invalid_grant" }, { status: 400 }) } };
  for (let i = 0; i < 10; i++) expect((await ask()).status).toBe(400);
  const large = (): Response => Response.json("x".repeat(tenMegabytes));
  fake.faults = { answers: { "/token": large } };
  for (let i = 0; i < 5; i++) expect(await reasonOf(ask())).toMatch(/more than 1048576 bytes/);
  expect(await reasonOf(ask())).toMatch(/has failed 5 times in a row; it is left alone/);
  expect(fake.requests).toHaveLength(15);
  now += 30_001;
  expect(await reasonOf(ask())).toMatch(/more than 1048576 bytes/);
  expect(await reasonOf(ask())).toMatch(/left alone/);
  now += 30_001;
  fake.faults = {};
  fake.resources = {};
  expect((await ask()).status).toBe(400);
  expect((await ask()).status).toBe(400);
});
