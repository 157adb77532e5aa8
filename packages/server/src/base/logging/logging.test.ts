import { describe, expect, spyOn, test } from "bun:test";
import { AppError, Secret } from "../kernel/index.ts";
import { type LogEntry, Logger, LogRing, lineSink } from "./index.ts";

test("the ring keeps the newest entries, oldest first", () => {
  const ring = new LogRing(3);
  const logger = new Logger({ level: "INFO", sinks: [(entry) => ring.add(entry)] });
  const messages = () => ring.entries().map(({ message }) => message);
  logger.info("1");
  expect(messages()).toEqual(["1"]);
  for (const message of ["2", "3", "4", "5"]) logger.warn(message);
  expect(messages()).toEqual(["3", "4", "5"]);
});

test("a message that a failed disk repeats is written once a minute, with a count", () => {
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  const entries: LogEntry[] = [];
  const logger = new Logger({ level: "INFO", sinks: [(entry) => entries.push(entry)] });
  const full = new AppError("unavailable", "The disk is full.");
  const say = (): void => {
    logger.for("jobs").error("The end of a run could not be recorded", { error: full });
    logger.for("events").error("The event log could not be trimmed", { error: full });
    // Others are written each time.
    logger.for("functions").error("posts/notify.ts failed", { error: new Error("no") });
  };
  for (let n = 0; n < 5; n++) say();
  now = 59_999;
  say();
  now = 60_000;
  say();
  clock.mockRestore();
  const disk = entries.filter(({ source }) => source !== "functions");
  expect(disk.map(({ source, fields }) => [source, fields?.["leftOut"]])).toEqual([
    ["jobs", undefined],
    ["events", undefined],
    ["jobs", 5],
    ["events", 5],
  ]);
  expect(entries.length - disk.length).toBe(7);
});

test("messages below the level are not logged; the source is the part that logs", () => {
  const ring = new LogRing();
  const logger = new Logger({ level: "WARN", sinks: [(entry) => ring.add(entry)] }).for("http");
  logger.debug("no");
  logger.info("no");
  logger.warn("yes");
  logger.error("yes");
  expect(ring.entries().map(({ level, source }) => `${level} ${source}`)).toEqual(["WARN http", "ERROR http"]);
});

test("private values are on standard output, and not in the memory that the admin API reads", () => {
  const ring = new LogRing();
  const lines: string[] = [];
  const heard: unknown[] = [];
  ring.listen((entry) => heard.push(entry));
  const logger = new Logger({
    level: "INFO",
    sinks: [lineSink((line) => lines.push(line), "text"), (entry) => ring.add(entry)],
  });
  logger.private("A mail", { mailId: "mai_1" }, { link: "https://example.com/reset" });
  expect(lines.join()).toContain("A mail mailId=mai_1 link=https://example.com/reset");
  expect(JSON.stringify([ring.entries(), heard])).not.toContain("reset");
  expect(ring.entries()).toMatchObject([{ message: "A mail", fields: { mailId: "mai_1" } }]);
});

test("a message is a single line whatever its text, and a secret never shows", () => {
  for (const format of ["text", "json"] as const) {
    const lines: string[] = [];
    const logger = new Logger({ level: "DEBUG", sinks: [lineSink((line) => lines.push(line), format)] });
    logger.info("first\nsecond \u001b[2J", { value: "a\nb", secret: new Secret("hunter2"), big: 10n });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).not.toContain("\n");
    expect(lines[0]).not.toContain("\u001b");
    expect(lines[0]).not.toContain("hunter2");
  }
});

describe("text that must not reach a terminal", () => {
  const bad = "\u0000\u0007\u001b[2J\u007f\u0085\u009b1m\u061c\u200e\u202a\u202e\u2066\u2069\u2028\u2029\r\n\t";
  const forbidden = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
  const thrown = new Error(bad);

  test.each(["text", "json"] as const)("%s", (format) => {
    const lines: string[] = [];
    const logger = new Logger({ level: "DEBUG", sinks: [lineSink((line) => lines.push(line), format)] });
    logger.for(bad).info(bad, { value: bad, [bad]: 1, list: [bad], deep: { [bad]: bad }, error: thrown });
    logger.info("Grüße, 世界, שלום, 👩‍👩‍👧", { value: "שלום" });
    const [first = "", second = ""] = lines;
    // The stack of an error stands on separate lines, indented.
    const parts = first.trimEnd().split("\n");
    expect(parts.slice(1).every((line) => line.startsWith("  "))).toBe(true);
    for (const part of parts) expect(part).not.toMatch(forbidden);
    expect(first).toContain("\\u009b1m");
    expect(second).toContain("Grüße, 世界, שלום, 👩‍👩‍👧");
    if (format === "json") expect(JSON.parse(first)).toMatchObject({ message: bad, fields: { value: bad, [bad]: 1 } });
  });
});

test("a change of the level holds for the loggers of all parts, also for loggers that were made before, and is told to the listener", () => {
  const lines: string[] = [];
  const logger = new Logger({ level: "INFO", sinks: [({ message }) => lines.push(message)] });
  const before = logger.for("http");
  const told: string[] = [];
  logger.onLevel((level) => told.push(level));
  before.debug("too low");
  logger.level = "DEBUG";
  before.debug("shown");
  logger.for("later").debug("shown, too");
  before.level = "ERROR";
  logger.warn("too low now");
  expect(lines).toEqual(["shown", "shown, too"]);
  expect(told).toEqual(["DEBUG", "ERROR"]);
  expect(lines).toHaveLength(2);
});
