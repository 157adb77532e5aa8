/**
 * Requests that one process passes on to another: the answer is the answer of the routes, bodies go in pieces no faster than the
 * receiver takes the pieces, and each side learns when the other gives up. Both sides run in this process, joined by queues.
 */

import { expect, test } from "bun:test";
import { quietLogger } from "../../../test/kit.ts";
import type { FrameSink, LinkFrame } from "../../base/channel/index.ts";
import { type Exchange, type GivenAnswer, isWhole } from "../http/exchange.ts";
import type { PassedRequest, RoutePlace } from "../http/index.ts";
import { RequestPasser } from "./request-passer.ts";
import { RequestTaker } from "./request-taker.ts";

type Handler = (request: PassedRequest, place: RoutePlace) => GivenAnswer | Promise<GivenAnswer>;

/** Carries frames to a receiver, in order, a turn later. */
class Wire implements FrameSink {
  receive: (frame: LinkFrame) => void = () => undefined;
  bytes = 0;

  send({ kind, id = 0, head = "", body = "" }: Parameters<FrameSink["send"]>[0]): void {
    const frame = { kind, id, head, body: new Uint8Array(Buffer.from(body)) };
    this.bytes += frame.body.byteLength;
    setImmediate(() => this.receive(frame));
  }
}

/** A process that passes on, and a process that answers with a handler. */
function join(handler: Handler) {
  const [toLeader, toReader] = [new Wire(), new Wire()];
  const log: string[] = [];
  const passedOn = (request: PassedRequest, place: RoutePlace) => {
    const exchange: { given: GivenAnswer | null } = { given: null };
    const answer = (async () => {
      exchange.given = await handler(request, place);
      const { body, ...init } = exchange.given;
      return isWhole(body) ? new Response(null, init) : new Response(body, init);
    })();
    return { exchange: exchange as Exchange, answer };
  };
  const taker = new RequestTaker(toReader, { passedOn }, quietLogger(log));
  const kept: Request[] = [];
  const passer = new RequestPasser({
    link: toLeader,
    addressOf: () => "192.0.2.1",
    keepOpen: (request) => void kept.push(request),
  });
  toLeader.receive = (frame) => taker.take(frame);
  toReader.receive = (frame) => passer.take(frame);
  const pass = (request: Request) => passer.passOn(request, { index: 3, params: { id: "a" } });
  return { pass, taker, log, kept, toLeader, toReader };
}

const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

test("method, URL, headers, place, address and body arrive, and so does the response", async () => {
  const { pass } = join(async (request, place) => {
    const { method, url, headers, address } = request;
    const body = Buffer.from(await request.bytes()).toString();
    const seen = { method, url, type: headers.get("content-type"), place, address, body };
    return { status: 201, headers: { "X-One": "1" }, body: JSON.stringify(seen) };
  });
  for (const body of ["", '{"a":"é"}', "x".repeat(300_000)]) {
    const request = new Request("http://a.example/api/x?y=%C3%A9", {
      method: "POST",
      headers: { "Content-Type": "text/x", "Content-Length": String(Buffer.byteLength(body)) },
      ...(body !== "" && { body }),
    });
    const answer = await pass(request);
    expect([answer.status, answer.headers.get("x-one")]).toEqual([201, "1"]);
    expect(await answer.json()).toEqual({
      method: "POST",
      url: "http://a.example/api/x?y=%C3%A9",
      type: "text/x",
      place: { index: 3, params: { id: "a" } },
      address: "192.0.2.1",
      body,
    });
  }
  const empty = await join(() => ({
    status: 204,
    headers: new Headers([
      ["Set-Cookie", "a"],
      ["Set-Cookie", "b"],
    ]),
    body: null,
  })).pass(new Request("http://a/"));
  expect([empty.status, empty.headers.getSetCookie(), await empty.text()]).toEqual([204, ["a", "b"], ""]);
});

test("a file that is small or in memory keeps its length, as in a response of the leader itself", async () => {
  const { pass } = join(() => ({
    status: 200,
    headers: { "Content-Length": "90000" },
    body: new Blob(["x".repeat(90_000)]),
  }));
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: pass });
  try {
    const answer = await fetch(server.url);
    expect([answer.headers.get("content-length"), answer.headers.get("transfer-encoding")]).toEqual(["90000", null]);
    expect(await answer.text()).toBe("x".repeat(90_000));
  } finally {
    await server.stop(true);
  }
});

test("a long text leaves as a stream, with the head, and is not lost when later frames arrive", async () => {
  let n = 0;
  const { pass } = join(() => ({ status: 200, headers: { "X-One": "1" }, body: String(n++).repeat(20_000) }));
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: pass });
  try {
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(server.url)));
    for (const { headers } of answers)
      expect([headers.get("x-one"), headers.get("transfer-encoding")]).toEqual(["1", "chunked"]);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(texts.toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => String(i).repeat(20_000)));
  } finally {
    await server.stop(true);
  }
});

