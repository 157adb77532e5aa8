/**
 * Guide of a rolling upgrade of a cluster: from the journal and the readiness of the instances, finds the step that is next, or the reason to wait.
 * The guide changes nothing.
 */
import { isObject } from "../base/kernel/index.ts";
import { isWaiting } from "../edge/cluster/index.ts";

/** The longest wait for the readiness of an instance. */
const askMs = 3_000;

export interface UpgradeTarget {
  /** The version with the commit of the source. */
  readonly version: string;
  /** The fingerprint of the project folder. */
  readonly files: string;
}

/** An instance in an upgrade. */
export interface UpgradeInstance {
  readonly address: string;
  readonly role: "leader" | "replica";
  readonly isLive: boolean;
  readonly version: string;
  readonly files: string | null;
  readonly problem: string | null;
  /** Why the instance is not ready; null for a ready instance. */
  readonly unready: string | null;
}

export interface UpgradeStep {
  /** `next`: the step is safe now. `wait`: the step comes by itself, or an instance has to be started. `stop`: a person has to decide. */
  readonly state: "finished" | "next" | "wait" | "stop";
  readonly text: string;
  /** The instance of the step; null for no instance. */
  readonly instance: string | null;
}

/** Whether an instance has the version and the files of an upgrade. */
function isUpgraded({ version, files }: UpgradeInstance, target: UpgradeTarget): boolean {
  return version === target.version && files === target.files;
}

/**
 * The next step: each replica first, one after another, then the leader. A step is safe when each other instance is ready, or waits for a leader of the
 * target's version.
 * @param cluster `order`: the fingerprints that were in force, in order; `size`: how many instances the cluster has.
 */
export function nextStep(
  instances: readonly UpgradeInstance[],
  { target, order, size }: { target: UpgradeTarget; order: readonly string[]; size: number },
): UpgradeStep {
  const step = (state: UpgradeStep["state"], instance: UpgradeInstance | null, text: string): UpgradeStep => ({
    state,
    text,
    instance: instance?.address ?? null,
  });
  const living = instances.filter(({ isLive }) => isLive);
  const [done, others] = [true, false].map((wanted) => living.filter((each) => isUpgraded(each, target) === wanted));
  const leader = living.find(({ role }) => role === "leader") ?? null;
  if (order.includes(target.files) && order.at(-1) !== target.files)
    return step(
      "stop",
      null,
      `the files of this folder (${target.files}) were superseded by the files in force (${order.at(-1)}); run the command in a folder with the new files`,
    );
  const broken = done?.find(({ problem }) => problem !== null && !isWaiting(problem));
  if (broken !== undefined)
    return step("stop", broken, `${broken.address} is upgraded, and has a problem: ${broken.problem}`);
  const gone = instances.find(({ isLive }) => !isLive);
  if (gone !== undefined)
    return step(
      "wait",
      gone,
      `${gone.address} does not run: start the instance, or socle cluster remove ${gone.address}`,
    );
  if (living.length < size) return step("wait", null, `${living.length} of ${size} instances run; start the others`);
  if (leader === null) return step("wait", null, "no instance leads");
  // The problem of a replica that is not upgraded ends with the upgrade; a replica that waits for a leader of its version is in order.
  const behind = others?.find(({ role, problem }) => role === "replica" && problem !== null);
  const held = living.find(({ problem, unready }) => problem === null && unready !== null);
  if (held !== undefined) return step("wait", held, `${held.address} is not ready: ${held.unready}`);
  const replica = behind ?? others?.find(({ role }) => role === "replica");
  if (replica !== undefined)
    return step(
      "next",
      replica,
      `stop ${replica.address}, replace executable and files, and start the instance${replica.problem === null ? "" : ` (${replica.problem})`}${living.length > 2 ? "" : "; no other instance can lead meanwhile"}`,
    );
  if (isUpgraded(leader, target)) return step("finished", null, "each instance has the version and the files");
  const heir = done?.find(({ unready }) => unready === null) ?? done?.[0];
  if (heir === undefined)
    return step(
      "next",
      leader,
      `stop ${leader.address}, replace executable and files, and start the instance; nothing serves meanwhile`,
    );
  const flag = leader.files === target.files ? "" : " --with-its-files";
  return step("next", heir, `socle cluster lead ${heir.address}${flag}`);
}

/** Why an instance is not ready; null for a ready instance. */
export async function unreadinessOf(address: string): Promise<string | null> {
  try {
    const answer = await fetch(`${address}/health/ready`, { signal: AbortSignal.timeout(askMs) });
    if (answer.ok) return null;
    const body: unknown = await answer.json().catch(() => null);
    const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
    return String(error["message"] ?? `the answer is ${answer.status}`);
  } catch {
    return "the instance does not answer";
  }
}
