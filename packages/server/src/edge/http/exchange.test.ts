/** Tests of the exchange: large answers that find no room, and the size of such an answer that is known of a path. */
// Promises: B1.
import { expect, test } from "bun:test";
import { quietLogger } from "../../../test/kit.ts";
import { JsonText } from "../../base/kernel/index.ts";
import { Bodies } from "./bodies.ts";
import { Exchange, type ExchangeService, type Handler } from "./exchange.ts";
import { Cors } from "./headers.ts";
import { InFlight } from "./in-flight.ts";

const mib = 1024 ** 2;
const url = "http://x/api/notes?limit=500";
const large = "a".repeat(200_000);

/** Answers requests as the router does. The answers that leave have 800,000 bytes, the answers that wait have 200,000. */
function open(timing = { patienceMs: 60_000, stalledMs: 60_000 }) {
  const inFlight = new InFlight({ connectionsPerAddress: 10, answersLimit: 1e6, onLimit: () => undefined, timing });
  const service: ExchangeService = {
    cors: new Cors(["*"], quietLogger()),
    callers: { authenticate: () => Promise.reject(new Error("No request has a token")) },
    listenUrl: () => "http://localhost",
    addressOf: ({ headers }) => headers.get("x-address") ?? "a",
    inFlight,
    bodies: new Bodies(mib),
    bodyLimit: mib,
    positions: { seq: 0, hasViewers: false, wrote: () => undefined },
    onBrokenStream: () => undefined,
  };
  const ask = async (method: string, handler: Handler, { address = "a", path = url } = {}): Promise<Response> => {
    const request = new Request(path, { method, headers: { "X-Address": address } });
    const exchange = new Exchange(request, {}, { requestId: "1", service });
    try {
      const answer = await exchange.run(handler);
      if (exchange.isWaiting) await exchange.untilRoom(answer);
      return answer ?? Response.error();
    } finally {
      exchange.made();
    }
  };
  return { inFlight, ask };
}

test("responses with 304 and to HEAD leave the known size of a large response alone, and a small response removes the size", async () => {
  const { inFlight, ask } = open();
  inFlight.expects(url, large.length);
  /** The size that is known after an answer, whose room is free then. */
  const sizeAfter = async (method: string, handler: Handler): Promise<number | null> => {
    const answer = await ask(method, handler);
    await answer.body?.cancel();
    expect(inFlight.bytes).toBe(0);
    return inFlight.expected(url);
  };
  const long = { bytes: new TextEncoder().encode(large), digest: "1" };
  const answers: [method: string, handler: Handler][] = [
    ["GET", (exchange) => exchange.respond(200, large, {})],
    ["GET", (exchange) => exchange.respond(304, null, {})],
    ["HEAD", (exchange) => exchange.respond(200, "small", {})],
    ["HEAD", (exchange) => exchange.respond(200, large, {})],
    ["HEAD", (exchange) => exchange.respond(200, JsonText.from("", long), {})],
  ];
  for (const [method, handler] of answers)
    expect([method, await sizeAfter(method, handler)]).toEqual([method, large.length]);
  expect(await sizeAfter("GET", (exchange) => exchange.respond(200, "small", {}))).toBeNull();
});

test("a large response is made once: without room the response waits, and the next of its shape waits before its work", async () => {
  const { inFlight, ask } = open();
  const made: string[] = [];
  const handler = (name: string): Handler => {
    return (exchange) => {
      made.push(name);
      return exchange.respond(200, large, {});
    };
  };
  const leaving = [await ask("GET", handler("first")), await ask("GET", handler("second"))];
  expect(inFlight.expected(url)).toBeNull();
  const third = ask("GET", handler("third"));
  const fourth = ask("GET", handler("fourth"));
  // A small answer of the same caller waits for nothing.
  const small = await ask("GET", (exchange) => exchange.respond(200, "small", {}), { path: "http://x/api/others" });
  expect(await small.text()).toBe("small");
  // A write is answered in any case.
  const written = await ask("POST", (exchange) => exchange.respond(200, large, {}));
  expect(await written.text()).toBe(large);
  expect(made).toEqual(["first", "second", "third"]);
  for (const answer of leaving) expect(await answer.text()).toBe(large);
  for (const answer of [third, fourth]) expect(await (await answer).text()).toBe(large);
  expect([made, inFlight.bytes]).toEqual([["first", "second", "third", "fourth"], 0]);
});

test("a large response that can neither leave nor wait is refused, and its bytes are freed", async () => {
  const { inFlight, ask } = open({ patienceMs: 5, stalledMs: 60_000 });
  const long = (): { bytes: Uint8Array<ArrayBuffer>; digest: string } => ({
    bytes: new TextEncoder().encode(large),
    digest: "1",
  });
  const leaving = await ask("GET", (exchange) => exchange.respond(200, large.repeat(2), {}));
  const refused = [long(), long()];
  // Each path has a shape of its own: the first answer waits in vain, the second finds no place to wait.
  const answers = refused.map((each, n) =>
    ask("GET", (exchange) => exchange.respond(200, JsonText.from("", each), {}), { path: `${url}&expand=${n}` }),
  );
  const codes = (await Promise.allSettled(answers)).map((each) => each.status === "rejected" && each.reason.limit);
  expect(codes).toEqual(["answers", "answers"]);
  expect(refused.map(({ bytes }) => bytes.byteLength)).toEqual([0, 0]);
  await leaving.body?.cancel();
  expect(inFlight.bytes).toBe(0);
});

test("responses that are larger than the known size of their shape stay within the bound, and the size follows", async () => {
  const { inFlight, ask } = open({ patienceMs: 5, stalledMs: 60_000 });
  const known = 70_000;
  inFlight.expects(url, known);
  const answers: Promise<Response>[] = [];
  for (let n = 0; n < 20; n += 1) {
    const asked = ask("GET", (exchange) => exchange.respond(200, large.repeat(2), {}), { address: `a${n % 4}` });
    answers.push(asked);
    await asked.catch(() => undefined);
    expect(inFlight.bytes).toBeLessThanOrEqual(800_000);
  }
  expect(inFlight.expected(url)).toBe(2 * large.length);
  const settled = await Promise.allSettled(answers);
  // An answer that has room leaves whole; the others are refused.
  expect(settled.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
  for (const each of settled)
    if (each.status === "fulfilled") expect((await each.value.text()).length).toBe(2 * large.length);
    else expect(each.reason.limit).toBe("answers");
  expect(inFlight.bytes).toBe(0);
});
