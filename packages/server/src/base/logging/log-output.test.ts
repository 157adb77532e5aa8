/** The log's output: lines whole and in order to files, pipes and sockets, whatever the reader does. */
import { expect, test } from "bun:test";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { LogOutput } from "./index.ts";

const folder = temporaryFolder();
const droppedLine = (count: number): string => `dropped ${count}\n`;

/** A named pipe: the end to read from, and the end to write to, neither of which blocks. */
function pipe(name: string): { reader: number; writer: number } {
  const path = join(folder, name);
  Bun.spawnSync(["mkfifo", path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/** Reads pieces of a size until `isEnough`; an empty pipe is read again a little later. */
async function readUntil(reader: number, isEnough: (text: string) => boolean, pieceBytes = 65_536): Promise<string> {
  const buffer = Buffer.alloc(pieceBytes);
  const decoder = new TextDecoder();
  let text = "";
  while (!isEnough(text)) {
    try {
      const length = readSync(reader, buffer);
      text += decoder.decode(buffer.subarray(0, length), { stream: true });
      if (length === 0 || pieceBytes < 65_536) await Bun.sleep(1);
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") throw error;
      await Bun.sleep(1);
    }
  }
  return text;
}

/** Lines of different lengths, 1.2 MB in all. */
function someLines(): string[] {
  return Array.from({ length: 10_200 }, (_, n) => `line ${n} ${"é".repeat(n % 90)}\n`);
}

test("a file gets every line, whole and in order", async () => {
  const path = join(folder, "file");
  const descriptor = openSync(path, "w");
  const output = new LogOutput({ descriptor, droppedLine });
  for (const line of someLines()) output.add(line);
  await output.drained();
  closeSync(descriptor);
  expect(readFileSync(path, "utf8")).toBe(someLines().join(""));
});

test("writes wait for a full pipe: a slow reader gets every line, whole and in order", async () => {
  const { reader, writer } = pipe("slow");
  const output = new LogOutput({ descriptor: writer, droppedLine });
  for (const line of someLines()) output.add(line);
  const expected = someLines().join("");
  expect(await readUntil(reader, (text) => text.length >= expected.length, 4_096)).toBe(expected);
  await output.drained();
  closeSync(writer);
  closeSync(reader);
});

test("writes wait for a full socket: every line arrives", async () => {
  const module = JSON.stringify(join(import.meta.dir, "index.ts"));
  const program = `import { LogOutput } from ${module};
    const output = new LogOutput({ descriptor: 1, droppedLine: (count) => "dropped " + count + "\\n" });
    // The property makes the socket one that does not block, as the service does.
    void process.stdout.isTTY;
    for (let n = 0; n < 10_200; n++) output.add("x".repeat(n % 200) + n + "\\n");
    await output.drained();
    process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "inherit" });
  const lines = (await new Response(child.stdout).text()).trimEnd().split("\n");
  expect(lines).toEqual(Array.from({ length: 10_200 }, (_, n) => "x".repeat(n % 200) + n));
});

test("a reader that stops blocks nothing: memory is bounded, and dropped lines are counted at their place", async () => {
  const { reader, writer } = pipe("stopped");
  const output = new LogOutput({ descriptor: writer, droppedLine });
  const line = `${"x".repeat(1_023)}\n`;
  for (let n = 0; n < 10_000; n++) output.add(line);
  await output.drained();
  const text = await readUntil(reader, (so) => so.endsWith("\n") && so.includes("dropped"));
  const rows = text.trimEnd().split("\n");
  const dropped = Number(rows.at(-1)?.replace("dropped ", ""));
  expect(rows.slice(0, -1).every((row) => row === line.trimEnd())).toBe(true);
  expect(rows.length - 1 + dropped).toBe(10_000);
  expect(rows.length - 1).toBeLessThan(4_200);
  expect(rows.length - 1).toBeGreaterThan(4_000);
  // A second gap, which ends with a further line, is reported between the lines around the gap.
  for (let n = 0; n < 5_000; n++) output.add(line);
  const some = await readUntil(reader, (so) => so.length > 2_000_000);
  output.add("after the gap\n");
  const rest = (some + (await readUntil(reader, (so) => so.endsWith("after the gap\n")))).trimEnd().split("\n");
  expect(rest.at(-1)).toBe("after the gap");
  expect(rest.at(-2)).toBe(`dropped ${5_000 - (rest.length - 2)}`);
  closeSync(writer);
  closeSync(reader);
});

test("a reader that has gone is no error: the lines wait for the next reader", async () => {
  const { reader, writer } = pipe("gone");
  const output = new LogOutput({ descriptor: writer, droppedLine });
  closeSync(reader);
  output.add("first\n");
  await output.drained();
  const again = openSync(join(folder, "gone"), constants.O_RDONLY | constants.O_NONBLOCK);
  output.add("second\n");
  expect(await readUntil(again, (text) => text.includes("second"))).toBe("first\nsecond\n");
  closeSync(writer);
  closeSync(again);
});
