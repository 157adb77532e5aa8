/** Channels: typed calls and messages between two threads or processes, over the carriers that connect them. */
export { Channel, type ChannelMessage, type Outcome, outcomeOf, resultOf, Transferred } from "./channel.ts";
export { PeerError } from "./errors.ts";
export { channelOver, type FrameSink, Link, type LinkFrame, messageIn } from "./link.ts";
export { ownerChannel, Thread } from "./thread.ts";
