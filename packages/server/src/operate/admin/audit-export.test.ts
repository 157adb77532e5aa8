/** The export of the audit: each entry once, in the order of time, in both formats, also while entries leave the log. */
import { expect, test } from "bun:test";
import { openEventLog } from "../../../test/event-log.ts";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { type AuditFormat, auditPages } from "./audit-export.ts";

const folder = temporaryFolder();
const hour = 3_600_000;
const waiter = { caller: "test", signal: new AbortController().signal };
const always = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** `<PRI>VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA MSG` of RFC 5424, section 6. */
const rfc5424 =
  /^<(\d{1,3})>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z [\x21-\x7e]{1,255} [\x21-\x7e]{1,48} [\x21-\x7e]{1,128} ([\x21-\x7e]{1,32}) - (.+)$/;

async function openAudit(name: string) {
  const log = await openEventLog(folder, name);
  const pages = (format: AuditFormat, times = always) =>
    auditPages((range) => log.events.audit(range, waiter), { format, ...times });
  const lines = async (format: AuditFormat, times = always): Promise<string[]> =>
    (await Array.fromAsync(pages(format, times))).join("").split("\n").slice(0, -1);
  return { ...log, pages, lines };
}

test("each entry is exported once and in order, while the log hands entries to the audit between two pages", async () => {
  const { append, retention, pages, database } = await openAudit("moving.db");
  const wanted: string[] = [];
  for (let n = 0; n < 260; n++) {
    await append(n % 3 === 0 ? "auth.login" : n % 3 === 1 ? "auth.failed" : `admin.${n}`);
    if (n % 3 !== 0) wanted.push(n % 3 === 1 ? "auth.failed" : `admin.${n}`);
  }
  await retention(1e12, 200).trim();
  const found: string[] = [];
  let kept = 200;
  for await (const page of pages("jsonl")) {
    for (const line of page.split("\n").slice(0, -1)) found.push((JSON.parse(line) as { type: string }).type);
    kept -= 60;
    await retention(1e12, Math.max(0, kept)).trim();
  }
  expect(found).toEqual(wanted);
  await database.close();
});

test("the export has the entries from the first to the last asked time, with the entries of the two times", async () => {
  const { append, lines, database, clock } = await openAudit("times.db");
  const start = clock.time;
  for (const type of ["admin.a", "admin.b", "admin.c"]) {
    await append(type);
    clock.time += hour;
  }
  const typesOf = async (from: number, to: number): Promise<string[]> =>
    (await lines("jsonl", { from, to })).map((line) => (JSON.parse(line) as { type: string }).type);
  expect(await typesOf(start + hour, start + 2 * hour)).toEqual(["admin.b", "admin.c"]);
  expect(await typesOf(start + hour + 1, start + 2 * hour - 1)).toEqual([]);
  await database.close();
});

test("a line of syslog is of RFC 5424, with the entry as the message, and has the severity of the entry", async () => {
  const { append, lines, database } = await openAudit("syslog.db");
  await append("admin.a.type.that.is.longer.than.32.characters");
  await append("auth.failed");
  const found = (await lines("syslog")).map((line) => rfc5424.exec(line)?.slice(1) ?? line);
  const entries = await lines("jsonl");
  expect(found).toEqual([
    ["109", "admin.a.type.that.is.longer.than", entries[0] ?? ""],
    ["108", "auth.failed", entries[1] ?? ""],
  ]);
  await database.close();
});

test("GET /api/admin/audit/export answers admins alone, and refuses unknown formats and times", async () => {
  const api = await openApi({});
  const token = await api.admin();
  const member = await api.register("member@example.com");
  const body = { email: "new@example.com", password: "correct horse" };
  await api.request("POST", "/api/admin/users", { token, body });
  await api.request("POST", "/api/auth/login", { body: { email: "new@example.com", password: "wrong" } });
  const read = async (query: string, options: object = { token }) => {
    const response = await api.answer("GET", `/api/admin/audit/export${query}`, options);
    return [response.status, response.headers.get("content-type"), await response.text()] as const;
  };
  const [status, type, text] = await read("");
  expect([status, type]).toEqual([200, "application/x-ndjson"]);
  const entries = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; payload: object });
  expect(entries.map((each) => each.type)).toEqual(["admin.user.created", "auth.failed"]);
  expect(entries[0]?.payload).toMatchObject({ after: { email: "new@example.com" } });
  expect(text).not.toContain("correct horse");
  const syslog = await read("?format=syslog&since=2000-01-01T00:00:00Z");
  expect(syslog.slice(0, 2)).toEqual([200, "text/plain; charset=utf-8"]);
  expect(
    syslog[2]
      .trimEnd()
      .split("\n")
      .every((line) => rfc5424.test(line)),
  ).toBe(true);
  expect((await read("?until=2000-01-01T00:00:00Z"))[2]).toBe("");
  expect((await read("", { token: member.accessToken }))[0]).toBe(403);
  expect((await read("", {}))[0]).toBe(401);
  expect((await read("?format=csv"))[2]).toContain('\\"format\\" must be jsonl or syslog, not \\"csv\\"');
  expect((await read("?since=yesterday"))[0]).toBe(400);
});
