/**
 * Move from Firebase: documents, users and files become a project. Every record, relation and file, logins, rules, later runs, and
 * exports that are refused.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, project, root, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";
import { type Item, list, tokenOf } from "./move-in-kit.ts";

singleService("commands");

const admin = { email: "root@harbour.example", password: "root of all harbours 7" };
const [ada, bo, gus] = ["adaAAAAAAAAAAAAAAAAAAAAAAAA1", "boBBBBBBBBBBBBBBBBBBBBBBBBB2", "gusGGGGGGGGGGGGGGGGGGGGGGGG3"];
const [cem, anonymous, phone] = [
  "cemCCCCCCCCCCCCCCCCCCCCCCCC4",
  "anonNNNNNNNNNNNNNNNNNNNNNNN5",
  "phonePPPPPPPPPPPPPPPPPPPPPP6",
];
const gone = "goneXXXXXXXXXXXXXXXXXXXXXXX7";

/** The export in a new folder, changed, and a folder of files. */
function sourceOf(change: (folder: string) => void = () => undefined): { path: string; files: string } {
  const folder = temporaryFolder();
  const [path, files] = [join(folder, "export"), join(folder, "files")];
  cpSync(join(root, "e2e", "move-in-firebase"), path, { recursive: true });
  mkdirSync(join(files, "harbour.appspot.com", "avatars"), { recursive: true });
  writeFileSync(join(files, "harbour.appspot.com", "avatars", "ada #1.png"), "a picture");
  writeFileSync(join(files, "harbour.appspot.com", "large.bin"), new Uint8Array(10 * 1024 * 1024 + 1));
  writeFileSync(join(files, "stray.txt"), "of no bucket");
  change(path);
  return { path, files };
}

const replaced =
  (name: string, from: string, to: string) =>
  (folder: string): void => {
    const text = readFileSync(join(folder, name), "utf8");
    expect(text).toContain(from);
    writeFileSync(
      join(folder, name),
      text.replace(from, () => to),
    );
  };
const written =
  (name: string, text: string) =>
  (folder: string): void =>
    writeFileSync(join(folder, name), text);

const decided = ["--yes", "--missing-files", "clear"];
const move = (cwd: string, { path, files }: { path: string; files: string }, more: readonly string[] = decided) =>
  socle(["move-in", "firebase", path, "--files", files, ...more], { cwd });

const cwd = await project();
const source = sourceOf();
const moved = await move(cwd, source);
if (moved.code !== 0 || moved.stderr !== "") throw new Error(`The move has failed: ${moved.stderr}`);
await socle(["admin", "create", admin.email, "--password", admin.password], { cwd });
const server = await serve(cwd);
const { token } = await tokenOf(server.url, admin.email, admin.password);
const collections = ["users", "users_devices", "harbours", "harbours_berths", "harbours_berths_logs", "ships", "roles"];
const items = new Map<string, Item[]>();
for (const name of [...collections, "storage_objects"])
  items.set(
    name,
    ((await list(server.url, name, token)) as Item[]).filter(({ sourceId }) => sourceId !== null),
  );
const idOf = (collection: string, sourceId: string): string =>
  items.get(collection)?.find((each) => each.sourceId === sourceId)?.id ?? `no ${collection}/${sourceId}`;
const user = (uid: string): string => idOf("users", uid);
const byId = (collection: string): Record<string, object> =>
  Object.fromEntries((items.get(collection) ?? []).map(({ id: _, sourceId, ...values }) => [sourceId, values]));
const picture = `/api/storage/${items.get("storage_objects")?.find(({ path }) => path === "avatars/ada #1.png")?.["file"]}`;

function rowOf(uid: string): { passwordHash: string; role: string } {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const row = database.query("SELECT passwordHash, role FROM _users WHERE id = ?").get(user(uid)) as {
    passwordHash: string;
    role: string;
  };
  database.close();
  return row;
}

