/** Backups: database and files of one moment come back unchanged, and a backup that is not whole is refused. */
// Promises: R2.
import { Database as Driver } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTarPacker } from "modern-tar";
import { backUp, bytesIn, emptyPaths, restoreTo, rowsIn } from "../../../test/backups.ts";
import { openFiles } from "../../../test/files.ts";
import { temporaryFolder } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { dataPathsOf, knownSchemas } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import type { HeldState } from "../../store/database/index.ts";
import { firstLine, lastLine, writeArchive } from "./archive.ts";
import { putRight } from "./data-paths.ts";

const files = await openFiles();
const { service, request, token, store } = files;

function random(bytes: number): Uint8Array {
  const content = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) crypto.getRandomValues(content.subarray(at, at + 65_536));
  return content;
}

async function addPost(title: string): Promise<string> {
  const { status, body } = await request("POST", "/api/posts", { token, body: { title } });
  expect(status).toBe(201);
  return String(body["id"]);
}

const content = random(300_000);
const kept = await store(content);
const emptyFile = await store(new Uint8Array());
await addPost("first");

describe("a round trip", () => {
  test("records, users and files are unchanged; nothing is added", async () => {
    const backup = await backUp(files);
    const later = await addPost("later");
    const laterFile = await store("later");
    const paths = emptyPaths(files);
    const { head, aside } = await restoreTo(paths, backup);
    expect(head).toMatchObject({ socle: "test", missing: [], schema: knownSchemas, counts: { files: 2, users: 3 } });
    expect(head.event).toStartWith("evt_");
    expect(aside).toEqual([]);
    expect(await bytesIn(paths, kept)).toEqual(content);
    expect(await bytesIn(paths, emptyFile)).toHaveLength(0);
    expect(await bytesIn(paths, laterFile)).toBeNull();
    const names = readdirSync(dirname(paths.database)).sort();
    expect(names.filter((name) => !name.startsWith("socle.db-lock"))).toEqual(["socle.db", "storage"]);
    const titles = rowsIn<{ id: string; title: string }>(paths, "SELECT id, title FROM posts");
    expect(titles.map(({ title }) => title)).toContain("first");
    expect(titles.map(({ id }) => id)).not.toContain(later);
    expect(existsSync(`${service.database.path}-backup/copy.db`)).toBe(false);
    expect(statSync(backup).mode & 0o077).toBe(0);
  });

  test("data only in the log, held by a reader, are in the backup", async () => {
    const reader = new Driver(service.database.path, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM posts").get();
    const ids = [await addPost("in the log"), await addPost("in the log, too")];
    const paths = emptyPaths(files);
    await restoreTo(paths, await backUp(files));
    reader.close();
    const found = rowsIn<{ id: string }>(paths, "SELECT id FROM posts").map(({ id }) => id);
    expect(found).toEqual(expect.arrayContaining(ids));
    expect(readdirSync(`${service.database.path}-backup`).filter((name) => name.startsWith("copy"))).toEqual([]);
  });

  test("a file that is deleted meanwhile is in the backup, and its bytes are removed afterwards", async () => {
    const doomed = await store(content, "doomed.bin");
    const checked = Promise.withResolvers<void>();
    let isBegun = false;
    const backup = await backUp(files, {
      onProgress() {
        // The state is chosen by now.
        if (isBegun) return;
        isBegun = true;
        void (async () => {
          expect((await request("DELETE", `/api/storage/${doomed}`, { token })).status).toBe(204);
          expect((await request("GET", `/api/storage/${doomed}`)).status).toBe(404);
          expect(await bytesIn(dataPathsOf(files.config), doomed)).toEqual(content);
        })().then(checked.resolve, checked.reject);
      },
      holdRemovals() {
        const goOn = service.storage.holdRemovals();
        return () => checked.promise.then(goOn);
      },
    });
    await checked.promise;
    const paths = emptyPaths(files);
    await restoreTo(paths, backup);
    expect(await bytesIn(paths, doomed)).toEqual(content);
    for (let i = 0; i < 500 && files.onDisk().some((path) => path.endsWith(doomed)); i++) await Bun.sleep(10);
    expect(files.onDisk().some((path) => path.endsWith(doomed))).toBe(false);
    const remains = await service.database.reader.all("SELECT id FROM _file_remains");
    expect(remains).toEqual([]);
  });

  test("a file whose bytes are lost is reported, and blocks nothing", async () => {
    const lost = await store("lost");
    rmSync(join(files.config.storage, lost.slice(-2), lost));
    const paths = emptyPaths(files);
    const { head } = await restoreTo(paths, await backUp(files));
    expect(head.missing).toEqual([lost]);
    expect(await bytesIn(paths, kept)).toEqual(content);
    await service.database.transact((tx) => tx.run("DELETE FROM _files WHERE id = ?", lost));
  });
});

describe("a backup that fails", () => {
  test("leaves the old file, and nothing of its own", async () => {
    const output = join(temporaryFolder(), "backup.tar.zst");
    writeFileSync(output, "the old one");
    const stop = new AbortController();
    stop.abort(new Error("the service stops"));
    const failure = await backUp(files, { output, signal: stop.signal }).catch(String);
    expect(failure).toBe(`Error: The backup ${output} was not made: the service stops`);
    expect(await Bun.file(output).text()).toBe("the old one");
    expect(readdirSync(dirname(output))).toEqual(["backup.tar.zst"]);
  });

  test("a log that passes its bound ends the backup with a single line; the database is held no more", async () => {
    const { path } = service.database;
    let isReleased = false;
    let isSeen = false;
    let size = 1_000;
    const holdState = async (): Promise<HeldState> => {
      const held = await service.database.holdState();
      // The log is over the bound when the state is held, before the state was copied.
      size += 1;
      while (!isSeen) await Bun.sleep(1);
      const release = (): void => {
        isReleased = true;
        held.release();
      };
      return { ...held, release };
    };
    const sizes = (): { database: number; log: number } => {
      isSeen = size > 1_000;
      return { database: 0, log: size };
    };
    const failure = await backUp(files, { database: { path, holdState, sizes }, maxLog: 1_000 }).catch(String);
    expect(failure).toMatch(/^Error: The backup [^\n]* was not made: [^\n]*passed backup\.log \(1000 bytes\)[^\n]*$/);
    expect(isReleased).toBe(true);
    await addPost("goes on");
    await backUp(files, { maxLog: 1 });
  });

  test("a path without a regular file is refused, and stays unchanged", async () => {
    const folder = temporaryFolder();
    const [pipe, link, target] = [join(folder, "pipe"), join(folder, "link"), join(folder, "target")];
    Bun.spawnSync(["mkfifo", pipe]);
    writeFileSync(target, "kept");
    symlinkSync(target, link);
    for (const output of [pipe, link, folder])
      await expect(backUp(files, { output })).rejects.toBeInstanceOf(SetupError);
    // The unfinished backup is not written through a link either.
    symlinkSync(target, join(folder, "new.partial"));
    await expect(backUp(files, { output: join(folder, "new") })).rejects.toBeInstanceOf(SetupError);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await Bun.file(target).text()).toBe("kept");
  });

  test("the files of the database are not overwritten", async () => {
    for (const output of [service.database.path, `${service.database.path}-wal`])
      await expect(backUp(files, { output })).rejects.toBeInstanceOf(SetupError);
  });
});

