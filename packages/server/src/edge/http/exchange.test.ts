/** Tests of the exchange: the size of a large answer that is known of a path, and the answers that leave this size alone. */
import { expect, test } from "bun:test";
import { quietLogger } from "../../../test/kit.ts";
import { JsonText } from "../../base/kernel/index.ts";
import { Bodies } from "./bodies.ts";
import { Exchange, type ExchangeService } from "./exchange.ts";
import { Cors } from "./headers.ts";
import { InFlight } from "./in-flight.ts";

const mib = 1024 ** 2;
const url = "http://x/api/notes?limit=500";
const large = "a".repeat(200_000);

test("responses with 304 and to HEAD leave the known size of a large response alone, and a small response removes the size", async () => {
  const inFlight = new InFlight({ connectionsPerAddress: 10, answersLimit: 10 * mib, onLimit: () => undefined });
  const service: ExchangeService = {
    cors: new Cors(["*"], quietLogger()),
    callers: { authenticate: () => Promise.reject(new Error("No request has a token")) },
    addressOf: () => "a",
    inFlight,
    bodies: new Bodies(mib),
    bodyLimit: mib,
    positions: { seq: 0, hasViewers: false, wrote: () => undefined },
    onBrokenStream: () => undefined,
  };
  /** The size that is known after an answer, whose room is free then. */
  const sizeAfter = async (method: string, handler: (exchange: Exchange) => Response): Promise<number | null> => {
    const exchange = new Exchange(new Request(url, { method }), {}, { requestId: "1", service });
    const answer = await exchange.run(handler);
    exchange.made();
    await answer.body?.cancel();
    expect(inFlight.bytes).toBe(0);
    return inFlight.expected(url);
  };
  const long = { bytes: new TextEncoder().encode(large), digest: "1" };
  const answers: [method: string, handler: (exchange: Exchange) => Response][] = [
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
