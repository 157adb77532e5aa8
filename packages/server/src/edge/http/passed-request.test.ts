/** Passed requests: the routes see the request that the runtime would give, and read the body once from memory or from pieces. */
import { expect, test } from "bun:test";
import { Bodies } from "./bodies.ts";
import { PassedRequest } from "./passed-request.ts";

const sent = new Headers({
  "User-Agent": "x",
  Accept: "*/*",
  "X-B": "2",
  "x-a": "1",
  "Content-Type": "application/json",
});
const json = (value: unknown): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(JSON.stringify(value)));

function passed(
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): PassedRequest {
  const plain = { ...(sent.toJSON() as Record<string, string>), ...headers };
  const keepOpen = (): void => undefined;
  return new PassedRequest({ method: "POST", url: "http://a/b?c", headers: plain, address: "a", body, keepOpen });
}

test("headers are the headers of the request, in the same order", () => {
  const { headers } = passed(new Uint8Array());
  expect([...headers]).toEqual([...sent]);
  for (const name of ["user-agent", "x-a", "missing"]) {
    expect(headers.get(name)).toBe(sent.get(name));
    expect(headers.has(name)).toBe(sent.has(name));
  }
});

test("a body is the same, whole or in pieces, as bytes or as a stream", async () => {
  const bytes = json({ a: "é" });
  const piece = (): ReadableStream<Uint8Array> => new Blob([bytes]).stream();
  for (const make of [() => passed(bytes), () => passed(piece())]) {
    expect(await make().bytes()).toEqual(bytes);
    expect(await new Response(make().body).bytes()).toEqual(bytes);
  }
  const empty = passed(new Uint8Array());
  expect([empty.body, (await empty.bytes()).byteLength]).toEqual([null, 0]);
});

test("a whole body has the bound of the route, and is read while other bodies take all capacity", async () => {
  const bodies = new Bodies(1);
  const stopped = Promise.withResolvers<void>();
  const slow = new ReadableStream<Uint8Array>({
    start: (controller) => void stopped.promise.then(() => controller.close()),
  });
  const headers = { "Content-Length": "10" };
  const reading = bodies.read(
    { request: new Request("http://a/", { method: "POST", headers, body: slow }), address: "b" },
    10,
  );
  expect(bodies.bytes).toBe(10);
  const bytes = json({ a: "x".repeat(100) });
  const { byteLength } = bytes;
  expect(await bodies.object({ request: passed(bytes), address: "a" }, byteLength)).toEqual({ a: "x".repeat(100) });
  const refused = bodies.object({ request: passed(bytes), address: "a" }, byteLength - 1);
  await expect(refused).rejects.toMatchObject({ code: "payload_too_large" });
  const array = bodies.object({ request: passed(json([1])), address: "a" }, 100);
  await expect(array).rejects.toMatchObject({ code: "bad_request" });
  expect(bodies.bytes).toBe(10);
  stopped.resolve();
  await reading;
});

test("the signal tells that the client has gone, before and after the signal is asked for", () => {
  const [early, late] = [passed(new Uint8Array()), passed(new Uint8Array())];
  const { signal } = early;
  expect(signal.aborted).toBe(false);
  early.leave();
  late.leave();
  expect([signal.aborted, late.signal.aborted]).toEqual([true, true]);
});
