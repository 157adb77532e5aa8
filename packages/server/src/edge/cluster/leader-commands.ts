/**
 * Commands to a running leader, by `socle cluster`: a snapshot now, the removal of an instance that is gone, and the hand-over of the lease to a named
 * instance. A hand-over holds up writes until the named instance has every commit, for some seconds at most.
 */
import { AppError, count, isObject, messageOf } from "../../base/kernel/index.ts";
import type { InstanceRow, SnapshotRow } from "../../store/journal/index.ts";
import { type Candidate, candidatePath, commandPath } from "./instance-paths.ts";
import { isWaiting } from "./instance-state.ts";
import { ask } from "./leader-questions.ts";
import type { ClusterMember } from "./member.ts";
import { questionMs } from "./timing.ts";

/** Commits that an instance may be behind at the begin of a hand-over: a replica runs them in about a second. */
const maxBehind = 1_000;
/** The longest that writes are held up for the append under way, and the same for the named instance to have each commit. */
const holdMs = 2_000;
/** After this time the leader answers that a snapshot is being made, and is asked again. */
const patienceMs = 5_000;

/** A command, with what the leader answers. */
export interface LeaderCommands {
  /** `position` is null in the first question; the snapshot is null as long as the snapshot is being made. */
  readonly snapshot: {
    readonly asked: { readonly position: number | null };
    readonly answer: { readonly position: number; readonly snapshot: SnapshotRow | null };
  };
  readonly remove: { readonly asked: { readonly name: string }; readonly answer: object };
  /** `files` are in force afterwards. `heldMs` is how long writes were held up; null if the instance led before. */
  readonly lead: {
    readonly asked: { readonly name: string; readonly withFiles: boolean };
    readonly answer: { readonly heldMs: number | null; readonly files: string | null };
  };
}

/** Does a command. @throws AppError `conflict`, `not_found` or `unavailable` with the reason; nothing was changed then. */
export async function runCommand(
  member: ClusterMember,
  { kind, ...asked }: { readonly [name: string]: unknown },
): Promise<object> {
  // The same program asks.
  if (kind === "snapshot") return makeSnapshot(member, asked as LeaderCommands["snapshot"]["asked"]);
  if (kind === "remove") return removeInstance(member, asked as LeaderCommands["remove"]["asked"]);
  if (kind === "lead") return handOver(member, asked as LeaderCommands["lead"]["asked"]);
  throw new AppError("not_found", `The leader has the version ${member.version}, and does not know this command.`);
}

/** Asks the leader. @throws AppError as `runCommand`, or `unavailable` without an answer. */
export async function askLeader<K extends keyof LeaderCommands>(
  leader: { readonly address: string; readonly credentials: Record<string, string> },
  kind: K,
  asked: LeaderCommands[K]["asked"],
): Promise<LeaderCommands[K]["answer"]> {
  const body = { kind, ...asked };
  // The leader waits for some seconds on purpose.
  const signal = AbortSignal.timeout(6 * patienceMs);
  return (await ask(leader, `${leader.address}${commandPath}`, { body, signal })) as LeaderCommands[K]["answer"];
}

async function makeSnapshot(
  { leading, position: own, state }: ClusterMember,
  { position }: LeaderCommands["snapshot"]["asked"],
): Promise<LeaderCommands["snapshot"]["answer"]> {
  const snapshotAt = leading?.snapshotAt ?? null;
  if (snapshotAt === null) throw new AppError("unavailable", "This instance does not lead yet.");
  // A bucket that does not answer holds up a snapshot for as long as the bucket is away.
  if (state.storage !== null) throw new AppError("unavailable", `No snapshot was made: ${state.storage.text}.`);
  const wanted = position ?? own;
  const making = snapshotAt(wanted).catch((thrown: unknown) => {
    throw new AppError("unavailable", `No snapshot was made: ${messageOf(thrown)}.`);
  });
  const snapshot = await Promise.race([making, Bun.sleep(patienceMs).then(() => null)]);
  return { position: wanted, snapshot };
}

