/** The parts of a continuous backup: objects that are never replaced, segments, commits that wait, and the search in the line of segments. */
import { describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";
import { Secret } from "../../base/kernel/index.ts";
import { hasPlace } from "../../store/journal/index.ts";
import { BackupPlace } from "./backup-place.ts";
import { latenessOf } from "./continuous.ts";
import { placeAt } from "./place.ts";
import { headIn, packSegment, readSegment, type SegmentHead, segmentName } from "./segment.ts";
import { snapshotsIn } from "./snapshots.ts";
import { WaitingCommits } from "./waiting-commits.ts";

const s3 = await startS3();
const keys = {
  endpoint: s3.endpoint,
  region: "us-east-1",
  accessKeyId: s3Key,
  secretAccessKey: new Secret(s3Key),
};
const nobody = () => Promise.reject(new Error("it is encrypted"));

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text));
}

function headOf(number: number, more: Partial<SegmentHead> = {}): SegmentHead {
  const [first, last] = [number * 10, number * 10 + 9];
  const ids = { before: `id-${first - 1}`, id: `id-${last}` };
  const rest = { from: first, to: last, gap: 0, size: 0, isEncrypted: false };
  return { chain: "chain", number, role: "role", first, last, ...ids, ...rest, ...more };
}

function commitsOf({ first, last }: SegmentHead, entryOf: (position: number) => string): WaitingCommits {
  const waiting = new WaitingCommits(zlib);
  for (let position = first; position <= last; position++)
    waiting.add({ position, id: `id-${position}`, at: position, files: [] }, entryOf(position));
  return waiting;
}

function framesOf(head: SegmentHead, entryOf = (position: number): string => `{"n":${position}}`): Uint8Array[] {
  return commitsOf(head, entryOf)
    .some(Number.MAX_SAFE_INTEGER)
    .map(({ bytes }) => bytes);
}

describe.each(["a folder", "a bucket"])("the objects of %s", (kind) => {
  const address = kind === "a folder" ? join(temporaryFolder(), "live") : `s3://${bucket}/objects`;
  const place = placeAt(address, keys);

  test("an object is written once, and of two writers at a time, one writes", async () => {
    expect(await place.create("one", bytesOf("first"))).toBe(true);
    expect(await place.create("one", bytesOf("second"))).toBe(false);
    expect(Buffer.from(await place.bytes("one")).toString()).toBe("first");
    expect(Buffer.from(await place.bytes("one", 2)).toString()).toBe("fi");
    // A store tells the later of two writers to try again.
    const both = await Promise.all(["a", "b"].map((text) => place.create("two", bytesOf(text))));
    expect(both.filter(Boolean)).toHaveLength(1);
    if (kind === "a folder") expect(readdirSync(address).sort()).toEqual(["one", "two"]);
  });

  test("the names come in their order, and a missing object is null", async () => {
    const path = join(temporaryFolder(), "file");
    writeFileSync(path, "from a file");
    await place.upload("three", path, new AbortController().signal);
    expect((await Array.fromAsync(place.list("one"))).map(({ name }) => name)).toEqual(["three", "two"]);
    expect([await place.next(""), await place.next("one"), await place.next("two")]).toEqual(["one", "three", null]);
    expect(await place.find("none")).toBeNull();
    expect((await place.find("three"))?.size).toBe(11);
    await place.remove("three");
    await place.remove("three");
    expect(await place.find("three")).toBeNull();
  });
});

test("a segment comes back as it was, whatever the entries, in the clear and encrypted", async () => {
  const random = randomNumbers(randomSeed("segments"));
  const texts = ["é", "\u0000", "漢字", "'\"\\", "x".repeat(200_000), "a b c"];
  const entryOf = (position: number): string =>
    JSON.stringify({ position, text: texts[Math.floor(random() * texts.length)] });
  const entries = new Map(Array.from({ length: 10 }, (_, i) => [30 + i, entryOf(30 + i)]));
  const identity = await generateX25519Identity();
  for (const encryption of [null, { recipient: await identityToRecipient(identity) }]) {
    const head = headOf(3, { isEncrypted: encryption !== null });
    const frames = framesOf(head, (position) => entries.get(position) ?? "");
    const bytes = await packSegment(head, frames, { zlib, encryption });
    const { head: read, commits } = await readSegment(bytes, async () => ({ identity }));
    expect(read).toEqual(head);
    expect(headIn(bytes.slice(0, 1_024)).head).toEqual(head);
    expect(commits.map(({ position, entry }) => [position, entry])).toEqual([...entries]);
    if (encryption !== null) expect(Buffer.from(bytes).includes("position")).toBe(false);
  }
});

