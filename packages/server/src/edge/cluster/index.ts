/** Cluster: this process as an instance of several: roles, the lease, commits in the journal, following, forwarding, questions between instances. */

export { ClusterSecret } from "./cluster-secret.ts";
export type { JournalCommits } from "./commit-point.ts";
export { Follower } from "./follower.ts";
export { forwardBy } from "./forward.ts";
export { type Introduction, introductionPath } from "./instance-paths.ts";
export { instanceRoutes, isOfInstance, replicaRoutes } from "./instance-routes.ts";
export { type InstanceState, isWaiting } from "./instance-state.ts";
export { askLeader, assertGone, type LeaderCommands, notRunning } from "./leader-commands.ts";
export { ask, instanceSockets, LeaderQuestions } from "./leader-questions.ts";
export { ClusterMember, type Leading } from "./member.ts";
export { linkRooms } from "./room-links.ts";
export type { ServingRight } from "./serving-right.ts";
export { type ClusterStatus, clusterNumbers, clusterOverview, clusterStatus } from "./status.ts";