describe("a restore", () => {
  test("refuses existing data; with force, the data are moved aside and stay", async () => {
    const backup = await backUp(files);
    const paths = emptyPaths(files);
    await restoreTo(paths, backup);
    rmSync(join(paths.files.address, kept.slice(-2), kept));
    const stray = join(paths.files.address, "zz", "fil_zz");
    mkdirSync(dirname(stray));
    writeFileSync(stray, "stray");
    const refusal = await restoreTo(paths, backup).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SetupError);
    expect(await bytesIn(paths, kept)).toBeNull();
    const { aside } = await restoreTo(paths, backup, { force: true });
    expect(await bytesIn(paths, kept)).toEqual(content);
    expect(existsSync(stray)).toBe(false);
    expect(aside).toHaveLength(1);
    expect(existsSync(join(aside[0] ?? "", "socle.db"))).toBe(true);
    expect(await Bun.file(join(aside[0] ?? "", "storage/zz/fil_zz")).text()).toBe("stray");
  });

  test("refuses while a service runs in the folder", async () => {
    const failure = await restoreTo(dataPathsOf(files.config), await backUp(files), { force: true }).catch(String);
    expect(failure).toContain("is in use by another socle process");
    expect((await request("GET", `/api/storage/${kept}`)).status).toBe(200);
  });
});

