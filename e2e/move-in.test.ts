/**
 * Move from PocketBase: a data folder that PocketBase has made becomes a project. Every record, relation and file, the links and the
 * map are compared with the answers of PocketBase; each difference is in the report.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { singleService } from "./kit.ts";
import { expected, isMany, moved, movedProject, newField, tokenOf, wantedFor } from "./move-in-kit.ts";

singleService("commands");

const { cwd, server, report, token, items, ids, fileOf } = await movedProject();
const idOf = (collectionId: string, id: string): string | undefined => ids.get(`${collectionId}/${id}`);

test("every record and every relation has moved", () => {
  let compared = 0;
  for (const { name, fields } of moved) {
    const records = expected.records[name] ?? [];
    expect(
      items
        .get(name)
        ?.map(({ sourceId }) => sourceId)
        .toSorted(),
    ).toEqual(records.map(({ id }) => id).toSorted());
    for (const record of records) {
      const item = items.get(name)?.find(({ sourceId }) => sourceId === record.id);
      for (const field of fields) {
        if (["password", "file"].includes(field.type) || ["id", "tokenKey", "email", "verified"].includes(field.name))
          continue;
        const time = field.type !== "autodate" ? null : { created: "createdAt", updated: "updatedAt" }[field.name];
        const to = time ?? (name === "job" && field.name === "updatedAt" ? "updatedAt" : newField(name, field.name));
        const actual = item?.[to];
        const value = record[field.name];
        const place = `${name}/${record.id}/${field.name}`;
        compared += 1;
        if (name === "job" && field.name === "log" && typeof value === "object") {
          expect(Bun.SHA256.hash(String(actual), "hex")).toBe(String(Reflect.get(value ?? {}, "$sha256")));
          continue;
        }
        const wanted = wantedFor({ collection: name, id: record.id, field, value }, idOf);
        // A value that was never sent is an empty text, or nothing where an empty text breaks a rule of the field.
        if (wanted === "" || (wanted === 0 && actual === null)) expect([place, actual || null]).toEqual([place, null]);
        else if (wanted === "gone") expect([place, /^(rec|usr)_/.test(String(actual))]).toEqual([place, true]);
        else if (Array.isArray(wanted) && wanted.includes("gone")) expect(actual).toBeArrayOfSize(wanted.length);
        else expect([place, actual]).toEqual([place, wanted]);
      }
    }
  }
  expect(compared).toBeGreaterThan(6_000);
});

test("ids that lead nowhere are kept, and are the ids of no record", () => {
  const known = new Set(ids.values());
  const author = items.get("posts")?.find(({ sourceId }) => sourceId === "post00000000025")?.["author"];
  expect(author).toStartWith("usr_");
  expect(known.has(String(author))).toBe(false);
  expect(report).toContain("posts.author: 1 value with an id of no record (post00000000025): kept");
});

test("every file has the bytes, the name as uploaded, and the readers", async () => {
  const callers = ["anonymous", "ada", "bo", "cem"];
  const tokens = new Map([["anonymous", ""]]);
  for (const name of callers.slice(1)) {
    const person = expected.people.users.find(({ email }) => email.toLowerCase().startsWith(name));
    tokens.set(name, (await tokenOf(server.url, person?.email ?? "", person?.password ?? "")).token);
  }
  let compared = 0;
  for (const file of expected.files) {
    const pb = moved.find(({ name }) => name === file.collection);
    const field = pb?.fields.find(({ name }) => name === file.field);
    if (pb === undefined || field === undefined) continue;
    const item = items.get(pb.name)?.find(({ sourceId }) => sourceId === file.record);
    const names = [expected.records[pb.name]?.find(({ id }) => id === file.record)?.[file.field] ?? []].flat();
    const id = isMany(field) ? [item?.[file.field]].flat()[names.indexOf(file.name)] : item?.[file.field];
    if (file.size > 10 * 1024 ** 2) {
      expect([id, report.includes(`job.dump: 1 value with a file above 10 MiB (${file.record})`)]).toEqual([
        null,
        true,
      ]);
      continue;
    }
    const { headers, bytes } = await fileOf(id);
    expect([file.name, Bun.SHA256.hash(bytes, "hex")]).toEqual([file.name, file.sha256]);
    const disposition = headers.get("content-disposition") ?? "";
    const shown = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1] ?? /filename="([^"]*)"/.exec(disposition)?.[1];
    if (file.uploadedAs !== null) expect(decodeURIComponent(shown ?? "")).toBe(file.uploadedAs);
    for (const caller of callers) {
      const allowed = (await fileOf(id, tokens.get(caller))).status === 200;
      const before = file.status[caller] === 200;
      // A record of `notes` without readers was open to callers without a token; the view rule alone shows a note to the others with whom the note is shared.
      if (allowed !== before)
        expect([
          file.collection,
          before,
          report.includes("notes: Socle reads lists and single records by one rule"),
        ]).toEqual(["notes", true, true]);
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(80);
});

test("links to providers are kept, and a link without a user is left", () => {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const links = database.query("SELECT issuer, subject, provider FROM _links ORDER BY provider").all();
  database.close();
  expect(links).toEqual([
    { issuer: "https://github.com", subject: "583231", provider: "github" },
    { issuer: "https://accounts.google.com", subject: "117000000000000000042", provider: "google" },
    { issuer: "https://id.harbour.example", subject: "b3d9c0de-0000-4000-8000-00000000fa7a", provider: "oidc" },
  ]);
});

test("the map leads from each old address to a new address that answers", async () => {
  const lines = readFileSync(join(cwd, "move-in-map.ndjson"), "utf8").trimEnd().split("\n");
  const map = lines.map((line) => JSON.parse(line) as { from: string; to: string });
  expect(map.filter(({ from }) => from.startsWith("/api/collections/"))).toBeArrayOfSize(402);
  const files = map.filter(({ from }) => from.startsWith("/api/files/"));
  expect(files).toBeArrayOfSize(2 * 24);
  for (const { to } of [...files, ...map.slice(0, 40)]) {
    const response = await fetch(`${server.url}${to}`, { headers: { Authorization: `Bearer ${token}` } });
    expect([to, response.status]).toEqual([to, 200]);
    await response.bytes();
  }
});
