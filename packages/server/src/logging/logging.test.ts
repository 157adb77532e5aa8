import { expect, test } from "bun:test";
import { Secret } from "../kernel/index.ts";
import { Logger, LogRing, lineSink } from "./index.ts";

test("the ring keeps the newest entries, oldest first", () => {
  const ring = new LogRing(3);
  const logger = new Logger({ level: "INFO", sinks: [(entry) => ring.add(entry)] });
  const messages = () => ring.entries().map(({ message }) => message);
  logger.info("1");
  expect(messages()).toEqual(["1"]);
  for (const message of ["2", "3", "4", "5"]) logger.warn(message);
  expect(messages()).toEqual(["3", "4", "5"]);
});

test("what is below the level is not logged; the source is the part that speaks", () => {
  const ring = new LogRing();
  const logger = new Logger({ level: "WARN", sinks: [(entry) => ring.add(entry)] }).for("http");
  logger.debug("no");
  logger.info("no");
  logger.warn("yes");
  logger.error("yes");
  expect(ring.entries().map(({ level, source }) => `${level} ${source}`)).toEqual(["WARN http", "ERROR http"]);
});

test("a message is one line whatever is in it, and a secret never shows", () => {
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
