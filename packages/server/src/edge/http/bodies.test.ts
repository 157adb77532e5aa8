import { expect, test } from "bun:test";
import { AppError } from "../../base/kernel/index.ts";
import { Bodies, declaredLength } from "./bodies.ts";

const mib = 1024 ** 2;
const patient = { patienceMs: 60_000, stalledMs: 60_000, slowMs: 60_000, lookMs: 1 };

/** A request with a body that arrives with each push. */
function sending(length: number | null): { request: Request; push: (bytes: number) => void; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const body = new ReadableStream<Uint8Array>({ start: (controller) => resolve(controller) });
  const headers: Record<string, string> = length === null ? {} : { "Content-Length": String(length) };
  return {
    request: new Request("http://socle.test/", { method: "POST", body, headers }),
    push: (bytes) => void promise.then((controller) => controller.enqueue(new Uint8Array(bytes))),
    end: () => void promise.then((controller) => controller.close()),
  };
}

function read(bodies: Bodies, request: Request, caller = "a"): Promise<unknown> {
  return bodies.read({ request, address: caller }, mib).then(
    (bytes) => bytes.byteLength,
    (thrown: unknown) => (thrown instanceof AppError ? [thrown.code, thrown.limit, thrown.message] : thrown),
  );
}

const tooSlow = "The body came too slowly.";

test("a body counts while it is read: its length, or the greatest length allowed", async () => {
  const bodies = new Bodies(64 * mib, patient);
  const [known, unknown] = [sending(500_000), sending(null)];
  const reads = [read(bodies, known.request), read(bodies, unknown.request)];
  expect(bodies.bytes).toBe(500_000 + mib);
  for (const { push, end } of [known, unknown]) {
    push(200_000);
    push(300_000);
    end();
  }
  expect(await Promise.all(reads)).toEqual([500_000, 500_000]);
  expect(bodies.bytes).toBe(0);
});

test("a body that turns out larger than allowed ends at the bound", async () => {
  const bodies = new Bodies(64 * mib, patient);
  const { request, push } = sending(null);
  const answer = read(bodies, request);
  push(mib);
  push(1);
  expect(await answer).toEqual(["payload_too_large", undefined, "The body is larger than 1048576 bytes."]);
  expect(bodies.bytes).toBe(0);
});

test("without capacity a large body waits, then gets 503; a small body, and a body of another caller, is read", async () => {
  const bodies = new Bodies(8 * mib, { ...patient, patienceMs: 5 });
  const held = Array.from({ length: 3 }, () => read(bodies, sending(mib).request));
  const tooMany = "Too many large bodies are being read. Try again in a moment.";
  expect(await read(bodies, sending(mib).request)).toEqual(["unavailable", "bodies", tooMany]);
  const small = sending(10);
  small.push(10);
  small.end();
  expect(await read(bodies, small.request)).toBe(10);
  const other = sending(20_000);
  other.push(20_000);
  other.end();
  expect(await read(bodies, other.request, "b")).toBe(20_000);
  expect(bodies.bytes).toBe(3 * mib);
  expect(held.length).toBe(3);
});

test("a body that waits is read as soon as capacity is free", async () => {
  const bodies = new Bodies(4 * mib, patient);
  const first = sending(mib);
  const read1 = read(bodies, first.request);
  const second = sending(mib);
  const read2 = read(bodies, second.request);
  expect(bodies.bytes).toBe(mib);
  first.push(mib);
  first.end();
  expect(await read1).toBe(mib);
  second.push(mib);
  second.end();
  expect(await read2).toBe(mib);
});

test("under pressure the slowest body ends and the quicker body goes on", async () => {
  const bodies = new Bodies(4 * mib, { ...patient, slowMs: 0 });
  const [slow, quick] = [sending(700_000), sending(700_000)];
  const answers = [read(bodies, slow.request), read(bodies, quick.request)];
  quick.push(600_000);
  await Bun.sleep(1);
  const wanted = sending(700_000);
  const answer = read(bodies, wanted.request);
  expect(await answers[0]).toEqual(["bad_request", "bodies", tooSlow]);
  for (const { push, end, bytes } of [
    { ...quick, bytes: 100_000 },
    { ...wanted, bytes: 700_000 },
  ]) {
    push(bytes);
    end();
  }
  expect(await Promise.all([answers[1], answer])).toEqual([700_000, 700_000]);
});

test("a body that stalls ends, also a small body, and a reader with that error waits no more", async () => {
  const bodies = new Bodies(64 * mib, { ...patient, stalledMs: 20 });
  const [large, small] = [sending(500_000), sending(5)];
  large.push(10);
  const answers = await Promise.all([read(bodies, large.request), read(bodies, small.request)]);
  expect(answers).toEqual([
    ["bad_request", undefined, tooSlow],
    ["bad_request", undefined, tooSlow],
  ]);
  expect(bodies.bytes).toBe(0);
});

test.each(["2, 2", "-1", "1e3", "0x10", "9".repeat(20)])("a Content-Length of %p is refused", (length) => {
  expect(() => declaredLength(new Headers({ "Content-Length": length }))).toThrow("Content-Length");
});

test("an invalid length counts nothing, and the next body is read", async () => {
  const bodies = new Bodies(4 * mib, patient);
  const headers = { "Content-Length": "2, 2" };
  const broken = new Request("http://socle.test/", { method: "POST", body: "{}", headers });
  expect(await read(bodies, broken)).toEqual(["bad_request", undefined, expect.stringContaining("Content-Length")]);
  expect(bodies.bytes).toBe(0);
  const { request, push, end } = sending(10);
  push(10);
  end();
  expect(await read(bodies, request)).toBe(10);
});

test("waiting bodies start within the free capacity only", async () => {
  const bodies = new Bodies(4 * mib, patient);
  const all = Array.from({ length: 12 }, () => sending(mib));
  const reads = all.map(({ request }, n) => read(bodies, request, `caller ${n}`));
  let most = 0;
  for (const { push, end } of all) {
    await Bun.sleep(1);
    most = Math.max(most, bodies.bytes);
    push(mib);
    end();
    await Bun.sleep(1);
    most = Math.max(most, bodies.bytes);
  }
  expect(await Promise.all(reads)).toEqual(all.map(() => mib));
  expect(most).toBeLessThanOrEqual(3 * mib);
  expect(bodies.bytes).toBe(0);
});

test("after a body of very many arrays, the next large body of the address waits, and no body of another address", async () => {
  const bodies = new Bodies(64 * mib, patient);
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const costly = encode(`{"a":[${"[],".repeat(300_000)}0]}`);
  const plain = encode(`{"a":[${"1,".repeat(20_000)}0]}`);
  const parse = (bytes: Uint8Array, address: string) =>
    bodies.parse(bytes, { request: new Request("http://socle.test/"), address });
  await parse(plain, "a");
  await parse(costly, "a");
  let isParsed = false;
  const next = Promise.resolve(parse(plain, "a")).then(() => {
    isParsed = true;
  });
  for (let n = 0; n < 3; n += 1) await parse(plain, "b");
  expect(isParsed).toBe(false);
  await next;
});