test("no flipped bit changes a segment that is read, and no cut and no other head passes", async () => {
  const head = headOf(3);
  const bytes = await packSegment(head, framesOf(head), { zlib, encryption: null });
  const whole = await readSegment(bytes, nobody);
  const passed: number[] = [];
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const damaged = bytes.slice();
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    const read = await readSegment(damaged, nobody).catch(() => null);
    if (read === null) continue;
    expect(read).toEqual(whole);
    passed.push(bit);
  }
  // The bit of the header of a frame that no reader interprets (RFC 8878, 3.1.1.1.1.3): the head and the commits have a frame each.
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  const first = Buffer.from(bytes).indexOf(frame);
  const second = Buffer.from(bytes).indexOf(frame, first + 1);
  expect(passed).toEqual([first, second].map((at) => 8 * (at + 4) + 4));
  for (const length of [0, 10, bytes.length - 1, Math.floor(bytes.length / 2)])
    await expect(readSegment(bytes.slice(0, length), nobody)).rejects.toThrow();
  const other = Buffer.from(bytes).toString("latin1").replace('"last":39', '"last":38');
  await expect(readSegment(new Uint8Array(Buffer.from(other, "latin1")), nobody)).rejects.toThrow(
    "its head is not the head of its commits",
  );
});

test("commits that wait are taken in order, in parts, and an addition meanwhile stays", () => {
  const waiting = commitsOf(headOf(1), (position) => `${position}`.repeat(30_000));
  expect([waiting.first?.position, waiting.last?.position]).toEqual([10, 19]);
  const some = waiting.some(1);
  waiting.add({ position: 20, id: "id-20", at: 20, files: ["fil_a"] }, "{}");
  waiting.remove(some);
  expect(waiting.first?.position).toBe((some.at(-1)?.last.position ?? 0) + 1);
  const rest = waiting.some(Number.MAX_SAFE_INTEGER);
  const ends = [...some, ...rest].map(({ first, last }) => [first.position, last.position]);
  expect(ends.map(([first]) => first)).toEqual([10, ...ends.slice(0, -1).map(([, last = 0]) => last + 1)]);
  expect([ends.at(-1)?.[1], rest.flatMap(({ files }) => files)]).toEqual([20, ["fil_a"]]);
  waiting.remove(rest);
  expect([waiting.first, waiting.bytes]).toEqual([null, 0]);
  waiting.prepend(commitsOf(headOf(2), () => "{}"));
  expect(waiting.first?.position).toBe(20);
  waiting.clear();
  expect([waiting.first, waiting.last, waiting.bytes]).toEqual([null, null, 0]);
});

test("the first and the last segment are found, also behind trimmed and beside missing and damaged segments", async () => {
  const place = new BackupPlace(join(temporaryFolder(), "live"), { keys });
  expect([await place.first(), await place.last()]).toEqual([0, 0]);
  for (let number = 5; number <= 23; number++) {
    const head = headOf(number);
    const bytes = await packSegment(head, framesOf(head), { zlib, encryption: null });
    await place.segments.create(segmentName(number), number === 9 ? bytes.slice(0, 20) : bytes);
  }
  await place.segments.create("probe", bytesOf(""));
  await place.segments.remove(segmentName(7));
  expect([await place.first(), await place.last()]).toEqual([5, 23]);
  const reach = (position: number): Promise<number> => place.search(5, 23, ({ last }) => last >= position);
  expect([await reach(0), await reach(123), await reach(239), await reach(240)]).toEqual([5, 12, 23, 24]);
  await expect(place.read(7)).rejects.toThrow("is missing");
  await expect(place.head(9)).rejects.toThrow("cannot be used: its head is cut off");
});

test("a history has the entries of its roles, and no other entry", () => {
  const one = "a".repeat(12);
  const two = "b".repeat(12);
  const roles = [
    { position: 1, id: `${one}1` },
    { position: 10, id: `${two}1` },
  ];
  const history = { roles, end: { position: 20, id: `${two}2` } };
  const cases: [position: number, id: string | null, has: boolean][] = [
    [9, `${one}x`, true],
    [10, `${one}x`, false],
    [9, `${two}x`, false],
    [20, `${two}x`, true],
    [21, `${two}x`, false],
    [5, "c".repeat(24), false],
    [5, null, false],
  ];
  for (const [position, id, has] of cases)
    expect([position, id, hasPlace(history, { position, id })]).toEqual([position, id, has]);
});

test("only the snapshots of the chain are listed, the newest first", async () => {
  const place = placeAt(join(temporaryFolder(), "snapshots"), keys);
  const tag = Bun.SHA256.hash("chain", "hex").slice(0, 12);
  const nameOf = (position: number, of = tag, ending = ""): string =>
    `snapshot-${String(position).padStart(16, "0")}-${of}-0199aabbccdd00000000000.tar.zst${ending}`;
  for (const name of [nameOf(5), nameOf(40, tag, ".age"), nameOf(7, "0".repeat(12)), "another"])
    await place.create(name, bytesOf("x"));
  const found = await snapshotsIn(place, "chain");
  expect(found.map(({ position }) => position)).toEqual([40, 5]);
  expect(found[0]?.madeAt).toBe(0x0199aabbccdd);
  expect(await snapshotsIn(place, null)).toHaveLength(3);
});

test("a backup is late beyond the allowed age, or when the backup is over", () => {
  const state = { behindMs: 7_000, allowedMs: 7_000, problem: null, isOver: false, segments: 1 };
  expect(latenessOf(state)).toBeNull();
  expect(latenessOf({ ...state, problem: "the store waits" })).toBeNull();
  expect(latenessOf({ ...state, behindMs: 8_000 })).toContain("is 8 s old");
  expect(latenessOf({ ...state, isOver: true, problem: "another service" })).toBe("another service");
});