test("every document, value and relation has moved", () => {
  const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
  const [hamburg, kiel] = [idOf("harbours", "hamburg"), idOf("harbours", "kiel")];
  const [one, two] = ["aaaaaaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaaaaaa2"];
  expect(byId("ships")).toEqual({
    [one]: {
      ...{ name: "Mind\nthe tide", home: hamburg, crew: [user(ada), user(bo)], calls: [hamburg, kiel], anything: kiel },
      ...{ mixed: 1, scores: [1, 2.5], captain: user(ada), note: user(ada), id_: idOf("ships", one), job: "x" },
      deep: {
        ...{ by: user(ada), ship: idOf("ships", two), at: "2024-01-01T00:00:00.005Z", where: { lat: 1, lon: 2 } },
        ...{ to: user(bo), list: [[1]] },
      },
      ...{ createdAt: "2024-02-01T00:00:00.000Z", updatedAt: "2024-02-02T00:00:00.000Z" },
    },
    [two]: {
      ...{ name: "Second", home: kiel, crew: [], calls: [], anything: user(bo), mixed: "one", scores: [], deep: null },
      ...{ captain: user(bo), note: "none", id_: null, job: null },
      ...{ createdAt: "2024-02-01T00:00:01.000Z", updatedAt: "2024-02-01T00:00:01.000Z" },
    },
  });
  expect(byId("harbours")).toEqual({
    hamburg: {
      ...{ name: "Hamburg", place: { lat: 53.54, lon: 9.97 }, depth_m_: 15.5, opened: "1889-12-31T00:00:00.000Z" },
      ...{ tags: ["tide", "river"], photo: picture, ...times },
    },
    kiel: {
      ...{ name: "Kiel", place: { lat: 54.32, lon: 10.14 }, depth_m_: 9, opened: null, tags: [], ...times },
      photo: "gs://harbour.appspot.com/gone.png",
    },
    // The document of Firestore is not there, and the documents below are.
    phantom: { name: null, place: null, depth_m_: null, opened: null, tags: [], photo: null, ...times },
  });
  const phantom = idOf("harbours", "phantom");
  expect(byId("harbours_berths")).toEqual({
    "hamburg/b1": { parent: hamburg, size: 300, keeper: user(ada), ...times },
    "hamburg/b2": { parent: hamburg, size: 120.5, keeper: user(bo), ...times },
    "kiel/b1": { parent: kiel, size: 80, keeper: user(ada), ...times },
    "phantom/b9": { parent: phantom, size: 1, keeper: user(bo), ...times },
  });
  expect(byId("harbours_berths_logs")).toEqual({
    "hamburg/b1/l1": { parent: idOf("harbours_berths", "hamburg/b1"), text: "in", ...times },
  });
  expect(byId("users_devices")).toEqual({
    [`${ada}/d1`]: { parent: user(ada), model: "A", ...times },
    [`${gone}/d1`]: { parent: user(gone), model: "X", ...times },
  });
  expect(byId("roles")).toEqual({ admin: { label: "Admins", ...times } });
  const { fields } = JSON.parse(
    readFileSync(join(cwd, "collections", "ships.json"), "utf8").replace(/^\/\/.*$/gm, ""),
  ) as { fields: { name: string; type: string; multiple?: boolean; collection?: string }[] };
  expect(
    fields.map(({ name, type, multiple, collection }) => [name, type, multiple ?? false, collection ?? ""]),
  ).toEqual([
    ["name", "text", false, ""],
    ["home", "relation", false, "harbours"],
    ["crew", "relation", true, "users"],
    ["calls", "relation", true, "harbours"],
    ["anything", "string", false, ""],
    ["mixed", "json", false, ""],
    ["scores", "json", false, ""],
    ["deep", "json", false, ""],
    ["captain", "relation", false, "users"],
    ["note", "string", false, ""],
    ["id_", "string", false, ""],
    ["job", "string", false, ""],
    ["sourceId", "string", false, ""],
  ]);
});

