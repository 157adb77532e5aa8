/** The queue of thumbnails: the bound, each caller's share, callers that disconnect, callers that want the same. */
import { describe, expect, test } from "bun:test";
import type { StoredFile } from "@socle/protocol";
import { openFiles } from "../../../test/files.ts";
import { png } from "../../../test/images.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import type { FileBody } from "./driver.ts";
import { nameOfSize, parseThumbSize, Thumbnails } from "./thumbnails.ts";

const { onDisk, request, store } = await openFiles();
const image = new Blob([png(40, 30)]);
const size = { width: 16, height: 16 };

function fileOf(id: string): StoredFile {
  return {
    id,
    filename: "a.png",
    mimeType: "image/png",
    size: image.size,
    visibility: "public",
    userId: null,
    createdAt: "",
    url: "",
  };
}

/** Thumbnails of images that are read when the test says so. */
function open(maxWaiting: number) {
  const thumbnails = new Thumbnails({
    folder: temporaryFolder(),
    cacheSize: 1_000_000,
    maxWaiting,
    logger: quietLogger(),
  });
  const read: string[] = [];
  const { promise: opened, resolve: letGo } = Promise.withResolvers<void>();
  const ask = (id: string, caller: string) => {
    const leaving = new AbortController();
    const job = {
      file: fileOf(id),
      size,
      async read() {
        read.push(id);
        await opened;
        return image;
      },
    };
    const result = thumbnails.get(job, { caller, signal: leaving.signal });
    // Looked at later.
    result.catch(() => undefined);
    return { result, leave: () => leaving.abort() };
  };
  return { ask, read, letGo };
}

/** Everything that can go on has gone on: the cache has been looked at. */
async function settle(): Promise<void> {
  await Bun.sleep(20);
}

