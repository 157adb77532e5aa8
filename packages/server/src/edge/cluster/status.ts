/** Status of a cluster: the leader, the instances and their lag, for admins, metrics and `socle cluster status`. */
import type { ClusterInstance, ClusterOverview } from "@socle/protocol";
import type { ClusterNumbers } from "../../operate/admin/index.ts";
import {
  type InstanceRow,
  type Journal,
  JournalAway,
  type Leader,
  type SnapshotRow,
} from "../../store/journal/index.ts";
import type { ClusterMember } from "./member.ts";

export interface ClusterStatus extends ClusterOverview {
  /** The entries that the journal keeps, and the bytes of the entries. */
  readonly journal: { readonly entries: number; readonly bytes: number };
  readonly snapshots: readonly SnapshotRow[];
}

/** @param newest the last commit of the cluster. */
function overview(leader: Leader | null, rows: readonly InstanceRow[], newest: number): ClusterOverview {
  const isLeader = (address: string): boolean => leader?.isLive === true && leader.address === address;
  const instances = rows.map(({ address, version, position: told, isLive, problem, files }): ClusterInstance => {
    const role = isLeader(address) ? "leader" : "replica";
    // The leader has made the newest commit, whatever position the leader has told last.
    const position = role === "leader" ? newest : told;
    return { address, version, role, position, lag: Math.max(0, newest - position), isLive, problem, files };
  });
  const { term = 0, address = null, isLive = false } = leader ?? {};
  return { leader: isLive ? address : null, term, position: newest, isJournalReached: true, instances };
}

/** The state of a cluster as the journal knows the state, also without an instance. @throws JournalAway. */
export async function clusterStatus(journal: Journal): Promise<ClusterStatus> {
  const [leader, rows, snapshots, { first, last, bytes }] = await Promise.all([
    journal.leader(),
    journal.instances(),
    journal.snapshots(),
    journal.extent(),
  ]);
  const entries = last === 0 ? 0 : last + 1 - first;
  return { ...overview(leader, rows, last), journal: { entries, bytes }, snapshots };
}

/** The numbers of an instance, for the metrics. @param lagMs for how long the instance has perhaps been without the newest commit. */
export function clusterNumbers(member: ClusterMember, lagMs: number): ClusterNumbers {
  const { leading, leader, isAway } = member;
  return {
    position: member.position,
    lagMs,
    isLeader: leading !== null,
    term: leading?.commits.term ?? leader?.term ?? 0,
    isJournalReached: !isAway,
    isStorageReached: member.state.storage === null,
    isMirrorWhole: leading?.commits.mirror ? leading.commits.mirror.phase === "whole" : null,
  };
}

/** The state of a cluster as an instance knows the state: a leader knows the replicas better than the journal. */
export async function clusterOverview(member: ClusterMember): Promise<ClusterOverview> {
  const { journal, address, replicas } = member;
  const own = member.position;
  const told = new Map(replicas?.living.map((replica) => [replica.address, replica.position]));
  told.set(address, own);
  try {
    const [leader, rows] = await Promise.all([journal.leader(), journal.instances()]);
    const known = rows.map((row) => ({ ...row, position: Math.max(row.position, told.get(row.address) ?? 0) }));
    return overview(leader, known, Math.max(own, ...known.map(({ position }) => position)));
  } catch (thrown) {
    if (!(thrown instanceof JournalAway)) throw thrown;
    return { ...overview(member.leader, [], own), isJournalReached: false };
  }
}