describe("refused archives, with a single line and without a trace", () => {
  const seed = randomSeed("damaged backups");
  const next = randomNumbers(seed);
  let whole = new Uint8Array();

  async function refusal(bytes: Uint8Array | string, schemas?: Record<string, number>): Promise<string> {
    const paths = emptyPaths(files);
    const blob = new Blob([typeof bytes === "string" ? bytes : new Uint8Array(bytes)]);
    const failure = await restoreTo(paths, blob, schemas === undefined ? {} : { schemas }).then(
      () => "it was restored",
      (error: unknown) => String(error),
    );
    const left = readdirSync(dirname(paths.database)).filter((name) => !name.startsWith("socle.db-lock"));
    expect(left.filter((name) => name !== "storage")).toEqual([]);
    if (left.includes("storage")) expect(readdirSync(paths.files.address, { recursive: true })).toEqual([".work"]);
    return failure;
  }

  async function archiveOf(entries: readonly (readonly [string, string | Uint8Array])[]): Promise<Uint8Array> {
    const path = join(temporaryFolder(), "archive");
    await writeArchive(path, { encryption: null, createdAt: new Date(0) }, async (add) => {
      for (const [name, content] of entries) {
        const bytes = Buffer.from(content);
        await add(name, bytes.length, [bytes]);
      }
    });
    return Bun.file(path).bytes();
  }

  const head = {
    format: 1,
    files: "in the archive" as const,
    socle: "9.9.9",
    createdAt: "2026-01-01T00:00:00.000Z",
    schema: {},
    event: null,
    counts: { records: 0, users: 0, files: 0 },
    missing: [],
  };

  test("cut off", async () => {
    whole = await Bun.file(await backUp(files)).bytes();
    const lengths = [
      64,
      whole.length - 1,
      whole.length - 100,
      ...Array.from({ length: 8 }, () => Math.floor(next() * whole.length)),
    ];
    for (const length of lengths)
      expect(await refusal(whole.subarray(0, length))).toMatch(
        /^Error: the backup: (is damaged or cut off|is not a backup)[^\n]*$/,
      );
  });

  /** The unpacked content; null for an archive that cannot be unpacked. */
  async function contentOf(archive: Uint8Array<ArrayBuffer>): Promise<Buffer | null> {
    const unpacked = new Blob([archive]).stream().pipeThrough(new DecompressionStream("zstd"));
    return new Response(unpacked).arrayBuffer().then(Buffer.from, () => null);
  }

  test("with bits that flipped", async () => {
    const content = (await contentOf(whole)) ?? Buffer.alloc(0);
    for (let i = 0; i < (isLong ? 30 : 10); i++) {
      const flipped = new Uint8Array(whole);
      const at = Math.floor(next() * whole.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(next() * 8));
      // A few bits of the format carry nothing.
      if ((await contentOf(flipped))?.equals(content) === true) continue;
      expect(await refusal(flipped), `byte ${at}`).toMatch(
        /^Error: the backup: (is damaged|is not a backup|its database is damaged|was made by)[^\n]*$/,
      );
    }
  });

  test("with a stored file of other bytes, in an archive that unpacks", async () => {
    const tar = Buffer.from(Bun.zstdDecompressSync(whole));
    const at = tar.indexOf(content);
    expect(at).toBeGreaterThan(0);
    tar[at] = (tar[at] ?? 0) ^ 1;
    expect(await refusal(new Uint8Array(Bun.zstdCompressSync(tar)))).toMatch(
      /^Error: the backup: is damaged[^\n]*the entries are not the entries of the manifest[^\n]*$/,
    );
  });

  test("another file", async () => {
    expect(await refusal("")).toBe("Error: the backup: is not a backup of Socle");
    expect(await refusal("PK\u0003\u0004 a zip")).toBe("Error: the backup: is not a backup of Socle");
    expect(await refusal(await archiveOf([["readme.md", "# Hello"]]))).toBe(
      "Error: the backup: is not a backup of Socle: it has other entries",
    );
    expect(await refusal(await archiveOf([["socle.db", "no database"]]))).toMatch(
      /^Error: the backup: is damaged[^\n]*is not a SQLite database[^\n]*$/,
    );
    expect(await refusal(await archiveOf([["../socle.db", "x"]]))).toContain("it has other entries");
  });

  test("an archive that declares more bytes than the disk has free, before the unpacking", async () => {
    // A header that declares 1 PiB, and 4 MiB of zeros: 1 KB when compressed.
    const packer = createTarPacker();
    const body = packer.controller.add({ name: "socle.db", size: 2 ** 50, type: "file" }).getWriter();
    void body.write(new Uint8Array(4 * 1024 ** 2)).catch(() => undefined);
    const pieces: Uint8Array[] = [];
    for await (const piece of packer.readable) {
      pieces.push(piece);
      if (Buffer.concat(pieces).length > 4 * 1024 ** 2) break;
    }
    const bomb = new Uint8Array(Bun.zstdCompressSync(Buffer.concat(pieces)));
    expect(bomb.length).toBeLessThan(10_000);
    expect(await refusal(bomb)).toMatch(
      /^Error: the backup: needs 1125899906842624 bytes, and the disk of [^\n]+ free$/,
    );
  });

  test("an archive whose database lists more bytes of files than the disk has free", async () => {
    const paths = emptyPaths(files);
    await restoreTo(paths, await backUp(files));
    const database = new Driver(paths.database);
    database.run("UPDATE _files SET size = ? WHERE id <> ?", [2 ** 50, kept]);
    database.close();
    const archive = await archiveOf([
      ["socle.db", await Bun.file(paths.database).bytes()],
      [`files/${kept}`, content],
    ]);
    expect(await refusal(archive)).toMatch(/^Error: the backup: needs \d{16} bytes, and the disk of [^\n]+ free$/);
  });

  test("files that the manifest does not name; a manifest of an earlier version names no place", async () => {
    const paths = emptyPaths(files);
    await restoreTo(paths, await backUp(files));
    const database = new Driver(paths.database);
    database.run("DELETE FROM _files WHERE id NOT IN (?, ?)", [kept, emptyFile]);
    database.close();
    const bytes = await Bun.file(paths.database).bytes();
    const stored = [
      ["socle.db", bytes],
      [`files/${kept}`, content],
      [`files/${emptyFile}`, ""],
    ] as const;
    const archive = (first: string, entries: readonly (readonly [string, string | Uint8Array])[]) => {
      const lines = entries.map(([name, content]) =>
        JSON.stringify({ name, size: Buffer.from(content).length, sha256: Bun.SHA256.hash(content, "hex") }),
      );
      return archiveOf([...entries, ["manifest.json", `${first}${lines.join(",\n")}\n${lastLine}`]]);
    };
    const [{ files: _, ...early }, beside] = [head, { ...head, format: 2, files: "in the storage" as const }];
    const whole = firstLine(head);
    expect(await refusal(await archive(firstLine(beside), stored))).toContain("it has 2 files, and 0 belong");
    expect(await refusal(await archive(whole, stored.slice(0, 1)))).toContain("it has 0 files, and 2 belong");
    const unknown = whole.replace("in the archive", "somewhere");
    expect(await refusal(await archive(unknown, stored))).toContain("its first line is not complete");
    const old = emptyPaths(files);
    const first = whole.replace(JSON.stringify(head).slice(1, -1), JSON.stringify(early).slice(1, -1));
    expect(first).not.toContain("in the archive");
    const restored = await restoreTo(old, new Blob([new Uint8Array(await archive(first, stored))]));
    expect(restored).toMatchObject({ filesLine: null, head: { files: "in the archive" } });
    expect(await bytesIn(old, kept)).toEqual(content);
  });

  test("a newer version", async () => {
    expect(await refusal(whole, { ...knownSchemas, events: 1 })).toMatch(
      /^Error: the backup: was made by a newer version \(test\)[^\n]*$/,
    );
    const manifest = `${firstLine({ ...head, format: 3 })}${lastLine}`;
    const paths = emptyPaths(files);
    await restoreTo(paths, await backUp(files));
    const database = await Bun.file(paths.database).bytes();
    const newer = await archiveOf([
      ["socle.db", database],
      ["manifest.json", manifest],
    ]);
    expect(await refusal(newer)).toMatch(/^Error: the backup: was made by a newer version \(9\.9\.9\)[^\n]*$/);
  });
});

test("leftovers of interrupted commands are removed at the next start", async () => {
  const paths = emptyPaths(files);
  const partial = join(temporaryFolder(), "backup.tar.zst.partial");
  const other = join(temporaryFolder(), "backup.tar.zst");
  for (const path of [partial, other]) writeFileSync(path, "half");
  for (const folder of ["-backup", "-snapshot", "-restore"]) mkdirSync(paths.database + folder);
  mkdirSync(join(paths.files.address, ".work/restore"), { recursive: true });
  writeFileSync(join(`${paths.database}-backup`, "partial"), partial);
  expect(putRight(paths)).toBe(false);
  expect(existsSync(partial)).toBe(false);
  expect(existsSync(other)).toBe(true);
  expect(readdirSync(dirname(paths.database))).toEqual(["storage"]);
  expect(existsSync(join(paths.files.address, ".work/restore"))).toBe(false);
});
