/** Channels as a feature of a client: `createClient({ live: liveWithChannels })`. */
import type { ChannelFeature } from "./feed.ts";
import { LiveClient, liveFeature } from "./live.ts";
import type { LiveFeature } from "./live-types.ts";
import { Channels, type Listener, type SubscribeOptions } from "./realtime.ts";

const channels: ChannelFeature = {
  own: (connection) => new Channels(connection),
  shared: (open) => (channel, listener, options) =>
    open((n) => ({
      message: { type: "channel", n, channel, filter: options.filter },
      heard: (message) => {
        if (message.type === "event") listener(message.event);
        else if (message.type === "live") options.onReset?.();
        else if (message.type === "refused") options.onError?.(new Error(message.message));
      },
      // The feed of this tab has channels, too.
      openAt: (feed) => feed.subscribe?.(channel, listener, options) ?? (() => undefined),
    })),
};

/** A client that has heard an event reads no state from before the event. */
class ChannelClient extends LiveClient {
  override subscribe(channel: string, listener: Listener, options: SubscribeOptions): () => void {
    const hear: Listener = (event) => {
      // The last 13 digits of the id are the position, in hexadecimal.
      this.transport.heard(Number.parseInt(event.id.slice(-13), 16) || 0);
      listener(event);
    };
    return this.feed.subscribe?.(channel, hear, options) ?? super.subscribe(channel, listener, options);
  }
}

/** For `createClient({ live: liveWithChannels })`: channels of events beside live queries and optimistic changes. */
export const liveWithChannels: LiveFeature = /* @__PURE__ */ liveFeature(channels, ChannelClient);
