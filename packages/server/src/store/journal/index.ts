/** The journal of a cluster: entries in order behind a fence, the lease of the leader, the instances, the snapshots; kept by PostgreSQL. */
export {
  type Beside,
  type Entry,
  type InstanceRow,
  type Journal,
  JournalAway,
  type JournalExtent,
  JournalGap,
  type Leader,
  OutcomeUnknown,
  type SnapshotRow,
} from "./journal.ts";
export { openJournal } from "./open.ts";
