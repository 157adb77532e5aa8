/** Engines that a journal refuses, addresses that are wrong, and TLS. */
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { newCertificate } from "../../../test/certificates.ts";
import { entryOf, leaseOf } from "../../../test/journal-suite.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { enginePassword, startPostgres } from "../../../test/test-postgres.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { type Journal, JournalAway, openJournal } from "./index.ts";

const engine = await startPostgres();
const raw = engine.client();
const folder = temporaryFolder();
const authority = join(folder, "authority.pem");
const stranger = join(folder, "stranger.pem");
await Bun.write(authority, engine.certificate);
await Bun.write(stranger, (await newCertificate("stranger")).cert);

function journalAt(url: string, cluster: string = crypto.randomUUID()): Journal {
  const journal = openJournal({ url, cluster, logger: quietLogger(), timeoutMs: 60_000 });
  afterAll(() => journal.close());
  return journal;
}

/** The line with which the start ends. */
async function refusal(url: string): Promise<string> {
  const cluster = crypto.randomUUID();
  const error: unknown = await journalAt(url, cluster)
    .open()
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof SetupError)) throw new Error(`${url} was not refused by a SetupError`, { cause: error });
  expect(error.message).toStartWith("cluster.journal: postgres://socle@");
  expect(error.message).not.toContain("\n");
  for (const secret of [enginePassword, encodeURIComponent(enginePassword), "wrong-word"])
    expect(error.message).not.toContain(secret);
  return error.message;
}

async function clusters(): Promise<number> {
  const [{ exists }] = await raw`SELECT to_regclass('socle_cluster') IS NOT NULL AS exists`;
  if (!exists) return 0;
  return (await raw`SELECT 1 FROM socle_cluster`).length;
}

/** Changes a setting of the engine, until the engine says that the setting holds. */
async function set(name: string, value: "on" | "off"): Promise<void> {
  await raw.unsafe(`ALTER SYSTEM SET ${name} = ${value}`);
  await raw`SELECT pg_reload_conf()`;
  for (;;) {
    // Each client is a new session, which has the setting from the start.
    const client = engine.client();
    const [row] = await client`SELECT current_setting(${name}) AS value`;
    await client.close({ timeout: 0 });
    if (row.value === value) return;
    await Bun.sleep(2);
  }
}

for (const [name, url, expected] of [
  [
    "a wrong password",
    engine.url({ password: "wrong-word" }),
    'password authentication failed for user "socle" (28P01)',
  ],
  ["a missing database", engine.url({ database: "nowhere" }), 'database "nowhere" does not exist (3D000)'],
  ["a closed port", engine.url({ port: 1 }), "no connection; nothing listens there, or the host is unknown"],
  [
    "an unknown host",
    engine.url({ host: "journal.invalid" }),
    "no connection; nothing listens there, or the host is unknown",
  ],
  [
    "an unknown sslmode",
    engine.url({ parameters: "?sslmode=some" }),
    "the parameters of the address are wrong: The argument 'sslmode'",
  ],
  [
    "a missing file of certificates",
    engine.url({ parameters: "?sslrootcert=/missing.pem" }),
    "the parameters of the address are wrong",
  ],
  [
    "an unknown certificate",
    engine.url({ parameters: "?sslmode=verify-full" }),
    "the engine's certificate is not accepted: self signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)",
  ],
  [
    "another authority",
    engine.url({ parameters: `?sslmode=verify-full&sslrootcert=${stranger}` }),
    "the engine's certificate is not accepted",
  ],
  [
    "a parameter that the engine does not know",
    engine.url({ parameters: "?bogus=1" }),
    'unrecognized configuration parameter "bogus" (42704)',
  ],
] as const)
  test(`${name} ends the start with a single line`, async () => {
    const before = await clusters();
    expect(await refusal(url)).toContain(expected);
    expect(await clusters()).toBe(before);
  });

test("an address of another kind is refused before any connection", () => {
  for (const url of ["", "mysql://u:secret-word@h/d", "http://h", "localhost:5432/x", "postgres//h"]) {
    const open = (): Journal => openJournal({ url, cluster: "c", logger: quietLogger() });
    expect(open).toThrow(SetupError);
    expect(open).toThrow("cluster.journal must be an address like postgres://USER:PASSWORD@HOST:PORT/DATABASE.");
    expect(open).not.toThrow("secret-word");
  }
});

