/** Verifying a continuous backup: every segment and the order of the segments, every snapshot, and the copies of the files of the newest snapshot. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { count, messageOf, toTimestamp } from "../../base/kernel/index.ts";
import { eachFile } from "../../files/storage/index.ts";
import { DatabaseFile } from "../../store/database/index.ts";
import type { Identity, ManifestHead } from "./archive.ts";
import type { BackupPlace } from "./backup-place.ts";
import { type BackupExtent, readAhead, surveyOf } from "./continuous-restore.ts";
import type { DataPaths } from "./data-paths.ts";
import { unpack } from "./restore.ts";
import { numberOfName, type SegmentHead, segmentName } from "./segment.ts";
import { sourceOf } from "./target.ts";
import { type Finding, Tally } from "./verify.ts";

interface VerifyOptions {
  readonly paths: DataPaths;
  readonly schemas: ManifestHead["schema"];
  readonly identity: () => Promise<Identity>;
}

/** Reads the whole backup. @throws SetupError for a place without a continuous backup. */
export async function verifyContinuous(place: BackupPlace, options: VerifyOptions): Promise<Finding[]> {
  const survey = await surveyOf(place, options.paths);
  return [...(await segmentsIn(place)), ...gapsIn(survey), ...(await snapshotsOf(place, survey, options))];
}

async function segmentsIn(place: BackupPlace): Promise<Finding[]> {
  const wrong = new Tally();
  let whole = 0;
  let before: SegmentHead | null = null;
  let expected = 0;
  for await (const { name } of place.segments.list()) {
    const number = numberOfName(name);
    if (number === null) continue;
    if (expected > 0 && number > expected) {
      wrong.add(`${missingText({ first: expected, last: number - 1 })}; the moments behind need a later snapshot`);
      before = null;
    }
    expected = number + 1;
    try {
      for await (const { head } of readAhead(place, number, number)) {
        const follows = before === null || (head.first === before.last + 1 && head.before === before.id);
        if (!follows || (before !== null && head.chain !== before.chain))
          wrong.add(`${name}: does not follow the segment before; the moments behind need a later snapshot`);
        else whole += 1;
        before = head;
      }
    } catch (thrown) {
      wrong.add(messageOf(thrown));
      before = null;
    }
  }
  const errors = wrong.findings("error", "segments");
  const text = `${count(whole, "segment")} whole${errors.length === 0 ? " and in order" : ""}`;
  return [{ state: "ok", subject: "segments", text }, ...errors];
}

/** Segments between the oldest and the newest that are not there, by their numbers. */
interface MissingSegments {
  readonly first: number;
  readonly last: number;
}

/** The number of the segments that are there, and the missing segments, by the names alone. */
export async function segmentsOf(place: BackupPlace): Promise<{ count: number; missing: MissingSegments[] }> {
  const missing: MissingSegments[] = [];
  let segments = 0;
  let before: number | null = null;
  for await (const { name } of place.segments.list()) {
    const number = numberOfName(name);
    if (number === null) continue;
    if (before !== null && number > before + 1) missing.push({ first: before + 1, last: number - 1 });
    before = number;
    segments += 1;
  }
  return { count: segments, missing };
}

export function missingText({ first, last }: MissingSegments): string {
  return `${segmentName(first)}${last > first ? ` to ${segmentName(last)}` : ""}: missing`;
}

function gapsIn({ gaps }: BackupExtent): Finding[] {
  return gaps
    .filter(({ number }) => number > 1)
    .map((gap) => ({ state: "info", subject: "segments", text: `gap ${gapText(gap)}` }));
}

export function gapText({ first, last, from, to }: SegmentHead): string {
  return `from position ${first} to ${last}, from ${toTimestamp(from)} to ${toTimestamp(to)}`;
}

async function snapshotsOf(
  place: BackupPlace,
  { snapshots, last }: BackupExtent,
  { paths, schemas, identity }: VerifyOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [i, { name }] of snapshots.entries()) {
    const folder = mkdtempSync(join(tmpdir(), "socle-verify-"));
    try {
      const { source } = await sourceOf(`${place.snapshotAddress}/${name}`, paths);
      const { counts, createdAt } = await unpack(
        { name, source, schemas, identity },
        { folder, files: null, depth: "full" },
      );
      const text = `${name}: the state of ${createdAt}, ${count(counts.records, "record")}`;
      findings.push({ state: "ok", subject: "snapshots", text });
      if (i === 0) findings.push(...(await filesOf(place, join(folder, "socle.db"))));
    } catch (thrown) {
      findings.push({ state: "error", subject: "snapshots", text: messageOf(thrown) });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  if ((snapshots[0]?.position ?? -1) < last.gap)
    findings.push({
      state: snapshots.length > 0 ? "info" : "error",
      subject: "snapshots",
      text: "no snapshot is behind the newest gap: a service that runs makes the snapshot",
    });
  return findings;
}

async function filesOf(place: BackupPlace, path: string): Promise<Finding[]> {
  if ((await place.files.next("")) === null) return [];
  const database = new DatabaseFile(path);
  const wrong = new Tally();
  let whole = 0;
  try {
    for (const { id, size } of eachFile(database)) {
      const found = await place.files.find(id);
      if (found?.size === size) whole += 1;
      else wrong.add(`${id}: ${found === null ? "has no copy" : `${found.size} bytes in place of ${size}`}`);
    }
  } finally {
    database.close();
  }
  const text = `${count(whole, "file")} of the newest snapshot with a whole copy`;
  return [{ state: "ok", subject: "files", text }, ...wrong.findings("error", "files")];
}
