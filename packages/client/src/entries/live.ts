/** `@socle/client/live`: live queries, optimistic changes and channels, for `createClient({ live })`. */
export { liveWithChannels } from "../channels.ts";
export { live } from "../live.ts";
