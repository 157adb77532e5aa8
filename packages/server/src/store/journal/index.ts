/** The journal of a cluster: entries in order behind a fence, the lease of the leader, the instances, the snapshots; kept by PostgreSQL. */
export {
  beginning,
  ChainBroken,
  type ChainPlace,
  commonPosition,
  type History,
  hasPlace,
  newEntryId,
  newRole,
  roleOf,
} from "./chain.ts";
export {
  type Beside,
  type Entry,
  type InstanceRow,
  type Journal,
  JournalAway,
  type JournalExtent,
  JournalGap,
  type Leader,
  type Lease,
  OutcomeUnknown,
  type SnapshotRow,
} from "./journal.ts";
export { openJournal } from "./open.ts";