test("users: addresses, proofs, documents, links, and old passwords", async () => {
  const users = items.get("users") ?? [];
  expect(
    Object.fromEntries(users.map(({ sourceId, email, verified, credits }) => [sourceId, [email, verified, credits]])),
  ).toEqual({
    [ada]: ["ada@harbour.example", true, 5],
    [bo]: ["bo@harbour.example", false, 0],
    [gus]: ["gus@harbour.example", true, null],
    [cem]: [null, false, null],
    [anonymous]: [null, false, null],
    [phone]: [null, false, null],
    [gone]: [null, false, 1],
  });
  expect(byId("users")[ada]).toMatchObject({
    ...{ name: "Ada", email_: "old@harbour.example", joined: "2024-01-01T00:00:00.000Z" },
    createdAt: "2024-01-01T00:00:00.000Z",
    account: {
      ...{ displayName: "Ada Å", photoUrl: picture, customClaims: { admin: true, team: "pilots" } },
      lastSignedInAt: "2024-03-01T10:00:00.123Z",
    },
  });
  expect(byId("users")[phone]).toMatchObject({ account: { phoneNumber: "+4940123456" } });
  expect(rowOf(ada).passwordHash).toStartWith("$firebase-scrypt$10$8$");
  const status = async (email: string, password: string): Promise<number> =>
    (await tokenOf(server.url, email, password)).status;
  expect([await status("ada@harbour.example", "correct horse 2"), rowOf(ada).role]).toEqual([401, "authenticated"]);
  expect(await status("ada@harbour.example", "correct horse 1")).toBe(200);
  expect(rowOf(ada).passwordHash).toStartWith("$argon2id$");
  expect([await status("ada@harbour.example", "correct horse 1"), await status("ada@harbour.example", "x")]).toEqual([
    200, 401,
  ]);
  // The letter in the form NFD, as some keyboards write the letter.
  expect(await status("bo@harbour.example", "bo's pa\u0308ssword")).toBe(200);
  expect(await status("cem@harbour.example", "correct horse 1")).toBe(401);
  expect([rowOf(cem).passwordHash, rowOf(gus).passwordHash]).toEqual(["", ""]);
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const links = database.query("SELECT provider, issuer, subject, userId FROM _links ORDER BY provider").all();
  database.close();
  expect(links).toEqual([
    { provider: "apple", issuer: "https://appleid.apple.com", subject: "000123.abc.0456", userId: user(gus) },
    { provider: "github", issuer: "https://github.com", subject: "583231", userId: user(ada) },
    { provider: "google", issuer: "https://accounts.google.com", subject: "1098765", userId: user(gus) },
  ]);
});

test("every collection and every file is closed to all but admins, and the rules stand as comments", async () => {
  const { token: own } = await tokenOf(server.url, "ada@harbour.example", "correct horse 1");
  for (const name of [...collections, "storage_objects"])
    expect([name, await list(server.url, name, ""), await list(server.url, name, own)]).toEqual([name, 401, 403]);
  const read = async (as: string): Promise<number | string> => {
    const response = await fetch(`${server.url}${picture}`, {
      headers: as === "" ? {} : { Authorization: `Bearer ${as}` },
    });
    return response.ok ? response.text() : response.status;
  };
  expect(await read(token)).toBe("a picture");
  for (const as of ["", own]) expect(["401", "403", "404"]).toContain(String(await read(as)));
  const comments = (name: string): string[] =>
    readFileSync(join(cwd, "collections", `${name}.json`), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("//"));
  expect(comments("harbours_berths").slice(0, 5)).toEqual([
    "// Moved from Firebase: harbours/berths.",
    "// The rules of Firestore, which are not translated:",
    "//         match /berths/{berth} {",
    "//           allow write: if request.auth.uid == resource.data.keeper; // {",
    "//         }",
  ]);
  expect(comments("roles").join("\n")).not.toContain("allow");
  const map = readFileSync(join(cwd, "move-in-map.ndjson"), "utf8");
  for (const line of [
    {
      from: "/documents/harbours/hamburg/berths/b1",
      to: `/api/harbours_berths/${idOf("harbours_berths", "hamburg/b1")}`,
    },
    { from: `/documents/users/${ada}`, to: `/api/users/${user(ada)}` },
    { from: "/v0/b/harbour.appspot.com/o/avatars%2Fada%20%231.png", to: picture },
  ])
    expect(map).toContain(`${JSON.stringify(line)}\n`);
});

