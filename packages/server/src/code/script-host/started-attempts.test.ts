/** The file of begun attempts: places, half-written entries, and nothing left of the file. */
import { afterAll, expect, test } from "bun:test";
import { fstatSync, mkdirSync, readdirSync, readlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { type StartedAttemptSlot, StartedAttemptsFile } from "./started-attempts.ts";

const opened: StartedAttemptsFile[] = [];
afterAll(() => {
  for (const file of opened) file.close();
});

/** A process that the test ends. */
function start(file: StartedAttemptsFile): { place: StartedAttemptSlot; end: () => Promise<void> } {
  const exited = Promise.withResolvers<void>();
  let given: StartedAttemptSlot | null = null;
  file.give((place) => {
    given = place;
    return { exited: exited.promise };
  });
  if (given === null) throw new Error("The process has no place");
  const end = async (): Promise<void> => {
    exited.resolve();
    await exited.promise;
  };
  return { place: given, end };
}

function open(folder = temporaryFolder()): StartedAttemptsFile {
  const file = StartedAttemptsFile.open(join(folder, "begun"));
  opened.push(file);
  return file;
}

function write({ descriptor, offset }: StartedAttemptSlot, ...entry: readonly number[]): void {
  writeSync(descriptor, new Float64Array(entry), 0, entry.length * 8, offset);
}

test("a place has the number of the last begin; the next process with the place begins at 0", async () => {
  const file = open();
  const one = start(file);
  expect(one.place.number).toBe(0);
  write(one.place, 7, 7);
  expect(one.place.number).toBe(7);
  const two = start(file);
  expect([two.place.number, two.place.offset === one.place.offset]).toEqual([0, false]);
  write(one.place, 8, 8);
  await one.end();
  const three = start(file);
  expect(three.place.offset).toBe(one.place.offset);
  write(three.place, 1, 1);
  // The number of the process that has ended is kept.
  expect([one.place.number, two.place.number, three.place.number]).toEqual([8, 0, 1]);
});

test("the handler of a half-written entry has not begun, and no entry takes a begin back", () => {
  const { place } = start(open());
  write(place, 3, 3);
  expect(place.number).toBe(3);
  write(place, 4);
  expect(place.number).toBe(3);
  write(place, 4, 4);
  expect(place.number).toBe(4);
  write(place, 2, 2);
  expect(place.number).toBe(4);
});

test("a process that does not start leaves its place", () => {
  const file = open();
  const offsets = new Set<number>();
  const fail = (place: StartedAttemptSlot): never => {
    offsets.add(place.offset);
    throw new Error("no process");
  };
  for (let times = 0; times < 3; times++) expect(() => file.give(fail)).toThrow("no process");
  expect(offsets.size).toBe(1);
});

test("the file has no name, is written whole, and is closed with the last process", async () => {
  const folder = temporaryFolder();
  const file = open(folder);
  const { place, end } = start(file);
  expect(readdirSync(folder)).toEqual([]);
  expect(fstatSync(place.descriptor).size).toBeGreaterThan(place.offset);
  const isOpen = (): boolean => isOpenIn(folder);
  expect(isOpen()).toBeTrue();
  file.close();
  expect(isOpen()).toBeTrue();
  await end();
  expect(isOpen()).toBeFalse();
  expect(() => start(file)).toThrow("No further process can start");
  // A second close must not close the descriptor of another file.
  const other = start(open(folder)).place;
  file.close();
  write(other, 1, 1);
  expect(other.number).toBe(1);
});

test("a file whose name a power cut brought back is taken, and is empty", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "begun"), new Float64Array(8_192).fill(9));
  const { place } = start(open(folder));
  expect([readdirSync(folder), place.number]).toEqual([[], 0]);
});

test("without the folder, the file is in the folder of the system for temporary files", () => {
  const missing = join(temporaryFolder(), "missing");
  const { place } = start(open(missing));
  write(place, 1, 1);
  expect(place.number).toBe(1);
  mkdirSync(missing);
  expect(isOpenIn(missing)).toBeFalse();
});

/** Whether this process has a file of a folder open. */
function isOpenIn(folder: string): boolean {
  return readdirSync("/proc/self/fd").some((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(folder);
    } catch {
      // The descriptor of the look itself.
      return false;
    }
  });
}
