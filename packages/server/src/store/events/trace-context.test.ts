/** Trace context: links of callers, and ids of traces and spans that are derived from ids of causes. */
import { expect, test } from "bun:test";
import { newId } from "../../base/kernel/index.ts";
import { callerSpanOf, firstCausesOf, isSampled, linkIn, spanIdOf, traceIdOf, traceparentOf } from "./index.ts";

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const parent = "00f067aa0ba902b7";
const link = `${trace}-${parent}`;

test("a link has the trace and the parent of a caller, and whether the caller records the trace", () => {
  expect(linkIn(`00-${link}-01`)).toBe(link);
  expect(linkIn(`00-${link}-03`)).toBe(link);
  expect(linkIn(`00-${link}-00`)).toBe(`${link}-00`);
  expect(linkIn(`00-${link}-02`)).toBe(`${link}-00`);
  expect(linkIn(`00-${link}`)).toBeNull();
  expect(callerSpanOf(link)).toBe(parent);
  expect(callerSpanOf(`${link}-00`)).toBe(parent);
  expect(callerSpanOf(null)).toBeUndefined();
});

test("a derived trace id holds the id of the first cause, whichever part of the trace derives the trace id", () => {
  const requests = ["b97090e4-3j", "00000000-1", "ffffffff-zzzzzz"];
  const others = (["run", "imp", "und", "mai"] as const).map((kind) => newId(kind, Date.now()));
  for (const id of [...requests, ...others]) {
    const traceId = traceIdOf({ id });
    expect(traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(traceIdOf({ id: "run_later", trace: id })).toBe(traceId);
    expect(firstCausesOf(traceId)).toContain(id);
  }
  expect(firstCausesOf(traceIdOf({ id: "b97090e4-3j" }))[0]).toBe("b97090e4-3j");
  expect(traceIdOf({ id: "b97090e4-3j" })).toStartWith("b97090e4000000007f");
});

test("ids of other forms have a trace id, and no trace id of another service stands for a request", () => {
  for (const id of ["evt_0199000000000000000000001", "imp_abcdefghijklmnopqrst", "", "b97090e4-zzzzzzzzzz"])
    expect(traceIdOf({ id })).toMatch(/^[0-9a-f]{32}$/);
  expect(firstCausesOf(trace).filter((id) => !id.includes("_"))).toEqual([]);
  for (const text of ["", "b97090e4-3j", trace.toUpperCase(), `${trace}0`]) expect(firstCausesOf(text)).toEqual([]);
});

test("requests that follow each other have trace ids with different last bytes", () => {
  const ends = Array.from({ length: 1_000 }, (_, n) => traceIdOf({ id: `b97090e4-${n.toString(36)}` }).slice(-14));
  expect(new Set(ends).size).toBe(1_000);
});

test("a traceparent has the caller's trace, the span of the cause, and the decision to record", () => {
  const own = { id: "b97090e4-3j" };
  expect(traceparentOf(own, 100)).toBe(`00-${traceIdOf(own)}-${spanIdOf("b97090e4-3j")}-01`);
  expect(traceparentOf(own, 0)).toEndWith("-00");
  expect(traceparentOf({ ...own, link }, 0)).toBe(`00-${trace}-${spanIdOf("b97090e4-3j")}-01`);
  expect(traceparentOf({ ...own, link: `${link}-00` }, 100)).toBe(`00-${trace}-${spanIdOf("b97090e4-3j")}-00`);
  expect(linkIn(traceparentOf(own, 100))).toBe(`${traceIdOf(own)}-${spanIdOf(own.id)}`);
});

test("a percentage of the traces is recorded, and all parts of a trace are recorded alike", () => {
  const requests = Array.from({ length: 4_000 }, (_, n) => ({ id: `b97090e4-${n.toString(36)}` }));
  const recorded = requests.filter((each) => isSampled(each, 25));
  expect(Math.abs(recorded.length - 1_000)).toBeLessThan(150);
  for (const { id } of requests) expect(isSampled({ id: "run_1", trace: id }, 25)).toBe(isSampled({ id }, 25));
  expect(requests.filter((each) => isSampled(each, 0))).toEqual([]);
  expect(requests.filter((each) => isSampled(each, 100))).toHaveLength(4_000);
});
