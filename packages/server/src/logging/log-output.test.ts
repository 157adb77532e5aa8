/** The log's output: lines in order, a reader that stops, a reader that is gone. */
import { expect, test } from "bun:test";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { LogOutput } from "./index.ts";

const folder = temporaryFolder();
const droppedLine = (count: number): string => `dropped ${count}\n`;

/** A pipe with a name: its end to write to, and its end to read from, neither of which waits to be opened. */
function pipe(name: string): { reader: number; writer: number } {
  const path = join(folder, name);
  if (Bun.spawnSync(["mkfifo", path]).exitCode !== 0) throw new Error("This test needs mkfifo");
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY) };
}

/** Reads until `isEnough`; what is not there yet is waited for. */
async function readUntil(reader: number, isEnough: (text: string) => boolean): Promise<string> {
  const buffer = Buffer.alloc(65_536);
  let text = "";
  while (!isEnough(text)) {
    try {
      const length = readSync(reader, buffer);
      text += buffer.toString("utf8", 0, length);
      if (length === 0) await Bun.sleep(1);
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") throw error;
      await Bun.sleep(1);
    }
  }
  return text;
}

test("lines come whole and in order", async () => {
  const path = join(folder, "file");
  const descriptor = openSync(path, "w");
  const output = new LogOutput({ descriptor, droppedLine });
  const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n} ${"é".repeat(n % 90)}\n`);
  for (const line of lines) output.add(line);
  await output.drained(60_000);
  closeSync(descriptor);
  expect(readFileSync(path, "utf8")).toBe(lines.join(""));
});

test("a reader that stops holds nothing up: memory is bounded, and what was dropped is counted", async () => {
  const { reader, writer } = pipe("stopped");
  const output = new LogOutput({ descriptor: writer, droppedLine });
  const line = `${"x".repeat(1_023)}\n`;
  for (let n = 0; n < 10_000; n++) output.add(line);
  // This line runs although nothing was read. At most 1 MiB waits, beside the content of the pipe and one write.
  await output.drained(1);
  const text = await readUntil(reader, (so) => so.endsWith("\n") && so.includes("dropped"));
  const rows = text.trimEnd().split("\n");
  const dropped = Number(rows.at(-1)?.replace("dropped ", ""));
  expect(rows.slice(0, -1).every((row) => row === line.trimEnd())).toBe(true);
  expect(rows.length - 1 + dropped).toBe(10_000);
  expect(rows.length - 1).toBeLessThan(1_400);
  expect(rows.length - 1).toBeGreaterThan(1_000);
  closeSync(writer);
  closeSync(reader);
});

test("a reader that is gone is no error, and the next one hears how many lines it missed", async () => {
  const { reader, writer } = pipe("gone");
  const output = new LogOutput({ descriptor: writer, droppedLine });
  closeSync(reader);
  output.add("lost\n");
  await output.drained(60_000);
  const again = openSync(join(folder, "gone"), constants.O_RDONLY | constants.O_NONBLOCK);
  output.add("heard\n");
  expect(await readUntil(again, (text) => text.includes("dropped"))).toBe("heard\ndropped 1\n");
  closeSync(writer);
  closeSync(again);
});