describe("the queue", () => {
  test("callers who disconnect leave the queue: no thumbnail is made, and the next caller does not wait", async () => {
    const { ask, read, letGo } = open(100);
    const crowd = Array.from({ length: 60 }, (_, n) => ask(`crowd-${n}`, "crowd"));
    await settle();
    expect(read).toHaveLength(1);
    for (const { leave } of crowd) leave();
    for (const { result } of crowd) await expect(result).rejects.toThrow("The client has disconnected.");
    const next = ask("next", "crowd");
    letGo();
    expect((await next.result).size).toBeGreaterThan(0);
    expect(read).toEqual([read[0] ?? "", "next"]);
  });

  test("beyond its bound a thumbnail is 503 at once; a caller has three quarters of the bound", async () => {
    const { ask, letGo } = open(4);
    // One caller has one slot, whatever the number of cores.
    const first = ask("first", "one");
    await settle();
    const waiting = ["a", "b", "c"].map((id) => ask(id, "one"));
    await settle();
    const refusal = { code: "unavailable", limit: "thumbnails", retryAfter: 1 };
    await expect(ask("d", "one").result).rejects.toMatchObject(refusal);
    const others = ["e", "f", "g"].map((id) => ask(id, `other of ${id}`));
    await settle();
    await expect(ask("h", "late").result).rejects.toMatchObject(refusal);
    letGo();
    const results = await Promise.allSettled([first, ...waiting, ...others].map(({ result }) => result));
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(5);
    expect((await ask("d", "one").result).size).toBeGreaterThan(0);
  });

  test("a thumbnail with several callers goes on while a caller waits, and is made once", async () => {
    const { ask, read, letGo } = open(100);
    // Holds every slot, so that the next waits in the queue.
    const holding = ["x", "y"].map((id) => ask(id, id));
    await settle();
    const callers = ["a", "b", "c"].map((caller) => ask("same", caller));
    await settle();
    for (const { leave } of callers.slice(0, 2)) leave();
    for (const { result } of callers.slice(0, 2)) await expect(result).rejects.toThrow("disconnected");
    const late = ask("same", "late");
    await settle();
    letGo();
    expect((await late.result).size).toBe((await callers[2]?.result)?.size ?? 0);
    expect(read.filter((id) => id === "same")).toHaveLength(1);
    for (const { result } of holding) await result;
  });

  test("a thumbnail that all callers have left is made anew at the next request", async () => {
    const { ask, read, letGo } = open(100);
    const holding = ["x", "y"].map((id) => ask(id, id));
    await settle();
    const gone = ask("same", "a");
    await settle();
    gone.leave();
    const again = ask("same", "b");
    await expect(gone.result).rejects.toThrow("disconnected");
    letGo();
    expect((await again.result).size).toBeGreaterThan(0);
    expect(read.filter((id) => id === "same")).toHaveLength(1);
    for (const { result } of holding) await result;
  });

  test("a caller who joins a waiting thumbnail has its own turn for the thumbnail", async () => {
    const { ask, read, letGo } = open(100);
    const holding = ask("held", "crowd");
    await settle();
    // All slots are taken, whatever the number of cores.
    const other = ask("held, too", "other");
    await settle();
    const crowd = Array.from({ length: 5 }, (_, n) => ask(`crowd-${n}`, "crowd"));
    const first = ask("same", "crowd");
    await settle();
    const late = ask("same", "late");
    await settle();
    expect(read).not.toContain("same");
    letGo();
    expect((await late.result).size).toBe((await first.result).size);
    for (const { result } of [holding, other, ...crowd]) await result;
    expect(read.filter((id) => id === "same")).toHaveLength(1);
    expect(read.indexOf("same")).toBeLessThan(read.indexOf("crowd-0"));
  });

  test("a caller with a full queue waits for the thumbnail of another caller, and is refused when that caller leaves", async () => {
    const { ask, read, letGo } = open(8);
    const holding = ["x", "y"].map((id) => ask(id, id));
    await settle();
    const full = Array.from({ length: 6 }, (_, n) => ask(`full-${n}`, "crowd"));
    await settle();
    const first = ask("same", "one");
    await settle();
    const joined = ask("same", "crowd");
    await settle();
    expect(await Promise.race([joined.result, "waits"])).toBe("waits");
    first.leave();
    await expect(first.result).rejects.toThrow("disconnected");
    await expect(joined.result).rejects.toMatchObject({ code: "unavailable", limit: "thumbnails" });
    letGo();
    for (const { result } of [...holding, ...full]) await result;
    expect(read).not.toContain("same");
  });

  test("an image that is never read to its end, or never opened, gives its slot back", async () => {
    const options = { folder: temporaryFolder(), cacheSize: 1_000_000, maxWaiting: 10, logger: quietLogger() };
    const thumbnails = new Thumbnails(options, 50);
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await Bun.sleep(5);
        if (!isCancelled) controller.enqueue(new Uint8Array(1));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const get = (id: string, read: () => Promise<FileBody>) =>
      thumbnails.get({ file: fileOf(id), size, read }, { caller: "a", signal: new AbortController().signal });
    await expect(get("endless", async () => endless)).rejects.toMatchObject({ code: "unavailable" });
    expect(isCancelled).toBe(true);
    await expect(get("stuck", () => new Promise(() => undefined))).rejects.toMatchObject({ code: "unavailable" });
    const stream = async () => image.stream();
    expect((await get("good", stream)).size).toBeGreaterThan(0);
  });

  test("an image that was read does not stay in memory until its time is up", async () => {
    const { folder, logger } = { folder: temporaryFolder(), logger: quietLogger() };
    const thumbnails = new Thumbnails({ folder, cacheSize: 1_000_000, maxWaiting: 10, logger });
    const mebibyte = 1024 ** 2;
    const used = (): number => {
      Bun.gc(true);
      return process.memoryUsage().arrayBuffers;
    };
    const before = used();
    for (let n = 0; n < 20; n++) {
      const read = async () => new Response(new Blob([image, new Uint8Array(4 * mebibyte)])).body ?? image;
      await thumbnails.get({ file: fileOf(`${n}`), size, read }, { caller: "a", signal: new AbortController().signal });
    }
    expect(used() - before).toBeLessThan(20 * mebibyte);
  });
});

describe("sizes", () => {
  test("the possible sizes are few", () => {
    const names = new Set<string>();
    const sides = ["", ...Array.from({ length: 2_000 }, (_, n) => String(n + 1))];
    for (const side of sides.slice(1)) {
      for (const [wide, high] of [
        [side, ""],
        ["", side],
        [side, side],
      ]) {
        const { width, height } = parseThumbSize(`${wide}x${high}`);
        names.add(nameOfSize({ width, height }));
        if (wide !== "") expect(width).toBeGreaterThanOrEqual(Number(wide));
        if (high !== "") expect(height).toBeGreaterThanOrEqual(Number(high));
      }
    }
    expect(names.size).toBeLessThanOrEqual(60);
  });

  test("sizes of the same step are a single thumbnail: the same bytes, the same ETag, a single entry on disk", async () => {
    const id = await store(png(500, 400), "a.png");
    const answers = await Promise.all(
      ["201x", "230x", "256x", "0256x"].map((asked) => request("GET", `/api/storage/${id}?thumb=${asked}`)),
    );
    expect(new Set(answers.map(({ headers }) => headers.get("etag")))).toEqual(new Set([`"${id}-256x"`]));
    for (const { bytes } of answers) expect((await new Bun.Image(bytes).metadata()).width).toBe(256);
    expect(onDisk().filter((path) => path.includes(`thumbnails/${id}/`))).toHaveLength(1);
  });
});