test("the report names differences and the parts that stay behind", () => {
  for (const line of [
    "From Firebase: 8 collections, 22 records, 1 file",
    "users: the ids are ids of users: the documents become fields of users",
    "ships.mixed: has values of several types (integer, text), and is JSON",
    "ships.anything: leads to harbours, users, and is no relation",
    "ships.note: has ids of users beside other texts, and is no relation",
    "ships.raw: bytes are no value of a field",
    "harbours.photo: 1 value with an address of a file that no record has, which stays (kiel)",
    "Storage.file: 1 value with a file above 10 MiB (harbour.appspot.com/large.bin)",
    `Users who are disabled, and who move without an address, without a password and without links: ${cem}`,
    `Anonymous users, whose sign-in was on one device alone: users without an address: ${anonymous}`,
    `Documents of users whose account is gone: users without an address: ${gone}`,
    `Users with a phone number, which is no way to sign in: the number is in the field of the account: ${phone}`,
    `Users with custom claims, which give no rights here`,
    "1 file beside the folders of the buckets",
    "1 link of the provider twitter: name the issuer",
    "Users with a second factor, which is not moved",
    "Every collection: security rules are not translated, and stand as comments",
  ])
    expect([line, moved.stdout.includes(line)]).toEqual([line, true]);
  expect(moved.stdout).not.toContain("must reset the password");
});

test("users without the parameters of the hashes move, and must reset the password", async () => {
  const own = await project();
  const done = await move(
    own,
    sourceOf((folder) => rmSync(join(folder, "hash-config.json"))),
  );
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(done.stdout).toContain(
    `because there is no hash-config.json to compare the password with: ${ada}, ${bo}, ${cem}\n`,
  );
  const database = new Database(join(own, "socle.db"), { readonly: true });
  expect(database.query("SELECT DISTINCT passwordHash FROM _users").all()).toEqual([{ passwordHash: "" }]);
  database.close();
});

test("a second run changes nothing; a later export brings the changes, and with --delete the deletions", async () => {
  const own = await project();
  expect((await move(own, source)).code).toBe(0);
  const again = await move(own, source);
  expect(again.stdout).toContain("0 records made, 0 changed, 22 as before, 0 gone at the source and kept");
  expect(again.stdout).toContain("0 files stored");
  const later = sourceOf((folder) => {
    replaced("firestore.json", '"Admins"', '"Masters"')(folder);
    replaced("firestore.json", '"b2": {', '"b3": {')(folder);
  });
  expect((await move(own, later)).stdout).toContain(
    "1 record made, 1 changed, 20 as before, 1 gone at the source and kept",
  );
  const deleted = await move(own, later, [...decided, "--delete"]);
  expect(deleted.stdout).toContain("0 records made, 0 changed, 22 as before, 1 deleted");
  const database = new Database(join(own, "socle.db"), { readonly: true });
  expect(database.query("SELECT label FROM roles").all()).toEqual([{ label: "Masters" }]);
  database.close();
});

test("a move goes on after kill -9", async () => {
  const tips = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`t${i}`, { text: `tip ${i}`, __collections__: {} }]),
  );
  const large = sourceOf(replaced("firestore.json", '"roles": {', `"tips": ${JSON.stringify(tips)}, "roles": {`));
  const own = await project();
  for (const bytes of [1, 50_000]) {
    const child = Bun.spawn([executable, "move-in", "firebase", large.path, "--files", large.files, ...decided], {
      ...{ cwd: own, stdout: "ignore", stderr: "ignore" },
    });
    const map = join(own, "move-in-map.ndjson.unfinished");
    await until(() => (statSync(map, { throwIfNoEntry: false })?.size ?? 0) >= bytes || child.exitCode !== null);
    child.kill("SIGKILL");
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  }
  const rest = await move(own, large);
  expect(rest).toMatchObject({ code: 0, stderr: "" });
  const [, made = 0, before = 0] =
    /(\d+) records? made, 0 changed, (\d+) as before/.exec(rest.stdout)?.map(Number) ?? [];
  expect([made > 0, before > 0, made + before]).toEqual([true, true, 10_022]);
  const database = new Database(join(own, "socle.db"), { readonly: true });
  expect(database.query("SELECT count(*) AS n, count(DISTINCT sourceId) AS ids FROM tips").get()).toEqual({
    n: 10_000,
    ids: 10_000,
  });
  database.close();
  expect(existsSync(join(own, "socle.db-move-in"))).toBe(false);
}, 120_000);