async function removeInstance(
  member: ClusterMember,
  { name }: LeaderCommands["remove"]["asked"],
): Promise<LeaderCommands["remove"]["answer"]> {
  const { journal, replicas } = member;
  if (name === member.address) throw new AppError("conflict", `${name} leads the cluster.`);
  const hasAsked = replicas?.living.some(({ address }) => address === name) === true;
  await assertGone(name, await journal.instances(), hasAsked);
  const wasKnown = await member.betweenBeats(async () => {
    const hadRow = await journal.removeInstance(name);
    return replicas?.forget(name) === true || hadRow;
  });
  if (!wasKnown) throw new AppError("not_found", `${name} is no instance of the cluster.`);
  return {};
}

/** @throws AppError `conflict` for an instance that lives. @param hasAsked whether the leader has heard of the instance lately. */
export async function assertGone(name: string, rows: readonly InstanceRow[], hasAsked: boolean): Promise<void> {
  const isLive = rows.some((row) => row.name === name && row.isLive);
  // An instance that only lost the way to PostgreSQL still serves.
  const answers = fetch(`${name}/health`, { signal: AbortSignal.timeout(questionMs) }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (isLive || hasAsked || (await answers))
    throw new AppError("conflict", `${name} lives; stop the instance, and its row goes by itself.`);
}

async function handOver(
  member: ClusterMember,
  { name, withFiles }: LeaderCommands["lead"]["asked"],
): Promise<LeaderCommands["lead"]["answer"]> {
  const { journal, leading, replicas } = member;
  if (leading === null || replicas === null) throw new AppError("unavailable", "This instance does not lead.");
  const { commits } = leading;
  const inForce = (await journal.files()).at(-1) ?? null;
  if (name === member.address) return { heldMs: null, files: inForce };
  const rows = await journal.instances();
  const row = rows.find((each) => each.name === name && each.isLive);
  if (row === undefined) throw new AppError("conflict", `${name} ${notRunning(rows)}`);
  const candidate = await candidateAt(member, row, withFiles);
  const behind = commits.newest - candidate.position;
  const { files } = candidate;
  if (candidate.refusal !== null) throw new AppError("conflict", `${name} may not lead: ${candidate.refusal}`);
  if (files !== inForce && !withFiles)
    throw new AppError(
      "conflict",
      `${name} has other files (${files}) than the files in force (${inForce}): add --with-its-files, and its definitions and code are in force`,
    );
  if (behind > maxBehind)
    throw new AppError("conflict", `${name} is ${count(behind, "commit")} behind; allowed: ${maxBehind}`);
  const heldAt = performance.now();
  const release = await commits.hold(holdMs);
  try {
    if (candidate.follows && !(await replicas.has(name, commits.newest, holdMs)))
      throw new AppError(
        "conflict",
        `${name} did not run the last commits within ${holdMs} ms; this instance leads on, and writes go on`,
      );
    await member.betweenBeats(async () => {
      if (withFiles && files !== null) await journal.addFiles(files);
      await member.passLease(row);
    });
  } finally {
    release();
  }
  return { heldMs: performance.now() - heldAt, files };
}

/** The answer of an instance before a hand-over. An instance that waits for a leader of its version does not listen: the row has to do. */
async function candidateAt(
  { credentials }: ClusterMember,
  { address, position, files, problem }: InstanceRow,
  withFiles: boolean,
): Promise<Candidate & { follows: boolean }> {
  if (isWaiting(problem)) return { position, files, refusal: null, follows: false };
  const signal = AbortSignal.timeout(questionMs);
  const answer = await ask({ credentials }, `${address}${candidatePath}`, { body: { withFiles }, signal }).catch(
    (thrown: unknown) => {
      throw new AppError(
        "conflict",
        `${address} does not answer this leader: ${messageOf(thrown)}${problem === null ? "" : ` (${problem})`}`,
      );
    },
  );
  // An instance of the cluster is the same program.
  if (isObject(answer)) return { ...(answer as object as Candidate), follows: true };
  throw new AppError("conflict", `${address} answers in another form`);
}

/** The end of a line about an instance that does not run. */
export function notRunning(rows: readonly InstanceRow[]): string {
  const names = rows.filter(({ isLive }) => isLive).map((each) => each.name);
  return `is no running instance; running: ${names.join(", ") || "none"} (socle cluster status)`;
}