test("a small body that arrives late follows the request, and a body that breaks off ends the request", async () => {
  const slowly = (controller: ReadableStreamDefaultController<Uint8Array>, end: () => void): void =>
    void turns(20).then(() => {
      controller.enqueue(new Uint8Array(Buffer.from("late")));
      end();
    });
  const whole = new ReadableStream<Uint8Array>({ start: (controller) => slowly(controller, () => controller.close()) });
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => slowly(controller, () => controller.error(new Error("gone"))),
  });
  let begun = 0;
  const { pass } = join(async (request) => {
    begun += 1;
    return { status: 200, headers: {}, body: await request.bytes() };
  });
  const send = (body: ReadableStream<Uint8Array>): Promise<Response> =>
    pass(new Request("http://a/", { method: "POST", headers: { "Content-Length": "4" }, body }));
  const answer = send(whole);
  await turns(5);
  expect(begun).toBe(1);
  expect(await (await answer).text()).toBe("late");
  expect((await send(broken)).status).toBe(499);
});

test("a response in pieces arrives whole, and no faster than the client reads the pieces", async () => {
  const pieces = 200;
  let made = 0;
  const { pass } = join(() => ({
    status: 200,
    headers: {},
    body: new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (made === pieces) return controller.close();
          made += 1;
          controller.enqueue(new Uint8Array(50_000).fill(made));
        },
      },
      { highWaterMark: 0 },
    ),
  }));
  const reader = (await pass(new Request("http://a/"))).body?.getReader();
  await turns(200);
  const ahead = made;
  expect(ahead).toBeLessThan(12);
  let bytes = 0;
  let right = 0;
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    bytes += next.value.byteLength;
    if (next.value.every((byte: number) => byte === next?.value?.[0])) right += 1;
  }
  expect([bytes, made]).toEqual([pieces * 50_000, pieces]);
  expect(right).toBeGreaterThanOrEqual(pieces);
});

test("a body in pieces is read no faster than the handler takes the pieces", async () => {
  let given = 0;
  const { promise: goesOn, resolve } = Promise.withResolvers<void>();
  const { pass } = join(async (request) => {
    await goesOn;
    return { status: 200, headers: {}, body: String((await request.bytes()).byteLength) };
  });
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (given === 100) return controller.close();
        given += 1;
        controller.enqueue(new Uint8Array(60_000));
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "Transfer-Encoding": "chunked" };
  const answer = pass(new Request("http://a/", { method: "PUT", headers, body }));
  await turns(200);
  expect(given).toBeLessThan(12);
  resolve();
  expect(await (await answer).text()).toBe("6000000");
});

test("the handler is notified of a client that leaves, and the stream of the response ends", async () => {
  let isCancelled = false;
  let isAborted = false;
  const { pass } = join((request) => {
    request.signal.addEventListener("abort", () => {
      isAborted = true;
    });
    return {
      status: 200,
      headers: {},
      body: new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(100_000)),
        cancel() {
          isCancelled = true;
        },
      }),
    };
  });
  const gone = new AbortController();
  const answer = await pass(new Request("http://a/", { signal: gone.signal }));
  await answer.body?.getReader().read();
  gone.abort();
  await turns(20);
  expect([isAborted, isCancelled]).toEqual([true, true]);

  const never = join(() => new Promise(() => undefined));
  const early = new AbortController();
  const pending = never.pass(new Request("http://a/", { signal: early.signal }));
  await turns(5);
  early.abort();
  expect((await pending).status).toBe(499);
});

test("a response that breaks off breaks off for the client, and a failed handler is a 500", async () => {
  const { pass } = join(() => ({
    status: 200,
    headers: {},
    body: new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.error(new Error("broken"));
      },
    }),
  }));
  const answer = await pass(new Request("http://a/"));
  const outcome = await answer.bytes().then(
    () => "whole",
    (thrown: unknown) => String(thrown),
  );
  expect(outcome).toContain("broke off");
  const failing = join(() => {
    throw new Error("a defect");
  });
  const failed = await failing.pass(new Request("http://a/"));
  expect([failed.status, await failed.json()]).toMatchObject([500, { error: { code: "internal_error" } }]);
  expect(failing.log.join()).toContain("A request of another process failed");
});

test("the end of the process of the clients is the end of all their requests", async () => {
  const signals: AbortSignal[] = [];
  const { pass, taker } = join((request) => {
    signals.push(request.signal);
    return new Promise(() => undefined);
  });
  for (let n = 0; n < 3; n++) void pass(new Request("http://a/"));
  await turns(5);
  taker.close();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
});

test("the connection of a request is kept open for the routes that ask", async () => {
  const { pass, kept } = join((request) => {
    request.keepOpen();
    return { status: 200, headers: {}, body: "" };
  });
  const request = new Request("http://a/");
  await pass(request);
  expect(kept).toEqual([request]);
});