for (const setting of ["fsync", "full_page_writes", "synchronous_commit"] as const)
  test(`an engine with ${setting} off is refused at the start, and by each later connection`, async () => {
    const cluster = crypto.randomUUID();
    const journal = journalAt(engine.url(), cluster);
    const { id } = await journal.open();
    const { role } = await leaseOf(journal, { instance: "a", address: "", ms: 3_600_000 });
    const before = await clusters();
    await set(setting, "off");
    try {
      const line = await refusal(engine.url());
      expect(line).toContain(`${setting} ${setting === "synchronous_commit" ? "is " : ""}off`);
      expect(line).toContain("allowed: on");
      expect(await clusters()).toBe(before);
      // The first append connects.
      const append = journal.append(entryOf(role, 1));
      await expect(append).rejects.toThrow(JournalAway);
      await expect(append).rejects.toThrow(setting);
      expect((await journal.extent()).last).toBe(0);
    } finally {
      await set(setting, "on");
    }
    expect(await journal.append(entryOf(role, 1))).toBe("appended");
    expect(await journal.open()).toEqual({ id, isNew: false });
  });

test("synchronous_commit that is off for the user alone is refused", async () => {
  await raw`ALTER ROLE socle SET synchronous_commit = off`;
  try {
    expect(await refusal(engine.url())).toContain("synchronous_commit is off");
    expect(await refusal(engine.url({ parameters: "?prepare=false" }))).toContain("synchronous_commit is off");
  } finally {
    await raw`ALTER ROLE socle RESET synchronous_commit`;
  }
});

test("a standby is refused", async () => {
  await engine.stop();
  await Bun.write(join(engine.data, "standby.signal"), "");
  await engine.start();
  expect(await refusal(engine.url())).toContain("the engine is a standby, which takes no writes");
  await engine.stop();
  rmSync(join(engine.data, "standby.signal"));
  await engine.start();
  expect((await journalAt(engine.url()).open()).isNew).toBe(true);
});

test("a user without rights is refused", async () => {
  await raw`CREATE ROLE guest LOGIN PASSWORD 'guest-word'`;
  const url = engine.url().replace(/\/\/.*@/, "//guest:guest-word@");
  const open = journalAt(url).open();
  await expect(open).rejects.toThrow(SetupError);
  await expect(open).rejects.toThrow("permission denied for schema public (42501)");
});

test("a cluster of another format is refused", async () => {
  const cluster = crypto.randomUUID();
  await journalAt(engine.url(), cluster).open();
  await raw`UPDATE socle_cluster SET format = 2 WHERE cluster = ${cluster}`;
  const open = journalAt(engine.url(), cluster).open();
  await expect(open).rejects.toThrow(SetupError);
  await expect(open).rejects.toThrow("has the format 2, and this version knows the format 1.");
});

test("the connections use TLS as the address says", async () => {
  for (const [parameters, isEncrypted] of [
    ["", true],
    ["?sslmode=disable", false],
    ["?sslmode=require", true],
    [`?sslmode=verify-full&sslrootcert=${authority}`, true],
    [`?sslrootcert=${authority}`, true],
  ] as const) {
    const journal = journalAt(engine.url({ parameters }));
    await journal.open();
    const rows =
      await raw`SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'socle'`;
    expect(rows.map(({ ssl }: { ssl: boolean }) => ssl)).toEqual([isEncrypted]);
    await journal.close();
    for (;;) {
      const open = await raw`SELECT 1 FROM pg_stat_activity WHERE application_name = 'socle'`;
      if (open.length === 0) break;
      await Bun.sleep(2);
    }
  }
});

test("numbers that this process cannot hold are an error, and are never rounded", async () => {
  const cluster = crypto.randomUUID();
  const journal = journalAt(engine.url(), cluster);
  await journal.open();
  await raw`INSERT INTO socle_leader VALUES (${cluster}, ${"9007199254740993"}::bigint, 'a', '', now())`;
  await expect(journal.leader()).rejects.toThrow("9007199254740993, which is out of range");
  await raw`UPDATE socle_leader SET term = ${Number.MAX_SAFE_INTEGER} WHERE cluster = ${cluster}`;
  expect((await journal.leader())?.term).toBe(Number.MAX_SAFE_INTEGER);
});
