/** Modes of the files that the service makes. */
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileForm, formType } from "../../test/forms.ts";
import { openApi, temporaryFolder } from "../../test/kit.ts";
import { typesFile, writeTypes } from "./types-file.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("the database, its log and the storage are for the service's user alone; files of the project are not", async () => {
  const folder = temporaryFolder();
  const settings = { SERVICE_DATABASE: "./data/socle.db", SERVICE_STORAGE: "./data/storage" };
  const { request, admin, log } = await openApi({ folder, settings });
  const headers = { "Content-Type": formType };
  const upload = await request("POST", "/api/storage/upload", {
    body: fileForm("hello"),
    token: await admin(),
    headers,
  });
  expect(upload.status).toBe(201);
  const seen: string[] = [];
  for (const entry of readdirSync(join(folder, "data"), { recursive: true, withFileTypes: true })) {
    seen.push(entry.name);
    const mode = modeOf(join(entry.parentPath, entry.name));
    expect([entry.name, mode.toString(8)]).toEqual([entry.name, entry.isDirectory() ? "700" : "600"]);
  }
  expect(seen).toEqual(
    expect.arrayContaining(["socle.db", "socle.db-wal", "socle.db-shm", "socle.db-lock", "storage"]),
  );
  expect(modeOf(join(folder, "data"))).toBe(0o700);
  expect(log.filter((line) => line.includes("chmod"))).toEqual([]);
  await writeTypes({ folder, "scripts.env": [], "auth.anonymous": false, "endpoints.prefix": "/api/function" }, []);
  expect(modeOf(join(folder, typesFile))).toBe(0o644);
  expect(modeOf(join(folder, ".socle"))).toBe(0o755);
});

test("files that other users may read from before cause a warning, with the command that closes the files", async () => {
  const folder = temporaryFolder();
  await (await openApi({ folder })).close();
  const [database, storage] = [join(folder, "socle.db"), join(folder, "storage")];
  chmodSync(database, 0o644);
  chmodSync(storage, 0o750);
  const { log } = await openApi({ folder });
  const [line, ...more] = log.filter((each) => each.includes("chmod"));
  expect(more).toEqual([]);
  expect(line).toStartWith("WARN");
  // The log takes the mode of the database.
  expect(line).toEndWith(`: chmod -R go= ${database} ${database}-wal ${storage}`);
});