describe("a refusal is a single line, and nothing is written", () => {
  async function refusal(change: (folder: string) => void, more: readonly string[] = decided): Promise<string> {
    const own = await project();
    const { code, stderr } = await move(own, sourceOf(change), more);
    expect([
      code,
      stderr.trimEnd().split("\n").length,
      readdirSync(join(own, "collections")),
      readdirSync(own).toSorted(),
    ]).toEqual([...[2, 1, [], ["collections", "config.json"]]]);
    return stderr;
  }

  test("files that are cut, at any place", async () => {
    for (const name of ["firestore.json", "users.json"])
      for (const part of [0, 0.3, 0.99]) {
        const cut = (folder: string): void => {
          const text = readFileSync(join(folder, name), "utf8").trimEnd();
          writeFileSync(join(folder, name), text.slice(0, Math.floor(text.length * part)));
        };
        expect(await refusal(cut)).toContain(`${name}: is cut, or no JSON`);
      }
  });

  test("an export of gcloud, which is LevelDB", async () => {
    const message = await refusal((folder) => {
      rmSync(join(folder, "firestore.json"));
      mkdirSync(join(folder, "all_namespaces"));
      writeFileSync(join(folder, "2026.overall_export_metadata"), "");
    });
    expect(message).toMatch(
      /LevelDB and cannot be read. Export as JSON: npx -p node-firestore-import-export firestore-export/,
    );
  });

  test.each([
    [
      "no firestore.json",
      (folder: string) => rmSync(join(folder, "firestore.json")),
      "has no firestore.json. Export so",
    ],
    [
      "JSON of another form",
      written("firestore.json", '{"users":{}}'),
      'neither a whole export with "__collections__" nor',
    ],
    [
      "one page of several",
      written("firestore.json", '{"documents":[],"nextPageToken":"x"}'),
      "is one page of several",
    ],
    [
      "a document that is no object",
      written("firestore.json", '{"__collections__":{"a":{"b":1}}}'),
      "a/b is no object",
    ],
    [
      "a number that is no JSON",
      written("firestore.json", '{"__collections__":{"a":{"b":{"n":NaN}}}}'),
      "is cut, or no JSON",
    ],
    [
      "a document too deep for any parser",
      written("firestore.json", `{"__collections__":{"a":{"b":{"n":${"[".repeat(200_000)}${"]".repeat(200_000)}}}}}`),
      "cannot be read",
    ],
    ["users of another form", written("users.json", "[]"), 'users.json: has no list "users"'],
    ["a user without an id", written("users.json", '{"users":[{}]}'), 'users.json: user 0 has no "localId"'],
    ["a user twice", written("users.json", '{"users":[{"localId":"a"},{"localId":"a"}]}'), "the user a stands twice"],
    [
      "parameters of another algorithm",
      replaced("hash-config.json", "SCRYPT", "BCRYPT"),
      "hash-config.json: needs the algorithm SCRYPT",
    ],
    [
      "a cost that Firebase does not take",
      replaced("hash-config.json", '"mem_cost": 10', '"mem_cost": 30'),
      "mem_cost (1 to 14)",
    ],
    [
      "a clash of addresses, before an option decides",
      replaced("users.json", '"bo@harbour.example"', '"ADA@harbour.example"'),
      "1 point of the report must be decided",
    ],
  ])("%s", async (_, change, message) => {
    expect(await refusal(change)).toContain(message);
  });

  test("wrong words", async () => {
    const own = await project();
    for (const [args, message] of [
      [["move-in", "firebase", join(own, "no")], "no: is no folder with firestore.json"],
      [["move-in", "firebase", source.path, "--files", join(own, "no")], "no: is no folder of files"],
      [["move-in", "appwrite", own], "move-in knows pocketbase, supabase and firebase, not appwrite"],
    ] as const) {
      const { code, stderr } = await socle(args, { cwd: own });
      expect([code, stderr.includes(message), stderr]).toEqual([2, true, stderr]);
    }
  });
});
